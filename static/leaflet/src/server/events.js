// Server-sent events of the service. EventSource does not tell why a stream ends, nor the id of one in which nothing happened,
// and asks for ever at one pace. So streams are read here.
import { absolute, retrySeconds } from './api.js'

const FIRST_WAIT = 1000 // milliseconds before a stream is asked for again
const LONGEST_WAIT = 60_000
const SILENCE = 60_000 // the server says something every 15 seconds, so a stream that says nothing for longer is dead
const LONGEST_LINE = 1e6 // characters

/**
 * Follows the events of a path from the id last on, or from now on if that is ''. event(name, data) is called for each, lost() after
 * some may have been missed, and connected(on) when a stream has begun or ended. One that ends is asked for again. Returned is a function that ends this and returns the
 * id of the last event.
 */
export function followEvents(path, { last = '', event, lost = () => {}, connected = () => {} }) {
  const over = new AbortController()
  const { signal } = over
  let following = last !== '' // whether events before the next stream matter

  async function read() {
    const query = last && `${path.includes('?') ? '&' : '?'}last_event_id=${encodeURIComponent(last)}`
    const response = await fetch(absolute(path + query), { signal, cache: 'no-store', headers: { accept: 'text/event-stream' } })
    if (!response.ok || !response.headers.get('content-type')?.startsWith('text/event-stream')) {
      await response.body?.cancel()
      if (response.status === 410) last = ''
      return retrySeconds(response.headers.get('retry-after'))
    }
    if (following && !last) lost()
    connected(true)
    await readEvents(response.body, { id: id => { last = id }, event })
    return 0
  }

  async function run() {
    for (let failures = 0; !signal.aborted; failures++) {
      const began = Date.now()
      let wanted = 0
      try {
        wanted = await read()
      } catch { /* the connection is lost, or never came about */ }
      if (signal.aborted) return
      connected(false)
      following = true
      if (Date.now() - began > LONGEST_WAIT) failures = 0
      await online(signal)
      await pause(Math.max(1000 * wanted, waitAfter(failures)), signal)
    }
  }
  run()
  return () => {
    over.abort()
    return last
  }
}

/** Milliseconds to wait after so many failures: ever longer, and by chance, so that not all pages come back at once. */
export function waitAfter(failures, chance = Math.random()) {
  const most = Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** (failures + 1))
  return FIRST_WAIT + chance * (most - FIRST_WAIT)
}

/** Reads the stream of events in a body to its end. */
export async function readEvents(body, { id, event }) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  let next = {}
  for (;;) {
    const timer = setTimeout(() => reader.cancel(), SILENCE)
    const { done, value } = await reader.read().finally(() => clearTimeout(timer))
    if (done) return
    const lines = (rest + value).split('\n')
    rest = lines.pop()
    if (rest.length > LONGEST_LINE) return reader.cancel()
    for (const line of lines) {
      const [, field, text] = /^([^:\r]*):? ?([^\r]*)/.exec(line)
      if (field || line.startsWith(':')) {
        next[field] = field === 'data' && next.data !== undefined ? `${next.data}\n${text}` : text
        continue
      }
      if (next.id !== undefined) id(next.id)
      if (next.data !== undefined) event(next.event || 'message', next.data)
      next = {}
    }
  }
}

function pause(milliseconds, signal) {
  return new Promise(resolve => {
    const timer = setTimeout(resolve, milliseconds)
    signal.addEventListener('abort', () => { clearTimeout(timer); resolve() }, { once: true })
  })
}

// Resolves once the browser is not known to be offline.
function online(signal) {
  if (globalThis.navigator?.onLine !== false) return Promise.resolve()
  return new Promise(resolve => addEventListener('online', resolve, { once: true, signal }))
}
