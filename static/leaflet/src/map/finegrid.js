// Leaflet's grid of tiles on a map of any zoom, not only whole ones.
import { GridLayer } from 'leaflet'
import { tileZoomOf } from '../engine/tilegrid.js'

const FAR = 2 ** 20 // CSS pixels; where a level lies farther off, browsers place its tiles inexactly
const MOST = 200 // tiles that are kept while the map zooms

/**
 * A grid whose tiles are those of a whole zoom near the map's, enlarged: the next below, or what tileZoom says. What is drawn stays until what takes its place
 * is drawn, also where the map jumps to another zoom.
 */
export const FineGrid = GridLayer.extend({
  getEvents() {
    // Leaflet throws everything away before a jump; here it stays for as long as it is of use.
    const { viewprereset, ...events } = GridLayer.prototype.getEvents.call(this)
    return { ...events, zoomstart: this._onZoomStart }
  },

  /** How much larger than their own size the tiles of the map's zoom are shown. */
  stretch() {
    return 2 ** (this._mapZoom - this._tileZoom)
  },

  _onZoomStart() {
    this._zooming = true
  },

  _onMoveEnd() {
    GridLayer.prototype._onMoveEnd.call(this)
    if (!this._map || this._map._animatingZoom) return
    this._zooming = false
    this._noPrune = false
    this._pruneTiles()
  },

  // While the map zooms, what leaves the view it is going to is still seen.
  _pruneTiles() {
    if (!this._zooming || Object.keys(this._tiles).length > MOST) GridLayer.prototype._pruneTiles.call(this)
  },

  _setView(center, zoom, noPrune, noUpdate) {
    this._mapZoom = zoom
    if (Object.values(this._levels).some(level => this._isFar(level, center, zoom))) this._invalidateAll()
    GridLayer.prototype._setView.call(this, center, zoom, noPrune, noUpdate)
  },

  /** The zoom of the tiles of a map's zoom. */
  tileZoom(zoom) {
    return tileZoomOf(zoom)
  },

  // Leaflet asks with the map's zoom or, when its view changes, with that rounded, which says too little.
  _clampZoom() {
    return this.tileZoom(this._mapZoom)
  },

  _isFar(level, center, zoom) {
    const { x, y } = this._map.project(center, level.zoom).subtract(level.origin)
    return Math.max(Math.abs(x), Math.abs(y)) * 2 ** Math.max(0, zoom - level.zoom) > FAR
  },
})
