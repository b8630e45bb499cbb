// Widths of lines of text, each measured once.

const MOST = 4000 // lines remembered

/**
 * A function from fonts to a measure as labels.js wants it. looks is { look: { font, height, spacing, capitals } }, all in CSS
 * pixels; context is that of any canvas.
 */
export function createRuler(context) {
  const widths = new Map()
  return looks => (line, look) => {
    const { font, height, spacing, capitals } = looks[look]
    const key = `${font}\n${line}`
    const text = capitals ? line.toUpperCase() : line
    let width = widths.get(key)
    if (width === undefined) {
      if (context.font !== font) context.font = font
      width = context.measureText(text).width
      if (widths.size >= MOST) widths.clear()
      widths.set(key, width)
    }
    return { width: width + spacing * text.length, height }
  }
}
