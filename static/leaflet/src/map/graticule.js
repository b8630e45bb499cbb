// Meridians and parallels: a Leaflet layer of quiet lines beneath the names, a choice of the layer switch.
import { LayerGroup, polyline } from 'leaflet'
import { MAX_LATITUDE } from '../hash.js'
import { t } from '../words/words.js'

/** The switch's row. */
export const GRATICULE = { type: 'graticule', label: t('Graticule'), role: 'graticule', from: 0, on: false }

/** Degrees between two lines on a map of a zoom. */
export function graticuleStep(zoom) {
  return zoom < 2.5 ? 30 : zoom < 4.5 ? 10 : zoom < 6.5 ? 5 : 1
}

const DEEPEST = 14 // beyond it a line is as rare as it is useless

/**
 * The lines through a box { west, south, east, north } in degrees at a zoom, each [[lat, lon], [lat, lon]]. The box may reach over
 * ±180°; its lines go on there.
 */
export function graticuleLines({ west, south, east, north }, zoom) {
  if (zoom > DEEPEST) return []
  const step = graticuleStep(zoom)
  const [low, high] = [Math.max(south, -MAX_LATITUDE), Math.min(north, MAX_LATITUDE)]
  const lines = []
  for (let lon = Math.ceil(west / step) * step; lon <= east; lon += step) lines.push([[low, lon], [high, lon]])
  for (let lat = Math.ceil(low / step) * step; lat <= high; lat += step) lines.push([[lat, west], [lat, east]])
  return lines
}

export const Graticule = LayerGroup.extend({
  onAdd(map) {
    if (!map.getPane('graticule')) map.createPane('graticule').setAttribute('aria-hidden', 'true')
    LayerGroup.prototype.onAdd.call(this, map)
    this._draw()
  },

  getEvents() {
    return { moveend: this._draw }
  },

  // A little more than the view, for the way that it is dragged.
  _draw() {
    const bounds = this._map.getBounds().pad(0.5)
    const box = { west: bounds.getWest(), south: bounds.getSouth(), east: bounds.getEast(), north: bounds.getNorth() }
    this.clearLayers()
    for (const line of graticuleLines(box, this._map.getZoom())) {
      this.addLayer(polyline(line, { pane: 'graticule', className: 'graticule', interactive: false, noClip: true, smoothFactor: 0 }))
    }
  },
})
