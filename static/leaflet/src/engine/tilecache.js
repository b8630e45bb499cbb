// Tiles that are loading or loaded, shared by everyone who needs the same one.

/** What is held from now on in the place of the old: let go of only then, so that what both need is not aborted. */
export function held(now, old) {
  for (const { release } of old) release()
  return now
}

/**
 * Keeps the results of load(key, signal) by key. A load that nobody waits for any more is aborted; a failed one is
 * forgotten, so that asking again tries again; of the finished ones that nobody holds the least recently used go first
 * once there are more than limit. dropped(key) is called for what is no longer kept.
 */
export class TileCache {
  #load
  #limit
  #dropped
  #entries = new Map() // in order of last use

  constructor(load, limit = 256, dropped = () => {}) {
    this.#load = load
    this.#limit = limit
    this.#dropped = dropped
  }

  /** The value's promise and the function that gives it back; release may be called more than once. */
  acquire(key) {
    let entry = this.#entries.get(key)
    if (entry) {
      this.#entries.delete(key)
    } else {
      const abort = new AbortController()
      entry = { holders: 0, settled: false, abort, promise: null }
      entry.promise = this.#load(key, abort.signal).then(
        value => { entry.settled = true; return value },
        error => { this.#forget(key, entry); throw error },
      )
      entry.promise.catch(() => {}) // whoever waits sees the error; nobody waiting is no error
    }
    this.#entries.set(key, entry)
    entry.holders++
    this.#evict()
    let held = true
    return {
      promise: entry.promise,
      release: () => {
        if (!held) return
        held = false
        if (--entry.holders === 0 && !entry.settled) {
          this.#forget(key, entry)
          entry.abort.abort()
        }
        this.#evict()
      },
    }
  }

  #forget(key, entry) {
    if (this.#entries.get(key) !== entry) return
    this.#entries.delete(key)
    this.#dropped(key)
  }

  #evict() {
    for (const [key, entry] of this.#entries) {
      if (this.#entries.size <= this.#limit) return
      if (entry.holders === 0 && entry.settled) this.#forget(key, entry)
    }
  }
}
