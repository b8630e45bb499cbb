// Which places get a dot and which a name, and which regions one, so that names do not run into each other.
import { candidates, writingOf } from './regionnames.js'

// GeoNames calls the seat of any territory a capital: Adamstown has 46 people. One of fewer people counts as what it is.
const isGreatCapital = ({ code, population = 0 }) => code === 'PPLC' && population >= 200_000

/** How prominent a place is: capital (of 200,000 people), major (a million people), city (a hundred thousand) or town. */
export function tier(place) {
  const { population = 0 } = place
  if (isGreatCapital(place)) return 'capital'
  if (population >= 1_000_000) return 'major'
  return population >= 100_000 ? 'city' : 'town'
}

/** The dot's radius in CSS pixels. */
export const dotRadius = { capital: 4.5, major: 4, city: 3, town: 2.5 }

const GAP = 4 // between a dot and its name
const OUTSIDE = 6_000_000 // people of the city for which a country's name leaves its country
const AIR = 3 // kept free around everything
const MOST = 500 // places looked at: a deep zoom of a dense city has thousands, and names for a tenth

/**
 * People; a great capital counts as a city of two millions more, so that it wins against its neighbours, but not against the
 * great cities of the world; a part of a town counts a quarter, so that the town wins against its parts.
 */
export function importance(place) {
  const { code, population = 0 } = place
  if (isGreatCapital(place)) return population + 2_000_000
  return code === 'PPLX' ? population / 4 : population
}

// People that make a place worth a name, by zoom; of a capital fewer.
const enough = [1_000_000, 1_000_000, 500_000, 200_000, 50_000, 5_000]
const enoughOfCapital = [200_000, 200_000, 100_000, 100_000, 20_000]

/** Whether a zoom shows a place: the server fills empty stretches with whatever is there, on a world map too small. */
export function worthShowing({ code, population = 0 }, zoom) {
  return population >= ((code === 'PPLC' ? enoughOfCapital : enough)[zoom] ?? 0)
}

/** Where a name may stand about its dot, the preferred first: [horizontal, vertical] as -1, 0 or 1. */
export const sides = {
  right: [1, 0], left: [-1, 0], top: [0, -1], bottom: [0, 1],
  'top-right': [1, -1], 'bottom-right': [1, 1], 'top-left': [-1, -1], 'bottom-left': [-1, 1],
}

// Names of regions take turns with places: countries, then the places everybody knows, and so on (regionnames.js).
const turns = { capital: 1, major: 1, city: 3, town: 5 }

/**
 * Arranges places { id, name, x, y, code, population } and regions { id, name, x, y, across, down, rank, type } (x, y and
 * the room for a region's name in CSS pixels, type as regiontypes.js has it; or spots, a list of such places) by turns, the most important first. The
 * answer is { places: [{ place, tier, side }], regions: [{ region, look, text, x, y }] }.
 *
 * A place has its name on the first free one of the sides; one whose dot is covered is left out, one whose name finds no
 * room keeps its dot with side "none". A region's name is written the way that covers the least important cities, best
 * none; it is left out where all ways are taken. measure(line, look) is the { width, height } of a line in the look of
 * "place-city", "region-state" and so on. The input's order does not matter.
 */
export function arrange(places, regions, measure) {
  const taken = []
  const free = box => !taken.some(other => overlap(box, other))
  const cities = []
  const sorted = places.map(place => ({ place, id: place.id, tier: tier(place), weight: importance(place) }))
    .sort(byWeight).slice(0, MOST)
  for (const item of sorted) {
    item.turn = turns[item.tier]
    item.dot = boxAround(item.place, 2 * (dotRadius[item.tier] + AIR))
    if (item.tier !== 'town') cities.push(item)
  }
  const named = regions.map(region => ({ region, id: region.id, turn: writingOf(region.type).turn, weight: -region.rank }))
  const arranged = { places: [], regions: [] }

  const addPlace = ({ place, tier, dot }) => {
    if (!free(dot)) return
    const { width, height } = measure(place.name, `place-${tier}`)
    const ways = Object.keys(sides).map(side => [side, nameBox(place, sides[side], dotRadius[tier], width, height)]).filter(([, box]) => free(box))
    // Better where no other city's dot would go: London stands aside for Paris.
    const [side, box] = ways.find(([, box]) => !cities.some(other => other.dot !== dot && overlap(box, other.dot))) ?? ways[0] ?? ['none']
    taken.push(dot)
    if (box) taken.push(box)
    arranged.places.push({ place, tier, side })
  }
  const addRegion = ({ region }) => {
    const ways = (region.spots ?? [region]).flatMap(({ x, y, across, down }) =>
      candidates({ name: region.name, across, down, cut: Boolean(region.spots) }, writingOf(region.type), (line, look) => measure(line, `region-${look}`))
        .map(way => ({ ...way, x, y: y - way.rise, box: boxAround({ x, y: y - way.rise }, way.width + 2 * AIR, way.height) })))
      .filter(({ box }) => free(box))
    if (ways.length === 0) return
    const costs = ways.map(({ box, out }) => cities.reduce((sum, { dot, weight }) => overlap(box, dot) ? sum + weight : sum, out ? OUTSIDE : 0))
    const way = ways[costs.indexOf(Math.min(...costs))]
    taken.push(way.box)
    arranged.regions.push({ region, look: way.look, text: way.text, x: way.x, y: way.y })
  }
  for (const item of [...sorted, ...named].sort((a, b) => a.turn - b.turn || byWeight(a, b))) {
    if (item.place) addPlace(item)
    else addRegion(item)
  }
  return arranged
}

const byWeight = (a, b) => b.weight - a.weight || (a.id < b.id ? -1 : 1)

const overlap = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom

function boxAround({ x, y }, width, height = width) {
  return { left: x - width / 2, right: x + width / 2, top: y - height / 2, bottom: y + height / 2 }
}

function nameBox({ x, y }, [across, down], radius, width, height) {
  const diagonal = across !== 0 && down !== 0
  const off = diagonal ? radius : radius + GAP
  const left = across > 0 ? x + off : across < 0 ? x - off - width : x - width / 2
  const top = down > 0 ? y + off : down < 0 ? y - off - height : y - height / 2
  return { left: left - AIR, right: left + width + AIR, top, bottom: top + height }
}

/**
 * The place a GeoJSON feature of a place tile describes, or null when it is none or has no name to show. nameOf is as decode
 * has it.
 */
export function placeOf(feature, displayText, nameOf = (type, id, { name }) => displayText(name, 60)) {
  const [lon, lat] = feature?.geometry?.type === 'Point' ? feature.geometry.coordinates ?? [] : []
  const properties = feature?.properties ?? {}
  const name = nameOf('places', '', properties)
  if (!Number.isFinite(lon) || !Number.isFinite(lat) || name === '') return null
  return {
    id: String(properties.id ?? feature.id ?? `${lon},${lat}`), name, lat, lon,
    code: properties.code, population: Number(properties.population) || 0,
  }
}
