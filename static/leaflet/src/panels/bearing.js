// In which direction something lies.
import { distance } from '../words/format.js'
import { t } from '../words/words.js'

const winds = [t('N'), t('NE'), t('E'), t('SE'), t('S'), t('SW'), t('W'), t('NW')]
const NEAR = 20 // metres, within which a direction says nothing

/**
 * The bearing from one point to another at the start of the great circle, in degrees clockwise from north, 0 ≤ b < 360. Points
 * are { lat, lon } in degrees. The formula is that of spherical trigonometry: tan b = sin Δλ cos φ₂ / (cos φ₁ sin φ₂ − sin φ₁ cos φ₂ cos Δλ).
 */
export function bearing(from, to) {
  const [phi1, phi2, along] = [from.lat, to.lat, to.lon - from.lon].map(degrees => degrees * Math.PI / 180)
  const angle = Math.atan2(Math.sin(along) * Math.cos(phi2), Math.cos(phi1) * Math.sin(phi2) - Math.sin(phi1) * Math.cos(phi2) * Math.cos(along))
  return (angle * 180 / Math.PI + 360) % 360
}

/** A bearing in degrees as the nearest of the eight winds: "NE". */
export const wind = degrees => winds[Math.round(degrees / 45) % 8]

/** How far something is from a point, and where: "1.2 km NE". Its own distance_m, in metres, counts. */
export function distanceAndWind(from, to) {
  const words = distance(to.distance_m)
  return words && to.distance_m >= NEAR ? `${words} ${wind(bearing(from, to))}` : words
}
