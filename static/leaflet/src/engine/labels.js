// Which places get a dot and a name, and which regions a name, so that names do not run into each other.
import rules from '../names.json' with { type: 'json' }
import { candidates, looksAt, writingOf } from './regionnames.js'

const { tiers, turns, dots, least, bonus, apart, 'tier-apart': tierApart, 'around-city': around, ...places } = rules.places

const isCapital = ({ code }) => code === 'PPLC'

// GeoNames calls the seat of any territory a capital: Adamstown has 46 people. One of fewer people counts as what it is.
const isGreatCapital = place => isCapital(place) && (place.population ?? 0) >= places['great-capital']

/** How prominent a place is: capital (of 200,000 people), metropolis (four million people), major (one), city (a hundred thousand), town or village. */
export function tier(place) {
  if (isGreatCapital(place)) return 'capital'
  return Object.keys(tiers).find(name => (place.population ?? 0) >= tiers[name])
}

const GAP = 4 // between a dot and its name
const OUTSIDE = 6_000_000 // people of the city for which a country's name leaves its country
const SEAT = 3_000_000 // people that a capital counts when a region's name would cover it
const AIR = 3 // kept free around everything
const MOST = 500 // places looked at: a deep zoom of a dense city has thousands, and names for a tenth
const MOST_REGIONS = 1000
const AROUND = 0.25 // degrees from a capital to the towns that count as it
const KM = 111.2 // of a degree of latitude
const ALONE = 4 // the zoom from which a country is named that has no room for its name

/**
 * People; a great capital counts as a city of two millions more, so that it wins against its neighbours, but not against the
 * great cities of the world; a part of a town counts a quarter, so that the town wins against its parts.
 */
export function importance(place) {
  const { code, population = 0 } = place
  if (isGreatCapital(place)) return population + bonus
  return code === 'PPLX' ? population / 4 : population
}

/** Whether a zoom shows a place: the server fills empty stretches with whatever is there, on a world map too small. */
export function worthShowing(place, zoom) {
  return (place.population ?? 0) >= ((isCapital(place) ? places['least-of-capital'] : least)[zoom] ?? 0)
}

// Where a name may stand about its dot, the preferred first: [horizontal, vertical] as -1, 0 or 1.
const sides = [[1, 0], [-1, 0], [0, -1], [0, 1], [1, -1], [1, 1], [-1, -1], [-1, 1]]

/**
 * Arranges places { id, name, lat, lon, x, y, code, population } and regions { id, name, x, y, across, down, rank, type } (x, y and
 * the room for a region's name in CSS pixels, type as regiontypes.js has it; spots is a list of such places where the name may stand instead, with holds(box), whether it is still in the region there) by turns, the
 * most important first. The answer is a list of { id, place or region, look, lines, box, dot }: box is where the lines stand, in
 * their middle, and dot the { x, y, radius, ring } of a place.
 *
 * A place has its name on the first free one of the sides; one whose dot is covered or whose name finds no room is left out, but
 * close up, where the dot alone tells something. So is one that a greater place stands beside, or a much greater one some
 * kilometres away, but for capitals: of many cities in one, the dominant is named. A capital counts as much as any place around
 * it. A region's name is written the way that covers the least important cities, best none; it is left out where all ways are
 * taken. A country's that would cover a capital, or as many people, comes after the capitals; close up one without room is written
 * small at its point, where it covers no city. measure(line, look) is the { width, height }
 * of a line. obstacles are boxes that names keep clear of; a place whose dot is under one with pin set is named all the same, and one under
 * a disc, such as of the user's points, has its name beside the disc and no dot. first is the
 * id of one that comes before all others: a name that somebody points at stays while others come and go. The input's order does not
 * matter.
 */
