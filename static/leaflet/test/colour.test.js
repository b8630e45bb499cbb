import assert from 'node:assert/strict'
import test from 'node:test'
import { classColour, hash, regionColour } from '../src/engine/colour.js'

const lands = ['a', 'b', 'c', 'd', 'e', 'f']

test('a region has the colour that the server chose', () => {
  assert.deepEqual([0, 1, 5, 6, 13].map(number => regionColour({ id: 'ch', number }, lands)), ['a', 'b', 'f', 'a', 'b'])
})

test('a region without one, or with nonsense, keeps the colour of its id', () => {
  assert.equal(hash(''), hash(''))
  for (const number of [undefined, null, -1, 0.5, '3', Number.NaN]) {
    assert.equal(regionColour({ id: 'ch', number }, lands), regionColour({ id: 'ch' }, lands))
  }
})

test('ids that differ little spread over all lands evenly', () => {
  const counts = new Map()
  for (let fips = 1001; fips < 57000; fips += 2) {
    const colour = regionColour({ id: String(fips).padStart(5, '0') }, lands)
    counts.set(colour, (counts.get(colour) ?? 0) + 1)
  }
  const mean = [...counts.values()].reduce((a, b) => a + b) / counts.size
  assert.equal(counts.size, lands.length)
  for (const count of counts.values()) assert.ok(Math.abs(count - mean) < mean / 4, `${count} of ${mean}`)
})

test('a number has the colour of the last class that does not begin above it', () => {
  const legend = { classes: [{ color: 'a', from: -5, to: 1 }, { color: 'b', from: 2, to: 3 }, { color: 'c', from: 10, to: 10 }], rest: { color: 'r' } }
  assert.deepEqual([-9, -5, 1.9, 2, 9, 10, 1e9, 'two', true, undefined, null].map(value => classColour(legend, value)), ['a', 'a', 'a', 'b', 'b', 'c', 'c', 'r', 'r', '', ''])
  assert.equal(classColour({ classes: legend.classes }, 'two'), '')
})

test('a text, a boolean or the empty text has the colour of its own class', () => {
  const legend = { classes: [{ color: 'a', value: 'Red' }, { color: 'b', value: 'true' }, { color: 'c' }, { color: 'd', value: '7' }] }
  assert.deepEqual(['Red', true, 'true', '', 7, 'red', 'constructor', undefined].map(value => classColour(legend, value)), ['a', 'b', 'b', 'c', 'd', '', '', ''])
  assert.equal(classColour({ classes: [] }, 5), '')
})
