// Writes build/seas.json: the seas of seas.csv as GeoJSON, ranked by their order. Of each box only the stretch without land that
// has most room for a name is kept, so that a name stands on water and nobody on land is at sea. The same list gives the same bytes.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { feature } from 'topojson-client'
import { write } from './write.mjs'

const PER_DEGREE = 10 // cells
const LONG = 3 // how much wider than high a name is
const ISLAND = 1 // square degrees of an island's box, below which a name may stand over it

const columns = 360 * PER_DEGREE
const land = new Uint8Array(columns * 180 * PER_DEGREE) // by rows from the south
const cell = degrees => Math.floor(degrees * PER_DEGREE)
const mark = (lon, lat) => { land[Math.min(cell(lat + 90), 180 * PER_DEGREE - 1) * columns + (cell(lon + 180) % columns + columns) % columns] = 1 }

// A ring may go on at the other side of ±180°.
function unrolled(ring) {
  let before = ring[0][0]
  return ring.map(([lon, lat]) => [before = lon - 360 * Math.round((lon - before) / 360), lat])
}

// The shore is marked along its edges, and each row of cells between those that its middle crosses.
function fill(rings) {
  const crossings = new Map() // row → longitudes
  for (const ring of rings.map(unrolled)) {
    for (let i = 1; i < ring.length; i++) {
      const [[x1, y1], [x2, y2]] = [ring[i - 1], ring[i]]
      const steps = Math.ceil(2 * PER_DEGREE * Math.max(Math.abs(x2 - x1), Math.abs(y2 - y1), 0.1))
      for (let s = 0; s <= steps; s++) mark(x1 + (x2 - x1) * s / steps, y1 + (y2 - y1) * s / steps)
      for (let row = Math.ceil((Math.min(y1, y2) + 90) * PER_DEGREE - 0.5); row < (Math.max(y1, y2) + 90) * PER_DEGREE - 0.5; row++) {
        const lat = (row + 0.5) / PER_DEGREE - 90
        crossings.set(row, [...crossings.get(row) ?? [], x1 + (x2 - x1) * (lat - y1) / (y2 - y1)])
      }
    }
  }
  for (const [row, at] of crossings) {
    at.sort((a, b) => a - b)
    for (let i = 1; i < at.length; i += 2) for (let lon = at[i - 1]; lon < at[i]; lon += 1 / PER_DEGREE) mark(lon, (row + 0.5) / PER_DEGREE - 90)
  }
}

const atlas = JSON.parse(readFileSync(createRequire(import.meta.url).resolve('world-atlas/countries-50m.json'), 'utf8'))
for (const { geometry } of feature(atlas, atlas.objects.countries).features) {
  for (const rings of geometry.type === 'Polygon' ? [geometry.coordinates] : geometry.coordinates) {
    const across = side => Math.max(...rings[0].map(point => point[side])) - Math.min(...rings[0].map(point => point[side]))
    if (across(0) * across(1) >= ISLAND) fill(rings)
  }
}

// The roomiest stretch of water in a box, in degrees: of all that reach from one row to another the longest run of columns.
function water(west, south, east, north) {
  let best = { room: 0 }
  for (let bottom = cell(south + 90); bottom < cell(north + 90); bottom++) {
    const taken = new Uint8Array(columns)
    for (let top = bottom; top < cell(north + 90); top++) {
      const high = top - bottom + 1
      const wide = Math.cos(((top + bottom + 1) / 2 / PER_DEGREE - 90) * Math.PI / 180)
      let from = cell(west + 180)
      for (let column = from; column <= cell(east + 180); column++) {
        if (column < cell(east + 180)) taken[column] |= land[top * columns + column]
        if (column < cell(east + 180) && !taken[column]) continue
        const room = Math.min((column - from) * wide, LONG * high) + 1e-3 * (column - from) * high // area counts too, or it would be low and near the equator
        if (column > from && room > best.room) best = { room, box: [from / PER_DEGREE - 180, bottom / PER_DEGREE - 90, column / PER_DEGREE - 180, (top + 1) / PER_DEGREE - 90] }
        from = column + 1
      }
    }
  }
  return best.box
}

const [, ...rows] = readFileSync(new URL('seas.csv', import.meta.url), 'utf8').trimEnd().split('\n')
const features = rows.map((row, rank) => {
  const [name, kind, ...box] = row.split(',')
  const asked = box.map(Number)
  if (!(-180 <= asked[0] && asked[0] < asked[2] && asked[2] <= 180 && -85 <= asked[1] && asked[1] < asked[3] && asked[3] <= 85)) throw new Error(`seas.csv: no box: ${row}`)
  const [west, south, east, north] = water(...asked) ?? []
  if (west === undefined) throw new Error(`seas.csv: no water in the box: ${row}`)
  return {
    type: 'Feature', properties: { name, featurecla: kind, LABELRANK: rank, LABEL_X: (west + east) / 2, LABEL_Y: (south + north) / 2 },
    geometry: { type: 'Polygon', coordinates: [[[west, south], [east, south], [east, north], [west, north], [west, south]]] },
  }
})
const decimals = (key, value) => typeof value === 'number' ? Math.round(value * 100) / 100 : value
write('seas.json', JSON.stringify({ type: 'FeatureCollection', features }, decimals) + '\n')
