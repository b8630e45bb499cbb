// Lines of text in the looks that names.json has: the fonts that they are written in, and their widths.
import table from '../names.json' with { type: 'json' }

const { fonts, looks } = table

const MOST = 4000 // lines remembered
const LINE = 1.15 // the height of a line, in its size
const families = fonts.map(font => /\s/.test(font) ? `"${font}"` : font).join(', ')
const fromTheRight = /^\P{L}*[\u0590-\u08FF\uFB1D-\uFEFC]/u
const joined = /[^\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\P{L}]/u // other letters may hang together

/** Sets a canvas's context to a look; the answer is the line as it is written in it. */
export function dress(context, line, look) {
  const { slant, weight, size, spacing, transform } = looks[look]
  const font = `${slant} ${weight} ${size}px ${families}`
  if (context.asked !== font) context.font = context.asked = font
  context.direction = fromTheRight.test(line) ? 'rtl' : 'ltr'
  context.letterSpacing = `${joined.test(line) ? 0 : spacing * size}px` // not all browsers know it
  return transform === 'uppercase' ? line.toUpperCase() : line
}

/** A function (line, look) → { width, height } in CSS pixels that measures each line once. context is that of any canvas. */
export function createRuler(context) {
  const widths = new Map()
  return (line, look) => {
    const key = `${look}\n${line}`
    let width = widths.get(key)
    if (width === undefined) {
      width = context.measureText(dress(context, line, look)).width
      if (widths.size >= MOST) widths.clear()
      widths.set(key, width)
    }
    return { width, height: LINE * looks[look].size }
  }
}
