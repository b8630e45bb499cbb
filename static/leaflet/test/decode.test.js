import assert from 'node:assert/strict'
import test from 'node:test'
import { PbfWriter } from 'pbf'
import { decode, edgeOfWorld } from '../src/decode.js'

// Path2D as a list of strokes, for a runtime that has no canvas.
globalThis.Path2D = class {
  calls = []
  moveTo(x, y) { this.calls.push(['M', x, y]) }
  lineTo(x, y) { this.calls.push(['L', x, y]) }
  closePath() { this.calls.push(['Z']) }
}

const EXTENT = 4096
const zigzag = n => (n << 1) ^ (n >> 31)

// The bytes of a tile with the given layers, each a list of { id, type, rings }.
function tile(layers) {
  const out = new PbfWriter()
  for (const [name, features] of Object.entries(layers)) {
    out.writeMessage(3, (_, layer) => {
      layer.writeVarintField(15, 2)
      layer.writeStringField(1, name)
      layer.writeStringField(3, 'id')
      for (const { id } of features) layer.writeMessage(4, (_, value) => value.writeStringField(1, id))
      features.forEach(({ type = 3, rings }, i) => layer.writeMessage(2, (_, feature) => {
        feature.writePackedVarint(2, [0, i])
        feature.writeVarintField(3, type)
        feature.writePackedVarint(4, commands(rings, type))
      }))
      layer.writeVarintField(5, EXTENT)
    })
  }
  return out.finish()
}

function commands(rings, type) {
  const numbers = []
  let [x, y] = [0, 0]
  for (const ring of rings) {
    ring.forEach(([toX, toY], i) => {
      if (i === 0) numbers.push(9)
      if (i === 1) numbers.push(((ring.length - 1) << 3) | 2)
      numbers.push(zigzag(toX - x), zigzag(toY - y))
      ;[x, y] = [toX, toY]
    })
    if (type === 3) numbers.push(15)
  }
  return numbers
}

const square = [[-64, -64], [4160, -64], [4160, 4160], [-64, 4160]]

test('regions keep their ids and paths, and the square\'s cut at the buffer is outside the picture', () => {
  const layers = decode(tile({ country: [{ id: 'ch', rings: [square] }] }), { z: 5, x: 3, y: 3 })
  const { extent, regions, borders } = layers.get('country')
  assert.equal(extent, EXTENT)
  assert.deepEqual(regions.map(({ id }) => id), ['ch'])
  assert.deepEqual(regions[0].path.calls[0], ['M', -64, -64])
  for (const [, x, y] of borders.calls) assert.ok([x, y].some(c => c === -64 || c === 4160))
})

test('along the edge of the world no border is drawn', () => {
  const edge = [[0, -64], [2000, -64], [2000, 4160], [0, 4160]]
  const { borders, regions } = decode(tile({ country: [{ id: 'fj', rings: [edge] }] }), { z: 5, x: 0, y: 3 }).get('country')
  assert.deepEqual(borders.calls, [['M', 0, -64], ['L', 2000, -64], ['L', 2000, 4160], ['L', 0, 4160]])
  assert.deepEqual(regions[0].outline().calls, borders.calls)
})

test('border lines of their own replace the polygons\' outlines, and labels are no regions', () => {
  const layers = decode(tile({
    state: [{ id: 'a', rings: [square] }],
    state_line: [{ id: '', type: 2, rings: [[[10, 10], [20, 20]]] }],
    state_label: [{ id: 'a', type: 1, rings: [[[5, 5]]] }],
  }), { z: 5, x: 3, y: 3 })
  assert.deepEqual([...layers.keys()], ['state'])
  assert.deepEqual(layers.get('state').borders.calls, [['M', 10, 10], ['L', 20, 20]])
})

test('an empty tile has nothing', () => {
  assert.equal(decode(new ArrayBuffer(0), { z: 0, x: 0, y: 0 }).size, 0)
})

test('edges of the world', () => {
  const p = (x, y) => ({ x, y })
  const inner = edgeOfWorld({ z: 3, x: 4, y: 4 }, EXTENT)
  assert.equal(inner(p(0, 0), p(0, 4096)), false)
  const corner = edgeOfWorld({ z: 3, x: 7, y: 0 }, EXTENT)
  assert.equal(corner(p(4096, 10), p(4096, 20)), true)
  assert.equal(corner(p(10, 0), p(20, -3)), true)
  assert.equal(corner(p(0, 10), p(0, 20)), false)
  assert.equal(corner(p(4096, 10), p(4000, 20)), false)
})
