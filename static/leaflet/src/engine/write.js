// The names of a view on one canvas.
import table from '../names.json' with { type: 'json' }
import { dress } from './ruler.js'

const { looks } = table

const HALO = 3 // CSS pixels, half of them under the letters
const MOST = 2 ** 24 // pixels of a picture; beyond it the picture is less sharp

/**
 * Writes names, as labels.js arranges them, on a canvas that shows a box { minX, minY, maxX, maxY } of whole pixels. theme
 * has the colours `ink`, `dot` and `rim`. The answer is how many pixels of the canvas a CSS pixel has.
 */
export function write(canvas, names, { box: { minX, minY, maxX, maxY }, theme: { ink, dot, rim }, density }) {
  const scale = Math.min(density, Math.sqrt(MOST / ((maxX - minX) * (maxY - minY))))
  canvas.width = Math.ceil((maxX - minX) * scale)
  canvas.height = Math.ceil((maxY - minY) * scale)
  const context = canvas.getContext('2d')
  context.asked = null
  context.setTransform(scale, 0, 0, scale, -minX * scale, -minY * scale)
  Object.assign(context, { lineJoin: 'round', textAlign: 'center', textBaseline: 'middle', strokeStyle: ink.halo })
  const onPixel = at => Math.round(at * scale) / scale
  for (const { dot: at, look } of names) {
    if (!at) continue
    context.beginPath()
    context.arc(at.x, at.y, at.radius - (at.ring ? 1 : 0), 0, 7)
    context.fillStyle = at.ring ? rim : dot
    context.strokeStyle = at.ring ? ink[looks[look].ink] : rim
    context.lineWidth = at.ring ? 2 : 1
    context.fill()
    context.stroke()
  }
  context.lineWidth = HALO
  context.strokeStyle = ink.halo
  for (const { look, lines, box } of names) {
    context.fillStyle = ink[looks[look].ink]
    const high = (box.bottom - box.top) / Math.max(1, lines.length)
    lines.forEach((line, i) => {
      const text = dress(context, line, look)
      // Also a line's last letter has its spacing behind it.
      const at = [onPixel((box.left + box.right + (Number.parseFloat(context.letterSpacing) || 0)) / 2), onPixel(box.top + (i + 0.5) * high)]
      context.strokeText(text, ...at)
      context.fillText(text, ...at)
    })
  }
  return scale
}
