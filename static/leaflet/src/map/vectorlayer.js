// The region layer: a Leaflet grid whose tiles are canvases that show what the workshop paints of the service's vector tiles.
import { bounds, GridLayer } from 'leaflet'
import { el } from '../dom.js'
import { FineGrid } from './finegrid.js'
import { keyOf, regionTiles } from '../engine/regiontiles.js'
import { areas, visibleTypes } from '../engine/regiontypes.js'
import { show } from '../engine/studio.js'
import { dataTile, regionZoomOf, TILE_SIZE, tileZoomOf, wrapColumn } from '../engine/tilegrid.js'

const AHEAD = 48 // CSS pixels
const COARSER = 3 // zooms between a tile and what lies beneath it
const SHARPEST = 3 // canvas pixels of a tile's own pixel that are worth their memory, at a density of 1

/**
 * Options: studio (studio.js), types (regiontypes' list, whose `on` the layer switch changes), maxDataZoom (deepest zoom asked
 * of the server; deeper views enlarge it, which stays sharp because tiles are drawn from geometry), lines (no areas are
 * drawn, so that what lies beneath shows), colours ({ layer, field } of what setColours has, or null). Besides Leaflet's
 * own events it fires tilefailed with an error whose message is fit for the reader, asked after refresh and retry, and bare
 * with whether some of the map may have nothing to show yet.
 *
 * Beneath it lies a grid of much coarser tiles, which are few and so nearly always there: it shows where a tile is not yet.
 */
