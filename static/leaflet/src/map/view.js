// The map itself: its limits, its permalink, and moving it so that what matters is not behind the card.
import { circle, divIcon, latLngBounds, map as createLeafletMap, marker } from 'leaflet'
import { el } from '../dom.js'
import { MAX_LATITUDE, parseHash } from '../hash.js'
import { prefersStill, roomy } from '../theme.js'
import { direction } from '../words/words.js'
import { WheelZoom } from './wheelzoom.js'
import { leastZoom, nearestLongitude, unrollBox, worldView, zoomForRadius } from '../engine/tilegrid.js'

export const MAX_ZOOM = 18
const EDGE = 24 // CSS pixels kept free around what a flight ends on
const LEAST = 100 // CSS pixels of the map that a flight leaves between, if there are so many
const ROW = 56 // CSS pixels that the controls take above a sheet

/** The map on an element, and what the rest of the page does with it. card, bar and layers are what lies over it. */
export function createView(root, { card, bar, layers = { open: false }, permalink }) {
  const limits = { minZoom: leastZoom(root.clientHeight), maxZoom: MAX_ZOOM }
  const map = createLeafletMap(root, {
    zoomControl: false,
    attributionControl: false,
    ...limits,
    maxBounds: [[-MAX_LATITUDE, -1e6], [MAX_LATITUDE, 1e6]],
    maxBoundsViscosity: 1,
    trackResize: false, // see below
    worldCopyJump: true,
    zoomSnap: 0,
    scrollWheelZoom: false, // wheelzoom.js
    zoomAnimation: !prefersStill(),
    fadeAnimation: false, // a tile comes in the place of one that looks nearly the same
    inertia: !prefersStill(),
  })
  map.addHandler('wheelZoom', WheelZoom)
  map.wheelZoom.enable()
  for (const name of ['names', 'points']) map.createPane(name).setAttribute('aria-hidden', 'true')
  const linked = parseHash(location.hash, limits)
  const start = linked ?? worldView({ width: root.clientWidth, height: root.clientHeight }, limits.minZoom)
  map.setView([start.lat, start.lon], start.zoom)
  permalink.startsAt(start)

  // The map's own size counts, not the window's: a bar of the browser that comes or goes, a turned phone, larger text.
  new ResizeObserver(() => map.invalidateSize({ debounceMoveend: true })).observe(root)
  map.on('resize', () => {
    limits.minZoom = leastZoom(root.clientHeight)
    map.setMinZoom(limits.minZoom)
  })
  map.on('moveend', () => {
    const { lat, lng } = map.getCenter()
    permalink.moved({ zoom: map.getZoom(), lat, lon: lng })
  })
  permalink.onVisit(() => {
    const view = parseHash(location.hash, limits)
    if (view) map.setView([view.lat, nearestLongitude(view.lon, map.getCenter().lng)], view.zoom)
  })

  // What the card and the bar leave of the map, as Leaflet's padding.
  function padding() {
    const { bottom } = bar.getBoundingClientRect()
    const box = card.hidden ? null : card.getBoundingClientRect()
    const beside = box && (direction === 'rtl' ? innerWidth - box.left : box.right) || 0
    // A list of layers that is open takes its column, if enough of the map is left.
    const list = layers.open && innerWidth > 3 * layers.offsetWidth + beside ? layers.offsetWidth + EDGE : 0
    const [left, right] = direction === 'rtl' ? [list + EDGE, beside + EDGE] : [beside + EDGE, list + EDGE]
    const { x, y } = map.getSize()
    const across = within(x, roomy.matches ? [left, right] : [EDGE, EDGE])
    const down = within(y, roomy.matches ? [EDGE, EDGE] : [bottom + EDGE, (box ? innerHeight - box.top : 0) + ROW + EDGE])
    return { paddingTopLeft: [across[0], down[0]], paddingBottomRight: [across[1], down[1]] }
  }

  let goal = null // the zoom that a flight ends on
  map.on('moveend', () => { goal = null })
  // The card grows while answers come, and must not grow over the pin; where the reader took the map, it stays.
  let held = null
  map.on('dragstart', () => { held = null })
  map.on('moveend', () => { if (held && !map.getBounds().contains(near(held))) held = null })
  if (card instanceof Element) {
    const grown = () => {
      const rests = !card.matches('.dragged, .full') && card.getAnimations().length === 0
      if (held && goal === null && rests) api.reveal(held)
    }
    new ResizeObserver(grown).observe(card)
    card.addEventListener('transitionend', grown)
  }
  function fly(bounds, options) {
    card.dispatchEvent?.(new Event('uncover')) // sheet.js
    const animate = options.animate ?? !prefersStill()
    map[animate ? 'flyToBounds' : 'fitBounds'](bounds, { ...padding(), ...options, animate, duration: 1.2 })
    if (animate) goal = Math.min(map.getBoundsZoom(bounds), options.maxZoom)
  }

  const near = ({ lat, lon }) => [lat, nearestLongitude(lon, map.getCenter().lng)]
  const still = { interactive: false, keyboard: false }
  let pinned = []
  let marked = null
  const api = {
    map,
    linked: linked !== null,

    /** The zoom of the map, or of where it is flying to. */
    zoom: () => goal ?? map.getZoom(),

    /** Goes to where the data are, TileJSON's center, unless a permalink said where or they fill the world. */
    startAt(center) {
      if (linked || !Array.isArray(center) || !center.every(Number.isFinite)) return
      const [lon, lat, zoom] = center
      if (zoom > start.zoom) map.setView([lat, lon], Math.min(Math.round(zoom), MAX_ZOOM), { animate: false })
    },

    /** Puts the pin on a point known to within a radius in kilometres, or exactly; or takes it off. */
    pin(point, radiusKm = 0) {
      for (const layer of pinned) layer.remove()
      pinned = []
      held = point
      if (!point) return
      const at = near(point)
      if (radiusKm > 0) pinned.push(circle(at, { radius: 1000 * radiusKm, className: 'accuracy', interactive: false }).addTo(map))
      pinned.push(marker(at, { ...still, icon: divIcon({ className: 'pin', iconSize: [0, 0], html: el('span') }) }).addTo(map))
    },

    /** Puts a ring around a point that the reader points at in a list, or takes it off. */
    mark(point) {
      marked?.remove()
      marked = point && marker(near(point), { ...still, icon: divIcon({ className: 'ring', iconSize: [0, 0], html: el('span') }) }).addTo(map)
    },

    /** Moves the map just so far that a point is not hidden. */
    reveal({ lat, lon }) {
      map.panInside([lat, lon], { ...padding(), animate: !prefersStill() })
    },

    /** Flies to a point known to within a radius in kilometres. */
    flyToPoint(point, radiusKm) {
      const at = near(point)
      fly(latLngBounds(at, at), { maxZoom: zoomForRadius(radiusKm) })
    },

    /** Goes two zooms closer to a point; false where the map is as close as it can be. */
    approach({ lat, lon }) {
      const zoom = Math.min(map.getZoom() + 2, MAX_ZOOM)
      if (zoom === map.getZoom()) return false
      map.setView([lat, lon], zoom, { animate: !prefersStill() })
      return true
    },

    /** Flies to a box [west, south, east, north], which may cross ±180° (west > east), or is there at once. */
    flyToBox(box, options = {}) {
      const { south, west, north, east } = unrollBox(box, map.getCenter().lng)
      const clamp = lat => Math.min(MAX_LATITUDE, Math.max(-MAX_LATITUDE, lat))
      fly(latLngBounds([clamp(south), west], [clamp(north), east]), { maxZoom: 12, ...options })
    },
  }
  return api
}

// The padding before and after on one axis of the map, with less of both where nearly nothing would be left between: with more than there
// is Leaflet flies as close as it can.
function within(size, [before, after]) {
  const most = size - LEAST
  if (before + after <= most) return [before, after]
  const edge = Math.min(EDGE, size / 4)
  return most < 2 * edge ? [edge, edge] : [before, after].map(one => one * most / (before + after))
}
