import assert from 'node:assert/strict'
import test from 'node:test'
import { spotsInView, staysInView, within } from '../src/engine/inview.js'

const country = { type: 'country', role: 'land' }
const box = { minX: 0, minY: 0, maxX: 1280, maxY: 800 }
// A tile as large as a view of zoom 13, or beyond it, of which a region is where inside says so.
const tileOf = (regions, { z = 6, world = 0, scale = 1, x = 0 } = {}) => ({
  z, world, view: { tile: { z, x, y: 0 }, scale }, types: [country], names: new Map([['country', { extent: 4096, regions, names: [] }]]),
})
const region = (id, path = id) => ({ id, name: id.toUpperCase(), path })
const inside = { all: () => true, west: x => x < 2048, east: x => x >= 2048, none: () => false }
const lies = (path, x, y) => inside[path](x, y)

test('a region that fills the view has spots in its middle', () => {
  const [{ id, name, spots, type }] = spotsInView([tileOf([region('all')], { scale: 8 })], 6, box, lies)
  assert.deepEqual([id, name, type], ['country/all:0', 'ALL', country])
  assert.ok(spots.length > 1 && spots.every(spot => within(spot, box)))
  const [{ x, y, across, down }] = spots
  assert.ok(Math.abs(x - 640) < 100 && Math.abs(y - 400) < 64, `${x}, ${y}`)
  assert.ok(across > 800 && down > 600)
})

test('regions share the view; those elsewhere are not sampled', () => {
  const tiles = [tileOf([region('west'), region('east'), region('none')], { scale: 4 })]
  const found = spotsInView(tiles, 6, box, lies).sort((a, b) => a.spots[0].x - b.spots[0].x)
  assert.deepEqual(found.map(({ id }) => id), ['country/west:0', 'country/east:0'])
  const [west, east] = found.map(({ spots }) => spots[0].x)
  assert.ok(west < 512 && east > 512)
})

test('a spot tells a name that leaves its region', () => {
  const stairs = (path, x, y) => x < 2048 + y // narrower to the north
  const [{ spots: [{ x, y, holds }] }] = spotsInView([tileOf([region('all')], { scale: 4 })], 6, box, stairs)
  const at = (x, y, width) => holds({ left: x - width / 2, right: x + width / 2, top: y - 8, bottom: y + 8 })
  assert.ok(at(x, y, 200) && at(512, 100, 100))
  assert.ok(!at(512, 100, 400) && at(512, 400, 400))
})

test('spots stay where they are when the map moves a little, also in another copy of the world', () => {
  const tiles = world => [tileOf([region('all')], { z: 2, world, scale: 1 })]
  const at = (world, dx) => spotsInView(tiles(world), 4, { minX: world * 4096 + dx, minY: 0, maxX: world * 4096 + 600 + dx, maxY: 500 }, lies)[0]
  assert.equal(at(1, 0).id, 'country/all:1')
  assert.equal(at(1, 0).spots[0].x - 4096, at(0, 0).spots[0].x)
  assert.equal(at(0, 10).spots[0].x % 32, 0)
})

test('countries stay in view as far as they are named, states from 6, nothing else', () => {
  assert.ok(staysInView(country, 0))
  assert.deepEqual([5.9, 6].map(zoom => staysInView({ type: 'state' }, zoom)), [false, true])
  assert.ok(!staysInView(country, 7) && !staysInView({ type: 'county' }, 8))
})

test('no name has its middle under a panel', () => {
  const covered = [{ minX: 500, minY: 0, maxX: 1280, maxY: 800 }]
  const [{ spots }] = spotsInView([tileOf([region('all')], { scale: 8 })], 6, { ...box, covered }, lies)
  assert.ok(spots.length > 0 && spots.every(({ x }) => x <= 500 - 32))
  assert.ok(!within({ x: 600, y: 400 }, { ...box, covered }) && within({ x: 600, y: 400 }, box))
})
