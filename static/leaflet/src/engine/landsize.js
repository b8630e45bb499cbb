// How long a line is and how much land an area holds.
const EARTH = 6_371_008.8 // metres, mean radius

/** The length of a line through corners, [lon, lat], along great circles, in metres. */
export function lengthOf(corners) {
  const hav = degrees => Math.sin(degrees * Math.PI / 360) ** 2
  const cos = degrees => Math.cos(degrees * Math.PI / 180)
  return corners.slice(1).reduce((sum, [lon, lat], i) => {
    const [from, south] = corners[i]
    return sum + 2 * EARTH * Math.asin(Math.min(1, Math.sqrt(hav(lat - south) + cos(lat) * cos(south) * hav(lon - from))))
  }, 0)
}

/** The size of an area in square metres, whose edges are straight in degrees, or NaN where its edges cross. */
export function sizeOf(corners) {
  const rad = degrees => degrees * Math.PI / 180
  const edges = corners.map((from, i) => [from, corners[(i + 1) % corners.length]])
  const side = ([[x1, y1], [x2, y2]], [x, y]) => Math.sign((x2 - x1) * (y - y1) - (y2 - y1) * (x - x1))
  const cross = (a, b) => side(a, b[0]) * side(a, b[1]) < 0 && side(b, a[0]) * side(b, a[1]) < 0
  if (edges.some((a, i) => edges.slice(i + 1).some(b => cross(a, b)))) return NaN
  const below = ([[lon1, lat1], [lon2, lat2]]) => {
    const [low, high] = [rad(lat1), rad(lat2)]
    return rad(lon2 - lon1) * (Math.abs(high - low) < 1e-9 ? Math.sin(low) : (Math.cos(low) - Math.cos(high)) / (high - low))
  }
  return Math.abs(EARTH * EARTH * edges.reduce((sum, edge) => sum + below(edge), 0))
}
