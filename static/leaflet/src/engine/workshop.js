// Where tiles are decoded and painted and names arranged, away from the page's own thread where the browser can. Nothing here
// knows the document.
import { arrangeView } from './arrangement.js'
import { decode } from './decode.js'
import { namer } from './namer.js'
import { displayText } from '../words/text.js'
import { placeOf } from './labels.js'
import { paint } from './paint.js'
import { createRuler } from './ruler.js'
import { write } from './write.js'

/**
 * The methods that service.js offers. newCanvas makes a canvas; picture(canvas) turns what is painted on it into an
 * ImageBitmap, or the promise of one.
 */
export function createWorkshop({ newCanvas, picture }) {
  const tiles = new Map() // key → decode's Map, or a list of places
  const canvas = newCanvas()
  const sheet = newCanvas()
  const measure = createRuler(newCanvas().getContext('2d'))
  const probe = newCanvas().getContext('2d')
  const inside = (path, x, y) => probe.isPointInPath(path, x, y, 'evenodd')
  let nameOf = namer([])
  let theme = null
  let legend = null

  return {
    /** Keeps a tile of regions, from its bytes. */
    regions({ key, bytes }) {
      tiles.set(key, decode(bytes, nameOf))
    },

    /** Keeps a tile of places, from the bytes of its GeoJSON. False where that is none. */
    places({ key, bytes }) {
      const features = featuresOf(bytes)
      if (!features) return false
      tiles.set(key, features.map(feature => placeOf(feature, displayText, nameOf)).filter(place => place !== null))
      return true
    },

    /** Forgets a tile. */
    drop({ key }) {
      tiles.delete(key)
    },

    /** The languages that names are wanted in, the best first; none for names as the data have them. */
    speak({ languages }) {
      nameOf = namer(languages)
    },

    /** What pictures are painted with from now on, as theme.js reads it. */
    theme(now) {
      theme = now
    },

    /** How a type is coloured from now on, as the server's legend of a style says, or null. */
    legend(now) {
      legend = now
    },

    /**
     * The picture of a tile, { bitmap }, or null when it would be the one there is: `unless` are the marked regions that one was
     * painted with. key is null for a tile that could not be had; the rest is as paint has it.
     */
    async draw({ key, unless, ...how }) {
      const decoded = key === null ? null : tiles.get(key) ?? new Map()
      if (unless && ![...unless, ...how.marked].some(one => has(decoded, one))) return null
      paint(canvas, decoded, { ...how, theme, legend })
      const bitmap = await picture(canvas)
      return { bitmap, transfer: [bitmap] }
    },

    /**
     * The most specific region at a point of a tile, x and y as parts of its side: { type, id } or null, of a coloured type also its name
     * and value. Types are coarse first.
     */
    under({ key, types, x, y }) {
      const at = ({ extent, regions }) => regions.find(({ path }) => inside(path, x * extent, y * extent))
      const [type, region] = types.map(type => [type, at(tiles.get(key)?.get(type) ?? NOTHING)]).findLast(([, region]) => region?.id) ?? []
      if (!region) return null
      const { id, name, properties } = region
      if (legend?.layer !== type) return { type, id }
      return { type, id, name, value: Object.hasOwn(properties, legend.property) ? properties[legend.property] : undefined }
    },

    /**
     * The names of a view as arrangement.js arranges them, each { id, text, look, kind, box, dot }, and a picture of
     * those in `frame`: { names, bitmap, density }. Boxes are in CSS pixels of the picture.
     */
    async arrange({ view, frame, density, tiles: wanted }) {
      const arranged = arrangeView(view, wanted.map(tile => ({
        ...tile, names: tile.names && tiles.get(tile.names), places: tile.places ? tiles.get(tile.places) : [],
      })), measure, inside)
      density = write(sheet, arranged, { box: frame, theme, density })
      const bitmap = await picture(sheet)
      const names = arranged.map(({ id, look, lines, box, dot, region }) => ({ id, look, text: lines.join(' '), kind: region ? 'region' : 'place', box: { left: box.left - frame.minX, right: box.right - frame.minX, top: box.top - frame.minY, bottom: box.bottom - frame.minY }, dot: dot && { x: dot.x - frame.minX, y: dot.y - frame.minY } }))
      return { names, bitmap, density, transfer: [bitmap] }
    },
  }
}

const NOTHING = { extent: 1, regions: [] }

const has = (decoded, marked) => Boolean(marked && decoded?.get(marked.type)?.regions.some(({ id }) => id === marked.id))

// An empty tile has no body.
function featuresOf(bytes) {
  if (bytes.byteLength === 0) return []
  try {
    const { features } = JSON.parse(new TextDecoder().decode(bytes))
    return Array.isArray(features) ? features : null
  } catch {
    return null
  }
}
