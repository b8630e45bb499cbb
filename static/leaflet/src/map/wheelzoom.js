// Zooming by the mouse's wheel and by two fingers on a trackpad: smoothly, around the pointer.
import { DomEvent, Handler } from 'leaflet'
import { roundZoom } from '../hash.js'
import { prefersStill } from '../theme.js'
import { glide, wheelSteps } from './zooming.js'

/** Takes the place of Leaflet's own handler, which jumps from one zoom to the next. */
export const WheelZoom = Handler.extend({
  addHooks() {
    DomEvent.on(this._map.getContainer(), 'wheel', this._turned, this)
    this._map.on('mousedown zoomanim unload', this._end, this)
    this._frame = 0
  },

  removeHooks() {
    DomEvent.off(this._map.getContainer(), 'wheel', this._turned, this)
    this._map.off('mousedown zoomanim unload', this._end, this)
    this._end()
  },

  _turned(event) {
    const map = this._map
    DomEvent.stop(event)
    if (map._animatingZoom) return // a step by key or button ends in a moment
    const steps = wheelSteps(event)
    if (steps === 0) return
    const from = this._frame ? this._goal : map.getZoom()
    this._goal = Math.min(map.getMaxZoom(), Math.max(map.getMinZoom(), from + steps))
    this._pinch = event.ctrlKey
    this._point = map.mouseEventToContainerPoint(event)
    this._anchor = map.containerPointToLatLng(this._point)
    if (this._frame || this._goal === from) return
    map._stop()
    map._moveStart(true, false)
    this._last = performance.now()
    this._frame = requestAnimationFrame(now => this._step(now))
  },

  // One frame. The point of the map under the pointer stays there.
  _step(now) {
    const map = this._map
    const goal = roundZoom(this._goal)
    const zoom = prefersStill() ? goal : glide(map.getZoom(), goal, now - this._last, this._pinch)
    this._last = now
    const away = this._point.subtract(map.getSize().divideBy(2))
    const centre = map.unproject(map.project(this._anchor, zoom).subtract(away), zoom)
    map._move(map._limitCenter(centre, zoom, map.options.maxBounds), zoom, { pinch: true, round: false })
    if (zoom === goal) this._end()
    else this._frame = requestAnimationFrame(later => this._step(later))
  },

  _end() {
    if (!this._frame) return
    cancelAnimationFrame(this._frame)
    this._frame = 0
    this._map._moveEnd(true)
  },
})
