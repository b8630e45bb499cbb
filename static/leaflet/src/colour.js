// Colours that stay with a region: a hash of its id picks hue and shade, the theme the rest.

// Hues in degrees of OKLCH with the share of the palette's chroma each bears before it looks loud: rose over sand and
// green to lilac. The blues belong to the water.
const hues = [[28, 0.85], [52, 1], [74, 1.1], [96, 1.15], [118, 1.05], [144, 0.95], [164, 0.8], [300, 0.75], [340, 0.7]]
const shades = [-1, 0, 1]

/** 32-bit FNV-1a of a string's UTF-16 units, mixed once more so that ids differing in one letter fall far apart. */
export function hash(text) {
  let h = 0x811c9dc5
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193)
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}

/** A region's colour for a palette { lightness, chroma, step, cast: [a, b] } in OKLab's units; the cast tints them all. */
export function regionColour(id, { lightness, chroma, step, cast: [a, b] }) {
  const h = hash(id)
  const [hue, share] = hues[h % hues.length]
  const shade = shades[Math.floor(h / hues.length) % shades.length]
  const [across, up] = [Math.cos(hue * Math.PI / 180), Math.sin(hue * Math.PI / 180)].map(part => part * chroma * share)
  return `oklab(${(lightness + shade * step).toFixed(4)} ${(across + a).toFixed(4)} ${(up + b).toFixed(4)})`
}
