// Where an IP address is: the box at the top or "where am I", its answer, and the flight there.
import { address, addressPath, region, search } from '../server/api.js'
import { link, localTime } from './around.js'
import { facts, failure, jsonLink, note, skeleton } from './card.js'
import { copyButton } from './copy.js'
import { coordinates, distance } from '../words/format.js'
import { displayText } from '../words/text.js'
import { SEARCHABLE } from './found.js'
import { nameIn } from '../words/language.js'
import { takeAlong } from './share.js'
import { isBox } from '../engine/tilegrid.js'
import { t } from '../words/words.js'

/** What stands for the reader's own address. */
export const ME = 'me'

/**
 * Answers for IP addresses. flyToPoint and flyToBox move the map, select highlights a region, pin marks a point or none;
 * signal() ends the question before and gives the signal of the new one.
 */
export function createAddressLookup({ card, zoom, pin, select, flyToPoint, flyToBox, signal, announce, open }) {
  return async function lookup(input, moving = true, words = '') {
    const ip = input.trim()
    const question = { signal: signal() }
    const own = ip === ME
    const kicker = own ? t('Where you are, by your IP address') : t('IP address')
    pin(null)
    select(null)
    if (ip === '') {
      card.show({ kicker: t('Search'), title: t('What are you looking for?') },
        note(`${SEARCHABLE}.`))
      return
    }
    const asked = own ? t('Your address') : displayText(ip, 64)
    const json = jsonLink(addressPath(ip))
    card.show({ kicker, title: asked, busy: true }, skeleton(3))
    try {
      const answer = await address(ip, question)
      if (question.signal.aborted) return
      const location = locationOf(answer)
      const radius = accuracyOf(answer)
      const text = displayText(answer.ip ?? ip, 64)
      const zone = displayText(answer.location?.time_zone)
      const chips = [copyButton(t('Copy address'), () => text, announce), ...takeAlong({ title: text, path: addressPath(ip), at: location, zoom, announce })]
      card.show({ kicker, title: text, subtitle: placeOf(answer) || t('Nothing more than its network is known'), chips },
        words, facts(rows(answer, location, open)), exactness(answer, location), zone && localTime({ timezone: { id: zone } }))
      const country = countryCode(answer)
      if (location) {
        pin(location, radius)
        if (moving) flyToPoint(location, radius)
      } else if (country) {
        select({ type: 'country', id: country })
        if (moving) await flyToCountry(country, answer.country.names?.en, question)
      }
    } catch (error) {
      if (question.signal.aborted) return
      const reserved = reservedOf(error)
      if (reserved) {
        card.show({ kicker, title: reserved.ip || asked, subtitle: t('{use}: nowhere', { use: reserved.use }), chips: [json] }, note(
          own ? t('You reach this server over an address that has no place on the map, from this machine or its own network.')
            : t('This address is set aside for a purpose and has no place on the map.'), reserved.why))
      } else if (error.type === 'address-not-found') {
        card.show({ kicker, title: asked, subtitle: t('Not known'), chips: [json] }, note(t('None of the sources of this server knows the address.')))
      } else if (error.type === 'bad-parameter') {
        card.show({ kicker, title: asked }, note(t('This is not a whole IP address, such as 192.0.2.1 or 2001:db8::1.'), t('Complete it and search again.')))
      } else {
        card.show({ kicker, title: asked }, failure(error, () => lookup(input, moving, words), t('IP addresses')))
      }
    }
  }

  // The answer stands without the flight: a server without that country's boundary still located the address.
  // What is meant is its main land, which the search knows: the United States without Alaska and Hawaii.
  async function flyToCountry(id, name, question) {
    const { results = [] } = name ? await search(name, null, question).catch(() => ({})) : {}
    const main = results.find(hit => hit.type === 'country' && hit.id === id && isBox(hit.bbox))
    const record = main ?? await region('country', id, question).catch(() => null)
    if (!question.signal.aborted && isBox(record?.bbox)) flyToBox(record.bbox)
  }
}

/**
 * What the server says of an address that is nobody's, { ip, use, why }, such as 127.0.0.1, "Loopback", and its own sentence; null
 * for any other error.
 */
export function reservedOf({ type, detail = '' }) {
  if (type !== 'address-reserved') return null
  const [, ip = '', use = ''] = /^([0-9a-f.:]+) is in \S+ \((.*?)(?:, RFC[^)]*)?\)/i.exec(detail) ?? []
  return { ip, use: use || 'Reserved', why: detail }
}

/** Within how many kilometres of its coordinates an answer holds, 0 when it does not say. */
export function accuracyOf({ location } = {}) {
  const radius = location?.accuracy_radius
  return Number.isFinite(radius) && radius > 0 && radius <= 20_100 ? radius : 0
}

/** The coordinates of an answer, or null when it has none. */
export function locationOf({ location } = {}) {
  const { latitude: lat, longitude: lon } = location ?? {}
  return Number.isFinite(lat) && Number.isFinite(lon) ? { lat, lon } : null
}

/** The region id of the answer's country, or '' when it has none. */
export function countryCode({ country } = {}) {
  const code = country?.iso_code
  return typeof code === 'string' && /^[A-Za-z]{2}$/.test(code) ? code.toLowerCase() : ''
}

/** "Zürich, Switzerland": the most an answer says about the place. */
export function placeOf(answer) {
  const names = [answer.city, answer.subdivisions?.[0], answer.country].map(nameOf).filter(Boolean)
  return [...new Set(names)].join(', ')
}

function nameOf(part) {
  return displayText(nameIn(part?.names)) || displayText(part?.iso_code)
}

// How exact the answer is, in words.
function exactness(answer, location) {
  if (!location) return countryCode(answer) ? note(t('Known to the country only.')) : ''
  const radius = accuracyOf(answer)
  return radius > 0 ? note(t('The address is somewhere within {distance} of the pin.', { distance: distance(1000 * radius) })) : ''
}

function rows(answer, location, open) {
  const { traits = {}, country, registered_country: registered } = answer
  const joined = (...parts) => parts.filter(Boolean).join(' · ')
  const code = displayText(country?.iso_code)
  const asn = traits.autonomous_system_number
  return [
    [t('Country'), countryCode(answer) ? link(nameOf(country), { kind: 'region', type: 'country', id: countryCode(answer) }, open) : joined(nameOf(country), nameOf(country) !== code && code)],
    [t('Division'), nameOf(answer.subdivisions?.[0])],
    [t('City'), nameOf(answer.city)],
    [t('Postal code'), displayText(answer.postal?.code, 16)],
    [t('Registered in'), country ? '' : nameOf(registered)],
    [t('Network'), displayText(traits.network)],
    [t('Operator'), joined(Number.isInteger(asn) && `AS${asn}`, displayText(traits.autonomous_system_organization ?? traits.isp))],
    [t('Coordinates'), location ? coordinates(location.lat, location.lon, 3) : ''],
    [t('Source'), displayText([answer.source].flat().filter(name => typeof name === 'string').join(', '))],
  ]
}
