// Vector tiles decoded into what a canvas draws: one path per region and one per type's borders, in tile units.
import { VectorTile } from '@mapbox/vector-tile'
import { PbfReader } from 'pbf'

/**
 * Decodes a tile's bytes: a Map from region type to { extent, regions: [{ id, path, outline() }], borders }. Paths are
 * Path2D; an outline is made when one is asked for, since only a highlighted region needs its own.
 * tile is the tile's address: along the edges of the world, where polygons are cut, no border is drawn.
 */
export function decode(bytes, tile) {
  const types = new Map()
  if (bytes.byteLength === 0) return types
  const { layers } = new VectorTile(new PbfReader(bytes))
  for (const [name, layer] of Object.entries(layers)) {
    if (name.endsWith('_label') || (name.endsWith('_line') && Object.hasOwn(layers, name.slice(0, -'_line'.length)))) continue
    const onEdge = edgeOfWorld(tile, layer.extent)
    const regions = []
    const borders = new Path2D()
    const lines = layers[`${name}_line`]
    for (let i = 0; i < layer.length; i++) {
      const feature = layer.feature(i)
      if (feature.type !== POLYGON) continue
      const rings = feature.loadGeometry()
      regions.push({
        id: String(feature.properties.id ?? feature.id ?? i),
        path: fillPath(rings),
        outline: () => addBorders(new Path2D(), feature.loadGeometry(), onEdge),
      })
      if (!lines) addBorders(borders, rings, onEdge)
    }
    for (let i = 0; i < (lines?.length ?? 0); i++) {
      const feature = lines.feature(i)
      if (feature.type === LINE) addBorders(borders, feature.loadGeometry(), onEdge)
    }
    types.set(name, { extent: layer.extent, regions, borders })
  }
  return types
}

const LINE = 2
const POLYGON = 3

function fillPath(rings) {
  const path = new Path2D()
  for (const ring of rings) {
    ring.forEach(({ x, y }, i) => i === 0 ? path.moveTo(x, y) : path.lineTo(x, y))
    path.closePath()
  }
  return path
}

function addBorders(path, lines, onEdge) {
  for (const line of lines) {
    let drawing = false
    for (let i = 1; i < line.length; i++) {
      const [from, to] = [line[i - 1], line[i]]
      if (onEdge(from, to)) {
        drawing = false
        continue
      }
      if (!drawing) path.moveTo(from.x, from.y)
      path.lineTo(to.x, to.y)
      drawing = true
    }
  }
  return path
}

/** Tells whether a segment runs along the edge of the world: ±180° or the end of Web Mercator's square. */
export function edgeOfWorld({ z, x, y }, extent) {
  const last = 2 ** z - 1
  const [west, east, north, south] = [false, false, false, false]
  return (a, b) =>
    (west && a.x <= 0 && b.x <= 0) || (east && a.x >= extent && b.x >= extent) ||
    (north && a.y <= 0 && b.y <= 0) || (south && a.y >= extent && b.y >= extent)
}
