// Users' own collections of points: which there are, what a tile shows of one, and news of those that change.
import { VectorTile } from '@mapbox/vector-tile'
import { PbfReader } from 'pbf'
import { displayText, title } from './format.js'

const MOST = 20 // collections in the switch
const MOST_ON = 3 // of them to begin with
export const COLOURS = 6 // that the style sheets have for collections

/**
 * The collections of the service's list as rows of the layer switch: { type, label, role, from, on, name, live, colour, revision }.
 * Private ones are not for the map. revision counts how often a live one has changed.
 */
export function collectionLayers(answer) {
  const list = Array.isArray(answer?.collections) ? answer.collections : []
  return list.filter(one => typeof one?.name === 'string' && /^[a-z][a-z0-9_-]{0,39}$/.test(one.name) && !one.private)
    .slice(0, MOST).map(({ name, title: given, live }, i) => ({
      type: `points:${name}`, label: displayText(given, 40) || title(name), role: 'points', from: 0, on: i < MOST_ON,
      name, live: live === true, colour: i % COLOURS, revision: 0,
    }))
}

/**
 * What a vector tile shows of a collection: [{ id, name, count, lat, lon, properties }]. A cluster has a count and no id; the
 * properties are [name, value] of the others, in their order.
 */
export function shownPoints(bytes, type, { z, x, y }) {
  if (bytes.byteLength === 0) return []
  const layer = new VectorTile(new PbfReader(bytes)).layers[type]
  return Array.from({ length: layer?.length ?? 0 }, (_, i) => layer.feature(i)).flatMap(feature => {
    const { geometry, properties } = feature.toGeoJSON(x, y, z)
    const [lon, lat] = geometry.coordinates
    if (geometry.type !== 'Point' || !Number.isFinite(lat) || !Number.isFinite(lon)) return []
    const { id, name, cluster, point_count: count, ...rest } = properties
    if (cluster === true) return count > 0 ? [{ id: '', name: '', count, lat, lon, properties: [] }] : []
    return [{ id: String(id), name: displayText(name), count: 0, lat, lon, properties: Object.entries(rest) }]
  })
}

/** A count in as few letters as a disc has room for. */
export function shortCount(count) {
  for (const [size, letter] of [[1e9, 'G'], [1e6, 'M'], [1e3, 'k']]) {
    if (count < size) continue
    const scaled = count / size
    return (scaled < 9.95 ? scaled.toFixed(1).replace(/\.0$/, '') : Math.round(scaled)) + letter
  }
  return String(count)
}

/** The radius of what stands for a point or a cluster, in CSS pixels. */
export function radiusOf(count) {
  return count > 0 ? 10 + 3 * Math.min(5, Math.log10(count)) : 5
}

/** The address in a text that is nothing but one, of the web, or ''. */
export function linkOf(text) {
  if (typeof text !== 'string' || !/^https?:\/\/[^\s]+$/i.test(text)) return ''
  try {
    return new URL(text).href
  } catch {
    return ''
  }
}

// A browser opens six connections to a server that does not speak HTTP/2, and tiles need some.
const MOST_FOLLOWED = 2

/**
 * Follows the news of the live collections that are on, and calls changed(layer) once a second at most for each, with its
 * revision raised. The first two are followed, others are asked anew now and then, and none while nobody looks. Call the
 * returned function after layers were switched. A service without news is left alone.
 */
export function followChanges(layers, changed, { open = path => new EventSource(path), interval = 1000, page = globalThis.document } = {}) {
  const sources = new Map()
  const watch = (layer, streamed) => {
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
    if (!streamed) {
      const every = setInterval(tell, 10 * interval)
      return { streamed, end: () => { clearInterval(every); clearTimeout(timer) } }
    }
    const source = open(`points/${layer.name}/events`)
    source.addEventListener('move', tell)
    return { streamed, end: () => { clearTimeout(timer); source.close() } }
  }
  const update = () => {
    let followed = 0
    for (const layer of layers) {
      const on = layer.live && layer.on && !page?.hidden
      const streamed = on && followed++ < MOST_FOLLOWED
      if (sources.has(layer) && (!on || sources.get(layer).streamed !== streamed)) {
        sources.get(layer).end()
        sources.delete(layer)
      }
      if (on && !sources.has(layer)) sources.set(layer, watch(layer, streamed))
    }
  }
  page?.addEventListener('visibilitychange', () => {
    update()
    if (!page.hidden) for (const layer of sources.keys()) { layer.revision++; changed(layer) }
  })
  return update
}
