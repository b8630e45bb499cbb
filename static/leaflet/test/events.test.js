import assert from 'node:assert/strict'
import test from 'node:test'
import './document.js'

const { followEvents, readEvents, waitAfter } = await import('../src/server/events.js')

const body = (...chunks) => new ReadableStream({
  start(controller) {
    for (const chunk of chunks) controller.enqueue(new TextEncoder().encode(chunk))
    controller.close()
  },
})

test('a stream of events is read, however it is cut', async () => {
  const text = ':\nid: 5\n\nid: 6\nevent: enter\ndata: {"id":"ä:1"}\n\ndata: a\ndata:b\n\nevent: none\n\nid: 7.1\r\nevent: leave\r\ndata: x\r\n\r\ndata: unfinished\n'
  for (const size of [1, 3, 1000]) {
    const told = []
    const chunks = []
    for (let i = 0; i < text.length; i += size) chunks.push(text.slice(i, i + size))
    await readEvents(body(...chunks), { id: id => told.push(id), event: (name, data) => told.push(`${name} ${data}`) })
    assert.deepEqual(told, ['5', '6', 'enter {"id":"ä:1"}', 'message a\nb', '7.1', 'leave x'], `${size}`)
  }
})

test('a line without an end is not collected', async () => {
  let cancelled = false
  const endless = new ReadableStream({
    pull(controller) { controller.enqueue(new TextEncoder().encode('x'.repeat(100_000))) },
    cancel() { cancelled = true },
  })
  await readEvents(endless, { id: assert.fail, event: assert.fail })
  assert.ok(cancelled)
})

test('the wait grows from a second to a minute, by chance', () => {
  assert.deepEqual([0, 1, 2, 5, 60].map(failures => waitAfter(failures, 0)), [1000, 1000, 1000, 1000, 1000])
  assert.deepEqual([0, 1, 2, 5, 60].map(failures => waitAfter(failures, 1)), [2000, 4000, 8000, 60_000, 60_000])
})

// Answers in turn; when there are none left, the next question is told.
function answering(...answers) {
  const asked = []
  let finish
  const done = new Promise(resolve => { finish = resolve })
  globalThis.fetch = async (url, { signal }) => {
    asked.push(new URL(url).pathname + new URL(url).search)
    const answer = answers.shift()
    if (!answer) {
      finish()
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    }
    if (answer instanceof Error) throw answer
    const { status = 200, headers = { 'content-type': 'text/event-stream' }, text = '' } = answer
    return new Response(text, { status, headers })
  }
  return { asked, done }
}

// Lets waits pass until the promise is kept.
async function passing(t, promise) {
  let over = false
  promise.then(() => { over = true })
  while (!over) {
    await new Promise(resolve => setImmediate(resolve))
    t.mock.timers.tick(60_000)
  }
}

test('a stream that ends goes on behind its last event', async t => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { asked, done } = answering({ text: ':\nid: 4\n\n' }, new TypeError('Failed to fetch'), { status: 503, headers: { 'retry-after': '1' } }, { status: 404 },
    { text: 'id: 5.1\nevent: enter\ndata: {}\n\n' }, { status: 200, headers: { 'content-type': 'text/html' }, text: 'id: 9\n\n' })
  const told = []
  const connected = on => told.push(on)
  const end = followEvents('points/cars/events', { event: name => told.push(name), lost: () => told.push('lost'), connected })
  await passing(t, done)
  assert.deepEqual(asked, ['/points/cars/events', ...Array.from({ length: 4 }, () => '/points/cars/events?last_event_id=4'), ...Array.from({ length: 2 }, () => '/points/cars/events?last_event_id=5.1')])
  assert.deepEqual(told, [true, false, false, false, false, true, 'enter', false, false])
  assert.equal(end(), '5.1')
})

test('a stream whose events are gone begins anew, and says so', async t => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { asked, done } = answering({ status: 410 }, { status: 503 }, { text: 'id: 8\n\n' })
  const told = []
  const end = followEvents('points/cars/events?enter=a', { last: '4', event: name => told.push(name), lost: () => told.push('lost') })
  await passing(t, done)
  assert.deepEqual(asked, ['/points/cars/events?enter=a&last_event_id=4', '/points/cars/events?enter=a', '/points/cars/events?enter=a', '/points/cars/events?enter=a&last_event_id=8'])
  assert.deepEqual(told, ['lost'])
  end()
})

test('a stream that is ended asks no more, and one that says nothing counts as dead', async t => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let cancelled = 0
  let asked = 0
  globalThis.fetch = async () => {
    asked++
    return new Response(new ReadableStream({ cancel() { cancelled++ } }), { headers: { 'content-type': 'text/event-stream' } })
  }
  const end = followEvents('points/cars/events', { event: assert.fail })
  while (asked < 3) {
    await new Promise(resolve => setImmediate(resolve))
    t.mock.timers.tick(60_000)
  }
  end()
  assert.ok(cancelled >= 2)
  const before = asked
  for (let i = 0; i < 20; i++) {
    await new Promise(resolve => setImmediate(resolve))
    t.mock.timers.tick(60_000)
  }
  assert.equal(asked, before)
})
