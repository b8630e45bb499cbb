// How much of a region lies about the point of its label.

/**
 * The room for a name centred on a point of a polygon: { across, down }, twice the way to the nearer border in the row
 * and in the column of the point, in the rings' units. A side where no border comes before the tile's edge counts as
 * open, for the region goes on next door: room is Infinity when both sides are, and 0 outside the polygon.
 */
export function roomAround({ x, y }, rings, extent) {
  const across = nearest(rings, x, y, 'x', 'y', extent)
  const down = nearest(rings, y, x, 'y', 'x', extent)
  return across.inside && down.inside ? { across: 2 * across.distance, down: 2 * down.distance } : { across: 0, down: 0 }
}

// The nearest border to `from` along an axis, in the line where the other axis is `level`. The borders ahead also tell, by
// being odd or even in number, whether the point is inside.
function nearest(rings, from, level, along, other, extent) {
  let distance = Infinity
  let inside = false
  for (const ring of rings) {
    for (let i = 0, j = ring.length - 1; i < ring.length; j = i++) {
      const a = ring[j]
      const b = ring[i]
      if ((a[other] > level) === (b[other] > level)) continue
      const at = a[along] + (level - a[other]) / (b[other] - a[other]) * (b[along] - a[along])
      if (at > from) inside = !inside
      if (at >= 0 && at <= extent) distance = Math.min(distance, Math.abs(at - from))
    }
  }
  return { distance, inside }
}
