// Where the device says that it is.

const PATIENCE = 10_000 // milliseconds, the reader's answer to the browser's question included
const FRESH = 60_000 // milliseconds that a position known before is good for

/**
 * Where the reader's device is: { lat, lon, accuracy }, degrees and metres. Null where the page may not know: without a secure
 * connection, when the reader declines, or when the device does not find out in time.
 */
export function devicePosition(geolocation = globalThis.isSecureContext && globalThis.navigator?.geolocation) {
  if (!geolocation) return Promise.resolve(null)
  return new Promise(resolve => {
    // The browser's own limit does not count while it asks the reader.
    const timer = setTimeout(() => resolve(null), PATIENCE)
    const done = value => {
      clearTimeout(timer)
      resolve(value)
    }
    const found = ({ coords: { latitude: lat, longitude: lon, accuracy } }) => done(Number.isFinite(lat) && Number.isFinite(lon) ? { lat, lon, accuracy } : null)
    geolocation.getCurrentPosition(found, () => done(null), { maximumAge: FRESH, timeout: PATIENCE })
  })
}
