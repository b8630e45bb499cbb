// The names of a view: from the tiles that cover it to texts at places on the map.
import { spotsInView, staysInView, within } from './inview.js'
import { arrange } from './labels.js'
import { isNamed, writingOf } from './regionnames.js'
import { project, TILE_SIZE, tileZoomOf } from './tilegrid.js'

/**
 * Arranges the names of a view { zoom, box, first }, box being as within (inview.js) has it, in pixels of the world: names keep clear
 * of what covers it; dots may lie under a pin. first is as arrange has it. tiles are those that cover it, { z, world, types, view, names, places }: of regions with types and view as
 * paint has them and names, decode's Map; of places with a list of placeOf's. The answer is arrange's (labels.js), in pixels of
 * the world at the view's zoom. inside(path, x, y) says whether a point lies in a Path2D.
 */
export function arrangeView({ zoom, box, first }, tiles, measure, inside) {
  const all = new Map(tiles.flatMap(tile => regionsOf(tile, zoom)))
  const regions = new Map([...all].filter(([, { type, rank }]) => isNamed(writingOf(type), rank, tileZoomOf(zoom))))
  for (const region of box ? spotsInView(tiles, zoom, box, inside) : []) {
    const known = regions.get(region.id)
    if (!known && all.has(region.id)) continue // not yet at this zoom
    if (!known) {
      if (![...regions.values()].some(other => isSameLand(other, region, zoom))) regions.set(region.id, region)
    } else if (within(known, box)) known.spots = region.spots
    else regions.set(region.id, { ...region, rank: known.rank })
  }
  const obstacles = (box?.covered ?? []).map(({ minX: left, minY: top, maxX: right, maxY: bottom, pin, disc }) => ({ left, top, right, bottom, pin, disc }))
  return arrange(tiles.flatMap(tile => placesOf(tile, zoom)), [...regions.values()], measure, { zoom: tileZoomOf(zoom), obstacles, first })
}

// Whether two are parts of one region that ±180° has cut, which lie in two copies of the world.
function isSameLand(a, b, zoom) {
  const [one, other] = [a, b].map(({ id }) => id.slice(0, id.lastIndexOf(':')))
  const [west, east] = [a, b].map(region => (region.spots?.[0] ?? region).x)
  return one === other && Math.abs(west - east) < TILE_SIZE * 2 ** zoom / 2
}

// The places of a tile where it stands on the map, which may be in another copy of the world.
function placesOf({ world, places = [] }, zoom) {
  return places.map(place => {
    const { x, y } = project(place.lat, place.lon + 360 * world, zoom)
    return { ...place, id: `${place.id}:${world}`, x, y }
  })
}

// The named regions of a tile by their ids on the map, in pixels of the world. Close up several tiles of the map show parts
// of one data tile, and so have the same.
function regionsOf({ z, world, names, view, types = [] }, zoom) {
  if (!names) return []
  const side = TILE_SIZE * view.scale * 2 ** (zoom - z)
  const column = view.tile.x + world * 2 ** view.tile.z
  return types.filter(({ role }) => role !== 'built' && role !== 'line').flatMap(type => (names.get(type.type)?.names ?? []).map(name => {
    const id = `${type.type}/${name.id}:${world}`
    const x = (column + name.x) * side
    const y = (view.tile.y + name.y) * side
    return [id, { ...name, id, type, x, y, across: name.across * side, down: name.down * side }]
  }))
}
