// The card of a place or an airport that was searched for, listed or linked to.
import { airport as fetchAirport, airportPath, place as fetchPlace, placePath, point as fetchPoint } from '../server/api.js'
import { localTime, nearest, regionRows } from './around.js'
import { facts, failure, note, skeleton } from './card.js'
import { coordinates, countryName, landHeight, placeKind, population, title } from '../words/format.js'
import { el, fill } from '../dom.js'
import { displayText } from '../words/text.js'
import { AIRPORT_CODE } from '../hash.js'
import { contextOf, placeOfHit } from './hit.js'
import { nearbyList } from './nearby.js'
import { takeAlong } from './share.js'
import { t } from '../words/words.js'

/** What the box at the top takes. */
export const SEARCHABLE = t('Type the name of a place, a region or an airport, coordinates such as 47.37, 8.54, or an IP address such as 192.0.2.1 or 2001:db8::1')

/** What to call a place by in a permalink: { kind: 'place', id } or { kind: 'airport', code }; null for one without a name. */
export function nameOfPlace(place) {
  if (place.kind === 'airport') {
    const code = [place.iata, place.icao, place.ident].find(text => AIRPORT_CODE.test(text ?? ''))
    return code ? { kind: 'airport', code } : null
  }
  return Number.isSafeInteger(place.id) && place.id > 0 ? { kind: 'place', id: String(place.id) } : null
}

/** Answers about one place. fly moves the map to a place, pin marks it; signal() ends the question before. */
export function createFound({ card, pin, mark, select, fly, zoom, choose, signal, announce, open }) {
  function show(place, question, moving, around = '') {
    const at = { lat: place.lat, lon: place.lon }
    const name = nameOfPlace(place)
    const path = name && (name.kind === 'airport' ? airportPath(name.code) : placePath(name.id))
    const kind = place.kind === 'airport' ? t('airport') : placeKind(place.class, place.code, place.population)
    const chips = takeAlong({ title: displayText(place.name), path, at, zoom, announce })
    const [known, more] = [el('div', { class: 'known' }, facts(rows(place, []))), el('div', {}, skeleton(2))]
    pin(at)
    card.show({ kicker: title(kind), title: displayText(place.name), subtitle: [around, coordinates(at.lat, at.lon, 4)].filter(Boolean).join('\n'), chips },
      known, more, nearbyList(at, { mark, choose, signal: question, announce }))
    if (moving) fly(place)
    // Without what is at its point the card still has all else.
    fetchPoint(at.lat, at.lon, { signal: question }).then(here => {
      const missing = new Set(here.missing ?? [])
      fill(known, facts(rows(place, here.regions ?? [], open)))
      fill(more, localTime(place.timezone ? { ...here, timezone: { id: place.timezone } } : here, missing),
        place.kind !== 'airport' && nearest(at, here, missing, { mark, goTo: fly, only: ['airport'] }))
    }, () => fill(more))
  }

  // A link knows only the id, and a hit of a search some of the rest; the record is asked for.
  async function load(name, moving, hit = null) {
    const question = signal()
    const [ask, path] = name.kind === 'airport' ? [fetchAirport, name.code] : [fetchPlace, name.id]
    select(null)
    pin(hit)
    const around = hit ? contextOf(hit) : ''
    const heading = { kicker: name.kind === 'airport' ? t('Airport') : t('Place'), title: displayText(hit?.name) || t('No answer'), subtitle: around }
    card.show({ ...heading, title: displayText(hit?.name) || t('Looking…'), busy: true }, skeleton(4))
    if (hit) fly({ ...hit, ...placeOfHit(hit) })
    try {
      const place = await ask(path, { signal: question })
      if (question.aborted) return
      show(name.kind === 'airport' ? { ...place, kind: 'airport' } : place, question, moving && !hit, around)
    } catch (error) {
      if (question.aborted) return
      const gone = ['place-not-found', 'airport-not-found', 'bad-parameter'].includes(error.type)
      card.show(heading,
        gone ? note(t('The link names a place that this server does not have.'), t('Search for it by its name.')) : failure(error, () => load(name, moving, hit), t('Places')))
    }
  }

  return {
    load,

    /** Shows a place of which everything is known. */
    show(place, moving) {
      select(null)
      show(place, signal(), moving)
    },

    /** Says that nothing has that name, or, of an error, why the page does not know. */
    nothing(text, error, retry) {
      signal()
      select(null)
      pin(null)
      card.show({ kicker: t('Search'), title: displayText(text, 64) }, notFound(error) ?? failure(error, retry, t('Places')))
    },
  }
}

// That there is nothing to find is no failure.
function notFound(error) {
  if (!error) return note(t('Nothing has this name, in any language these data know.'), t('Check its spelling, or type only its beginning.'))
  if (error.type === 'bad-parameter') return note(t('This is nothing to search for.'), `${SEARCHABLE}.`)
  return null
}

// The regions are those at the place; where none is drawn, it says its own.
function rows(place, regions, open) {
  const has = type => regions.some(region => region.type === type)
  return [
    [t('Code'), [place.iata, place.icao].map(code => displayText(code, 8)).filter(Boolean).join(' · ')],
    [t('City'), displayText(place.municipality)],
    [t('Division'), has('state') ? '' : displayText(place.admin1_name)],
    ...regionRows(regions.filter(({ type }) => PARTS.has(type)).toReversed(), open),
    [t('Country'), has('country') ? '' : displayText(place.country_name) || countryName(place.country)],
    [t('Population'), population(place.population)],
    [t('Elevation'), landHeight(place.elevation_m ?? place.dem_m)],
  ]
}

const PARTS = new Set(['country', 'state', 'county', 'municipality'])
