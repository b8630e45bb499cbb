// Which places get a dot and which a name, so that names do not run into each other.

/** How prominent a place is: capital, major (a million people), city (a hundred thousand) or town. */
export function tier({ code, population = 0 }) {
  if (code === 'PPLC') return 'capital'
  if (population >= 1_000_000) return 'major'
  return population >= 100_000 ? 'city' : 'town'
}

/** The dot's radius in CSS pixels. */
export const dotRadius = { capital: 4.5, major: 4, city: 3, town: 2.5 }

const GAP = 4 // between a dot and its name
const AIR = 3 // kept free around everything
const MOST = 500 // places looked at: a deep zoom of a dense city has thousands, and names for a tenth

/**
 * People; a capital's count threefold and half a million more, so that it wins against any but much larger neighbours,
 * and those of a part of a town a quarter, so that the town wins against its parts.
 */
export function importance({ code, population = 0 }) {
  return code === 'PPLC' ? 3 * population + 500_000 : code === 'PPLX' ? population / 4 : population
}

/** Whether a zoom shows a place: the server fills empty stretches with whatever is there, on a world map too small. */
export function worthShowing({ code, population = 0 }, zoom) {
  return code === 'PPLC' || population >= ([100_000, 100_000, 100_000, 20_000, 5_000][zoom] ?? 0)
}

/** Where a name may stand about its dot, the preferred first: [horizontal, vertical] as -1, 0 or 1. */
export const sides = {
  right: [1, 0], left: [-1, 0], top: [0, -1], bottom: [0, 1],
  'top-right': [1, -1], 'bottom-right': [1, 1], 'top-left': [-1, -1], 'bottom-left': [-1, 1],
}

/**
 * Arranges places { id, name, x, y, code, population } (x, y in CSS pixels): the most important first, each with its
 * name on the first free one of the sides; a place whose dot is covered is left out, one whose name finds no room keeps
 * its dot with side "none". measure(name, tier) is the name's { width, height }. The input's order does not matter.
 */
export function arrange(places, measure) {
  const taken = []
  const free = box => !taken.some(other =>
    box.left < other.right && other.left < box.right && box.top < other.bottom && other.top < box.bottom)
  const sorted = places.map(place => ({ place, weight: importance(place) }))
    .sort((a, b) => b.weight - a.weight || (a.place.id < b.place.id ? -1 : 1)).slice(0, MOST)
  const arranged = []
  for (const { place } of sorted) {
    const rank = tier(place)
    const reach = dotRadius[rank] + AIR
    const dot = { left: place.x - reach, right: place.x + reach, top: place.y - reach, bottom: place.y + reach }
    if (!free(dot)) continue
    const { width, height } = measure(place.name, rank)
    const [side, box] = Object.keys(sides).map(side => [side, nameBox(place, sides[side], dotRadius[rank], width, height)])
      .find(([, box]) => free(box)) ?? ['none']
    taken.push(dot)
    if (box) taken.push(box)
    arranged.push({ place, tier: rank, side })
  }
  return arranged
}

function nameBox({ x, y }, [across, down], radius, width, height) {
  const diagonal = across !== 0 && down !== 0
  const off = diagonal ? radius : radius + GAP
  const left = across > 0 ? x + off : across < 0 ? x - off - width : x - width / 2
  const top = down > 0 ? y + off : down < 0 ? y - off - height : y - height / 2
  return { left: left - AIR, right: left + width + AIR, top, bottom: top + height }
}

/** The place a GeoJSON feature of a place tile describes, or null when it is none or has no name to show. */
export function placeOf(feature, displayText) {
  const [lon, lat] = feature?.geometry?.type === 'Point' ? feature.geometry.coordinates ?? [] : []
  const properties = feature?.properties ?? {}
  const name = displayText(properties.name, 60)
  if (!Number.isFinite(lon) || !Number.isFinite(lat) || name === '') return null
  return {
    id: String(properties.id ?? feature.id ?? `${lon},${lat}`), name, lat, lon,
    code: properties.code, population: Number(properties.population) || 0,
  }
}
