// Arithmetic of the tile grid: z/x/y, y down, 256 CSS pixels a tile.

import { MAX_LATITUDE } from '../hash.js'

export const TILE_SIZE = 256

/** The zoom of the tiles that a map of any zoom shows, enlarged by less than two. What comes a hair below a whole zoom counts as it. */
export function tileZoomOf(zoom) {
  return Math.floor(zoom + 0.001)
}

/**
 * The zoom of the tiles of regions that a map of any zoom shows: those next to 512 pixels wide. They are a quarter as many as
 * those of 256, and detailed enough.
 */
export function regionZoomOf(zoom) {
  return Math.max(0, Math.round(zoom) - 1)
}

/** A point in degrees as { x, y } in pixels of the world at a zoom, x to the east of 180° W. */
export function project(lat, lon, zoom) {
  const size = TILE_SIZE * 2 ** zoom
  const sine = Math.sin(Math.min(MAX_LATITUDE, Math.max(-MAX_LATITUDE, lat)) * Math.PI / 180)
  return { x: (lon + 180) / 360 * size, y: (0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI)) * size }
}

/**
 * Where the picture of a tile comes from when data end at maxZoom: the data tile, and the square of it to show, as
 * scale (how much larger than at its own zoom) and offset (in tiles of the asked zoom, from the data tile's corner).
 */
export function dataTile({ z, x, y }, maxZoom) {
  const up = Math.max(0, z - maxZoom)
  const scale = 2 ** up
  return {
    tile: { z: z - up, x: Math.floor(x / scale), y: Math.floor(y / scale) },
    scale,
    offsetX: x % scale,
    offsetY: y % scale,
  }
}

/** The column brought into the grid, for maps that show the world more than once. */
export function wrapColumn(x, z) {
  const width = 2 ** z
  return ((x % width) + width) % width
}

/**
 * The tiles of zoom z that cover a box { min, max } of world pixels of a zoom, rows outside the world left out. Columns are not
 * wrapped: world counts how many worlds to the east (or, negative, west) the column lies.
 */
export function coveringTiles({ min, max }, zoom, z) {
  const width = 2 ** z
  const side = TILE_SIZE * 2 ** (zoom - z)
  const tiles = []
  const first = Math.max(0, Math.floor(min.y / side))
  const last = Math.min(width - 1, Math.ceil(max.y / side) - 1)
  for (let y = first; y <= last; y++) {
    for (let column = Math.floor(min.x / side); column < Math.ceil(max.x / side); column++) {
      tiles.push({ z, x: wrapColumn(column, z), y, world: Math.floor(column / width) })
    }
  }
  return tiles
}

/** The box [west, south, east, north] unrolled so that east is not less than west, in the world copy nearest to a longitude. */
export function unrollBox([west, south, east, north], nearLon = 0) {
  const end = east < west ? east + 360 : east
  const turn = 360 * Math.round((nearLon - (west + end) / 2) / 360)
  return { south, west: west + turn, north, east: end + turn }
}

/** A longitude moved by whole turns to be as near as possible to another. */
export function nearestLongitude(lon, nearLon) {
  return lon + 360 * Math.round((nearLon - lon) / 360)
}

/** Whether a value is a box of four finite numbers in range, as region records carry it. */
export function isBox(box) {
  return Array.isArray(box) && box.length === 4 && box.every(Number.isFinite) && box[1] <= box[3] &&
    Math.abs(box[0]) <= 180 && Math.abs(box[2]) <= 180 && box[1] >= -90 && box[3] <= 90
}

/** The zoom that shows a circle of the given radius comfortably; the default when the radius is unknown. */
export function zoomForRadius(km, { least = 4, most = 12, unknown = 10 } = {}) {
  if (!Number.isFinite(km) || km <= 0) return unknown
  return Math.min(most, Math.max(least, Math.floor(Math.log2(40075 / 2 / km) - 0.5)))
}

/** The smallest whole zoom at which the world is about as high as the window: at least five sixths of it. */
export function leastZoom(height) {
  return Math.max(1, Math.ceil(Math.log2(height * 5 / 6 / TILE_SIZE)))
}

// Where people live, as parts of the world's height in Mercator's projection: from 75° N, north of all towns, to 56° S, Cape Horn.
const POPULATED = { top: 0.177, bottom: 0.689 }
const MIDDLE = 12 // ° E, with the Pacific at the edges

/**
 * The first view { lat, lon, zoom } of a map of the world as large as the window: what is inhabited, without Antarctica as far as that
 * goes, and most of the world's width where the window is wide.
 */
export function worldView({ width, height }, least) {
  const fitting = (pixels, part) => Math.log2(Math.max(1, pixels) / (TILE_SIZE * part))
  const zoom = Math.max(least, fitting(height, POPULATED.bottom + 0.01), Math.min(fitting(height, POPULATED.bottom - POPULATED.top), fitting(width, 0.94)))
  const half = height / 2 / (TILE_SIZE * 2 ** zoom)
  const y = Math.max(half, Math.min(0.5, POPULATED.bottom + 0.01 - half))
  const lat = Math.atan(Math.sinh(Math.PI * (1 - 2 * y))) * 180 / Math.PI
  return { lat: Number(lat.toFixed(2)), lon: MIDDLE, zoom: Number(zoom.toFixed(2)) }
}

/** The quadkey of a tile: one digit for each zoom, the bit of y before that of x. Empty for the whole world. */
export function quadkey({ z, x, y }) {
  let key = ''
  for (let bit = z - 1; bit >= 0; bit--) key += Math.floor(y / 2 ** bit) % 2 * 2 + Math.floor(x / 2 ** bit) % 2
  return key
}
