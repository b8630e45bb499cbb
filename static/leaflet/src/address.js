// Where an IP address is: the box at the top, its answer, and the flight there.
import { address, region } from './api.js'
import { facts, problem, skeleton } from './card.js'
import { coordinates, displayText } from './format.js'
import { isBox } from './tilegrid.js'

/**
 * Answers for IP addresses. flyToPoint and flyToBox move the map, select highlights a region, pin marks a point or none;
 * signal() ends the question before and gives the signal of the new one.
 */
export function createAddressLookup({ card, pin, select, flyToPoint, flyToBox, signal }) {
  return async function lookup(input) {
    const ip = input.trim()
    const question = { signal: signal() }
    pin(null)
    select(null)
    if (ip === '') {
      const hint = problem('Type an IP address, like 192.0.2.1 or 2001:db8::1.')
      card.show({ kicker: 'IP address', title: 'Which address?' }, hint)
      return
    }
    card.show({ kicker: 'IP address', title: displayText(ip, 64), busy: true }, skeleton(3))
    try {
      const answer = await address(ip, question)
      const location = locationOf(answer)
      const heading = { kicker: 'IP address', title: displayText(answer.ip ?? ip, 64), subtitle: placeOf(answer) }
      card.show(heading, facts(rows(answer, location)))
      const country = countryCode(answer)
      if (location) {
        pin(location)
        flyToPoint(location, Number(answer.location.accuracy_radius))
      } else if (country) {
        select({ type: 'country', id: country })
        await flyToCountry(country, question)
      }
    } catch (error) {
      if (question.signal.aborted) return
      card.show({ kicker: 'IP address', title: displayText(ip, 64) }, problem(error.message))
    }
  }

  // The answer stands without the flight: a server without that country's boundary still located the address.
  async function flyToCountry(id, question) {
    const record = await region('country', id, question).catch(() => null)
    if (!question.signal.aborted && isBox(record?.bbox)) flyToBox(record.bbox)
  }
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
  return displayText(part?.names?.en) || displayText(part?.iso_code)
}

function rows(answer, location) {
  const { traits = {}, country, registered_country: registered } = answer
  const joined = (...parts) => parts.filter(Boolean).join(' · ')
  const code = displayText(country?.iso_code)
  const asn = traits.autonomous_system_number
  return [
    ['Country', joined(nameOf(country), nameOf(country) !== code && code)],
    ['City', nameOf(answer.city)],
    ['Registered in', country ? '' : nameOf(registered)],
    ['Network', displayText(traits.network)],
    ['Operator', joined(Number.isInteger(asn) && `AS${asn}`, displayText(traits.autonomous_system_organization ?? traits.isp))],
    ['Coordinates', location ? coordinates(location.lat, location.lon, 3) : ''],
    ['Accuracy', Number.isFinite(answer.location?.accuracy_radius) ? `within ${answer.location.accuracy_radius} km` : ''],
    ['Time zone', displayText(answer.location?.time_zone)],
    ['Source', displayText([answer.source].flat().filter(name => typeof name === 'string').join(', '))],
  ]
}
