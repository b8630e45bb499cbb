import assert from 'node:assert/strict'
import test from 'node:test'
import { summary } from '../src/panels/inspector-words.js'
import { cacheState, TileLog } from '../src/server/tilelog.js'

const timing = (name, more = {}) => ({ name, requestStart: 10, startTime: 5, responseEnd: 22, transferSize: 1300, encodedBodySize: 1000, decodedBodySize: 4000, ...more })
const response = headers => ({ status: 200, headers: new Headers(headers) })

test('the figures of a tile come from its headers and its timing, in any order', () => {
  const news = []
  const log = new TileLog({ changed: () => news.push(1) })
  assert.equal(log.of('a'), null)
  log.timed(timing('a'))
  log.answered('a', response({ 'content-encoding': 'gzip', etag: '"1"' }))
  const want = { ms: 12, sent: 1000, unpacked: 4000, cache: 'miss', status: 200, coding: 'gzip', etag: '"1"' }
  assert.deepEqual(log.of('a'), want)
  assert.equal(news.length, 2)
  log.timed(timing('a', { transferSize: 300, responseEnd: 11 }))
  assert.deepEqual(log.of('a'), { ...want, ms: 1, cache: '304' })
})

test('the log is bounded, and forgets what it heard of least recently', () => {
  const log = new TileLog({ limit: 2 })
  for (const name of ['a', 'b', 'a', 'c']) log.timed(timing(name))
  assert.deepEqual(['a', 'b', 'c'].map(name => log.of(name) !== null), [true, false, true])
})

test('which cache answered', () => {
  assert.equal(cacheState({ transferSize: 0, encodedBodySize: 900 }), 'hit')
  assert.equal(cacheState({ transferSize: 300, encodedBodySize: 900 }), '304')
  assert.equal(cacheState({ transferSize: 300, encodedBodySize: 0 }), 'miss')
  assert.equal(cacheState({ transferSize: 1200, encodedBodySize: 900 }), 'miss')
})

test('a tile in one line', () => {
  const region = { ms: 12.4, sent: 4400, unpacked: 9000, coding: 'gzip', cache: 'miss' }
  assert.equal(summary([region]), '4.4 kB · 12 ms · gzip')
  assert.equal(summary([{ ...region, cache: '304' }, null, { ms: 30, sent: 600 }]), '5 kB · 30 ms · gzip · 304')
  assert.equal(summary([null, { status: 200 }]), '')
})
