// The names of a view: from the tiles that cover it to texts at places on the map.
import { spotsInView, staysInView, within } from './inview.js'
import { arrange, worthShowing } from './labels.js'
import { project, TILE_SIZE } from './tilegrid.js'

const DOTS_FROM = 5 // the zoom from which a dot without a name tells something

/**
 * Arranges the names of a view { zoom, box }, box being as within (inview.js) has it, in pixels of the world. tiles are those that cover it, { z, world, types, view, names, places }: of regions
 * with types and view as paint has them and names, decode's Map; of places with a list of placeOf's. The answer is
 * a list of { id, at: [x, y], look, text }, at in pixels of the world at the view's zoom, look a list of class names.
 * inside(path, x, y) says whether a point lies in a Path2D.
 */
export function arrangeView({ zoom, box }, tiles, measure, inside) {
  const labelled = new Map(tiles.flatMap(tile => regionsOf(tile, zoom)))
  const hidden = new Map([...labelled].filter(([, region]) => box && staysInView(region.type, zoom) && !within(region, box)))
  for (const id of hidden.keys()) labelled.delete(id)
  const regions = [...labelled.values()]
  for (const region of box ? spotsInView(tiles, zoom, box, labelled, inside) : []) {
    if (!regions.some(other => isSameLand(other, region, zoom))) regions.push(region)
    hidden.delete(region.id)
  }
  // What has no better place keeps its own: the panel over it may be closed, and the map may move.
  regions.push(...hidden.values())
  const { places, regions: named } = arrange(tiles.flatMap(tile => placesOf(tile, zoom)), regions, measure)
  return [
    ...named.map(({ region, look, text, x, y }) => ({ id: region.id, at: [x, y], look: `region region-${look}`, text })),
    ...places.filter(({ side }) => side !== 'none' || zoom >= DOTS_FROM).map(({ place, tier, side }) => ({
      id: place.id, at: [place.x, place.y], look: `place place-${tier} name-${side}`, text: place.name,
    })),
  ]
}

// Whether two are parts of one region that ±180° has cut, which lie in two copies of the world.
function isSameLand(a, b, zoom) {
  const [one, other] = [a, b].map(({ id }) => id.slice(0, id.lastIndexOf(':')))
  const [west, east] = [a, b].map(region => (region.spots?.[0] ?? region).x)
  return one === other && Math.abs(west - east) < TILE_SIZE * 2 ** zoom / 2
}

// The places of a tile where it stands on the map, which may be in another copy of the world.
function placesOf({ z, world, places = [] }, zoom) {
  return places.filter(place => worthShowing(place, z)).map(place => {
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
  return types.flatMap(type => (names.get(type.type)?.names ?? []).map(name => {
    const id = `${type.type}/${name.id}:${world}`
    const x = (column + name.x) * side
    const y = (view.tile.y + name.y) * side
    return [id, { ...name, id, type, x, y, across: name.across * side, down: name.down * side }]
  }))
}
