// News of live collections: that they have changed, and which points came into a region or left it.
import { followEvents } from './events.js'

// A browser opens six connections to a server that does not speak HTTP/2, and tiles need some.
const MOST_STREAMS = 3
const MOST_FOLLOWED = 2 // collections whose changes are streamed
export const MOST_WATCHED = 2 // collections with fences
export const MOST_FENCES = 20 // of a collection

/**
 * The news of live collections, while somebody looks. changed(layer) is called once a second at most for each that is on, with its
 * revision raised: the changes of the first are streamed, the others are asked anew now and then. crossed(layer, crossing) is
 * called for each crossing of a fence, { id, fence, enters, at, why }, missed(layer) if there were crossings that it was not called
 * for, and connected(layer, on) when it begins to be and when the connection is lost. A fence is a region, 'type:id'.
 */
export function createNews(layers, { changed, crossed, missed, connected, open = followEvents, interval = 1000, page = globalThis.document }) {
  const followed = new Map() // layer → { streamed, end }
  const watched = new Map() // layer → { fences, last, end }

  function follow(layer, streamed) {
    let timer = 0
    let again = false
    const tell = () => {
      if (timer) {
        again = true
        return
      }
      again = false
      layer.revision++
      changed(layer)
      timer = setTimeout(() => {
        timer = 0
        if (again) tell()
      }, interval)
    }
    const every = streamed ? 0 : setInterval(tell, 10 * interval)
    const close = streamed && open(`points/${layer.name}/events`, { event: name => { if (name === 'move') tell() }, lost: tell })
    return { streamed, end: () => { clearInterval(every); clearTimeout(timer); if (close) close() } }
  }

  function watch(layer, { fences, last }) {
    const list = fences.map(encodeURIComponent).join()
    return open(`points/${layer.name}/events?enter=${list}&leave=${list}`, {
      last,
      lost: () => missed(layer),
      connected: on => connected(layer, on),
      event(name, data) {
        const crossing = crossingOf(name, data)
        if (crossing) crossed(layer, crossing)
      },
    })
  }

  function update() {
    const seen = !page?.hidden
    for (const [layer, one] of watched) {
      if (seen && !one.end) one.end = watch(layer, one)
      if (!seen && one.end) one.last = one.end()
      if (!seen) one.end = null
    }
    let streams = Math.min(MOST_FOLLOWED, MOST_STREAMS - watched.size)
    for (const layer of layers) {
      const on = layer.live && layer.on && seen
      const streamed = on && streams-- > 0
      if (followed.has(layer) && (!on || followed.get(layer).streamed !== streamed)) {
        followed.get(layer).end()
        followed.delete(layer)
      }
      if (on && !followed.has(layer)) followed.set(layer, follow(layer, streamed))
    }
  }
  page?.addEventListener('visibilitychange', () => {
    update()
    if (!page.hidden) for (const layer of followed.keys()) { layer.revision++; changed(layer) }
  })

  return {
    /** Is to be called after layers were switched. */
    update,

    /** Tells the crossings of these fences of a collection and of no others. The one stream of them goes on where it was. */
    watch(layer, fences) {
      const last = watched.get(layer)?.end?.() ?? watched.get(layer)?.last ?? ''
      watched.delete(layer)
      if (fences.length > 0) watched.set(layer, { fences, last, end: null })
      update()
    },
  }
}

/** What an event of a stream with fences tells, or null. */
export function crossingOf(name, data) {
  if (name !== 'enter' && name !== 'leave') return null
  try {
    const { id, fence, lat, lon, gone, expired } = JSON.parse(data)
    if (typeof id !== 'string' || typeof fence !== 'string') return null
    const at = Number.isFinite(lat) && Number.isFinite(lon) ? { lat, lon } : null
    return { id, fence, enters: name === 'enter', at, why: gone ? expired ? 'expired' : 'removed' : '' }
  } catch {
    return null
  }
}
