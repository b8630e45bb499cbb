// "What is here": a click asks for the regions at the point and the places near it.
import { placesNearby, regionsAt } from './api.js'
import { facts, part, problem, skeleton } from './card.js'
import { el } from './dom.js'
import { coordinates, displayText, distance, placeKind, population, title } from './format.js'
import { decimals, MAX_LATITUDE, wrapLongitude } from './hash.js'
import { highlighted, visibleTypes } from './regiontypes.js'

const NEAREST = 5

/**
 * Answers for points of the map. pin marks the point; select highlights a region; goTo moves the map to a place;
 * signal() ends the question before and gives the signal of the new one.
 */
export function createHere({ card, types, pin, select, goTo, signal }) {
  return async function here({ lat, lon, zoom }) {
    const question = { signal: signal() }
    const digits = Math.min(5, Math.max(2, decimals(zoom)))
    const at = { lat: round(clampLatitude(lat), 6), lon: round(wrapLongitude(lon), 6) }
    const subtitle = coordinates(at.lat, at.lon, digits)
    pin({ lat, lon })
    select(null)
    card.show({ kicker: 'What is here', title: 'Looking…', subtitle, busy: true }, skeleton(4))

    const [regions, places] = await Promise.allSettled([
      regionsAt(at.lat, at.lon, question),
      placesNearby(at.lat, at.lon, NEAREST, question),
    ])
    if (question.signal.aborted) return
    const found = regionList(regions.value)
    const target = highlighted(found, visibleTypes(types, zoom))
    if (target) select({ type: target.type, id: target.id })
    card.show({ kicker: 'What is here', title: heading(regions, found), subtitle },
      part('Regions', regions.status === 'rejected' ? problem(regions.reason.message) : regionFacts(found, types)),
      part('Nearest places', places.status === 'rejected' ? problem(places.reason.message) : placeList(places.value, goTo)))
  }
}

function heading(regions, found) {
  if (regions.status === 'rejected') return 'No answer'
  return displayText(found.at(-1)?.name) || 'Outside every region'
}

// The regions of an answer, coarse first as the server sends them.
function regionList(answer) {
  return (Array.isArray(answer?.regions) ? answer.regions : []).filter(region => typeof region?.type === 'string')
}

function regionFacts(found, types) {
  if (found.length === 0) return el('p', { class: 'quiet' }, 'Open sea, or land that no published boundary covers.')
  const rank = ({ type }) => types.findIndex(known => known.type === type)
  return facts(found.toSorted((a, b) => rank(a) - rank(b)).map(region => [
    title(region.type),
    el('span', {}, displayText(region.name) || displayText(region.id), el('code', {}, displayText(region.id, 24))),
  ]))
}

function placeList(answer, goTo) {
  const places = (Array.isArray(answer?.places) ? answer.places : [])
    .filter(place => Number.isFinite(place?.lat) && Number.isFinite(place?.lon))
  if (places.length === 0) return el('p', { class: 'quiet' }, 'No place is published yet.')
  return el('ol', { class: 'places' }, ...places.map(place => {
    const people = population(place.population)
    const kind = placeKind(place.class, place.code, place.population)
    return el('li', {}, el('button', { type: 'button', onclick: () => goTo(place) },
      el('span', { class: 'place-name' }, displayText(place.name)),
      el('span', { class: 'place-distance' }, distance(place.distance_m)),
      el('span', { class: 'place-kind' }, people ? `${kind}, ${people} people` : kind)))
  }))
}

const clampLatitude = lat => Math.min(MAX_LATITUDE, Math.max(-MAX_LATITUDE, lat))
const round = (value, digits) => Number(value.toFixed(digits))
