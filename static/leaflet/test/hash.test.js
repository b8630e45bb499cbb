import assert from 'node:assert/strict'
import test from 'node:test'
import { decimals, formatHash, parseHash, parseState, wrapLongitude } from '../src/hash.js'

test('a view survives the permalink to within a pixel', () => {
  for (let zoom = 0; zoom <= 18; zoom++) {
    for (const [lat, lon] of [[0, 0], [47.376887, 8.541694], [-84.999999, -179.999999], [51.5, 179.99999]]) {
      const view = parseHash(formatHash({ zoom, lat, lon }))
      const pixel = 360 / 256 / 2 ** zoom
      assert.equal(view.zoom, zoom)
      assert.ok(Math.abs(view.lat - lat) <= pixel, `latitude at zoom ${zoom}`)
      assert.ok(Math.abs(wrapLongitude(view.lon - lon)) <= pixel, `longitude at zoom ${zoom}`)
    }
  }
})

test('permalinks are short and have no negative zero', () => {
  assert.equal(formatHash({ zoom: 2, lat: 24.3, lon: 12.1 }), '#2/24.3/12.1')
  assert.equal(formatHash({ zoom: 0, lat: -0.2, lon: -0.4 }), '#0/0/0')
  assert.equal(formatHash({ zoom: 10, lat: 47.376887, lon: 368.541694 }), '#10/47.377/8.542')
  assert.deepEqual([0, 10, 18].map(decimals), [0, 3, 6])
})

test('what is no view is refused, what is out of range is brought into it', () => {
  for (const hash of ['', '#', '#5', '#5/1', '#a/b/c', '#5/91/0', '#5/NaN/0', '#5/1e3/0', '#5//', '#//', '#5/1/9999999']) {
    assert.equal(parseHash(hash), null, hash)
  }
  assert.deepEqual(parseHash('#99/90/190', { minZoom: 2, maxZoom: 18 }), { zoom: 18, lat: 85.05112877980659, lon: -170 })
  assert.deepEqual(parseHash('#0/-1.5/2/extra', { minZoom: 2 }), { zoom: 2, lat: -1.5, lon: 2 })
})

test('other spellings of a view open at the place meant', () => {
  const kansas = { zoom: 5, lat: 38.5, lon: -98.3 }
  for (const hash of [
    '#map=5/38.5/-98.3', '#map=5/38.5/-98.3&layers=N', '#5%2F38.5%2F-98.3', '#5%2f38.5%2f-98.3', '#map=5%2F38.5%2F-98.3', '#5/38.5/-98.3)', '#5/38.5/-98.3]',
    '#5/38.5/-98.3>', '#5/38.5/-98.3).', '#5/38.5/-98.3,', '#5/38.5/-98.3"', '#5%2F38.5%2F-98.3%2Ftiles=1', '#map=5/38.5/-98.3/tiles=1', '#5%2F38.5%2F-98.3%29',
  ]) assert.deepEqual(parseHash(hash), kansas, hash)
  for (const hash of ['#map=', '#map=x/1/2', '#5%2F38.5', '#%2F5%2F1%2F2', '#5%2F%zz%2F1', '#5/1/2x', '#5/1/(2)', '#5/1/2)x']) assert.equal(parseHash(hash), null, hash)
  assert.ok(parseState('#5%2F38.5%2F-98.3%2Ftiles%3D1').tiles)
  assert.deepEqual(parseState('#map=5/38.5/-98.3/at=38.5,-98.3)').select, { kind: 'point', lat: 38.5, lon: -98.3 })
})

test('longitudes wrap into [-180, 180)', () => {
  for (const [lon, want] of [[180, -180], [-180, -180], [540, -180], [-190, 170], [0, 0], [179.5, 179.5]]) {
    assert.equal(wrapLongitude(lon), want)
  }
})

test('zooms between whole ones are told to a hundredth', () => {
  assert.equal(formatHash({ zoom: 5.4567, lat: 10, lon: 20 }), '#5.46/10.00/20.00')
  assert.equal(formatHash({ zoom: 5.001, lat: 10, lon: 20 }), '#5/10.00/20.00')
  assert.equal(parseHash('#5.468/10/20').zoom, 5.47)
})
