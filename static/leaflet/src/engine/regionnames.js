// How the names of regions are written, and whether a region is large enough on the screen for its own.
import table from '../names.json' with { type: 'json' }

const { regions } = table

// How much of its region's width a name may take, and how much of its height; a country's may reach over its borders, that of
// water over its shores, and the many small regions wait for room to spare.
const fills = {
  'country-large': { fill: 0.6 }, country: { fill: 1.2 }, 'country-small': { fill: 2.4, high: 1.6 }, county: { fill: 0.6 },
  'sea-large': { fill: 1.5, high: 1.6 }, sea: { fill: 1.8, high: 2.4 }, water: { fill: 1.5 },
}
const STEPS = [0.5, 1, 1.5, 2.25, 3] // of a name's height, that it moves up or down past a city's dot

/** How names of a region type { type, role } are written: { looks, turn, from, to, ranks, too-large }, as names.json has it. */
export function writingOf({ type, role }) {
  return Object.hasOwn(regions, type) ? regions[type] : role === 'water' ? regions.lake : regions.other
}

/** Whether a zoom names a region of a rank: of a type's regions the first ones far out, and close up those that a view can hold. */
export function isNamed({ from, to, ranks, 'too-large': tooLarge = [] }, rank, zoom) {
  return zoom >= from && zoom <= to && !(rank >= ranks[zoom]) && !(rank < tooLarge[zoom])
}

/**
 * The looks that a zoom has for a region of a rank, which begins with the smallest and gains a larger one zoom by zoom. One of
 * which only a part is in view has no rank, but a negative number: all but the largest are for it.
 */
export function looksAt({ looks, ranks }, rank, zoom) {
  if (rank < 0) return looks.slice(-2)
  return looks.filter((_, i) => i === looks.length - 1 || zoom + i >= looks.length && !(rank >= ranks[zoom + i - looks.length]))
}

/**
 * A name's candidates, the best first: { look, lines, width, height, rise, out }, out for one that steps out of its region. region
 * is { name, across, down }, the room for the name in CSS pixels; measure(line, look) gives a line's { width, height }; rise is
 * how far up the name moves from the label's point. There is none when the region is too small for the name. Of a region that is
 * cut, by the edge of the view, a name stays inside.
 */
export function candidates({ name, across, down, cut = false }, { looks }, measure) {
  const found = []
  for (const look of looks) {
    const { fill = 0.9, high = 1 } = fills[look] ?? {}
    const one = [name]
    // A name that reaches over its region's borders does so as little as it can.
    const over = measure(name, look).width > across
    for (const lines of over ? [broken(name), one] : [one, broken(name)]) {
      if (!lines) continue
      const sizes = lines.map(line => measure(line, look))
      const width = Math.max(...sizes.map(size => size.width))
      const height = sizes.reduce((sum, size) => sum + size.height, 0)
      if (width > (cut ? Math.min(fill, 1) : fill) * across || height > (cut ? 1 : high) * down) continue
      // Past a city's dot. The name of a small country may step out of it, but not with its middle: it would name another.
      const out = look === 'country-small' && !cut && down < 2.5 * height
      const most = out ? Math.min(1.2 * sizes[0].height, down / 2) : Math.min(3 * height, (down - height) / 2)
      const steps = STEPS.map(step => step * height).filter(step => step < most - 2).concat(most > 2 ? [most] : [])
      for (const rise of [0, ...steps.flatMap(step => [step, -step])]) found.push({ look, lines, width, height, rise, out: out && rise !== 0 })
    }
  }
  return found
}

/** A long name in two lines of about the same length, or null when it has no blank to break at. */
export function broken(name) {
  if (name.length < 10) return null
  let best = -1
  for (let at = name.indexOf(' '); at >= 0; at = name.indexOf(' ', at + 1)) {
    if (best < 0 || Math.abs(2 * at - name.length) < Math.abs(2 * best - name.length)) best = at
  }
  return best < 0 ? null : [name.slice(0, best), name.slice(best + 1)]
}
