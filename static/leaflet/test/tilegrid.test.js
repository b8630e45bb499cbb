import assert from 'node:assert/strict'
import test from 'node:test'
import { coveringTiles, dataTile, isBox, leastZoom, nearestLongitude, unrollBox, wrapColumn, zoomForRadius } from '../src/engine/tilegrid.js'

test('beyond the deepest data a tile is a square of its ancestor', () => {
  assert.deepEqual(dataTile({ z: 5, x: 3, y: 4 }, 13), { tile: { z: 5, x: 3, y: 4 }, scale: 1, offsetX: 0, offsetY: 0 })
  assert.deepEqual(dataTile({ z: 15, x: 21007, y: 11002 }, 13), { tile: { z: 13, x: 5251, y: 2750 }, scale: 4, offsetX: 3, offsetY: 2 })
})

test('columns wrap', () => {
  assert.deepEqual([-1, 0, 7, 8, -9].map(x => wrapColumn(x, 3)), [7, 0, 7, 0, 7])
})

test('covering tiles', () => {
  assert.deepEqual(coveringTiles({ min: { x: 0, y: 0 }, max: { x: 256, y: 256 } }, 0, 0), [{ z: 0, x: 0, y: 0, world: 0 }])
  assert.deepEqual(coveringTiles({ min: { x: -10, y: -500 }, max: { x: 10, y: 900 } }, 0, 0), [
    { z: 0, x: 0, y: 0, world: -1 }, { z: 0, x: 0, y: 0, world: 0 },
  ])
  assert.deepEqual(coveringTiles({ min: { x: 600, y: 600 }, max: { x: 1200, y: 800 } }, 2, 1), coveringTiles({ min: { x: 300, y: 300 }, max: { x: 600, y: 400 } }, 1, 1))
  assert.deepEqual(coveringTiles({ min: { x: 300, y: 300 }, max: { x: 600, y: 400 } }, 1, 1), [
    { z: 1, x: 1, y: 1, world: 0 }, { z: 1, x: 0, y: 1, world: 1 },
  ])
})

test('boxes across ±180° unroll beside the view', () => {
  assert.deepEqual(unrollBox([5.9, 45.8, 10.5, 47.8]), { south: 45.8, west: 5.9, north: 47.8, east: 10.5 })
  assert.deepEqual(unrollBox([177, -21, -178, -12], 179), { south: -21, west: 177, north: -12, east: 182 })
  assert.deepEqual(unrollBox([177, -21, -178, -12], -179), { south: -21, west: -183, north: -12, east: -178 })
  assert.deepEqual(unrollBox([5, 45, 10, 47], 365), { south: 45, west: 365, north: 47, east: 370 })
})

test('nearest longitude', () => {
  assert.deepEqual([[10, 0], [10, 350], [-170, 175], [170, -175]].map(([lon, near]) => nearestLongitude(lon, near)), [10, 370, 190, -190])
})

test('boxes are checked before the map flies there', () => {
  assert.ok(isBox([177, -21, -178, -12]))
  for (const bad of [undefined, [1, 2, 3], [0, 5, 1, 4], ['0', 0, 1, 1], [0, 0, 1, NaN], [-181, 0, 0, 1], [0, -91, 1, 1]]) {
    assert.ok(!isBox(bad), JSON.stringify(bad))
  }
})

test('zooms for radii and windows', () => {
  assert.deepEqual([NaN, 0, 0.1, 10, 100, 5000, 1e9].map(km => zoomForRadius(km)), [10, 10, 12, 10, 7, 4, 4])
  assert.deepEqual([320, 600, 713, 844, 1080, 1228, 1440, 2160].map(leastZoom), [1, 1, 2, 2, 2, 2, 3, 3])
})
