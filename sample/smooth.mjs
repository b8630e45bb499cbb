// smooth cuts each corner of a line or ring a quarter of the way to the next corners (Chaikin), and the new ones again.
export function smooth(points, cuts) {
  const closed = String(points[0]) === String(points.at(-1))
  for (let cut = 0; cut < cuts; cut++) {
    const next = points.slice(1).flatMap(([x2, y2], i) => {
      const [x, y] = points[i]
      return [[(3 * x + x2) / 4, (3 * y + y2) / 4], [(x + 3 * x2) / 4, (y + 3 * y2) / 4]]
    })
    points = closed ? [...next, next[0]] : [points[0], ...next.slice(1, -1), points.at(-1)]
  }
  return points
}
