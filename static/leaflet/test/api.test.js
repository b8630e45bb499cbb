import assert from 'node:assert/strict'
import test from 'node:test'
import { problemMessage, retrySeconds } from '../src/api.js'

test('a problem document speaks for itself', () => {
  assert.equal(problemMessage(404, { title: 'The address is reserved', detail: '10.0.0.1 is in 10.0.0.0/8.' }), 'The address is reserved. 10.0.0.1 is in 10.0.0.0/8.')
  assert.equal(problemMessage(404, { title: 'No such\u0000 region' }), 'No such region.')
  assert.equal(problemMessage(400, { detail: 'Set lat to a number of degrees from -90 to 90' }), 'Set lat to a number of degrees from -90 to 90.')
})

test('without one the status is put into words', () => {
  for (const problem of [null, undefined, {}, { detail: { nested: true } }, 'text']) {
    assert.match(problemMessage(503, problem), /busy/)
    assert.match(problemMessage(502, problem), /could not answer/)
    assert.match(problemMessage(418, problem), /418/)
  }
})

test('Retry-After is bounded and may be nonsense', () => {
  assert.deepEqual(['3', '3600', '-1', 'Wed, 21 Oct 2026 07:28:00 GMT', '', null].map(retrySeconds), [3, 10, 0, 0, 0, 0])
})
