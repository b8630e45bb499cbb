// Rows of tabs, as the keyboard walks them.

/** Shows which of the tabs is chosen: it alone is reached by Tab. */
export function show(tabs, chosen) {
  tabs.forEach((tab, i) => {
    tab.setAttribute('aria-selected', String(i === chosen))
    tab.tabIndex = i === chosen ? 0 : -1
  })
}

/** Lets a key choose another of the tabs. */
export function walk(event, tabs, chosen, choose) {
  const i = next(event, chosen, tabs.length)
  if (i === null) return
  event.preventDefault()
  choose(i)
  tabs[i].focus()
}

/** The tab that a key leads to from tab i of so many, or null. The arrows follow the direction that the tabs are written in. */
export function next({ key }, i, count, rightToLeft = document.dir === 'rtl') {
  const step = { ArrowRight: rightToLeft ? -1 : 1, ArrowLeft: rightToLeft ? 1 : -1 }[key]
  if (step) return (i + step + count) % count
  return { Home: 0, End: count - 1 }[key] ?? null
}
