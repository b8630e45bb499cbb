// Vector tiles decoded into what a canvas draws: one path per region and one of all borders of a type, in tile units.
import { VectorTile } from '@mapbox/vector-tile'
import { PbfReader } from 'pbf'

const LINE = 2
const POLYGON = 3

/**
 * Decodes a tile's bytes: a Map from region type to { extent, regions: [{ id, path }], borders }, paths being Path2D.
 * Borders are the type's border lines where the tile has them, else the outlines of its regions. Outlines also run where
 * regions are cut to the tile, but that is in the tile's buffer, beyond what is drawn.
 */
export function decode(bytes) {
  const types = new Map()
  if (bytes.byteLength === 0) return types
  const { layers } = new VectorTile(new PbfReader(bytes))
  for (const [name, layer] of Object.entries(layers)) {
    const companion = name.match(/^(.+)_(?:line|label)$/)
    if (companion && Object.hasOwn(layers, companion[1])) continue
    const regions = features(layer, POLYGON)
      .map(({ id, properties, lines }) => ({ id: String(properties.id ?? id), path: pathOf(lines, true) }))
    const lines = layers[`${name}_line`]
    const borders = new Path2D()
    if (lines) for (const { lines: parts } of features(lines, LINE)) borders.addPath(pathOf(parts, false))
    else for (const { path } of regions) borders.addPath(path)
    types.set(name, { extent: layer.extent, regions, borders })
  }
  return types
}

function features(layer, type) {
  return Array.from({ length: layer.length }, (_, i) => layer.feature(i)).filter(feature => feature.type === type)
    .map(feature => ({ id: feature.id, properties: feature.properties, lines: feature.loadGeometry() }))
}

function pathOf(lines, closed) {
  const path = new Path2D()
  for (const line of lines) {
    line.forEach(({ x, y }, i) => i === 0 ? path.moveTo(x, y) : path.lineTo(x, y))
    if (closed) path.closePath()
  }
  return path
}