export const VectorLayer = FineGrid.extend({
  options: { studio: null, types: [], maxDataZoom: 13, lines: false, colours: null, className: 'regions', zIndex: 1, keepBuffer: 1, cache: null, coarser: 0 },

  initialize(options) {
    GridLayer.prototype.initialize.call(this, options)
    this._drawn = new Map() // tile element → what is painted on it
    this._marked = [null, null]
    const { studio, cache } = this.options
    this._cache = cache ?? regionTiles(studio)
    if (!cache) {
      this._under = new VectorLayer({
        ...options, className: 'regions-under', zIndex: 0, cache: this._cache, coarser: COARSER, minZoom: COARSER + 1,
      })
      for (const layer of [this, this._under]) layer.on('loading load', this._tellBare, this)
    }
    this.on('tileunload', ({ tile }) => {
      const drawing = this._drawn.get(tile)
      this._drawn.delete(tile)
      drawing?.release()
      drawing?.painting.abort()
    })
  },

  onAdd(map) {
    GridLayer.prototype.onAdd.call(this, map)
    this._lay()
  },

  // Lines of two grids would lie beside one another.
  _lay() {
    if (this.options.lines) this._under?.remove()
    else this._under?.addTo(this._map)
  },

  onRemove(map) {
    this._under?.remove()
    GridLayer.prototype.onRemove.call(this, map)
  },

  // Tiles are held ready a little beyond the view, so that a small step, or a window that grows by a bar, shows no gap.
  _getTiledPixelBounds(center) {
    const { min, max } = GridLayer.prototype._getTiledPixelBounds.call(this, center)
    const ahead = AHEAD / this.stretch()
    return bounds(min.subtract([ahead, ahead]), max.add([ahead, ahead]))
  },

  tileZoom(zoom) {
    return Math.max(0, regionZoomOf(zoom) - this.options.coarser)
  },

  createTile(coords, done) {
    const canvas = el('canvas')
    const tile = el('div', {}, canvas)
    const drawing = {
      coords: { x: coords.x, y: coords.y, z: coords.z }, tile, canvas, release: () => {}, painting: new AbortController(), painted: null,
    }
    this._drawn.set(tile, drawing)
    this._load(drawing).then(() => done(null, tile))
    return tile
  },

  /** Asks again for what is on the map, after a layer was switched on or off; the old picture stays until then. */
  refresh() {
    for (const drawing of this._drawn.values()) this._load(drawing)
    this._under?.refresh()
    this.fire('asked')
  },

  /** Loads the tiles that failed once more. The map is told as of those that are new to it. */
  async retry() {
    const again = [...this._drawn.values()].filter(drawing => drawing.failed).map(drawing => this._load(drawing))
    this._under?.retry()
    this.fire('asked')
    this.fire('loading')
    await Promise.all(again)
    if (!this._loading) this.fire('load')
  },

  /** Whether a tile on the map could not be had. */
  incomplete() {
    return [...this._drawn.values()].some(drawing => drawing.failed)
  },

  /** Highlights regions, each { type, id } or null: the one that is chosen and the one that is pointed at. */
  select(selection = this._marked[0], pointed = null) {
    const key = marked => String(marked.map(one => one && `${one.type}/${one.id}`))
    const [old, now] = [this._marked, [selection, pointed]]
    if (key(old) === key(now)) return
    this._marked = now
    for (const drawing of this._drawn.values()) this._paint(drawing, drawing.painted ? { unless: drawing.painted.marked } : {})
  },

  /** The most specific region that is drawn at a point of the map, { lat, lng }, or that of one type: what workshop.js promises, or null. */
  async under(latlng, of) {
    const { x, y } = this._map.project(latlng, this._tileZoom).divideBy(TILE_SIZE)
    const [column, row] = [Math.floor(x), Math.floor(y)]
    const here = { z: this._tileZoom, x: wrapColumn(column, this._tileZoom), y: row }
    const drawing = [...this._drawn.values()].find(({ coords }) => coords.z === here.z && coords.x === here.x && coords.y === here.y)
    const { key, view, types } = drawing?.source ?? {}
    return key ? this.options.studio.call('under', {
      key, types: areas(types).map(({ type }) => type).filter(type => !of || type === of),
      x: (x - column + view.offsetX) / view.scale, y: (y - row + view.offsetY) / view.scale,
    }) : null
  },

  /** Leaves areas out, or draws them again. */
  setLines(lines) {
    if (this.options.lines === lines) return
    this.options.lines = lines
    if (this._map) this._lay()
    this.repaint()
  },

  /**
   * Colours a type as a legend of the server says, or none where that is null. field is its property, if tiles do not have that by
   * themselves, else ''.
   */
  setColours(legend, field) {
    this.options.studio.call('legend', legend)
    for (const layer of [this, this._under]) layer.options.colours = legend && { layer: legend.layer, field }
    if (this._map) this.refresh()
  },

  /** Paints every tile again from what is loaded. */
  repaint() {
    for (const drawing of this._drawn.values()) this._paint(drawing)
    this._under?.repaint()
  },

  /**
   * Takes hold of what a tile shows on a map of some zoom: { view, types, promise, release }, view and types as paint has
   * them, the promise of the key that the workshop has the data tile by.
   */
  hold({ z, x, y }, zoom) {
    const source = dataTile({ z, x, y }, this.options.maxDataZoom)
    const types = this._typesAt(zoom)
    const request = types.length === 0
      ? { promise: Promise.resolve(''), release: () => {} }
      : this._cache.acquire(keyOf(types, source.tile, this._fieldOf(types)))
    return { view: source, types, ...request }
  },

  /** The data tile that shows a tile of 256 pixels on the map, and which types of it: { tile, types, field }, types by name. */
  source(coords) {
    const { tile } = dataTile(coords, Math.min(this.options.maxDataZoom, regionZoomOf(coords.z)))
    const types = this._typesAt(coords.z)
    return { tile, types: types.map(type => type.type), field: this._fieldOf(types) }
  },

  _fieldOf(types) {
    const { layer, field } = this.options.colours ?? {}
    return types.some(({ type }) => type === layer) ? field : ''
  },

  // A tile so much coarser has what its own zoom shows, which is likely to be loaded already.
  _typesAt(zoom) {
    return visibleTypes(this.options.types, Math.max(0, tileZoomOf(zoom) - this.options.coarser))
  },

  // When the map has come to rest, what was enlarged meanwhile is painted as large as it is seen, and a zoom between whole ones
  // may have brought another type.
  _onMoveEnd() {
    FineGrid.prototype._onMoveEnd.call(this)
    if (!this._map || this._zooming) return
    const types = String(this._typesAt(this._mapZoom).map(({ type }) => type))
    for (const drawing of this._drawn.values()) {
      if (drawing.types !== types && drawing.coords.z === this._tileZoom) this._load(drawing)
      else if (drawing.painted?.stretch !== this._stretchOf(drawing)) this._paint(drawing)
    }
  },

  // Never rejects: a tile that cannot be had is painted as missing and reported. A later call for the same tile is waited for.
  _load(drawing) {
    return drawing.loading = this._loaded(drawing)
  },

  async _loaded(drawing) {
    const { view, types, ...request } = this.hold(drawing.coords, this._mapZoom)
    drawing.types = String(types.map(({ type }) => type))
    const release = drawing.release
    drawing.release = request.release
    release()
    let key = null
    let failure = null
    try {
      key = await request.promise
    } catch (error) {
      failure = error
    }
    if (!this._drawn.has(drawing.tile)) return
    if (drawing.release !== request.release) { // asked for something else meanwhile
      await drawing.loading
      return
    }
    Object.assign(drawing, { source: { key, view, types }, failed: failure !== null })
    await this._paint(drawing)
    if (failure && failure.name !== 'AbortError') this.fire('tilefailed', { error: failure })
  },

  _stretchOf({ coords }) {
    return coords.z === this._tileZoom ? this.stretch() : 2
  },

  // Has the picture painted, and shows it. A later call for the same tile takes back an earlier one, and is then waited for.
  _paint(drawing, how = {}) {
    if (!drawing.source) return null // still loading
    return drawing.latest = this._picture(drawing, how)
  },

  async _picture(drawing, { unless }) {
    const { key, view, types } = drawing.source
    const stretch = this._stretchOf(drawing)
    const marked = this._marked
    drawing.painting.abort()
    drawing.painted = null
    const { signal } = drawing.painting = new AbortController()
    try {
      const picture = await this.options.studio.call('draw', {
        key, view: { ...view, zoom: this._mapZoom }, types: types.map(({ type, role }) => ({ type, role })),
        density: devicePixelRatio * Math.min(1, SHARPEST / stretch), stretch, marked, unless, lines: this.options.lines,
      }, { signal })
      if (picture) show(drawing.canvas, picture)
      drawing.painted = { stretch, marked }
    } catch (error) {
      if (!signal.aborted) throw error
      if (this._drawn.has(drawing.tile)) await drawing.latest
    }
  },

  // What lies beneath shows wherever it is whole.
  _tellBare() {
    const under = this._under
    const bare = this._loading && (under._loading || under._tileZoom === undefined)
    if (bare === this._bare) return
    this._bare = bare
    this.fire('bare', { bare })
  },
})
