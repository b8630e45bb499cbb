// One tile's picture on a canvas.
import { regionColour } from './colour.js'
import { borderWidth } from './borders.js'
import { TILE_SIZE } from './tilegrid.js'

/**
 * CSS pixels that a picture reaches over its tile on every side. Neighbours draw the same there, so where screens scale
 * pixels unevenly, or an animation does, no gap opens between tiles. A tile's own buffer is wider than this, also across
 * ±180°. The style sheet makes the canvas as much larger.
 */
export const BLEED = 1

/**
 * Paints a tile. decoded is decode's Map, or null for a tile that could not be had; view is { zoom, scale, offsetX,
 * offsetY } as tilegrid's dataTile gives it; types are the visible region types, coarse first; selection is { type, id }
 * or null; stretch is how much larger than its 256 pixels the map shows the tile, so that lines keep their width.
 */
export function paint(canvas, decoded, { view, types, theme, density, stretch = 1, selection }) {
  const size = Math.round((TILE_SIZE + 2 * BLEED) * density * stretch)
  if (canvas.width !== size) canvas.width = canvas.height = size
  const pixel = size / (TILE_SIZE + 2 * BLEED) // device pixels in a pixel of the tile's own, after rounding
  const context = canvas.getContext('2d', { alpha: false })
  context.setTransform(1, 0, 0, 1, 0, 0)
  context.fillStyle = decoded ? theme.water : theme.missing
  context.fillRect(0, 0, size, size)
  if (!decoded) return
  context.lineJoin = context.lineCap = 'round'

  // Tile units to device pixels; work gets the CSS pixels in a tile unit.
  const draw = ({ extent }, work) => {
    const inner = TILE_SIZE * view.scale / extent
    context.setTransform(pixel * inner, 0, 0, pixel * inner,
      pixel * (BLEED - TILE_SIZE * view.offsetX), pixel * (BLEED - TILE_SIZE * view.offsetY))
    work(inner * stretch)
  }
  const [land, finer] = types.filter(type => type.role === 'land')
  const strength = type => {
    if (type.role === 'overlay') return 0.4
    if (type.role !== 'land' || type === land) return 1
    return type === finer ? theme['shade-strength'] : 0
  }
  for (const type of types) {
    const layer = decoded.get(type.type)
    if (layer) draw(layer, () => fill(context, layer, type.role, strength(type), theme, type === finer ? theme.shade : theme.land))
  }
  for (const type of types.toReversed()) { // coarse borders over fine ones
    const layer = decoded.get(type.type)
    if (layer && type.role !== 'built') {
      draw(layer, inner => {
        context.lineWidth = borderWidth(type.type, view.zoom) / inner
        context.strokeStyle = type.role === 'water' ? theme.coast : theme.border[type.type] ?? theme.border.other
        context.stroke(layer.borders)
      })
    }
  }
  const chosen = selection && decoded.get(selection.type)
  if (chosen) draw(chosen, inner => highlight(context, chosen, selection.id, { theme, zoom: view.zoom, inner }))
}

// Water over land, land's parts as shades of the land: only the two coarsest land types, or counties make a patchwork.
function fill(context, { regions }, role, strength, theme, colours) {
  if (strength === 0) return
  context.globalAlpha = strength
  for (const region of regions) {
    context.fillStyle = role === 'water' ? theme.lake : role === 'built' ? theme.urban : regionColour(region, colours)
    context.fill(region.path, 'evenodd')
  }
  context.globalAlpha = 1
}

// Close up the region fills the view, and the outline alone tells enough.
function highlight(context, { regions }, id, { theme, zoom, inner }) {
  context.fillStyle = context.strokeStyle = theme.selection
  context.lineWidth = 2 / inner
  for (const region of regions) {
    if (region.id !== id) continue
    context.globalAlpha = Math.min(0.28, Math.max(0.06, 0.28 - 0.055 * (zoom - 5)))
    context.fill(region.path, 'evenodd')
    context.globalAlpha = 1
    context.stroke(region.path)
  }
}
