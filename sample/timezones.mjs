// Writes build/timezones.json: the zones of timezone-boundary-builder, which the
// package geo-tz carries, as TopoJSON. geo-tz has cut them at the cells of a
// quadtree. Cells that lie in one zone are only named in its index; the pieces in
// the others are geobuf. They are written as pieces: what ingests them joins them.
// Borders are simplified, each once for the zones on both of its sides, so that
// no gaps open. The same package gives the same bytes.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import geobuf from 'geobuf'
import Pbf from 'pbf'
import { quantize } from 'topojson-client'
import { topology } from 'topojson-server'
import { filter, filterWeight, planarTriangleArea, presimplify, simplify } from 'topojson-simplify'
import { write } from './write.mjs'

// A vertex is dropped when the triangle with its neighbours is smaller than this,
// in square degrees: 0.12 km² at the equator.
const DETAIL = 1e-5
// Coordinates have five decimals, a metre. geo-tz has six.
const DECIMALS = 1e5
// geo-tz's quadtree ends a little before the edges of the world.
const WEST = -179.9999, SOUTH = -89.9999, EAST = 179.9999, NORTH = 89.9999

const data = join(dirname(createRequire(import.meta.url).resolve('geo-tz')), '..', 'data', 'timezones.geojson')
const index = JSON.parse(readFileSync(`${data}.index.json`, 'utf8'))
const geometry = readFileSync(`${data}.geo.dat`)

function decimals(value, edge) {
  if (Math.abs(value) >= 0.9999995 * edge - 0.0001) return Math.sign(value) * edge
  // Bounds of cells are rounded as geo-tz has rounded the pieces, then as these.
  return Math.round(Math.round(value * 1e6) / 1e6 * DECIMALS) / DECIMALS
}

const polygons = new Map(index.timezones.map((tzid) => [tzid, []]))
// The sides of cells, by longitude and by latitude, and where vertices lie on them.
const meridians = new Map(), parallels = new Map()

function mark(lines, line, position) {
  if (!lines.has(line)) lines.set(line, new Set())
  lines.get(line).add(position)
}

function add(tzid, polygon, [west, south, east, north]) {
  const rings = polygon.map((ring) => {
    const points = []
    for (const [lon, lat] of ring) {
      const x = decimals(lon, 180), y = decimals(lat, 90), last = points.at(-1)
      if (last && last[0] === x && last[1] === y) continue
      points.push([x, y])
      if (x === west || x === east) mark(meridians, x, y)
      if (y === south || y === north) mark(parallels, y, x)
    }
    return points
  }).filter((ring, i) => ring.length >= 4 || i === 0)
  if (rings[0].length >= 4) polygons.get(tzid).push(rings)
}

function walk(node, west, south, east, north) {
  const cell = [decimals(west, 180), decimals(south, 90), decimals(east, 180), decimals(north, 90)]
  if (Array.isArray(node)) {
    const square = [[west, south], [east, south], [east, north], [west, north], [west, south]]
    for (const zone of node) add(index.timezones[zone], [square], cell)
  } else if ('pos' in node) {
    const pieces = geobuf.decode(new Pbf(geometry.subarray(node.pos, node.pos + node.len)))
    for (const { properties, geometry: { type, coordinates } } of pieces.features) {
      for (const polygon of type === 'Polygon' ? [coordinates] : coordinates) add(properties.tzid, polygon, cell)
    }
  } else {
    const x = (west + east) / 2, y = (south + north) / 2
    if (node.a) walk(node.a, x, y, east, north)
    if (node.b) walk(node.b, west, y, x, north)
    if (node.c) walk(node.c, west, south, x, y)
    if (node.d) walk(node.d, x, south, east, y)
  }
}
walk(index.lookup, WEST, SOUTH, EAST, NORTH)

// A side of a piece gets the vertices that its neighbours have there. Then the
// two are the same arcs, and simplification cannot part them.
for (const lines of [meridians, parallels]) {
  for (const [line, positions] of lines) lines.set(line, Float64Array.from(positions).sort())
}

function between(positions, from, to) {
  const low = Math.min(from, to), high = Math.max(from, to)
  const found = positions.subarray(firstAbove(positions, low), firstAbove(positions, high))
  const inner = Array.from(found.at(-1) === high ? found.subarray(0, -1) : found)
  return from < to ? inner : inner.reverse()
}

function firstAbove(positions, value) {
  let low = 0, high = positions.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (positions[middle] <= value) low = middle + 1
    else high = middle
  }
  return low
}

const noded = (ring) => ring.flatMap(([x, y], i) => {
  if (i === 0) return [[x, y]]
  const [lastX, lastY] = ring[i - 1]
  if (x === lastX && meridians.has(x)) return [...between(meridians.get(x), lastY, y).map((v) => [x, v]), [x, y]]
  if (y === lastY && parallels.has(y)) return [...between(parallels.get(y), lastX, x).map((v) => [v, y]), [x, y]]
  return [[x, y]]
})

// Pieces are let go as soon as the next step has their vertices: all at once would take 2 GB.
const count = polygons.size
function features() {
  const all = []
  for (const [tzid, pieces] of polygons) {
    polygons.delete(tzid)
    all.push({ type: 'Feature', properties: { tzid }, geometry: { type: 'MultiPolygon', coordinates: pieces.map((rings) => rings.map(noded)) } })
  }
  meridians.clear()
  parallels.clear()
  return all
}
let zones = topology({ timezones: { type: 'FeatureCollection', features: features() } })
// Vertices at ±180° stay: those on the other side of it are other vertices.
zones = presimplify(zones, (triangle) => Math.abs(triangle[1][0]) === 180 ? Infinity : planarTriangleArea(triangle))
zones = simplify(zones, DETAIL)
zones = filter(zones, filterWeight(zones, Number.MIN_VALUE))
zones = quantize(zones, { scale: [1 / DECIMALS, 1 / DECIMALS], translate: [0, 0] })

const target = write('timezones.json', JSON.stringify(zones))
console.log(`${count} time zones in ${target}`)
