import assert from 'node:assert/strict'
import test from 'node:test'
import { coordinates, distance, placeKind, population, title, zoneBasis } from '../src/words/format.js'
import { displayText } from '../src/words/text.js'
import { wantsMiles } from '../src/words/units.js'

test('distances', () => {
  for (const [metres, want] of [
    [0, 'here'], [0.9, 'here'], [1, '1 m'], [49.6, '50 m'], [99.4, '99 m'], [104, '100 m'], [994, '990 m'], [995, '1 km'],
    [1234, '1.2 km'], [9_940, '9.9 km'], [12_345, '12 km'], [1_234_567, '1,235 km'], [-1, ''], [NaN, ''], [undefined, ''],
  ]) assert.equal(distance(metres, false), want, String(metres))
  for (const [metres, want] of [[0.9, 'here'], [30.48, '100 ft'], [160, '525 ft'], [161, '0.1 mi'], [1609.344, '1 mi'], [15_000, '9.3 mi'], [1_609_344, '1,000 mi'], [NaN, '']]) {
    assert.equal(distance(metres, true), want, String(metres))
  }
})

test('miles are for readers of such a language whose clock is of such a country, or who chose them', () => {
  for (const [chosen, language, clock, want] of [
    ['', 'en-US', 'America/Denver', true], ['', 'en-US', 'Europe/Paris', false], ['', 'en-CA', 'America/Denver', false], ['', 'en-GB', 'Europe/London', true],
    ['metric', 'en-US', 'America/Denver', false], ['imperial', 'fr', 'Europe/Paris', true],
  ]) assert.equal(wantsMiles(chosen, [language], clock), want, `${chosen} ${language} ${clock}`)
})

test('the time zone of a point says how it is known', () => {
  for (const [zone, want] of [
    [{ source: 'longitude', match: 'derived', nautical: true }, 'by longitude, as ships reckon'],
    [{ source: 'longitude', match: 'derived' }, 'by longitude, in no zone'],
    [{ source: 'country', match: 'derived' }, 'the only zone of the country'],
    [{ source: 'airport', match: 'nearest', distance_m: 720_400 }, 'as at the nearest airport, 720 km away'],
    [{ source: 'place', match: 'nearest', distance_m: 0 }, 'as at the nearest place'],
    [{ source: 'place', match: 'nearest' }, 'as at the nearest place'],
    [{ source: 'region', match: 'inside' }, ''], [{ source: 'toString' }, ''], [{}, ''],
  ]) assert.equal(zoneBasis(zone), want)
})

test('coordinates name their hemisphere, the equator as north and the meridian as east', () => {
  assert.equal(coordinates(47.37689, 8.54169), '47.3769° N, 8.5417° E')
  assert.equal(coordinates(-33.9, -70.25, 2), '33.90° S, 70.25° W')
  assert.equal(coordinates(-0.00001, -0.00001, 2), '0.00° N, 0.00° E')
})

test('populations and kinds', () => {
  assert.equal(population(434335), '434,335')
  assert.deepEqual([0, undefined, NaN].map(population), ['', '', ''])
  assert.equal(placeKind('P', 'PPLC'), 'capital')
  assert.equal(placeKind('P', 'PPL', 2_000_000), 'city')
  assert.equal(placeKind('P', 'PPL', 5_000), 'town')
  assert.equal(placeKind('P', 'PPL', 10), 'village')
  assert.equal(placeKind('H', 'BAY'), 'water')
  assert.equal(placeKind(undefined, 'constructor'), 'place')
  assert.equal(placeKind('toString', undefined), 'place')
})

test('titles', () => {
  assert.deepEqual(['country', 'sales_territory', 'voting-district', ''].map(title), ['Country', 'Sales territory', 'Voting district', ''])
})

test('text from outside is one bounded line without control or reordering characters', () => {
  assert.equal(displayText('Lake\rBaikal\n'), 'Lake Baikal')
  assert.equal(displayText('a\u202Egnp.exe\u2066b\u0000c\u200Bd'), 'a gnp.exe b c d')
  assert.equal(displayText('<b>&amp;</b>'), '<b>&amp;</b>', 'markup is text like any other')
  assert.equal(displayText('می\u200Cخواهم'), 'می\u200Cخواهم', 'joiners are spelling')
  assert.equal(displayText('𝒳'.repeat(300), 10), `${'𝒳'.repeat(9)}…`)
  assert.equal(displayText('x'.repeat(1e6), 5), 'xxxx…')
  for (const value of [undefined, null, {}, [], true]) assert.equal(displayText(value), '')
  assert.equal(displayText(42), '42')
})
