// A line or an area that the reader draws corner by corner, by mouse, finger or keyboard, and its outline on the map.
import { circleMarker, layerGroup, polygon, polyline } from 'leaflet'
import { decimals, wrapLongitude } from '../hash.js'
import { nearestLongitude } from '../engine/tilegrid.js'

const MOST = 200 // corners
const NEAR = 12 // CSS pixels from the first corner that still mean it
const SAME = 3 // and from the last, of the second half of a double click

/**
 * Draws on a map. toggled(on) is called when drawing begins and ends, changed(corners) meanwhile, done(corners)
 * with those of an area that was closed, [[lon, lat]].
 */
export function createDrawing(map, { toggled, changed, done }) {
  let corners = null // while one is drawn
  let shown = null // the area that is done
  const marks = layerGroup().addTo(map)
  const root = map.getContainer()

  const away = ([lon, lat], latlng) =>
    map.latLngToContainerPoint([lat, nearestLongitude(lon, latlng.lng)]).distanceTo(map.latLngToContainerPoint(latlng))
  // Next to the corner before, so that an area may lie across 180°; as exact as the map shows it.
  function cornerAt({ lat, lng }) {
    const digits = Math.min(6, decimals(map.getZoom()) + 1)
    const lon = corners.length > 0 ? nearestLongitude(lng, corners.at(-1)[0]) : wrapLongitude(lng)
    return [Number(lon.toFixed(digits)), Number(Math.max(-90, Math.min(90, lat)).toFixed(digits))]
  }

  // In the copy of the world that the map shows, with a corner that the mouse is about to set.
  function draw(next = []) {
    marks.clearLayers()
    const list = corners ?? shown ?? []
    if (list.length === 0) return
    const shift = nearestLongitude(list[0][0], map.getCenter().lng) - list[0][0]
    const points = [...list, ...next].map(([lon, lat]) => [lat, lon + shift])
    marks.addLayer(polygon(points, { className: corners ? 'area drawing' : 'area', interactive: false }))
    if (!corners) return
    marks.addLayer(polyline(points, { className: 'area line', interactive: false }))
    for (const point of points.slice(0, list.length)) marks.addLayer(circleMarker(point, { radius: 5, className: 'corner', interactive: false }))
  }

  function set(list) {
    corners = list
    draw()
    changed(list)
  }
  function add(latlng) {
    if (corners.length >= 3 && away(corners[0], latlng) <= NEAR) api.close()
    else if (corners.length < MOST && !(corners.length > 0 && away(corners.at(-1), latlng) <= SAME)) set([...corners, cornerAt(latlng)])
  }
  const keys = new Map([[' ', () => add(map.getCenter())], ['Enter', () => api.close()], ['Backspace', () => api.back()]])
  const events = {
    click: ({ latlng }) => add(latlng),
    dblclick: () => api.close(),
    mousemove: ({ latlng }) => draw([cornerAt(latlng)]),
    keydown({ originalEvent: event }) {
      if (event.target !== root || !keys.has(event.key)) return
      event.preventDefault()
      keys.get(event.key)()
    },
  }
  function turn(on) {
    corners = on ? [] : null
    map[on ? 'on' : 'off'](events)
    map.doubleClickZoom[on ? 'disable' : 'enable']()
    root.classList.toggle('draws', on)
    toggled(on)
    draw()
  }
  map.on('moveend', () => draw())

  const api = {
    /** Whether the reader is drawing. */
    get on() { return corners !== null },

    start() {
      root.focus()
      turn(true)
      changed([])
    },

    /** Ends drawing without an area. */
    stop: () => corners && turn(false),

    /** Takes the last corner back. */
    back: () => corners.length > 0 && set(corners.slice(0, -1)),

    close() {
      const list = corners
      if (list.length < 3) return
      turn(false)
      done(list)
    },

    /** Shows the outline of an area, or none for null. */
    show(list) {
      shown = list
      draw()
    },
  }
  return api
}
