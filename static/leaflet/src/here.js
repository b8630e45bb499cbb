// "What is here": everything the server knows about a point, by one call, and the places near it.
import { point as fetchPoint, pointPath } from './api.js'
import { facts, failure, jsonLink, part, skeleton } from './card.js'
import { ticking } from './clock.js'
import { copyButton } from './copy.js'
import { el } from './dom.js'
import { coordinates, displayText, distance, title, utcOffset, zoneBasis } from './format.js'
import { decimals, MAX_LATITUDE, wrapLongitude } from './hash.js'
import { nearbyList } from './nearby.js'
import { highlighted, visibleTypes } from './regiontypes.js'

const KICKER = 'What is here'

/** A point of the map as a permalink has it: on the grid of the world, as exact as the zoom shows it. */
export function pointAt({ lat, lon, zoom }) {
  const digits = Math.min(6, Math.max(2, decimals(zoom) + 1))
  const round = value => Number(value.toFixed(digits))
  return { kind: 'point', lat: round(Math.min(MAX_LATITUDE, Math.max(-MAX_LATITUDE, lat))), lon: round(wrapLongitude(lon)) }
}

/**
 * Answers for points. pin marks the point; select highlights a region; offer(regions) is what there is to do with regions; flyToPoint moves the map; mark rings a place; choose opens
 * a place of the list; signal() ends the question before and gives the signal of the new one.
 */
export function createHere({ card, types, zoom, pin, mark, select, offer, flyToPoint, choose, signal, announce }) {
  return async function here(at) {
    const question = { signal: signal() }
    const subtitle = () => coordinates(at.lat, at.lon, Math.min(5, Math.max(2, decimals(zoom()))))
    const chips = [copyButton('Copy coordinates', () => `${at.lat}, ${at.lon}`, announce), jsonLink(pointPath(at.lat, at.lon))]
    pin(at)
    select(null)
    card.show({ kicker: KICKER, title: 'Looking…', subtitle: subtitle(), chips, busy: true }, skeleton(5))
    const near = nearbyList(at, { mark, choose, signal: question.signal, announce })
    try {
      const answer = await fetchPoint(at.lat, at.lon, question)
      if (question.signal.aborted) return
      const found = regionList(answer)
      const target = highlighted(found, visibleTypes(types, zoom()))
      if (target) select({ type: target.type, id: target.id })
      const missing = new Set(Array.isArray(answer?.missing) ? answer.missing : [])
      const goTo = spot => flyToPoint(spot, 5)
      card.show({ kicker: KICKER, title: heading(found, missing), subtitle: subtitle(), chips },
        regionFacts(found, types, missing), offer(found), localTime(answer, missing), nearest(answer, missing, { mark, goTo }), near)
    } catch (error) {
      if (question.signal.aborted) return
      card.show({ kicker: KICKER, title: error.type === 'dataset-missing' ? 'A point on Earth' : 'No answer', subtitle: subtitle(), chips },
        failure(error, () => here(at), 'Regions, time zones, airports and stations'), near)
    }
  }
}

function heading(found, missing) {
  // Nobody calls a spot by its time zone where another region contains it.
  const region = found.findLast(({ type }) => type !== 'timezone') ?? found.at(-1)
  const finest = displayText(region?.name) || displayText(region?.id)
  return finest || (missing.has('boundaries') ? 'A point on Earth' : 'Outside every region')
}

// The regions of an answer, coarse first as the server sends them.
function regionList(answer) {
  return (Array.isArray(answer?.regions) ? answer.regions : []).filter(region => typeof region?.type === 'string')
}

function regionFacts(found, types, missing) {
  if (missing.has('boundaries')) return absent('Regions')
  if (found.length === 0) return el('p', { class: 'quiet lead' }, 'Open sea, or land that no published boundary covers.')
  const rank = ({ type }) => types.findIndex(known => known.type === type)
  return facts(found.toSorted((a, b) => rank(a) - rank(b)).map(region => [
    title(region.type),
    el('span', {}, el('bdi', {}, displayText(region.name) || displayText(region.id)), el('code', {}, displayText(region.id, 24))),
  ]))
}

function localTime({ timezone, at }, missing) {
  const zone = displayText(timezone?.id)
  if (!zone) return missing.has('timezones') ? absent('Time zones') : el('p', { class: 'quiet lead' }, 'The time zone is not known here.')
  const now = Date.parse(at)
  const offset = timezone.offset_s
  const clock = Number.isFinite(now) && Number.isFinite(offset) && ticking(now, offset)
  const season = timezone.dst ? 'summer time' : ''
  const also = [timezone.also ?? []].flat().map(id => displayText(id)).filter(Boolean).join(', ')
  const words = [zone, utcOffset(offset), season, zoneBasis(timezone), also && `also ${also}`].filter(Boolean).join(' · ')
  return part(timezone.nautical ? 'Nautical time' : 'Local time', clock, el('p', { class: 'quiet small' }, words))
}

// The nearest of each kind; what is not published says so.
function nearest(answer, missing, { mark, goTo }) {
  const codes = (...parts) => [...new Set(parts.map(code => displayText(code, 16)).filter(Boolean))].join(' · ')
  const kinds = [
    ['place', 'places', 'Place', ''],
    ['airport', 'airports', 'Airport', codes(answer?.airport?.iata, answer?.airport?.icao)],
    ['station', 'stations', 'Weather', codes(answer?.station?.icao)],
  ]
  const rows = kinds.map(([key, dataset, label, code]) => {
    const spot = answer?.[key]
    if (Number.isFinite(spot?.lat) && Number.isFinite(spot?.lon)) return [label, spotButton(spot, code, { mark, goTo })]
    return [label, el('span', { class: 'quiet' }, missing.has(dataset) ? 'not on this server' : 'none near')]
  })
  const list = facts(rows)
  list.classList.add('nearest')
  return part('Nearest', list)
}

function spotButton(spot, code, { mark, goTo }) {
  return el('button', {
    type: 'button', class: 'spot', title: 'Show on the map', onclick: () => goTo(spot),
    onpointerenter: () => mark(spot), onpointerleave: () => mark(null), onfocus: () => mark(spot), onblur: () => mark(null),
  },
  el('span', {}, el('bdi', {}, displayText(spot.name)), code && el('code', {}, code)),
  el('span', { class: 'place-distance' }, distance(spot.distance_m)))
}

function absent(what) {
  return el('p', { class: 'quiet lead' }, `${what} are not published on this server.`)
}
