// The card of a region that was searched for or linked to. The map outlines it.
import { region as fetchRegion, regionPath, reverse } from '../server/api.js'
import { facts, failure, note, skeleton } from './card.js'
import { typeName } from '../words/format.js'
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
export function createRegionCard({ card, pin, select, offer, flyToBox, signal, announce, colours }) {
  return async function show({ type, id }, moving, hit = null) {
    const question = signal()
    const heading = { kicker: typeName(type), chips: takeAlong({ title: displayText(hit?.name), path: regionPath(type, id), announce }) }
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
      const labelled = hit ?? await labelAt(type, own, bbox, question)
      if (question.aborted) return
      const { title, around } = called({ name: hit?.name ?? name, id: own }, labelled)
      card.show({ ...heading, title, subtitle: around }, facts([...colours.valueOf(type, properties), ...rows(own, colours.others(type, Object.entries(properties)))]), offer([{ type, id: own, name: title }]))
      if (moving && !flying && isBox(bbox)) flyToBox(bbox)
    } catch (error) {
      if (question.aborted) return
      const gone = error.type === 'region-not-found' || error.type === 'unknown-layer'
      card.show({ ...heading, title: title || t('No answer'), subtitle },
        gone ? note(t('This server does not have this region.'), t('Search for it by its name.')) : failure(error, () => show({ type, id }, moving, hit), t('Regions')))
    }
  }
}

// A link knows a region's id only. What people call it is asked for at the middle of its box, where it mostly is.
async function labelAt(type, id, box, signal) {
  if (!isBox(box)) return undefined
  const [west, south, east, north] = box
  const middle = wrapLongitude((west + (east < west ? east + 360 : east)) / 2)
  const answer = await reverse((south + north) / 2, middle, { signal }).catch(() => null)
  return labelsOf(answer)({ type, id })
}
