import assert from 'node:assert/strict'
import test from 'node:test'
import { createRuler } from '../src/engine/ruler.js'
import { createWorkshop } from '../src/engine/workshop.js'

globalThis.Path2D ??= class { moveTo() {} lineTo() {} closePath() {} addPath() {} }

// A canvas that counts what is filled and measures letters of seven pixels.
function fakeCanvas(log = []) {
  return {
    getContext: () => ({
      setTransform() {}, clearRect() {}, setLineDash() {}, isPointInPath: (path, x, y) => x < 2048, fillRect() { log.push('background') }, fill() { log.push('fill') }, stroke() {},
      measureText(text) { log.push(text); return { width: 7 * text.length } },
    }),
  }
}

const bytesOf = text => new TextEncoder().encode(text).buffer
const theme = { water: 'water', missing: 'missing', borders: {}, land: { lightness: 1, chroma: 0, step: 0, cast: [0, 0] } }
const view = { zoom: 3, scale: 1, offsetX: 0, offsetY: 0 }

function workshop() {
  const painted = []
  const made = createWorkshop({ newCanvas: () => fakeCanvas(painted), picture: () => ({ picture: painted.length }) })
  made.theme(theme)
  return { ...made, painted }
}

test('places are read from what a tile has; what is no tile is refused', () => {
  const { places, arrange } = workshop()
  const feature = { type: 'Feature', geometry: { type: 'Point', coordinates: [8.5, 47.4] }, properties: { id: 7, name: 'Town', code: 'PPLC', population: 900_000 } }
  assert.equal(places({ key: 'a', bytes: bytesOf(JSON.stringify({ features: [feature, null] })) }), true)
  assert.equal(places({ key: 'empty', bytes: new ArrayBuffer(0) }), true)
  for (const bad of ['{', 'null', '[]', '{"features":5}']) assert.equal(places({ key: 'bad', bytes: bytesOf(bad) }), false, bad)
  const looks = { 'place-capital': { font: 'x', height: 14, spacing: 0, capitals: false } }
  const names = arrange({ view: { zoom: 3.5 }, looks, tiles: [{ z: 3, world: 1, places: 'a' }, { z: 3, world: 0, places: 'empty' }] })
  assert.equal(names.length, 1)
  const [{ id, at: [x], look, text }] = names
  assert.deepEqual([id, look, text], ['7:1', 'place place-capital name-right', 'Town'])
  assert.ok(Math.abs(x - (8.5 + 180 + 360) / 360 * 256 * 2 ** 3.5) < 1e-6)
})

test('a picture that would stay the same is not painted again', async () => {
  const { regions, draw, drop, painted } = workshop()
  regions({ key: 'r', bytes: new ArrayBuffer(0) })
  const how = { key: 'r', view, types: [], density: 1, stretch: 1 }
  assert.ok((await draw({ ...how, selection: null })).bitmap)
  const before = painted.length
  assert.equal(await draw({ ...how, selection: { type: 'country', id: 'x' }, unless: null }), null)
  assert.equal(painted.length, before)
  drop({ key: 'r' })
  assert.ok((await draw({ ...how, selection: null })).bitmap, 'a tile that is gone is an empty one')
  assert.ok((await draw({ ...how, key: null, selection: null })).bitmap, 'and one that failed is painted as missing')
})

test('a line is measured once for each font', () => {
  const log = []
  const ruler = createRuler(fakeCanvas(log).getContext())
  const measure = ruler({ a: { font: 'f', height: 10, spacing: 1, capitals: true }, b: { font: 'g', height: 12, spacing: 0, capitals: false } })
  assert.deepEqual([measure('Land', 'a'), measure('Land', 'a'), measure('Land', 'b')], [{ width: 32, height: 10 }, { width: 32, height: 10 }, { width: 28, height: 12 }])
  assert.deepEqual(log, ['LAND', 'Land'])
})
