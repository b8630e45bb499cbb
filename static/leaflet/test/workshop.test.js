import assert from 'node:assert/strict'
import test from 'node:test'
import { createRuler, dress } from '../src/engine/ruler.js'
import { createWorkshop } from '../src/engine/workshop.js'

globalThis.Path2D ??= class { moveTo() {} lineTo() {} closePath() {} addPath() {} }

// A canvas that counts what is filled and measures letters of seven pixels.
function fakeCanvas(log = []) {
  return {
    getContext: () => ({
      setTransform() {}, clearRect() {}, setLineDash() {}, isPointInPath: (path, x, y) => x < 2048, fillRect() { log.push('background') }, fill() { log.push('fill') }, stroke() {}, beginPath() {}, arc() {}, strokeText() {}, fillText(text) { log.push(`write ${text}`) },
      measureText(text) { log.push(text); return { width: 7 * text.length } },
    }),
  }
}

const bytesOf = text => new TextEncoder().encode(text).buffer
const theme = { ink: { capital: 'ink' }, water: 'water', missing: 'missing', borders: {}, land: { lightness: 1, chroma: 0, step: 0, cast: [0, 0] } }
const view = { zoom: 3, scale: 1, offsetX: 0, offsetY: 0 }

function workshop() {
  const painted = []
  const made = createWorkshop({ newCanvas: () => fakeCanvas(painted), picture: () => ({ picture: painted.length }) })
  made.theme(theme)
  return { ...made, painted }
}

test('places are read from what a tile has and written; what is no tile is refused', async () => {
  const { places, arrange, painted } = workshop()
  const feature = { type: 'Feature', geometry: { type: 'Point', coordinates: [8.5, 47.4] }, properties: { id: 7, name: 'Town', code: 'PPLC', population: 9_000_000 } }
  assert.equal(places({ key: 'a', bytes: bytesOf(JSON.stringify({ features: [feature, null] })) }), true)
  assert.equal(places({ key: 'empty', bytes: new ArrayBuffer(0) }), true)
  for (const bad of ['{', 'null', '[]', '{"features":5}']) assert.equal(places({ key: 'bad', bytes: bytesOf(bad) }), false, bad)
  const frame = { minX: 1000, minY: 100, maxX: 5000, maxY: 1100 }
  const { names, bitmap, density } = await arrange({ view: { zoom: 3.5 }, frame, density: 2, tiles: [{ z: 3, world: 1, places: 'a' }, { z: 3, world: 0, places: 'empty' }] })
  assert.equal(names.length, 1)
  const [{ id, dot, look, kind, text, box }] = names
  assert.deepEqual([id, look, kind, text], ['7:1', 'capital', 'place', 'Town'])
  assert.ok(Math.abs(dot.x + 1000 - (8.5 + 180 + 360) / 360 * 256 * 2 ** 3.5) < 1e-6)
  assert.ok(box.left > dot.x && box.top < dot.y && box.bottom > dot.y, 'the name stands to the right')
  assert.ok(bitmap.picture > 0 && density <= 2 && painted.includes('write Town'))
})

test('a picture that would stay the same is not painted again', async () => {
  const { regions, draw, drop, painted } = workshop()
  regions({ key: 'r', bytes: new ArrayBuffer(0) })
  const how = { key: 'r', view, types: [], density: 1, stretch: 1 }
  assert.ok((await draw({ ...how, marked: [null, null] })).bitmap)
  const before = painted.length
  assert.equal(await draw({ ...how, marked: [{ type: 'country', id: 'x' }, null], unless: [null, null] }), null)
  assert.equal(painted.length, before)
  drop({ key: 'r' })
  assert.ok((await draw({ ...how, marked: [null, null] })).bitmap, 'a tile that is gone is an empty one')
  assert.ok((await draw({ ...how, key: null, marked: [null, null] })).bitmap, 'and one that failed is painted as missing')
})

test('a line is measured once for each look, as it is written', () => {
  const log = []
  const measure = createRuler(fakeCanvas(log).getContext())
  const sizes = ['country', 'country', 'town'].map(look => measure('Land', look))
  assert.deepEqual(sizes.map(({ width }) => width), [28, 28, 28])
  assert.ok(sizes[0].height === sizes[1].height && sizes[0].height > sizes[2].height)
  assert.deepEqual(log, ['LAND', 'Land'])
})

test('letters that join are not set apart, and a line begins where its script does', () => {
  const context = {}
  const dressed = line => [dress(context, line, 'country'), Number.parseFloat(context.letterSpacing) > 0, context.direction]
  assert.deepEqual(dressed('Österreich'), ['ÖSTERREICH', true, 'ltr'])
  assert.deepEqual(dressed('(مصر) 7'), ['(مصر) 7', false, 'rtl'])
  assert.deepEqual(dressed('भारत'), ['भारत', false, 'ltr'])
})
