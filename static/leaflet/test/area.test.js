import './document.js'
import assert from 'node:assert/strict'
import test from 'node:test'
import { filtersFor } from '../src/hash.js'
import { lengthOf, sizeOf } from '../src/engine/landsize.js'
import { filterWords, partsOf } from '../src/panels/filters.js'
import { queryOf } from '../src/server/api.js'
import { landSize } from '../src/words/format.js'

// The size by many narrow strips, each as wide as its parallel.
function slowly([west, south, east, north], steps = 20_000) {
  const radius = 6_371_008.8
  const rad = degrees => degrees * Math.PI / 180
  let sum = 0
  for (let i = 0; i < steps; i++) sum += Math.cos(rad(south + (i + 0.5) * (north - south) / steps))
  return sum * radius ** 2 * rad(east - west) * rad(north - south) / steps
}

test('the size of a box is that of its strips, either way round and across 180°', () => {
  for (const [west, south, east, north] of [[7, 46, 9, 48], [170, -10, 190, 10], [-1, 80, 1, 90], [0, -0.001, 0.001, 0]]) {
    const box = [[west, south], [east, south], [east, north], [west, north]]
    const want = slowly([west, south, east, north])
    for (const corners of [box, box.toReversed(), [...box.slice(2), ...box.slice(0, 2)]]) {
      assert.ok(Math.abs(sizeOf(corners) / want - 1) < 1e-6, `${corners}: ${sizeOf(corners)}, want ${want}`)
    }
  }
  // Halves of a box by its diagonal make the whole.
  const [a, b, c, d] = [[7, 46], [9, 46], [9, 48], [7, 48]]
  assert.ok(Math.abs((sizeOf([a, b, c]) + sizeOf([a, c, d])) / sizeOf([a, b, c, d]) - 1) < 1e-9)
  assert.ok(Number.isNaN(sizeOf([a, c, b, d])), 'edges that cross have no size')
})

test('sizes in words', () => {
  for (const [metres, want] of [[850, '850 m²'], [1.24e6, '1.2 km²'], [41_285e6, '41,285 km²'], [NaN, ''], [-1, '']]) assert.equal(landSize(metres, false), want)
  for (const [metres, want] of [[4046.86, '1 ac'], [2.59e6, '1 mi²'], [41_285e6, '15,940 mi²']]) assert.equal(landSize(metres, true), want)
})

test('the length of a line is along great circles, also across 180°', () => {
  const quarter = Math.PI / 2 * 6_371_008.8
  for (const [corners, want] of [
    [[], 0], [[[5, 5]], 0], [[[0, 0], [90, 0]], quarter], [[[0, 0], [0, 90], [40, 0]], 2 * quarter], [[[0, 60], [180, 60]], quarter * 2 / 3],
    [[[179, 0], [181, 0]], quarter / 45], [[[0, 0], [180, 0], [360, 0]], 4 * quarter],
  ]) assert.ok(Math.abs(lengthOf(corners) - want) < 1e-3, `${JSON.stringify(corners)}: ${lengthOf(corners)}`)
})

test('filters in words, of whatever properties are called', () => {
  const row = { type: 'points:shops', label: 'Shops', columns: [{ property: 'price', kind: 'number' }, { property: 'a.lt', kind: 'text' }, { property: 'vegan', kind: 'boolean' }, { property: 'opened', kind: 'time' }] }
  for (const [name, value, property, words] of [
    ['category', 'cafe', 'category', 'Shops · Category: cafe'], ['price.gte', '5', 'price', 'Shops · Price: From 5'], ['price.lt', '5', 'price', 'Shops · Price < 5'],
    ['p.a.lt', 'x\\,y', 'a.lt', 'Shops · A.lt: x,y'], ['-category', '', 'category', 'Shops · Category != yes'], ['vegan', 'true', 'vegan', 'Shops · Vegan: yes'],
    ['lacks', 'a\\,b,category', 'a,b|category', 'Shops · A,b, Category: No value'], ['has', 'category', 'category', 'Shops · Category: Has a value'],
    ['opened.lt', '2021-99-99', 'opened', 'Shops · Opened < 2021-99-99'], ['opened.lt', '2021-01-01', 'opened', 'Shops · Opened: To 2020-12-31'], ['opened.lte', '2020-12-31', 'opened', 'Shops · Opened: To 2020-12-31'], ['<b>', '\u202e<i>', '<b>', 'Shops · <b>: <i>'],
  ]) {
    assert.equal(partsOf(row, [`points:shops.${name}`, value]).properties.join('|'), property, name)
    assert.equal(filterWords(row, [`points:shops.${name}`, value]), words)
  }
  const filters = [['points:shops.a', '1'], ['points:shops-b.a', '2'], ['points:shops.-b', '']]
  assert.deepEqual(filtersFor('points:shops', filters), [filters[0], filters[2]])
  assert.equal(queryOf([['by', ''], ['limit', undefined], ['sum', 'a & b'], ...filters]), 'sum=a%20%26%20b&points:shops.a=1&points:shops-b.a=2&points:shops.-b=')
})
