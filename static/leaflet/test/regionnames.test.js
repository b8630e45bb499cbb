import assert from 'node:assert/strict'
import test from 'node:test'
import { broken, candidates, isNamed, looksAt, writingOf } from '../src/engine/regionnames.js'

// Large looks are half as wide again.
const measure = (line, look) => ({ width: line.length * (look.endsWith('large') ? 15 : 10), height: 14 })
const country = writingOf({ type: 'country', role: 'land' })
const ways = (region, writing) => candidates(region, writing, measure).map(({ look, lines, rise }) => [look, lines.join('\n'), rise])

test('types are written by what they are', () => {
  const looks = (type, role) => writingOf({ type, role }).looks
  assert.deepEqual(looks('country', 'land'), ['country-large', 'country', 'country-small'])
  assert.deepEqual(looks('state', 'land'), ['state'])
  assert.deepEqual(looks('lake', 'water'), ['water'])
  for (const [type, role] of [['county', 'land'], ['urban', 'built'], ['sales', 'overlay'], ['constructor', 'overlay']]) {
    assert.deepEqual(looks(type, role), ['county'], type)
  }
  const turns = [['country', 'land'], ['state', 'land'], ['county', 'land']].map(([type, role]) => writingOf({ type, role }).turn)
  assert.deepEqual(turns, turns.toSorted((a, b) => a - b))
})

test('a name is written as large as its region allows', () => {
  const first = across => ways({ name: 'Chad', across, down: 15 }, country)[0]
  assert.deepEqual(first(Infinity), ['country-large', 'Chad', 0])
  assert.deepEqual(first(100), ['country-large', 'Chad', 0])
  assert.deepEqual(first(99), ['country', 'Chad', 0])
  assert.deepEqual(first(34), ['country', 'Chad', 0], 'a country\'s name may reach over its borders')
  assert.deepEqual(first(33), ['country-small', 'Chad', 0], 'that of a small one farther')
  assert.equal(first(14), undefined)
  assert.deepEqual(ways({ name: 'Chad', across: 500, down: 8 }, country), [], 'too low')
  const cut = ways({ name: 'Chad', across: 39, down: 99, cut: true }, country)
  assert.deepEqual(cut, [], 'a name of what is cut by the view stays in it')
  assert.deepEqual(ways({ name: 'Chad', across: 0, down: 0 }, country), [], 'no area at this zoom')
})

test('a long name takes two lines, and any moves up and down where there is room', () => {
  const state = writingOf({ type: 'state', role: 'land' })
  assert.deepEqual(ways({ name: 'New South Wales', across: 120, down: 28 }, state), [['state', 'New South\nWales', 0]])
  assert.deepEqual(ways({ name: 'Ohio', across: 60, down: 30 }, state), [['state', 'Ohio', 0], ['state', 'Ohio', 8], ['state', 'Ohio', -8]])
  assert.deepEqual(ways({ name: 'Ohio', across: 60, down: Infinity }, state).map(([,, rise]) => rise), [0, 7, -7, 14, -14, 21, -21, 31.5, -31.5, 42, -42])
})

test('names break in the middle', () => {
  assert.deepEqual(broken('United States of America'), ['United States', 'of America'])
  assert.deepEqual(broken('Bosnia and Herz.'), ['Bosnia', 'and Herz.'])
  for (const name of ['Liechtenstein', 'New York', '']) assert.equal(broken(name), null)
})

test('far out only the first of a type are named, close up all, and neither before nor after its zooms', () => {
  const naming = { from: 1, to: 3, ranks: [0, 2, 5] }
  const named = [0, 1, 2, 3, 4].map(zoom => [0, 1, 2, 9].filter(rank => isNamed(naming, rank, zoom)))
  assert.deepEqual(named, [[], [0, 1], [0, 1, 2], [0, 1, 2, 9], []])
})

test('close up a region is named that a view can hold', () => {
  const naming = { from: 0, to: 8, ranks: [], 'too-large': [0, 0, 3, 5] }
  assert.deepEqual([1, 2, 3, 4].map(zoom => [2, 3, 5].filter(rank => isNamed(naming, rank, zoom))), [[2, 3, 5], [3, 5], [5], [2, 3, 5]])
})

test('a name begins with the smallest look and gains a larger one zoom by zoom', () => {
  const naming = { looks: ['large', 'middle', 'small'], ranks: [2, 5, 10] }
  const most = rank => [0, 1, 2, 3, 4, 5, 6].map(zoom => looksAt(naming, rank, zoom)[0])
  assert.deepEqual(most(0), ['small', 'small', 'middle', 'large', 'large', 'large', 'large'])
  assert.deepEqual(most(9), ['small', 'small', 'small', 'small', 'middle', 'large', 'large'])
  assert.deepEqual(most(10), ['small', 'small', 'small', 'small', 'small', 'middle', 'large'])
  assert.deepEqual(looksAt({ looks: ['state'], ranks: [] }, 7, 0), ['state'])
  assert.deepEqual(looksAt(naming, 0, 3), naming.looks, 'smaller ones are for where there is no room')
})
