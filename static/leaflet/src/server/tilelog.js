// What each tile cost: its size, how long it took, how it was coded and which cache answered.

/**
 * Keeps what is known of requests by their address, the latest of each, at most limit of them. changed() is called when more
 * is known.
 */
export class TileLog {
  #limit
  #entries = new Map() // in order of the last news
  #changed

  constructor({ limit = 1024, changed = () => {} } = {}) {
    this.#limit = limit
    this.#changed = changed
  }

  /** Who is told of news. */
  set changed(listener) { this.#changed = listener }

  /** Notes a response, of which the headers tell the coding. */
  answered(url, { status, headers }) {
    this.#note(url, { status, coding: headers.get('content-encoding') ?? '', etag: headers.get('etag') ?? '' })
  }

  /** Notes an entry of the browser's resource timing. */
  timed({ name, requestStart, startTime, responseEnd, transferSize, encodedBodySize, decodedBodySize }) {
    this.#note(name, {
      ms: Math.max(0, responseEnd - (requestStart || startTime)), sent: encodedBodySize, unpacked: decodedBodySize,
      cache: cacheState({ transferSize, encodedBodySize }),
    })
  }

  /** { status, coding, etag, ms, sent, unpacked, cache } as far as known, or null. Sizes are in bytes, bodies only. */
  of(url) {
    return this.#entries.get(url) ?? null
  }

  #note(url, news) {
    const entry = { ...this.#entries.get(url), ...news }
    this.#entries.delete(url)
    this.#entries.set(url, entry)
    if (this.#entries.size > this.#limit) this.#entries.delete(this.#entries.keys().next().value)
    this.#changed()
  }
}

/**
 * Which cache answered, by the sizes that the Resource Timing standard gives: nothing is transferred out of the browser's own,
 * and exactly 300 bytes stand for the headers of an answer, of which a body that was not sent again has no more.
 */
export function cacheState({ transferSize, encodedBodySize }) {
  if (transferSize === 0) return 'hit'
  return transferSize === 300 && encodedBodySize > 0 ? '304' : 'miss'
}

/** The log of this page's tiles. */
export const tileLog = new TileLog()

/** Lets the browser tell the log about every tile from now on, and those before. */
export function watchTiles(log = tileLog) {
  const prefix = new URL('tiles/', document.baseURI).href
  new PerformanceObserver(list => {
    for (const entry of list.getEntries()) {
      if (entry.name.startsWith(prefix)) log.timed(entry)
    }
  }).observe({ type: 'resource', buffered: true })
}
