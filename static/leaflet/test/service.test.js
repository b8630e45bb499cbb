import assert from 'node:assert/strict'
import test from 'node:test'
import { connect, serve } from '../src/engine/service.js'

// A server and its client on a channel, closed when the test ends.
function pair(t, methods) {
  const { port1, port2 } = new MessageChannel()
  const client = connect(port1)
  const server = serve(port2, methods)
  t.after(() => {
    server.close()
    port1.close()
  })
  return client
}

test('a call has its answer, and an error its name and message', async t => {
  const client = pair(t, {
    double: ({ number }) => 2 * number,
    fail() { throw new RangeError('too far') },
    async later() { return 'later' },
  })
  assert.deepEqual(await Promise.all([client.call('double', { number: 4 }), client.call('later'), client.call('double', { number: 5 })]), [8, 'later', 10])
  await assert.rejects(client.call('fail'), { name: 'RangeError', message: 'too far' })
  await assert.rejects(client.call('unknown'), { name: 'TypeError' })
  assert.equal(await client.call('double', { number: 1 }), 2, 'after errors it goes on')
})

test('what was taken back before its turn is never worked on', async t => {
  const worked = []
  const client = pair(t, { async work({ name }) { worked.push(name); return name } })
  const given = new AbortController()
  const first = client.call('work', { name: 'first' })
  const second = client.call('work', { name: 'second' }, { signal: given.signal })
  const third = client.call('work', { name: 'third' })
  await new Promise(resolve => setTimeout(resolve)) // sent, and not yet worked on to the end
  const late = client.call('work', { name: 'late' }, { signal: AbortSignal.abort() })
  given.abort()
  await assert.rejects(late, { name: 'AbortError' })
  await second.catch(error => assert.equal(error.name, 'AbortError'))
  assert.deepEqual([await first, await third], ['first', 'third'])
  assert.ok(!worked.includes('late'))
})

test('calls are worked on one by one, in order, and a cancellation overtakes what waits', async t => {
  const worked = []
  let release
  const client = pair(t, {
    hold: () => new Promise(resolve => { release = resolve }),
    work({ name }) { worked.push(name) },
  })
  const held = client.call('hold')
  const given = new AbortController()
  const dropped = client.call('work', { name: 'dropped' }, { signal: given.signal })
  const kept = client.call('work', { name: 'kept' })
  while (!release) await new Promise(resolve => setTimeout(resolve))
  given.abort()
  await assert.rejects(dropped, { name: 'AbortError' })
  await new Promise(resolve => setTimeout(resolve, 5))
  release()
  await Promise.all([held, kept])
  assert.deepEqual(worked, ['kept'])
})

test('what is transferred is handed over both ways, and closed when nobody waits for it', async t => {
  const client = pair(t, { swap: ({ bytes }) => ({ size: bytes.byteLength, transfer: [new ArrayBuffer(3)] }) })
  const bytes = new ArrayBuffer(5)
  const answer = await client.call('swap', { bytes }, { transfer: [bytes] })
  assert.deepEqual([answer.size, answer.transfer[0].byteLength, bytes.byteLength], [5, 3, 0])
})

test('nothing is sent to a side that never begins', async () => {
  const sent = []
  const port = { postMessage: message => sent.push(message) }
  const client = connect(port)
  const call = client.call('x')
  client.failed(new Error('no worker'))
  await assert.rejects(call, /no worker/)
  await assert.rejects(client.call('y'), /no worker/)
  assert.deepEqual(sent, [])
})
