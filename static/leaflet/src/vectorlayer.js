// The region layer: a Leaflet grid whose tiles are canvases painted from the service's vector tiles.
import { bounds, GridLayer } from 'leaflet'
import { vectorTile } from './api.js'
import { decode } from './decode.js'
import { el } from './dom.js'
import { paint } from './paint.js'
import { visibleTypes } from './regiontypes.js'
import { TileCache } from './tilecache.js'
import { dataTile } from './tilegrid.js'

const AHEAD = 48 // CSS pixels

/**
 * Options: types (regiontypes' list, whose `on` the layer switch changes), maxDataZoom (deepest zoom asked of the
 * server; deeper views enlarge it, which stays sharp because tiles are drawn from geometry), theme. Besides Leaflet's own
 * events it fires tilefailed with an error whose message is fit for the reader, and asked after refresh and retry.
 */
export const VectorLayer = GridLayer.extend({
  options: { types: [], maxDataZoom: 13, theme: null, className: 'regions' },

  initialize(options) {
    GridLayer.prototype.initialize.call(this, options)
    this._drawn = new Map() // tile element → what is painted on it
    this._selection = null
    this._cache = new TileCache(async (key, signal) => {
      const [types, z, x, y] = key.split('/')
      return decode(await vectorTile(types.split(','), { z, x, y }, signal))
    })
    this.on('tileunload', ({ tile }) => {
      this._drawn.get(tile)?.release()
      this._drawn.delete(tile)
    })
  },

  // Tiles are held ready a little beyond the view, so that a small step, or a window that grows by a bar, shows no gap.
  _getTiledPixelBounds(center) {
    const { min, max } = GridLayer.prototype._getTiledPixelBounds.call(this, center)
    return bounds(min.subtract([AHEAD, AHEAD]), max.add([AHEAD, AHEAD]))
  },

  createTile(coords, done) {
    const canvas = el('canvas')
    const tile = el('div', {}, canvas)
    const drawing = { coords: { x: coords.x, y: coords.y, z: coords.z }, canvas, release: () => {} }
    this._drawn.set(tile, drawing)
    this._load(drawing).then(() => done(null, tile))
    return tile
  },

  /** Asks again for what is on the map, after a layer was switched on or off; the old picture stays until then. */
  refresh() {
    for (const drawing of this._drawn.values()) this._load(drawing)
    this.fire('asked')
  },

  /** Loads the tiles that failed once more. */
  retry() {
    for (const drawing of this._drawn.values()) {
      if (drawing.failed) this._load(drawing)
    }
    this.fire('asked')
  },

  /** Whether a tile on the map could not be had. */
  incomplete() {
    return [...this._drawn.values()].some(drawing => drawing.failed)
  },

  /** Highlights one region, { type, id }, or none. */
  select(selection) {
    if (this._selection?.type === selection?.type && this._selection?.id === selection?.id) return
    this._selection = selection
    this.repaint()
  },

  setTheme(theme) {
    this.options.theme = theme
    this.repaint()
  },

  /** Paints every tile again from what is loaded. */
  repaint() {
    for (const drawing of this._drawn.values()) this._paint(drawing)
  },

  /**
   * Takes hold of what a tile of the map's grid shows: { view, types, promise, release }, view and types as paint has them,
   * the promise of decode's Map for the data tile.
   */
  hold({ z: zoom, x, y }) {
    const source = dataTile({ z: zoom, x, y }, this.options.maxDataZoom)
    const types = visibleTypes(this.options.types, zoom)
    const request = types.length === 0
      ? { promise: Promise.resolve(new Map()), release: () => {} }
      : this._cache.acquire([types.map(type => type.type), source.tile.z, source.tile.x, source.tile.y].join('/'))
    return { view: { ...source, zoom }, types, ...request }
  },

  /** The data tile that a tile of the map's grid shows, and which types of it: { tile, types }, types by name. */
  source(coords) {
    const { tile } = dataTile(coords, this.options.maxDataZoom)
    return { tile, types: visibleTypes(this.options.types, coords.z).map(type => type.type) }
  },

  // Never rejects: a tile that cannot be had is painted as missing and reported.
  async _load(drawing) {
    const { view, types, ...request } = this.hold(drawing.coords)
    const release = drawing.release
    drawing.release = request.release
    release()
    let decoded = null
    let failure = null
    try {
      decoded = await request.promise
    } catch (error) {
      failure = error
    }
    if (drawing.release !== request.release) return // asked for something else meanwhile
    Object.assign(drawing, { decoded, view, types, failed: failure !== null })
    this._paint(drawing)
    if (failure && failure.name !== 'AbortError') this.fire('tilefailed', { error: failure })
  },

  _paint({ canvas, decoded, view, types }) {
    if (!view) return // still loading
    const { theme } = this.options
    paint(canvas, decoded, { view, types, theme, density: devicePixelRatio, selection: this._selection })
  },
})
