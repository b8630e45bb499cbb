// One tile's picture on a canvas.
import { classColour, regionColour } from './colour.js'
import { borderWidth, coastWidth } from './borders.js'
import { TILE_SIZE } from './tilegrid.js'

/**
 * CSS pixels that a picture reaches over its tile on every side. Neighbours draw the same there, so where screens scale
 * pixels unevenly, or an animation does, no gap opens between tiles. A tile's own buffer is wider than this, also across
 * ±180°. The style sheet makes the canvas as much larger.
 */
export const BLEED = 1

/**
 * Paints a tile. decoded is decode's Map, or null for a tile that could not be had; view is { zoom, scale, offsetX,
 * offsetY } as tilegrid's dataTile gives it; types are the visible region types, coarse first; marked are the region that is
 * chosen and the one that is pointed at, each { type, id } or null; stretch is how much larger than its 256 pixels the map shows the tile, so that lines keep their width; lines leaves
 * out all areas, for a map that lies over another one, but for those of legend, which says how one of the types is coloured.
 */
export function paint(canvas, decoded, { view, types, theme, density, stretch = 1, marked, lines = false, legend = null }) {
  const size = Math.round((TILE_SIZE + 2 * BLEED) * density * stretch)
  if (canvas.width !== size) canvas.width = canvas.height = size
  const pixel = size / (TILE_SIZE + 2 * BLEED) // device pixels in a pixel of the tile's own, after rounding
  const context = canvas.getContext('2d')
  context.setTransform(1, 0, 0, 1, 0, 0)
  context.globalCompositeOperation = 'source-over'
  const flood = colour => {
    context.setTransform(1, 0, 0, 1, 0, 0)
    context.fillStyle = colour
    context.fillRect(0, 0, size, size)
  }
  context.clearRect(0, 0, size, size)
  if (!decoded) {
    if (!lines) flood(theme.missing)
    return
  }
  context.lineJoin = context.lineCap = 'round'

  // Tile units to device pixels; work gets the CSS pixels in a tile unit.
  const draw = ({ extent }, work) => {
    const inner = TILE_SIZE * view.scale / extent
    context.setTransform(pixel * inner, 0, 0, pixel * inner,
      pixel * (BLEED - TILE_SIZE * view.offsetX), pixel * (BLEED - TILE_SIZE * view.offsetY))
    work(inner * stretch)
  }
  const [land, finer] = types.filter(type => type.role === 'land')
  const coloured = types.find(({ type }) => type === legend?.layer)
  if (lines) { // without areas no gap shows between tiles, and lines drawn twice would be darker
    context.save()
    context.beginPath()
    context.rect(BLEED * pixel, BLEED * pixel, TILE_SIZE * pixel, TILE_SIZE * pixel)
    context.clip()
    choropleth(OVER_MAP)
  } else {
    areas()
  }
  for (const type of types.toReversed()) { // coarse borders over fine ones
    const layer = decoded.get(type.type)
    if (layer && type.role !== 'built' && type.role !== 'names') draw(layer, inner => strokeBorders(context, layer, type, { theme, zoom: view.zoom, inner, shore: type === land, legend: type === coloured && legend }))
  }
  marked.forEach((one, i) => {
    const named = one && types.some(({ type, role }) => type === one.type && role === 'names') // its outline means nothing
    const layer = one && !named && decoded.get(one.type)
    if (layer) draw(layer, inner => highlight(context, layer, one.id, { theme, inner, chosen: i === 0 }))
  })
  if (lines) context.restore()

  function areas() {
    const fillType = (type, strength, colours) => {
      const layer = decoded.get(type.type)
      if (layer) draw(layer, () => fill(context, layer, type.role, strength, theme, colours))
    }
    // Parts of the land are tinted where the land is, and the water comes beneath: sources that disagree about the shore, as those of
    // countries and of states with their tidal waters do, make no third colour.
    if (land) fillType(land, 1, theme.land)
    if (finer && !coloured) {
      context.globalCompositeOperation = 'source-atop'
      fillType(finer, theme['shade-strength'], theme.shade)
    }
    context.globalCompositeOperation = 'destination-over'
    flood(theme.water)
    context.globalCompositeOperation = 'source-over'
    choropleth(1)
    // Over the colours of a legend anything else would give them other meanings.
    for (const type of types) if (coloured ? type.role === 'water' && type !== coloured : !['land', 'names', 'line'].includes(type.role)) fillType(type, type.role === 'overlay' ? 0.4 : 1, theme.land)
  }

  function choropleth(strength) {
    const layer = coloured && decoded.get(coloured.type)
    if (layer) draw(layer, () => fillClasses(context, layer, { legend, theme, strength, scale: pixel }))
  }
}

