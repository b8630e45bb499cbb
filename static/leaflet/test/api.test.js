import assert from 'node:assert/strict'
import test from 'node:test'
import { problemMessage, retrySeconds, vectorTilePath } from '../src/server/api.js'

test('every answer that is an error is a sentence for people', () => {
  assert.match(problemMessage(400, 'bad-parameter'), /does not understand this question/)
  assert.match(problemMessage(401, 'key-missing'), /--anonymous/)
  assert.match(problemMessage(503, 'dataset-unavailable', 5), /cannot read these data/)
  assert.match(problemMessage(500, 'data-corrupt'), /damaged/)
  assert.match(problemMessage(503, ''), /busy/)
  assert.match(problemMessage(418, ''), /418/)
  for (let status = 400; status < 600; status++) assert.match(problemMessage(status, 'x'), /^[A-Z][^%]*\.$/)
})

test('how long to wait is told as people do', () => {
  for (const [seconds, want] of [[0, 'a moment'], [1, '1 second'], [30, '30 seconds'], [120, '2 minutes'], [3600, '60 minutes'], [86400, '24 hours']]) {
    assert.equal(problemMessage(429, '', seconds), `Too many questions in a short time. Ask again in ${want}.`)
  }
})

test('Retry-After is seconds or a date, and may be nonsense', () => {
  assert.deepEqual(['3', '3600', '-1', 'Wed, 21 Oct 2026 07:28:00 GMT', 'soon', '', null, '9'.repeat(400)].map(text => retrySeconds(text, Date.parse('2026-10-21T07:27:00Z'))),
    [3, 3600, 0, 60, 0, 0, 0, 0])
})

test('a tile is asked for a property that it has not by itself', () => {
  assert.equal(vectorTilePath(['country', 'points:a'], { z: 1, x: 2, y: 3 }), 'tiles/country,points:a/1/2/3.mvt?names=en')
  assert.equal(vectorTilePath(['points:a'], { z: 1, x: 2, y: 3 }), 'tiles/points:a/1/2/3.mvt')
  assert.equal(vectorTilePath(['ward'], { z: 1, x: 2, y: 3 }, 'a/b &c'), 'tiles/ward/1/2/3.mvt?names=en&fields=a%2Fb%20%26c')
})
