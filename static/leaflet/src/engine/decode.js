// Vector tiles decoded into what the map shows: for each type a path per region, one of all borders, and the names.
import { VectorTile } from '@mapbox/vector-tile'
import { PbfReader } from 'pbf'
import { displayText } from '../words/text.js'
import { roomAround } from './room.js'

const POINT = 1
const LINE = 2
const POLYGON = 3

/**
 * Decodes a tile's bytes: a Map from region type to { extent, regions: [{ id, name, number, properties, path }], lines, borders,
 * coast, disputed, names }, paths being Path2D in tile units and number the colour that the server chose, or undefined. lines are
 * { properties, path }, of a type that has nothing else. Names are { id, name, rank, x, y, across, down } of the regions whose label lies in the tile, the
 * point and the room about it (room.js) as parts of the tile's side.
 * Borders are the type's border lines where the tile has them, else the outlines of its regions. Lines with a region on one
 * side only are coast, those that say so are disputed. nameOf(type, id, properties) is what a region is called. Outlines also run where
 * regions are cut to the tile, but that is in the tile's buffer, beyond what is drawn.
 */
export function decode(bytes, nameOf = ownName) {
  const types = new Map()
  if (bytes.byteLength === 0) return types
  const { layers } = new VectorTile(new PbfReader(bytes))
  for (const [own, layer] of Object.entries(layers)) {
    const [, base, kind] = own.match(/^(.+)_(line|label)$/) ?? []
    if (base && Object.hasOwn(layers, base)) continue
    const polygons = features(layer, POLYGON)
    const name = kind === 'line' && polygons.length === 0 ? base : own // rivers have nothing but lines
    const regions = polygons.map(({ id, properties, lines }) => ({
      id, name: nameOf(name, id, properties), number: properties.map_color, properties, path: pathOf(lines, true),
    }))
    const lines = layers[`${name}_line`]
    const [borders, coast, disputed] = [new Path2D(), new Path2D(), new Path2D()]
    const alone = [] // lines that are no borders
    if (lines) for (const { properties, lines: parts } of features(lines, LINE)) {
      if (lines === layer) {
        alone.push({ properties, path: pathOf(parts, false) })
        borders.addPath(alone.at(-1).path)
        continue
      }
      const kind = properties.disputed ? disputed : (properties.left === undefined) === (properties.right === undefined) ? borders : coast
      kind.addPath(pathOf(parts, false))
    } else for (const { path } of regions) borders.addPath(path)
    const labels = layers[`${name}_label`]
    types.set(name, {
      extent: layer.extent, regions, lines: alone, borders, coast, disputed,
      names: labels ? namesOf(labels, layer.extent, polygons, (id, properties) => nameOf(name, id, properties)) : [],
    })
  }
  return types
}

const ownName = (type, id, { name }) => displayText(name, 60)

// The room is found here, once for each tile, because the rings are not kept.
function namesOf(labels, extent, polygons, nameOf) {
  const rings = new Map()
  for (const { id, lines } of polygons) rings.set(id, [...rings.get(id) ?? [], ...lines])
  return features(labels, POINT).flatMap(({ id, properties, lines: [[point]] }) => {
    const name = nameOf(id, properties)
    if (name === '') return []
    const [x, y] = [point.x, point.y].map(part => part / labels.extent)
    const room = roomAround({ x: x * extent, y: y * extent }, rings.get(id) ?? [], extent)
    return [{ id, name, rank: Number(properties.rank) || 0, x, y, across: room.across / extent, down: room.down / extent }]
  })
}

function features(layer, type) {
  return Array.from({ length: layer.length }, (_, i) => layer.feature(i)).filter(feature => feature.type === type)
    .map(feature => {
      const { id, properties } = feature
      // A label says which region it is of, in tiles of older data sets by the region's own id.
      return { id: String(properties.id ?? properties.region ?? id), properties, lines: feature.loadGeometry() }
    })
}

function pathOf(lines, closed) {
  const path = new Path2D()
  for (const line of lines) {
    line.forEach(({ x, y }, i) => i === 0 ? path.moveTo(x, y) : path.lineTo(x, y))
    if (closed) path.closePath()
  }
  return path
}
