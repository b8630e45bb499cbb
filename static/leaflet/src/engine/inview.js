// Regions that go through the view while the point of their label lies elsewhere: where in the view their names can stand.
import { isNamed, writingOf } from './regionnames.js'
import { TILE_SIZE, tileZoomOf } from './tilegrid.js'

const STEP = 32 // pixels between two samples
const MOST = 6 // spots of a region that are offered
const FEWEST = 2 // samples in a row that a name needs
const MARGIN = { x: 32, y: 14 } // pixels from the edge of the view to the middle of a name that can be read there

const from = new Map([['continent', 0], ['country', 0], ['state', 6]]) // the zoom from which a type's names are always in view

/** Whether names of a type are to be in view at a zoom wherever its regions are. */
export const staysInView = (type, zoom) => zoom >= (from.get(type.type) ?? Infinity) && isNamed(writingOf(type), 0, tileZoomOf(zoom))

/**
 * Whether the middle of a name can stand at a point of a box { minX, minY, maxX, maxY, covered }. covered, if there, is a list
 * of boxes that something lies over, such as a panel.
 */
export function within({ x, y }, { minX, minY, maxX, maxY, covered = [] }) {
  return x >= minX + MARGIN.x && x <= maxX - MARGIN.x && y >= minY + MARGIN.y && y <= maxY - MARGIN.y &&
    !covered.some(panel => x > panel.minX - MARGIN.x && x < panel.maxX + MARGIN.x && y > panel.minY - MARGIN.y && y < panel.maxY + MARGIN.y)
}

/**
 * The regions of the types that stay in view of which some part is in a box of the world's pixels at a zoom: { id, name, type, rank, spots }, the largest first, spots being { x, y, across, down, holds }, the roomiest
 * first; holds(box) says whether a name there stays in the region. tiles are as arrangeView has them; inside(path, x, y) says whether a point lies in a Path2D.
 *
 * Points of a grid are asked which region they are in. The grid is fixed to the world, so that names keep their places when
 * the map moves a little.
 */
export function spotsInView(tiles, zoom, box, inside) {
  const found = new Map() // id → { region, cells: Map of "column,row" → [column, row] }
  for (const { names, types = [], area, world } of pieces(tiles, zoom)) {
    for (const type of types.filter(type => staysInView(type, zoom))) {
      const layer = names.get(type.type)
      if (!layer) continue
      const wanted = layer.regions.filter(({ name }) => name !== '')
      if (wanted.length > 0) sample({ layer, type, wanted, area, world, box }, found, inside)
    }
  }
  return [...found.values()].map(({ region, cells }) => ({ ...region, rank: -cells.size, spots: roomiest(cells) }))
    .filter(({ spots }) => spots.length > 0).sort((a, b) => a.rank - b.rank)
}

// The data tiles, each once, with the pixels { left, top, side } where they lie.
function pieces(tiles, zoom) {
  const pieces = new Map()
  for (const tile of tiles) {
    if (!tile.names) continue
    const { z, world, view } = tile
    const side = TILE_SIZE * view.scale * 2 ** (zoom - z)
    const column = view.tile.x + world * 2 ** view.tile.z
    pieces.set(`${column}/${view.tile.y}`, { ...tile, area: { left: column * side, top: view.tile.y * side, side } })
  }
  return pieces.values()
}

function sample({ layer, type, wanted, area: { left, top, side }, world, box }, found, inside) {
  const first = (least, start, margin) => Math.ceil(Math.max(least + margin, start) / STEP)
  const end = (most, start, margin) => Math.min(most - margin, start + side)
  let last = wanted[0]
  for (let row = first(box.minY, top, MARGIN.y); row * STEP < end(box.maxY, top, MARGIN.y); row++) {
    for (let column = first(box.minX, left, MARGIN.x); column * STEP < end(box.maxX, left, MARGIN.x); column++) {
      if (!within({ x: column * STEP, y: row * STEP }, box)) continue
      const [x, y] = [(column * STEP - left) / side * layer.extent, (row * STEP - top) / side * layer.extent]
      const here = ({ path }) => inside(path, x, y)
      const region = here(last) ? last : wanted.find(here)
      if (!region) continue
      last = region
      const id = `${type.type}/${region.id}:${world}`
      if (!found.has(id)) found.set(id, { region: { id, name: region.name, type }, cells: new Map() })
      found.get(id).cells.set(`${column},${row}`, [column, row])
    }
  }
}

// How many samples of the region lie in a row on both sides of each, and above and below.
function roomiest(cells) {
  const run = (column, row, dx, dy) => {
    let length = 0
    while (cells.has(`${column + dx * (length + 1)},${row + dy * (length + 1)}`)) length++
    return length
  }
  const both = (column, row, dx, dy) => 2 * Math.min(run(column, row, dx, dy), run(column, row, -dx, -dy)) + 1
  return [...cells.values()].map(([column, row]) => ({ column, row, across: both(column, row, 1, 0), down: both(column, row, 0, 1) }))
    .filter(({ across }) => across >= FEWEST)
    .sort((a, b) => Math.min(b.across, 3 * b.down) - Math.min(a.across, 3 * a.down) || b.across * b.down - a.across * a.down)
    .slice(0, MOST)
    .map(({ column, row, across, down }) => ({ x: column * STEP, y: row * STEP, across: across * STEP, down: down * STEP, holds: holder(cells) }))
}

// Whether the samples next to a box { left, right, top, bottom } are all in the region: a name that moves up or down may come to a
// narrower place.
const holder = cells => ({ left, right, top, bottom }) => {
  for (let row = Math.round(top / STEP); row <= Math.round(bottom / STEP); row++) {
    for (let column = Math.ceil(left / STEP); column <= Math.floor(right / STEP); column++) if (!cells.has(`${column},${row}`)) return false
  }
  return true
}
