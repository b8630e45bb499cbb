// The base maps under the map's other layers.
import { TileLayer } from 'leaflet'

/** Keeps the base maps that are on under the map's other layers, the first lowest. update() brings them in step with `on`. */
export function createUnderlay(map, maps, { maxZoom }) {
  const layers = maps.map(({ path, from, maxzoom, double, bounds }, i) => new TileLayer(path, {
    minZoom: from, maxZoom, maxNativeZoom: maxzoom + (double ? 1 : 0), zIndex: i - maps.length, keepBuffer: 1,
    ...double && { tileSize: 512, zoomOffset: -1 }, ...boundsOf(bounds),
  }).on('tileloadstart', overlap))
  return {
    update() {
      layers.forEach((layer, i) => maps[i].on ? layer.addTo(map) : layer.remove())
    },
    /** Whether something lies under the regions. */
    shown: () => maps.some(({ on }) => on),
  }
}

// Between whole zooms browsers would leave gaps between tiles. Where they overlap, Leaflet's style would add their light up.
function overlap({ target, tile }) {
  const { x, y } = target.getTileSize()
  Object.assign(tile.style, { width: `${x + 1}px`, height: `${y + 1}px`, mixBlendMode: 'normal' })
}

// The world repeats; a box that is narrower than it would be in one copy of it alone.
function boundsOf(bounds) {
  if (!Array.isArray(bounds) || bounds.length !== 4 || !bounds.every(Number.isFinite)) return {}
  const [, south, , north] = bounds
  return { bounds: [[south, -1e4], [north, 1e4]] }
}
