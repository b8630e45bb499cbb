import assert from 'node:assert/strict'
import test from 'node:test'
import { namer } from '../src/engine/namer.js'
import { worldView } from '../src/engine/tilegrid.js'

test('names come in the reader\'s language where the data or the browser know them', () => {
  const german = namer(['de-AT', 'de'])
  assert.equal(german('country', 'gr', { name: 'Greece' }), 'Griechenland')
  assert.equal(german('country', 'xx', { name: 'Nowhere' }), 'Nowhere')
  assert.equal(german('state', 'gr', { name: 'Greece', 'name:de': 'Graubünden' }), 'Graubünden')
  assert.equal(german('places', '', { name: 'Vienna', name_de: 'Wien\u202E' }), 'Wien')
  assert.equal(namer([])('country', 'gr', { name: 'Greece', 'name:de': 'Griechenland' }), 'Greece')
  assert.equal(namer(['not a code'])('country', 'gr', {}), '')
})

// Latitude at a part of the world's height.
const latitude = part => Math.atan(Math.sinh(Math.PI * (1 - 2 * part))) * 180 / Math.PI

test('the first view shows where people live, with little of Antarctica', () => {
  for (const [width, height, least] of [[1280, 800, 2], [390, 844, 2], [2560, 1080, 2], [320, 568, 1], [5120, 1440, 3], [844, 390, 1]]) {
    const { lat, lon, zoom } = worldView({ width, height }, least)
    const half = height / 2 / (256 * 2 ** zoom)
    const middle = (1 - Math.asinh(Math.tan(lat * Math.PI / 180)) / Math.PI) / 2
    assert.ok(zoom >= least && Number.isFinite(lat) && lon === 12)
    assert.ok(middle - half > -0.01, `${width} × ${height}: nothing north of the world`)
    assert.ok(latitude(middle + half) > -63, `${width} × ${height}: down to ${latitude(middle + half)}`)
  }
})
