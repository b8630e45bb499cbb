// Colours that stay with a region.

/** 32-bit FNV-1a of a string's UTF-16 units, mixed once more so that ids differing in one letter fall far apart. */
export function hash(text) {
  let h = 0x811c9dc5
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193)
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}

/**
 * One of the lands' colours. number is the one that the server gave the region so that it differs from its neighbours';
 * regions of older tiles have none, and their id picks one.
 */
export function regionColour({ id, number }, lands) {
  return lands[(Number.isInteger(number) && number >= 0 ? number : hash(id)) % lands.length]
}

/**
 * The colour of a value in a legend as the server gives it: that of its class, the legend's for values in none, or '' where there is
 * no value. A number is in the last class that does not begin above it.
 */
export function classColour({ classes, rest }, value) {
  if (value === undefined || value === null) return ''
  const numeric = classes.some(({ from }) => from !== undefined)
  const found = !numeric ? classes.find(one => (one.value ?? '') === String(value))
    : typeof value === 'number' ? classes.findLast(({ from }) => from <= value) ?? classes[0] : undefined
  return (found ?? rest)?.color ?? ''
}
