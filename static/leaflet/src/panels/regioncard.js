// The card of a region that was searched for or linked to. The map outlines it.
import { region as fetchRegion, regionPath, reverse, search } from '../server/api.js'
import { aboutCountry, localTime, regionRows } from './around.js'
import { facts, failure, note, skeleton } from './card.js'
import { isUsual, landSize, population, regionKind } from '../words/format.js'
import { displayText } from '../words/text.js'
import { wrapLongitude } from '../hash.js'
import { called, labelsOf } from './levels.js'
import { rows } from './ownpoint.js'
import { takeAlong } from './share.js'
import { isBox } from '../engine/tilegrid.js'
import { t } from '../words/words.js'

/**
 * Answers about one region, { type, id }: hit is what a search said of it, or null after a link; moving says whether the map
 * goes there. select highlights it; offer(regions) is what there is to do with it; colours (choropleth.js) knows its value; signal() ends the question before.
 */
export function createRegionCard({ card, pin, select, offer, flyToBox, signal, announce, colours, open }) {
  return async function show({ type, id }, moving, hit = null) {
    const question = signal()
    const heading = { kicker: regionKind(type), chips: takeAlong({ title: displayText(hit?.name), path: regionPath(type, id), announce }) }
    pin(null)
    select({ type, id })
    const { title, around: subtitle } = called({ name: hit?.name }, hit)
    card.show({ ...heading, title: title || t('Looking…'), subtitle, busy: true }, skeleton(3))
    const flying = moving && isBox(hit?.bbox)
    if (flying) flyToBox(hit.bbox)
    try {
      const record = await fetchRegion(type, id, { signal: question })
      const { name, bbox, type: _, id: own, ...properties } = await colours.complete({ type, id: record.id }, record, { signal: question })
      if (question.aborted) return
      if (own !== id) select({ type, id: own }) // tiles have it as it is published
      const labelled = hit ?? await labelAt({ type, id: own, name }, bbox, { signal: question })
      if (question.aborted) return
      const { title, around } = called({ type, name: labelled?.name ?? name, id: own }, labelled)
      const shown = colours.others(type, Object.entries(properties))
      card.show({ ...heading, kicker: regionKind(type, properties.kind), title, subtitle: around },
        facts([...colours.valueOf(type, properties), ...isUsual(type) ? usualRows(type, properties, shown, labelled, open) : rows([title, ...Object.values(properties)].includes(own) ? '' : own, shown.filter(([name]) => !OURS.has(name)))]),
        type === 'country' && aboutCountry(own, { open, signal: question }), offer([{ type, id: own, name: title }]),
        type === 'timezone' && properties.time_zone && localTime({ timezone: { id: properties.time_zone } }))
      const whole = isBox(labelled?.bbox) ? labelled.bbox : bbox
      if (moving && !flying && isBox(whole)) flyToBox(whole)
    } catch (error) {
      if (question.aborted) return
      const gone = error.type === 'region-not-found' || error.type === 'unknown-layer'
      card.show({ ...heading, title: title || t('No answer'), subtitle },
        gone ? note(t('This server does not have this region.'), t('Search for it by its name.')) : failure(error, () => show({ type, id }, moving, hit), t('Regions')))
    }
  }
}

const OURS = new Set(['map_color', 'merged'])

// Columns of the usual sources that are told in words, or are for programs.
const RAW = /^(map_color|merged|m(in|ax)_?zoom|(min|max|scale|label)_?rank|label_?[xy]|iso_.*|fips|adm\d_?\w*|postal|wikidata|country\w*|state|continent|kind|time_zone|utc_offset|population\w*|area_km2|name_\w+|sovereign|note_\w+|featurecla)$/i

/**
 * What a card tells of a region of a usual type: shown are the columns to tell as they are, unless words tell them, labelled is its result of
 * a search or undefined. open(selection) opens another card, if there are any. Of a country aboutCountry tells more.
 */
export function usualRows(type, properties, shown, labelled, open) {
  const { population: people, area_km2: area, iso_3166_2: iso, fips, name_local: local, formal_name: formal } = properties
  return [
    ...regionRows(parentsOf(labelled, properties), open), [t('Official name'), displayText(formal)], [t('Local name'), displayText(local)],
    ...type === 'country' ? [] : [[t('Population'), population(people)], [t('Area'), landSize(1e6 * area)]],
    [t('Code'), displayText(type === 'county' ? fips : iso)], ...rows('', shown.filter(([name]) => !RAW.test(name))),
  ]
}

// The regions around one: as its label has them, else the country that its source names.
function parentsOf(labelled, { country }) {
  if (Array.isArray(labelled?.parents)) return labelled.parents
  return typeof country === 'string' && /^[A-Z]{2}$/.test(country) ? [{ type: 'country', id: country.toLowerCase() }] : []
}

// A link knows a region's id only. The search knows what people call it and a country's main land; a name that many have is asked for
// at the middle of the region's box, where it mostly is.
async function labelAt(region, box, options) {
  if (!isBox(box)) return undefined
  const [west, south, east, north] = box
  const middle = { lat: (south + north) / 2, lon: wrapLongitude((west + (east < west ? east + 360 : east)) / 2) }
  for (const ask of [region.name && (() => search(region.name, middle, options)), () => reverse(middle.lat, middle.lon, options)].filter(Boolean)) {
    const found = labelsOf(await ask().catch(() => null))(region)
    if (found) return found
  }
  return undefined
}
