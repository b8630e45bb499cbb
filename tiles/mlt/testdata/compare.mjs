// Reads pairs of tiles, each behind its length in 4 bytes: a Mapbox Vector Tile and the
// MapLibre Tile of the same. Decodes both by the libraries of those who define the
// formats, and tells how they differ.
import { decodeTile } from '@maplibre/mlt'
import { VectorTile } from '@mapbox/vector-tile'
import { PbfReader } from 'pbf'
import { readFileSync } from 'node:fs'

const data = readFileSync(0)
let at = 0
const next = () => {
  const size = data.readUInt32BE(at)
  at += 4 + size
  return new Uint8Array(data.subarray(at - size, at))
}
const plain = v => typeof v === 'bigint' ? Number(v) : v
const sorted = o => Object.entries(o).map(([k, v]) => [k, plain(v)]).sort(([a], [b]) => a < b ? -1 : 1)
const rings = geometry => geometry.map(ring => ring.map(p => [p.x, p.y]))

// What MapLibre GL takes for the three types of features of a Mapbox Vector Tile.
const types = [1, 2, 3, 1, 2, 3]

const fromMVT = bytes => Object.values(new VectorTile(new PbfReader(bytes)).layers).map(layer => ({
  name: layer.name, extent: layer.extent,
  features: Array.from({ length: layer.length }, (_, i) => {
    const f = layer.feature(i)
    // A multipoint is one path there, and a path for each point here.
    const geometry = f.type === 1 ? f.loadGeometry().flat().map(p => [p]) : f.loadGeometry()
    return { id: f.id, type: f.type, properties: sorted(f.properties), geometry: rings(geometry) }
  }),
}))
const fromMLT = bytes => decodeTile(bytes).map(table => ({
  name: table.name, extent: table.extent,
  features: table.getFeatures().map(f => ({
    id: plain(f.id), type: types[f.geometry.type], properties: sorted(f.properties),
    geometry: rings(types[f.geometry.type] === 1 ? f.geometry.coordinates.flat().map(p => [p]) : f.geometry.coordinates),
  })),
}))

let tiles = 0, features = 0, wrong = 0
while (at < data.length) {
  const mvt = fromMVT(next())
  const bytes = next()
  let mlt
  try {
    mlt = fromMLT(bytes)
  } catch (e) {
    mlt = e.stack
  }
  tiles++
  for (const layer of mvt) features += layer.features.length
  const [want, got] = [JSON.stringify(mvt), JSON.stringify(mlt)]
  if (want !== got && wrong++ < 5) {
    let i = 0
    while (want[i] === got[i]) i++
    const part = text => text.slice(Math.max(0, i - 300), i + 300)
    console.log(`tile ${tiles} differs at ${i}:\n want ${part(want)}\n got  ${part(got)}`)
  }
}
console.log(`${tiles} tiles with ${features} features, ${wrong} differ`)
process.exitCode = wrong ? 1 : 0
