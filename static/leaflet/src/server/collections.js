// Users' own collections of points: which there are, and what a tile shows of one.
import { VectorTile } from '@mapbox/vector-tile'
import { PbfReader } from 'pbf'
import { columnsOf } from './columns.js'
import { title } from '../words/format.js'
import { displayText } from '../words/text.js'

const MOST = 20 // collections in the switch
const MOST_ON = 3 // of them to begin with
const COLOURS = 6 // that every theme has for collections
const IN_TILES = 20 // properties that tiles have without being asked; of more they may have others

/**
 * The collections of the service's list as rows of the layer switch: { type, label, role, from, on, columns, name, live, colour, revision, filter }.
 * Private ones are not for the map, nor are those that cannot be read. revision counts how often a live one has changed,
 * filter is what its points pass, [name, value], as tiles and lists take it.
 */
export function collectionLayers(answer) {
  const list = Array.isArray(answer?.collections) ? answer.collections : []
  return list.filter(one => typeof one?.name === 'string' && /^[a-z][a-z0-9_-]{0,39}$/.test(one.name) && !one.private && !(one.state && one.points === undefined))
    .slice(0, MOST).map(({ name, title: given, live, schema }, i) => ({
      type: `points:${name}`, label: displayText(given, 40) || title(name), role: 'points', from: 0, on: i < MOST_ON, columns: columnsOfPoints(schema),
      name, live: live === true, colour: i % COLOURS, revision: 0, filter: [],
    }))
}

function columnsOfPoints(schema) {
  const list = Array.isArray(schema) ? schema : []
  return columnsOf(list.map(one => [one?.name, one?.type]), list.length <= IN_TILES, ['name'])
}

/**
 * What a vector tile shows of a collection: [{ id, name, count, lat, lon, properties }]. A cluster has a count, which short
 * writes in few letters, the name cluster by which its points are asked for, and no id; the properties are [name, value] of
 * the others, in their order.
 */
export function shownPoints(bytes, type, { z, x, y }) {
  if (bytes.byteLength === 0) return []
  const layer = new VectorTile(new PbfReader(bytes)).layers[type]
  return Array.from({ length: layer?.length ?? 0 }, (_, i) => layer.feature(i)).flatMap(feature => {
    const { geometry, properties } = feature.toGeoJSON(x, y, z)
    const [lon, lat] = geometry.coordinates
    if (geometry.type !== 'Point' || !Number.isFinite(lat) || !Number.isFinite(lon)) return []
    const { id, name, cluster, point_count: count, point_count_abbreviated: short, ...rest } = properties
    if (cluster === true) {
      const shown = { id: '', name: '', count, short: displayText(short, 8), cluster: String(rest.cluster_id), lat, lon, properties: [] }
      return count > 0 ? [shown] : []
    }
    return [{ id: String(id), name: displayText(name), count: 0, lat, lon, properties: Object.entries(rest) }]
  })
}

/** The radius of what stands for a point or a cluster, in CSS pixels. */
export function radiusOf(count) {
  return count > 0 ? 10 + 3 * Math.min(5, Math.log10(count)) : 5
}

/** The address in a text that is nothing but one, of the web, or ''. */
export function linkOf(text) {
  return typeof text === 'string' && /^https?:\/\/[^\s]+$/i.test(text) && URL.canParse(text) ? new URL(text).href : ''
}
