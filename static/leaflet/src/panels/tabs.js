// Rows of tabs, as the keyboard walks them.

/** The tab that a key leads to from tab i of so many, or null. The arrows follow the direction that the tabs are written in. */
export function next({ key }, i, count, rightToLeft = document.dir === 'rtl') {
  const step = { ArrowRight: rightToLeft ? -1 : 1, ArrowLeft: rightToLeft ? 1 : -1 }[key]
  if (step) return (i + step + count) % count
  return { Home: 0, End: count - 1 }[key] ?? null
}
