import assert from 'node:assert/strict'
import test from 'node:test'
import { countryName, marked } from '../src/words/format.js'
import { isGuess } from '../src/panels/hit.js'
import { isAddress } from '../src/panels/suggest.js'

test('addresses are told from names', () => {
  for (const text of ['192.0.2.1', '10.', '2001:db8::1', '::1', '[2001:db8::1]', 'fe80::1%eth0', '::ffff:192.0.2.1']) assert.ok(isAddress(text), text)
  for (const text of ['Zürich', '10', 'St. Louis', 'L.A.', 'pdx', '北京', 'be:ef me', '.']) assert.ok(!isAddress(text), text)
})

test('what was typed is marked in the name it was found by', () => {
  const name = 'Zürich'
  assert.deepEqual(marked({ name, match: { highlight: [0, 3] } }), ['', 'Zür', 'ich'])
  assert.deepEqual(marked({ name: 'Wrocław', match: { name: 'Breslau', highlight: [0, 4] } }), ['Wrocław (', 'Bres', 'lau)'])
  assert.deepEqual(marked({ name: 'Wrocław', match: { name: 'Breslau' } }), ['Wrocław (Breslau)', '', ''])
  for (const match of [undefined, {}, { highlight: [3, 3] }, { highlight: [0, 99] }, { highlight: 'x' }]) {
    assert.deepEqual(marked({ name, match }), [name, '', ''])
  }
  assert.deepEqual(marked({ name: 'a\u202Eb', match: { highlight: [0, 1] } }), ['a b', '', ''], 'reordering characters stay out')
})

test('names of countries', () => {
  assert.equal(countryName('ZZZ'), 'ZZZ')
  assert.equal(countryName(undefined), '')
})

test('guesses are told from finds', () => {
  for (const kind of ['typo', 'part', 'word']) assert.ok(isGuess({ kind: 'place', match: { kind } }), kind)
  for (const kind of ['exact', 'prefix']) assert.ok(!isGuess({ kind: 'place', match: { kind } }), kind)
  assert.ok(!isGuess({ kind: 'airport', match: { kind: 'word' } }), 'heathrow')
  assert.ok(!isGuess({ kind: 'position' }))
})
