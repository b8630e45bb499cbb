import assert from 'node:assert/strict'
import test from 'node:test'
import { PbfWriter } from 'pbf'
import { decode } from '../src/engine/decode.js'

// Path2D as a list of strokes, for a runtime that has no canvas.
globalThis.Path2D = class {
  calls = []
  moveTo(x, y) { this.calls.push(['M', x, y]) }
  lineTo(x, y) { this.calls.push(['L', x, y]) }
  closePath() { this.calls.push(['Z']) }
  addPath(path) { this.calls.push(...path.calls) }
}

const EXTENT = 4096
const zigzag = n => (n << 1) ^ (n >> 31)

// The bytes of a tile with the given layers, each a list of { id, type, rings, name, rank }; labels have region, or as in
// older data sets id.
function tile(layers) {
  const out = new PbfWriter()
  for (const [name, features] of Object.entries(layers)) {
    out.writeMessage(3, (_, layer) => {
      layer.writeVarintField(15, 2)
      layer.writeStringField(1, name)
      const own = features.some(({ region }) => region) ? 'region' : 'id'
      for (const key of [own, 'name', 'rank']) layer.writeStringField(3, key)
      for (const { [own]: id, name = '', rank = 0 } of features) {
        for (const text of [id, name]) layer.writeMessage(4, (_, value) => value.writeStringField(1, text))
        layer.writeMessage(4, (_, value) => value.writeVarintField(5, rank))
      }
      features.forEach(({ type = 3, rings }, i) => layer.writeMessage(2, (_, feature) => {
        feature.writePackedVarint(2, [0, 3 * i, 1, 3 * i + 1, 2, 3 * i + 2])
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

test('regions keep their ids and paths, and their outlines are the borders', () => {
  const layers = decode(tile({ country: [{ id: 'ch', rings: [square] }, { id: 'li', rings: [[[0, 0], [10, 0], [10, 10]]] }] }))
  const { extent, regions, borders } = layers.get('country')
  assert.equal(extent, EXTENT)
  assert.deepEqual(regions.map(({ id }) => id), ['ch', 'li'])
  assert.deepEqual(regions[1].path.calls, [['M', 0, 0], ['L', 10, 0], ['L', 10, 10], ['L', 0, 0], ['Z']])
  assert.deepEqual(borders.calls, regions.flatMap(({ path }) => path.calls))
})

test('border lines of their own replace the outlines, and labels are no regions', () => {
  const layers = decode(tile({
    state: [{ id: 'a', rings: [square] }],
    state_line: [{ id: '', type: 2, rings: [[[10, 10], [20, 20]]] }],
    state_label: [{ region: 'a', type: 1, rings: [[[5, 5]]], name: 'A' }],
    county: [{ id: 'c', rings: [square] }],
    county_label: [{ id: 'c', type: 1, rings: [[[5, 5]]], name: 'C' }],
    power_line: [{ id: 'p', rings: [square] }],
  }))
  assert.deepEqual([...layers.keys()], ['state', 'county', 'power_line'])
  assert.deepEqual(['state', 'county'].map(type => layers.get(type).names.map(({ id, name }) => [id, name])), [[['a', 'A']], [['c', 'C']]])
  assert.deepEqual(layers.get('state').borders.calls, [['M', 10, 10], ['L', 20, 20]])
})

test('lines that are no borders keep their own values, whatever these are called', () => {
  const { regions, lines, borders } = decode(tile({ road_line: [{ region: 'a', type: 2, rings: [[[10, 10], [20, 20]]], name: 'A', rank: 3 }, { region: 'b', type: 2, rings: [[[1, 1], [2, 2]]] }] })).get('road')
  assert.deepEqual([regions.length, lines.map(({ properties }) => properties.rank)], [0, [3, 0]])
  assert.deepEqual(borders.calls, lines.flatMap(({ path }) => path.calls))
  const { regions: [ward], lines: none } = decode(tile({ ward: [{ id: 'w', rings: [square], rank: 9 }] })).get('ward')
  assert.deepEqual([ward.properties.rank, none], [9, []])
})

test('an empty tile has nothing', () => {
  assert.equal(decode(new ArrayBuffer(0)).size, 0)
})

test('names come with the room about their points, as parts of the tile', () => {
  const names = decode(tile({
    lake: [{ id: 'a', rings: [[[1024, 1024], [3072, 1024], [3072, 2048], [1024, 2048]]] }, { id: 'b', rings: [square] }],
    lake_label: [
      { region: 'a', type: 1, rings: [[[1536, 1536]]], name: 'Lac\u202E  A', rank: 7 },
      { region: 'b', type: 1, rings: [[[10, 20]]], name: 'B' },
      { region: 'gone', type: 1, rings: [[[10, 20]]], name: 'No area yet' },
      { region: 'c', type: 1, rings: [[[10, 20]]], name: '\u0007' },
    ],
  })).get('lake').names
  assert.deepEqual(names, [
    { id: 'a', name: 'Lac A', rank: 7, x: 0.375, y: 0.375, across: 0.25, down: 0.25 },
    { id: 'b', name: 'B', rank: 0, x: 10 / 4096, y: 20 / 4096, across: Infinity, down: Infinity },
    { id: 'gone', name: 'No area yet', rank: 0, x: 10 / 4096, y: 20 / 4096, across: 0, down: 0 },
  ])
})

test('a tile without labels names nothing', () => {
  assert.deepEqual(decode(tile({ state: [{ id: 'a', rings: [square], name: 'A' }] })).get('state').names, [])
})
