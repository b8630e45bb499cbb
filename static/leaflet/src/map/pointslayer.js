// Users' own points on the map: a Leaflet layer that loads the tiles in view of each collection that is on, and draws points
// as dots and clusters as discs with their number.
import { canvas, CircleMarker, Layer, Util } from 'leaflet'
import { vectorTile } from '../server/api.js'
import { radiusOf, shownPoints } from '../server/collections.js'
import { classColour } from '../engine/colour.js'
import { held, TileCache } from '../engine/tilecache.js'
import { coveringTiles, TILE_SIZE, tileZoomOf } from '../engine/tilegrid.js'

const REACH = 6 // CSS pixels around a dot that still mean it
const AHEAD = 64 // CSS pixels beyond the view that are held ready
const CLOSE = 17 // the zoom from which on tiles are one coarser than the map's own

/** The zoom of the tiles to ask for: two coarser, so that all stands 64 pixels apart, and half of that close up. */
export function tileZoom(zoom) {
  const whole = tileZoomOf(zoom)
  return Math.max(0, whole - (whole < CLOSE ? 2 : 1))
}

/**
 * Options: collections (collections.js' rows, whose `on` the layer switch changes) and theme. Fires pointsfailed with an error whose
 * message is fit for the reader, or pointsshown when none is missing.
 */
export const PointsLayer = Layer.extend({
  options: { pane: 'points', collections: [], theme: null, legend: null, field: '' },

  initialize(options) {
    Util.setOptions(this, options)
    this._canvas = canvas({ pane: this.options.pane, padding: 0.2 })
    this._cache = new TileCache(async (key, signal) => {
      const [type, , z, x, y, field, filter] = key.split('/')
      return shownPoints(await vectorTile([type], { z, x, y }, {
        signal, field: decodeURIComponent(field), filter: JSON.parse(decodeURIComponent(filter)),
      }), type, { z: +z, x: +x, y: +y })
    })
    this._held = []
    this._marks = new Map() // key → Mark
    this._turn = 0
  },

  onAdd() {
    this.update()
  },

  onRemove() {
    this._turn++
    this._held = held([], this._held)
    this._keep(new Map())
  },

  getEvents() {
    return { moveend: this.update }
  },

  setTheme(theme) {
    this.options.theme = theme
    this._dress()
  },

  /** Colours a collection as VectorLayer's setColours does a type. */
  setColours(legend, field) {
    Object.assign(this.options, { legend, field })
    this._dress()
    this.update()
  },

  _dress() {
    for (const mark of this._marks.values()) mark.setStyle(this._look(mark.options.shown))
  },

  _keyOf(layer, { z, x, y }) {
    const asked = [this._fieldOf(layer), JSON.stringify(layer.filter)].map(encodeURIComponent)
    return [layer.type, layer.revision, z, x, y, ...asked].join('/')
  },

  _fieldOf({ type }) {
    return type === this.options.legend?.layer ? this.options.field : ''
  },

  /** The data tile that a tile of the map's grid shows of each collection that is on: { type, label, tile, field, filter }. */
  source(tile) {
    const z = tileZoom(tile.z)
    const shift = 2 ** (tile.z - z)
    const source = { z, x: Math.floor(tile.x / shift), y: Math.floor(tile.y / shift) }
    return this._layersOn().map(layer => ({ type: layer.type, label: layer.label, tile: source, field: this._fieldOf(layer), filter: layer.filter }))
  },

  /** What is drawn at a point of the map, { lat, lng }, or null: the nearest within reach, { layer, point }. */
  at(latlng) {
    const here = this._map.latLngToLayerPoint(latlng)
    let best = null
    let least = Infinity
    for (const mark of this._marks.values()) {
      const away = this._map.latLngToLayerPoint(mark.getLatLng()).distanceTo(here)
      if (away <= mark.getRadius() + REACH && away < least) [best, least] = [mark, away]
    }
    return best && best.options.shown
  },

  /** Where marks lie, in pixels of the world. */
  boxes() {
    return [...this._marks.values()].map(mark => {
      const { x, y } = this._map.project(mark.getLatLng())
      const r = mark.getRadius() + 2
      return { minX: x - r, minY: y - r, maxX: x + r, maxY: y + r, disc: true }
    })
  },

  /** Shows what is in view now, after a move, or after a collection was switched or changed. */
  async update() {
    if (!this._map) return
    const turn = ++this._turn
    const zoom = this._map.getZoom()
    const z = tileZoom(zoom)
    const { min, max } = this._map.getPixelBounds()
    const view = { min: min.subtract([AHEAD, AHEAD]), max: max.add([AHEAD, AHEAD]) }
    const wanted = this._layersOn().flatMap(layer => coveringTiles(view, zoom, z).map(tile => ({
      layer, world: tile.world, ...this._cache.acquire(this._keyOf(layer, tile)),
    })))
    this._held = held(wanted, this._held)
    const results = await Promise.allSettled(wanted.map(({ promise }) => promise))
    if (turn !== this._turn) return
    const shown = new Map()
    results.forEach(({ value = [] }, i) => {
      const { layer, world } = wanted[i]
      for (const point of value) {
        const lon = point.lon + 360 * world
        shown.set([layer.type, world, point.count, point.lat, point.lon, point.id].join('/'), { layer, point: { ...point, lon } })
      }
    })
    this._keep(shown)
    const failure = results.find(({ status, reason }) => status === 'rejected' && reason.name !== 'AbortError')
    if (failure) this.fire('pointsfailed', { error: failure.reason })
    else this.fire('pointsshown')
  },

  // Not _on, by which Leaflet adds listeners.
  _layersOn() {
    return this.options.collections.filter(layer => layer.on)
  },

  // Points that stay keep their marks. Clusters come first, so that no disc covers a point.
  _keep(shown) {
    const stale = this._marks
    this._marks = new Map()
    for (const [key, what] of [...shown].sort(([, a], [, b]) => b.point.count - a.point.count)) {
      const known = stale.get(key)
      stale.delete(key)
      if (known) known.options.shown = what
      this._marks.set(key, known ?? new Mark([what.point.lat, what.point.lon], {
        renderer: this._canvas, interactive: false, shown: what, ...this._look(what),
      }).addTo(this._map))
    }
    for (const mark of stale.values()) mark.remove()
  },

  _look({ layer, point }) {
    const { points: colours, 'points-rim': rim, 'points-count': count } = this.options.theme
    const look = { radius: radiusOf(point.count), fillColor: colours[layer.colour], fillOpacity: 1, color: rim, weight: 1.5, ink: count }
    const { legend, theme } = this.options
    if (layer.type !== legend?.layer) return look
    if (point.count > 0) return { ...look, fillColor: theme.ink.quiet } // of no class
    const colour = classColour(legend, point.properties.find(([name]) => name === legend.property)?.[1])
    return { ...look, radius: look.radius + 1, fillColor: colour || theme.missing, color: theme.ink.quiet, weight: 1 }
  },
})

// A disc with a number is a circle with a text that the renderer draws along with it.
const Mark = CircleMarker.extend({
  _updatePath() {
    CircleMarker.prototype._updatePath.call(this)
    const { shown: { point: { count, short } }, ink } = this.options
    if (count === 0 || !this._renderer._drawing || this._empty()) return
    const context = this._renderer._ctx
    context.fillStyle = ink
    context.font = '600 11px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif'
    context.textAlign = 'center'
    context.textBaseline = 'middle'
    context.fillText(short, this._point.x, this._point.y + 0.5)
  },
})
