// The permalink: #zoom/latitude/longitude, degrees WGS84.

/** The limit of Web Mercator's square, in degrees of latitude. */
export const MAX_LATITUDE = 85.05112877980659

/** Decimals of a degree that tell two pixels apart at a zoom. */
export function decimals(zoom) {
  return Math.max(0, Math.ceil(-Math.log10(360 / 256 / 2 ** zoom)))
}

/** Longitude brought into [-180, 180). */
export function wrapLongitude(lon) {
  return lon - 360 * Math.floor((lon + 180) / 360)
}

export function formatHash({ zoom, lat, lon }) {
  const digits = decimals(zoom)
  return `#${zoom}/${fixed(lat, digits)}/${fixed(wrapLongitude(lon), digits)}`
}

/** The view a hash names, or null when it names none. The zoom is a whole number within [minZoom, maxZoom]. */
export function parseHash(hash, { minZoom = 0, maxZoom = 22 } = {}) {
  const parts = hash.replace(/^#/, '').split('/')
  if (parts.length < 3 || parts.slice(0, 3).some(part => !/^[+-]?\d+(\.\d+)?$/.test(part))) return null
  const [zoom, lat, lon] = parts.map(Number)
  if (Math.abs(lat) > 90 || Math.abs(lon) > 1e6) return null
  return {
    zoom: Math.min(maxZoom, Math.max(minZoom, Math.round(zoom))),
    lat: Math.min(MAX_LATITUDE, Math.max(-MAX_LATITUDE, lat)),
    lon: wrapLongitude(lon),
  }
}

// toFixed writes -0.00 for what rounds to zero from below.
function fixed(value, digits) {
  return value.toFixed(digits).replace(/^-(0(?:\.0*)?)$/, '$1')
}
