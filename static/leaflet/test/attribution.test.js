import assert from 'node:assert/strict'
import test from 'node:test'
import { attributions, splitLinks } from '../src/server/attribution.js'

test('every source once, by its attribution or else its name', () => {
  assert.deepEqual(attributions({ datasets: [
    { name: 'boundaries', sources: [{ name: 'world-atlas', attribution: 'Natural Earth' }, { name: 'x', attribution: 'Natural Earth' }] },
    { name: 'places', sources: [{ name: 'cities' }, {}, null] },
    { name: 'ip' }, {},
  ] }), ['Natural Earth', 'cities'])
  for (const bad of [undefined, null, {}, { datasets: {} }]) assert.deepEqual(attributions(bad), [])
})

test('addresses in an attribution become links, nothing else does', () => {
  assert.deepEqual(splitLinks('GeoNames (CC BY 4.0, https://www.geonames.org)'), [
    { text: 'GeoNames (CC BY 4.0, ' }, { text: 'www.geonames.org', href: 'https://www.geonames.org' }, { text: ')' },
  ])
  assert.deepEqual(splitLinks('javascript:alert(1) <a href="x">'), [{ text: 'javascript:alert(1) <a href="x">' }])
  assert.deepEqual(splitLinks('© OpenStreetMap contributors'), [
    { text: '© ' }, { text: 'OpenStreetMap', href: 'https://www.openstreetmap.org/copyright' }, { text: ' contributors' },
  ])
  assert.deepEqual(splitLinks('GeoNames'), [{ text: 'GeoNames', href: 'https://www.geonames.org' }])
  assert.deepEqual(splitLinks(''), [])
})
