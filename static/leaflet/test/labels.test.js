import assert from 'node:assert/strict'
import test from 'node:test'
import { displayText } from '../src/format.js'
import { arrange, dotRadius, importance, placeOf, sides, tier, worthShowing } from '../src/labels.js'

const measure = name => ({ width: 7 * name.length, height: 14 })

// A seeded generator, so that a failure repeats.
function random(seed) {
  return () => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
    return seed / 2 ** 32
  }
}

function boxOf({ place, tier, side }) {
  const [across, down] = sides[side]
  const { width, height } = measure(place.name)
  const off = dotRadius[tier] + (across && down ? 0 : 4)
  const left = across > 0 ? place.x + off : across < 0 ? place.x - off - width : place.x - width / 2
  const top = down > 0 ? place.y + off : down < 0 ? place.y - off - height : place.y - height / 2
  return { left, top, right: left + width, bottom: top + height }
}

test('names never overlap each other nor another place\'s dot, whatever the order of the input', () => {
  const next = random(7)
  for (let round = 0; round < 20; round++) {
    const places = Array.from({ length: 150 }, (_, i) => ({
      id: String(i), name: 'x'.repeat(3 + Math.floor(next() * 12)), x: next() * 600, y: next() * 400,
      code: next() < 0.05 ? 'PPLC' : 'PPL', population: Math.floor(10 ** (next() * 7)),
    }))
    const arranged = arrange(places, measure)
    const boxes = arranged.filter(({ side }) => side !== 'none').map(boxOf)
    assert.ok(boxes.length > 10)
    boxes.forEach((a, i) => boxes.slice(i + 1).forEach(b => {
      assert.ok(a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top, 'two names overlap')
    }))
    const dots = arranged.map(({ place }) => place)
    arranged.forEach((one, i) => one.side !== 'none' && dots.forEach((dot, j) => {
      const box = boxOf(one)
      assert.ok(i === j || dot.x < box.left || dot.x > box.right || dot.y < box.top || dot.y > box.bottom, 'a name covers a dot')
    }))
    const shuffled = places.map(place => [next(), place]).sort(([a], [b]) => a - b).map(([, place]) => place)
    assert.deepEqual(arrange(shuffled, measure), arranged)
  }
})

test('the important place wins, and the neighbour steps aside', () => {
  const [first, second] = arrange([
    { id: 'town', name: 'Smallville', x: 80, y: 112, population: 900 },
    { id: 'seat', name: 'Seat', x: 100, y: 112, code: 'PPLC', population: 20_000 },
  ], measure)
  assert.deepEqual([first.place.id, first.tier, first.side], ['seat', 'capital', 'right'])
  assert.deepEqual([second.place.id, second.side], ['town', 'left'])
})

test('importance and tiers', () => {
  assert.ok(importance({ code: 'PPLC', population: 100_000 }) > importance({ code: 'PPLA', population: 700_000 }))
  assert.ok(importance({ code: 'PPLC', population: 1_000 }) < importance({ code: 'PPLA', population: 9_000_000 }))
  assert.ok(importance({ code: 'PPLX', population: 300_000 }) < importance({ code: 'PPL', population: 100_000 }))
  assert.deepEqual(['PPLC', 'PPL', 'PPL', 'PPL'].map((code, i) => tier({ code, population: [0, 2e6, 2e5, 10][i] })), ['capital', 'major', 'city', 'town'])
  assert.equal(tier({}), 'town')
})

test('a world map shows cities and capitals, a close view everything', () => {
  assert.deepEqual([0, 3, 4, 5, 18].map(zoom => worthShowing({ population: 6_000 }, zoom)), [false, false, true, true, true])
  assert.ok(worthShowing({ code: 'PPLC', population: 50 }, 0))
  assert.ok(worthShowing({}, 5))
})

test('features become places; what is no named point does not', () => {
  const feature = { geometry: { type: 'Point', coordinates: [8.54, 47.37] }, properties: { id: 2657896, name: 'Zürich\u202E', code: 'PPLA', population: 341730 } }
  assert.deepEqual(placeOf(feature, displayText), { id: '2657896', name: 'Zürich', lat: 47.37, lon: 8.54, code: 'PPLA', population: 341730 })
  for (const bad of [
    null, {}, { geometry: null }, { geometry: { type: 'Point' }, properties: { name: 'x' } },
    { geometry: { type: 'Point', coordinates: ['8', 47] }, properties: { name: 'x' } },
    { geometry: { type: 'Point', coordinates: [8, 47] }, properties: { name: '\u0007' } },
    { geometry: { type: 'LineString', coordinates: [8, 47] }, properties: { name: 'x' } },
  ]) assert.equal(placeOf(bad, displayText), null)
})
