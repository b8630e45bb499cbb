// What a search finds, in words and icons: places, regions, airports, time zones, stations, positions, points of collections.
import { coordinates, placeKind, typeWord } from '../words/format.js'
import { displayText } from '../words/text.js'
import { AIRPORT_CODE, PLACE_ID, regionOf } from '../hash.js'
import { pointAt } from './here.js'
import { t } from '../words/words.js'

/** An icon for each kind, as a path in a 24 × 24 box: a dot on a ring, an outline, a plane, a clock, a mast, a pin, a diamond. */
const icons = new Map([
  ['place', 'M12 5.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13zM12 11a1 1 0 1 0 0 2 1 1 0 0 0 0-2z'],
  ['region', 'M4.5 8.5l6.5-4 8.5 2.5-1 9.5-6.5 3-7-3.5z'],
  ['airport', 'M12 3c1 0 1.6 1 1.6 2.4v4.1l7 4.2v2l-7-2v4l2.2 1.7V21L12 20l-3.8 1v-1.6l2.2-1.7v-4l-7 2v-2l7-4.2V5.4C10.4 4 11 3 12 3z'],
  ['timezone', 'M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16zM12 8v4.5l3 2'],
  ['station', 'M12 11.5V21M8.5 21h7M8.5 11.5a5 5 0 0 1 0-7M15.5 4.5a5 5 0 0 1 0 7M12 7a1 1 0 1 0 0 2 1 1 0 0 0 0-2z'],
  ['position', 'M12 21s-6.5-6-6.5-11a6.5 6.5 0 0 1 13 0c0 5-6.5 11-6.5 11zM12 9a1 1 0 1 0 0 2 1 1 0 0 0 0-2z'],
  ['point', 'M12 4.5l7.5 7.5-7.5 7.5L4.5 12z'],
])

export const iconOf = ({ kind }) => icons.get(kind) ?? icons.get('point')

/** Whether a result says where it is. */
export const isHit = hit => Math.abs(hit?.lat) <= 90 && Math.abs(hit?.lon) <= 180

/**
 * Whether a result is only near to what was typed: it is spelled otherwise, only a part of the text names it, or the text is a word
 * inside its name. Airports are called by such words: "heathrow".
 */
export const isGuess = ({ kind, match }) => ['typo', 'part'].includes(match?.kind) || match?.kind === 'word' && kind !== 'airport'

/** The class, code and people of a place that was found, as its record has them. */
export function placeOfHit({ type, population }) {
  const [featureClass, code] = displayText(type).split('.')
  return { class: featureClass, code, population }
}

/** The regions around a result, as its label names them: "Oregon, United States". */
export function contextOf({ name, label }) {
  if (typeof label !== 'string' || label === name) return ''
  return displayText(label.startsWith(`${name}, `) ? label.slice(name.length + 2) : label)
}

/** What a result is, in a word or two: "capital", "state", "airport LHR", "plus code". */
export function kindOf({ kind, type, code, population, match }) {
  const word = typeWord(type)
  if (kind === 'place') {
    const place = placeOfHit({ type, population })
    return placeKind(place.class, place.code, population)
  }
  if (kind === 'airport') {
    const shown = match?.name === code ? '' : displayText(code, 8) // the name has it already
    return [word && !/airport$/.test(word) ? word : t('airport'), shown].filter(Boolean).join(' ')
  }
  return kind === 'timezone' ? t('time zone') : word || displayText(kind, 32)
}

/** A result with the name to show: a position's is its coordinates, with their hemispheres. */
export function named(hit) {
  return hit.kind === 'position' ? { name: coordinates(hit.lat, hit.lon) } : hit
}

/** What a permalink calls a result: the record it stands for, else the point. */
export function selectionOf(hit) {
  const { kind, type, id, code, bbox } = hit
  if (kind === 'place' && PLACE_ID.test(id ?? '')) return { kind, id }
  const airport = kind === 'airport' && [code, id].find(text => AIRPORT_CODE.test(text ?? ''))
  if (airport) return { kind, code: airport }
  // A country that no layer draws has no box, and no record.
  const region = (kind === 'region' && Array.isArray(bbox) || kind === 'timezone') && regionOf(type, id)
  return region || pointAt({ ...hit, zoom: Infinity })
}
