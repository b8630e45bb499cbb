import assert from 'node:assert/strict'
import test from 'node:test'
import { TileCache } from '../src/engine/tilecache.js'

// A cache whose loads are settled by hand.
function manual(limit) {
  const loads = []
  const cache = new TileCache((key, signal) => new Promise((resolve, reject) => {
    loads.push({ key, signal, resolve, reject })
    signal.addEventListener('abort', () => reject(signal.reason))
  }), limit)
  return { cache, loads }
}

test('two askers share one load', async () => {
  const { cache, loads } = manual()
  const [a, b] = [cache.acquire('k'), cache.acquire('k')]
  loads[0].resolve(42)
  assert.deepEqual([await a.promise, await b.promise, loads.length], [42, 42, 1])
})

test('a load is aborted when the last asker lets go, not before, and only once', async () => {
  const { cache, loads } = manual()
  const [a, b] = [cache.acquire('k'), cache.acquire('k')]
  a.release()
  a.release()
  assert.equal(loads[0].signal.aborted, false)
  b.release()
  assert.equal(loads[0].signal.aborted, true)
  await assert.rejects(b.promise, { name: 'AbortError' })
  cache.acquire('k')
  assert.equal(loads.length, 2, 'an aborted load does not stay')
})

test('a failed load is tried again', async () => {
  const { cache, loads } = manual()
  const first = cache.acquire('k')
  loads[0].reject(new Error('store failed'))
  await assert.rejects(first.promise, /store failed/)
  const second = cache.acquire('k')
  loads[1].resolve('fine')
  assert.equal(await second.promise, 'fine')
})

test('the least recently used of what nobody holds goes first', async () => {
  const { cache, loads } = manual(2)
  const held = {}
  for (const key of ['a', 'b', 'c']) {
    held[key] = cache.acquire(key)
    loads.at(-1).resolve(key)
    await held[key].promise
  }
  held.b.release()
  held.a.release() // over the limit: b, used before c and released, was dropped at once
  cache.acquire('a')
  cache.acquire('c')
  assert.equal(loads.length, 3)
  cache.acquire('b')
  assert.equal(loads.length, 4)
})

test('who keeps more by the keys is told what is dropped, and nothing is dropped that is held', async () => {
  const dropped = []
  const cache = new TileCache(async key => key, 1, key => dropped.push(key))
  const [a, b] = [cache.acquire('a'), cache.acquire('b')]
  await Promise.all([a.promise, b.promise])
  assert.deepEqual(dropped, [])
  a.release()
  assert.deepEqual(dropped, ['a'])
  const never = new TileCache(() => new Promise(() => {}), 1, key => dropped.push(key))
  never.acquire('c').release()
  assert.deepEqual(dropped, ['a', 'c'], 'and so is what was aborted')
})