export function arrange(places, regions, measure, { zoom = 18, obstacles = [], first } = {}) {
  const taken = [...obstacles]
  const free = box => !taken.some(other => overlap(box, other))
  const cities = []
  const sorted = weighed(places, zoom).sort(byWeight).slice(0, MOST)
  for (const item of sorted) {
    item.turn = turns[isCapital(item.place) ? 'capital' : item.tier]
    item.dot = boxAround(item.place, 2 * (dots[item.tier] + AIR))
    item.cost = isCapital(item.place) ? Math.max(item.weight, SEAT) : item.weight
    if (item.cost >= tiers.city) cities.push(item)
  }
  const named = regions.map(region => ({ region, id: region.id, turn: writingOf(region.type).turn, weight: -region.rank })).sort(byWeight).slice(0, MOST_REGIONS)
  const arranged = []
  const kept = []
  const hides = (great, { x, y, lat, lon, population = 0 }, apart) => Math.hypot(great.x - x, great.y - y) < apart ||
    great.population >= around.people && great.population > around.times * population && Math.hypot(great.x - x, great.y - y) < around.px &&
    KM * Math.hypot(great.lat - lat, ((great.lon - lon + 540) % 360 - 180) * Math.cos(lat * Math.PI / 180)) < around.km

  const addPlace = ({ place, tier, dot }) => {
    const disc = obstacles.find(other => other.disc && overlap(dot, other))
    if (taken.some(other => !other.pin && !other.disc && overlap(dot, other)) || zoom <= rules.places['apart-to'] && !isCapital(place) && kept.some(great => hides(great, place, tierApart[tier] ?? apart))) return
    const { width, height } = measure(place.name, tier)
    const radius = dots[tier]
    const [middle, out] = disc ? [{ x: (disc.left + disc.right) / 2, y: (disc.top + disc.bottom) / 2 }, (disc.right - disc.left) / 2] : [place, radius]
    const ways = sides.map(side => nameBox(middle, side, out, width, height)).filter(free)
    // Better where no other city's dot would go, or a small one's: London stands aside for Paris.
    const covered = box => cities.reduce((sum, other) => other.dot !== dot && overlap(box, other.dot) ? sum + other.cost : sum, 0)
    const box = ways.reduce((best, way) => best && covered(best) <= covered(way) ? best : way, undefined)
    if (!box && (disc || zoom < rules.places['dots-from'])) return
    taken.push(dot, ...box ? [box] : [])
    kept.push(place)
    const mark = disc ? undefined : { x: place.x, y: place.y, radius, ring: isCapital(place) }
    arranged.push({ id: place.id, place, look: tier, lines: box ? [place.name] : [], box: box ?? dot, dot: mark })
  }
  // False for a name that is to wait; late says that it has.
  const addRegion = ({ region }, late = false) => {
    const waits = region.type.type === 'country' && !late
    const writing = { looks: looksAt(writingOf(region.type), region.rank, zoom) }
    const stand = ({ x, y, holds = () => true }, ways) => ways.map(way => ({ ...way, box: boxAround({ x, y: y - way.rise }, way.width + 2 * AIR, way.height) })).filter(({ box }) => free(box) && holds(box))
    const waysAt = (spots, cut) => spots.flatMap(spot => stand(spot, candidates({ ...spot, name: region.name, cut }, writing, measure)))
    let ways = Number.isFinite(region.x) ? waysAt([region], false) : []
    if (ways.length === 0) ways = waysAt(region.spots ?? [], true)
    const costOf = ({ box, out }) => cities.reduce((sum, { dot, cost }) => overlap(box, dot) ? sum + cost : sum, out ? OUTSIDE : 0)
    if (late && ways.length === 0 && zoom >= ALONE && Number.isFinite(region.x) && candidates(region, writing, measure).length === 0) {
      const small = { ...writing, looks: writing.looks.slice(-1) }
      const near = candidates({ name: region.name, across: Infinity, down: Infinity }, small, measure).filter(({ rise, height, lines }) => Math.abs(rise) <= 1.5 * height / lines.length)
      ways = stand(region, near).filter(way => costOf(way) === 0)
    }
    const costs = ways.map(costOf)
    const least = Math.min(...costs)
    if (waits && !(least < SEAT)) return false
    if (ways.length === 0) return true
    const { look, lines, box } = ways[costs.indexOf(least)]
    taken.push(box)
    arranged.push({ id: region.id, region, look, lines, box })
    return true
  }
  let waiting = []
  const addWaiting = () => {
    for (const item of waiting) addRegion(item, true)
    waiting = []
  }
  for (const item of [...sorted, ...named].sort((a, b) => (b.id === first) - (a.id === first) || a.turn - b.turn || byWeight(a, b))) {
    if (item.turn > turns.capital) addWaiting()
    if (item.place) addPlace(item)
    else if (!addRegion(item)) waiting.push(item)
  }
  addWaiting()
  return arranged
}

function weighed(places, zoom) {
  const items = places.map(place => ({ place, id: place.id, tier: tier(place), weight: importance(place), people: place.population ?? 0 }))
  for (const item of items.filter(({ place }) => isCapital(place)).slice(0, MOST)) {
    const { lat, lon } = item.place
    for (const { place } of items) {
      if (isCapital(place) || !(Math.abs(place.lat - lat) <= AROUND && Math.abs(place.lon - lon) <= AROUND)) continue
      item.weight = Math.max(item.weight, importance(place) + 1)
      item.people = Math.max(item.people, place.population ?? 0)
    }
  }
  return items.filter(({ place: { code }, people }) => worthShowing({ code, population: people }, zoom))
}

const byWeight = (a, b) => b.weight - a.weight || (a.id < b.id ? -1 : 1)

const overlap = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom

function boxAround({ x, y }, width, height = width) {
  return { left: x - width / 2, right: x + width / 2, top: y - height / 2, bottom: y + height / 2 }
}

function nameBox({ x, y }, [across, down], radius, width, height) {
  const off = across !== 0 && down !== 0 ? radius : radius + GAP
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
    code: properties.code, population: Math.max(0, Number(properties.map_population ?? properties.population) || 0),
  }
}