const OVER_MAP = 0.75 // strength of colours over another map

// Regions without a value are hatched: no colour of a scheme looks so.
function fillClasses(context, { regions }, { legend, theme, strength, scale }) {
  const missing = new Path2D()
  context.globalAlpha = strength
  for (const { properties, path } of regions) {
    const colour = classColour(legend, properties[legend.property])
    if (!colour) missing.addPath(path)
    context.fillStyle = colour || theme.missing
    context.fill(path, 'evenodd')
  }
  context.save()
  context.clip(missing, 'evenodd')
  context.setTransform(scale, 0, 0, scale, scale * BLEED, scale * BLEED)
  context.beginPath()
  for (let x = -TILE_SIZE - HATCH; x <= TILE_SIZE + HATCH; x += HATCH) {
    context.moveTo(x, TILE_SIZE + HATCH)
    context.lineTo(x + TILE_SIZE + 2 * HATCH, -HATCH)
  }
  Object.assign(context, { lineWidth: 1, strokeStyle: theme.border.other })
  context.stroke()
  context.restore()
  context.globalAlpha = 1
}

const HATCH = 8 // pixels of the tile between two lines; tiles side by side go on, since it divides their size

function fill(context, { regions }, role, strength, theme, colours) {
  context.globalAlpha = strength
  for (const region of regions) {
    context.fillStyle = role === 'water' ? theme.lake : role === 'built' ? theme.urban : regionColour(region, colours)
    context.fill(region.path, 'evenodd')
  }
  context.globalAlpha = 1
}

// The shore is that of the coarsest land: what finer types have of it runs beside.
function strokeBorders(context, { borders, coast, disputed, lines }, { type, role }, { theme, zoom, inner, shore, legend }) {
  const stroke = (path, colour, dashes = [], width = borderWidth(type, zoom)) => {
    Object.assign(context, { lineWidth: width / inner, strokeStyle: colour })
    context.setLineDash(dashes.map(part => part / inner))
    context.stroke(path)
  }
  const colour = role === 'water' ? theme.coast : type === 'river' ? theme.river : theme.border[type] ?? theme.border.other
  if (legend && lines.length > 0) {
    const width = 1.5 + borderWidth(type, zoom)
    const known = lines.map(({ properties, path }) => ({ path, own: classColour(legend, properties[legend.property]) }))
    for (const { path, own } of known) stroke(path, theme.border.country, own ? [] : [2, 4], own ? width + 1 : width - 1) // a rim, on which light colours are seen
    for (const { path, own } of known) if (own) stroke(path, own, [], width)
  } else stroke(borders, colour, type === 'state' ? [6, 3] : [])
  if (shore) stroke(coast, theme.coast, [], coastWidth(zoom))
  else if (role !== 'land') stroke(coast, colour)
  stroke(disputed, theme.border.disputed, [5, 4])
  context.setLineDash([])
}

// An outline alone: a veil would change the colours of what it marks. A rim keeps that of the chosen one apart from every colour beneath.
function highlight(context, { regions }, id, { theme, inner, chosen }) {
  for (const [width, colour] of chosen ? [[5, theme.rim], [2.5, theme.selection]] : [[2, theme.selection]]) {
    Object.assign(context, { lineWidth: width / inner, strokeStyle: colour })
    for (const region of regions) if (region.id === id) context.stroke(region.path)
  }
}
