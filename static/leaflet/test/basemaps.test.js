import assert from 'node:assert/strict'
import test from 'node:test'
import { baseMaps } from '../src/server/basemaps.js'

test('base maps of pictures are rows of the switch, and the first is on', () => {
  const rows = baseMaps({ basemaps: [
    { name: 'vectors', format: 'pbf', minzoom: 0, maxzoom: 5 },
    { name: 'relief', title: 'Relief <b>', format: 'png', minzoom: 1, maxzoom: 5, tile_size: 512, bounds: [-10, -20, 30, 40] },
    { name: 'sea-2', format: 'webp', minzoom: 0, maxzoom: 3, tile_size: 256 },
  ] })
  assert.deepEqual(rows.map(({ type, label, on, from, path, double }) => ({ type, label, on, from, path, double })), [
    { type: 'basemap:relief', label: 'Relief <b>', on: true, from: 1, path: 'basemap/relief/{z}/{x}/{y}.png', double: true },
    { type: 'basemap:sea-2', label: 'Sea 2', on: false, from: 0, path: 'basemap/sea-2/{z}/{x}/{y}.webp', double: false },
  ])
})

test('what is no list of base maps has none', () => {
  for (const bad of [undefined, null, {}, { basemaps: {} }, { basemaps: [null, {}, { name: '../x', format: 'png', maxzoom: 1 }, { name: 'x', format: 'png' }] }]) {
    assert.deepEqual(baseMaps(bad), [])
  }
})
