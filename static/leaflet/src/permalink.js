// What is open, kept in the address of the page: a link shows the same again, and back and forward walk through it.
import { formatHash, formatState, parseState } from './hash.js'

/** The permalink of this page. A step is an entry of its own in the browser's history; anything else amends the last. */
export function createPermalink() {
  let view = null
  let state = parseState(location.hash)

  function write(step) {
    if (!view) return
    const open = formatState(state)
    const hash = formatHash(view) + (open && `/${open}`)
    if (hash === location.hash) return
    if (step) history.pushState(null, '', hash)
    else history.replaceState(history.state, '', hash)
  }

  return {
    /** What is open, as hash.js describes it. */
    get state() { return state },

    /** Notes where the map starts, which is no news for the address. */
    startsAt(now) {
      view = now
    },

    /** Notes where the map has moved: { zoom, lat, lon }. */
    moved(now) {
      view = now
      write(false)
    },

    /** Notes what has been opened or closed. */
    set(change, { step = false } = {}) {
      state = { ...state, ...change }
      write(step)
    },

    /** Calls the listener with the state when the reader goes back, forward or to another link. */
    onVisit(listener) {
      addEventListener('popstate', () => {
        state = parseState(location.hash)
        listener(state)
      })
    },
  }
}
