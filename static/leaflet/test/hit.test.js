import assert from 'node:assert/strict'
import test from 'node:test'
import { contextOf, iconOf, isHit, kindOf, named, selectionOf } from '../src/panels/hit.js'

test('namesakes are told apart by what is around them', () => {
  for (const [name, label, want] of [
    ['Portland', 'Portland, Oregon, United States', 'Oregon, United States'], ['France', 'France', ''], ['x', undefined, ''],
    ['Genève', 'Geneva, Switzerland', 'Geneva, Switzerland'], ['a', 'a, b\u202Ec', 'b c'], ['', ', Gabon', 'Gabon'],
  ]) assert.equal(contextOf({ name, label }), want, label)
})

test('each kind has its words', () => {
  for (const [hit, want] of [
    [{ kind: 'place', type: 'P.PPL', population: 1e6 }, 'city'], [{ kind: 'place', type: 'H' }, 'water'], [{ kind: 'place' }, 'place'],
    [{ kind: 'place', type: 'toString.constructor' }, 'place'],
    [{ kind: 'airport', type: 'large_airport', code: 'LHR' }, 'airport LHR'], [{ kind: 'airport', type: 'heliport' }, 'heliport'], [{ kind: 'airport' }, 'airport'],
    [{ kind: 'airport', type: 'large_airport', code: 'ZRH', match: { name: 'ZRH' } }, 'airport'],
    [{ kind: 'region', type: 'sales_territory' }, 'sales territory'], [{ kind: 'timezone', type: 'timezone' }, 'time zone'],
    [{ kind: 'position' }, 'position'], [{ kind: 'position', type: 'plus_code' }, 'plus code'], [{ kind: 'point', type: 'shops' }, 'shops'],
    [{ kind: '<b>' }, '<b>'], [{}, ''],
  ]) assert.equal(kindOf(hit), want, JSON.stringify(hit))
})

test('each kind has an icon of its own, and one that is not known has one too', () => {
  const kinds = ['place', 'region', 'airport', 'timezone', 'station', 'position', 'point']
  assert.equal(new Set(kinds.map(kind => iconOf({ kind }))).size, kinds.length)
  for (const kind of ['constructor', undefined, 5]) assert.match(iconOf({ kind }), /^M/)
})

test('a result without a position on Earth is none', () => {
  assert.ok(isHit({ lat: -90, lon: 180 }))
  for (const hit of [null, undefined, {}, { lat: 91, lon: 0 }, { lat: 0, lon: 181 }, { lat: NaN, lon: 0 }, { lat: 0 }]) assert.ok(!isHit(hit), JSON.stringify(hit))
})

test('a position is called by its coordinates', () => {
  assert.deepEqual(named({ kind: 'position', name: '47.37, -8.54', lat: 47.37, lon: -8.54 }), { name: '47.3700° N, 8.5400° W' })
})

test('a result is opened by the record it stands for, else by its point', () => {
  const at = { lat: 47.3712347, lon: 180 }
  const point = { kind: 'point', lat: 47.371235, lon: -180 }
  for (const [hit, want] of [
    [{ kind: 'place', id: '5746545' }, { kind: 'place', id: '5746545' }], [{ kind: 'place', id: '../x' }, point],
    [{ kind: 'airport', id: 'EGLL', code: 'LHR' }, { kind: 'airport', code: 'LHR' }], [{ kind: 'airport', id: 'CH-0001' }, { kind: 'airport', code: 'CH-0001' }],
    [{ kind: 'airport' }, point],
    [{ kind: 'region', type: 'state', id: 'us-tx', bbox: [0, 0, 1, 1] }, { kind: 'region', type: 'state', id: 'us-tx' }], [{ kind: 'region', type: 'country', id: 'gp' }, point],
    [{ kind: 'timezone', type: 'timezone', id: 'europe/zurich' }, { kind: 'region', type: 'timezone', id: 'europe/zurich' }],
    [{ kind: 'region', type: 'country', id: '..' }, point], [{ kind: 'region', type: 'a/b', id: '..' }, point], [{ kind: 'region', type: 'country', id: '' }, point],
    [{ kind: 'position', id: '1' }, point], [{ kind: 'point', id: '1' }, point], [{}, point],
  ]) assert.deepEqual(selectionOf({ ...hit, ...at }), want, JSON.stringify(hit))
})
