import assert from 'node:assert/strict'
import test from 'node:test'
import { countryCode, locationOf, placeOf } from '../src/panels/address.js'

test('an answer\'s place, as far as it goes', () => {
  const country = { iso_code: 'CH', names: { en: 'Switzerland' } }
  assert.equal(placeOf({ city: { names: { en: 'Zürich' } }, country }), 'Zürich, Switzerland')
  assert.equal(placeOf({ city: { names: { en: 'Singapore' } }, country: { iso_code: 'SG', names: { en: 'Singapore' } } }), 'Singapore')
  assert.equal(placeOf({ country: { iso_code: 'CH' } }), 'CH')
  assert.equal(placeOf({}), '')
})

test('coordinates and country are taken only when they are such', () => {
  assert.deepEqual(locationOf({ location: { latitude: 0, longitude: 0 } }), { lat: 0, lon: 0 })
  for (const location of [undefined, null, {}, { latitude: '1', longitude: 2 }, { latitude: 1 }]) assert.equal(locationOf({ location }), null)
  assert.equal(countryCode({ country: { iso_code: 'NA' } }), 'na')
  for (const iso_code of [undefined, 7, '', 'CHE', '../']) assert.equal(countryCode({ country: { iso_code } }), '')
})
