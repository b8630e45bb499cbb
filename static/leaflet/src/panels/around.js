// What a card tells of the surroundings of a point: its time, its regions, what is nearest, and the country.
import { country as fetchCountry } from '../server/api.js'
import { distanceAndWind } from './bearing.js'
import { facts, part, ringing, skeleton } from './card.js'
import { ticking } from './clock.js'
import { el, fill } from '../dom.js'
import { countryName, currencyName, isUsual, landSize, languageNames, population, typeName, utcOffset, wallClock, zoneBasis } from '../words/format.js'
import { displayText } from '../words/text.js'
import { regionOf } from '../hash.js'
import { t } from '../words/words.js'

const NEAR_ENOUGH = 50_000 // metres; a zone borrowed from farther away may be wrong by hours

/** The local time of an answer of /at. A clock is shown only where the time is known. */
export function localTime({ timezone, at }, missing = new Set()) {
  const zone = displayText(timezone?.id)
  if (!zone) return missing.has('timezones') ? absent(t('Time zones')) : el('p', { class: 'quiet lead' }, t('The time zone is not known here.'))
  const now = Date.parse(at) || Date.now()
  const known = timezone.match !== 'nearest' || timezone.distance_m <= NEAR_ENOUGH
  const wall = known && wallClock(now, zone)
  const also = [timezone.also ?? []].flat().map(id => displayText(id)).filter(Boolean).join(', ')
  const words = [zone, wall && utcOffset(wall.offset), wall && wall.name, zoneBasis(timezone), also && t('also {zones}', { zones: also })].filter(Boolean).join(' · ')
  const what = known ? words : [t('Not known here'), words].join(': ')
  return part(timezone.nautical ? t('Nautical time') : t('Local time'), wall && ticking(zone, now), el('p', { class: 'quiet small' }, what))
}

/** A link of a card to another card: open(selection) opens it. Where there are no others it is a text. */
export const link = (words, selection, open) => !open ? el('bdi', {}, words) : el('button', { type: 'button', class: 'link', dir: 'auto', onclick: () => open(selection) }, words)

/** The regions around something as rows of a card, the finest first, linked where they have cards: regions are { type, id, name }. */
export function regionRows(regions, open) {
  return regions.filter(({ type }) => isUsual(type) && type !== 'timezone').map(({ type, id, name }) => {
    const selection = type === 'city' ? { kind: 'place', id } : type === 'admin1' ? null : regionOf(type, id)
    const words = displayText(name) || (type === 'country' ? countryName(displayText(id).toUpperCase()) : '')
    return [typeName(type), words && selection ? link(words, selection, open) : words]
  })
}

/** What is known of a country by its region's id, which comes when the server has answered; nothing where it does not know it. */
export function aboutCountry(id, { open, signal }) {
  const code = displayText(id).toUpperCase()
  if (countryName(code) === code) return '' // an area of a map that is no country of ISO 3166
  const root = el('section', {}, skeleton(4))
  fetchCountry(id, { signal }).then(known => fill(root, facts(countryRows(known, open))), () => fill(root))
  return root
}

function countryRows({ capital, capital_id: place, population: people, area_km2: area, languages = [], currency_code: currency, neighbours = [] }, open) {
  const near = neighbours.flatMap(code => [', ', link(countryName(code), { kind: 'region', type: 'country', id: code.toLowerCase() }, open)]).slice(1)
  return [
    [t('Capital'), place ? link(displayText(capital), { kind: 'place', id: String(place) }, open) : displayText(capital)],
    [t('Population'), population(people)],
    [t('Area'), area > 0 ? landSize(1e6 * area) : ''],
    [t('Languages'), languageNames(languages)],
    [t('Currency'), currency ? currencyName(currency) : ''],
    [t('Neighbours'), near.length > 0 ? el('span', { class: 'link-list' }, ...near) : ''],
  ]
}

/** The nearest of each of some kinds in an answer of /at; what is not published says so. */
export function nearest(at, answer, missing, { mark, goTo, only = ['place', 'airport', 'station'] }) {
  const codes = (...parts) => [...new Set(parts.map(code => displayText(code, 16)).filter(Boolean))].join(' · ')
  const kinds = [
    ['place', 'places', t('Place'), ''],
    ['airport', 'airports', t('Airport'), codes(answer?.airport?.iata, answer?.airport?.icao)],
    ['station', 'stations', t('Weather'), codes(answer?.station?.icao)],
  ].filter(([key]) => only.includes(key))
  const rows = kinds.map(([key, dataset, label, code]) => {
    const spot = answer?.[key]
    if (Number.isFinite(spot?.lat) && Number.isFinite(spot?.lon)) return [label, spotButton(at, spot, code, { mark, goTo })]
    return [label, el('span', { class: 'quiet' }, missing.has(dataset) ? t('not on this server') : t('none near'))]
  })
  const list = facts(rows)
  list.classList.add('nearest')
  return part(t('Nearest'), list)
}

function spotButton(at, spot, code, { mark, goTo }) {
  return el('button', {
    type: 'button', class: 'spot', title: t('Show on the map'), onclick: () => goTo(spot), ...ringing(mark, spot),
  },
  el('span', {}, el('bdi', {}, displayText(spot.name)), code && el('code', {}, code)),
  el('span', { class: 'place-distance' }, distanceAndWind(at, spot)))
}

/** That the server lacks something. */
export function absent(what) {
  return el('p', { class: 'quiet lead' }, t('{what} are not published on this server.', { what }))
}
