// Where an IP address is: the box at the top or "where am I", its answer, and the flight there.
import { address, addressPath, region } from './api.js'
import { facts, failure, jsonLink, note, skeleton } from './card.js'
import { copyButton } from './copy.js'
import { coordinates, displayText } from './format.js'
import { SEARCHABLE } from './found.js'
import { nameIn } from './language.js'
import { isBox } from './tilegrid.js'

/** What stands for the reader's own address. */
export const ME = 'me'

/**
 * Answers for IP addresses. flyToPoint and flyToBox move the map, select highlights a region, pin marks a point or none;
 * signal() ends the question before and gives the signal of the new one.
 */
export function createAddressLookup({ card, pin, select, flyToPoint, flyToBox, signal, announce }) {
  return async function lookup(input, moving = true) {
    const ip = input.trim()
    const question = { signal: signal() }
    const own = ip === ME
    const kicker = own ? 'Where you are, by your IP address' : 'IP address'
    pin(null)
    select(null)
    if (ip === '') {
      card.show({ kicker: 'Search', title: 'What are you looking for?' },
        note(`${SEARCHABLE} such as 192.0.2.1 or 2001:db8::1.`))
      return
    }
    const asked = own ? 'Your address' : displayText(ip, 64)
    const json = jsonLink(addressPath(ip))
    card.show({ kicker, title: asked, busy: true }, skeleton(3))
    try {
      const answer = await address(ip, question)
      if (question.signal.aborted) return
      const location = locationOf(answer)
      const radius = accuracyOf(answer)
      const text = displayText(answer.ip ?? ip, 64)
      const chips = [copyButton('Copy address', () => text, announce), json]
      card.show({ kicker, title: text, subtitle: placeOf(answer) || 'Nothing more than its network is known', chips },
        facts(rows(answer, location)), location || !countryCode(answer) ? '' : note('Known to the country only.'))
      const country = countryCode(answer)
      if (location) {
        pin(location, radius)
        if (moving) flyToPoint(location, radius)
      } else if (country) {
        select({ type: 'country', id: country })
        if (moving) await flyToCountry(country, question)
      }
    } catch (error) {
      if (question.signal.aborted) return
      const reserved = reservedOf(error)
      if (reserved) {
        card.show({ kicker, title: reserved.ip || asked, subtitle: `${reserved.use}: nowhere`, chips: [json] }, note(
          own ? 'You reach this server over an address that has no place on the map, from this machine or its own network.'
            : 'This address is set aside for a purpose and has no place on the map.', reserved.why))
      } else if (error.type === 'address-not-found') {
        card.show({ kicker, title: asked, subtitle: 'Not known', chips: [json] }, note('None of the sources of this server knows the address.'))
      } else if (error.type === 'bad-parameter') {
        card.show({ kicker, title: asked }, note('This is not a whole IP address, such as 192.0.2.1 or 2001:db8::1.', 'Complete it and search again.'))
      } else {
        card.show({ kicker, title: asked }, failure(error, () => lookup(input, moving), 'IP addresses'))
      }
    }
  }

  // The answer stands without the flight: a server without that country's boundary still located the address.
  async function flyToCountry(id, question) {
    const record = await region('country', id, question).catch(() => null)
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

function rows(answer, location) {
  const { traits = {}, country, registered_country: registered } = answer
  const joined = (...parts) => parts.filter(Boolean).join(' · ')
  const code = displayText(country?.iso_code)
  const asn = traits.autonomous_system_number
  return [
    ['Country', joined(nameOf(country), nameOf(country) !== code && code)],
    ['Division', nameOf(answer.subdivisions?.[0])],
    ['City', nameOf(answer.city)],
    ['Postal code', displayText(answer.postal?.code, 16)],
    ['Registered in', country ? '' : nameOf(registered)],
    ['Network', displayText(traits.network)],
    ['Operator', joined(Number.isInteger(asn) && `AS${asn}`, displayText(traits.autonomous_system_organization ?? traits.isp))],
    ['Coordinates', location ? coordinates(location.lat, location.lon, 3) : ''],
    ['Accuracy', accuracyOf(answer) ? `within ${accuracyOf(answer)} km` : ''],
    ['Time zone', displayText(answer.location?.time_zone)],
    ['Source', displayText([answer.source].flat().filter(name => typeof name === 'string').join(', '))],
  ]
}
