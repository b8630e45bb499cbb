// The style sheet owns every colour; the canvas reads them from its custom properties, again whenever light turns dark.

const dark = matchMedia('(prefers-color-scheme: dark)')
const still = matchMedia('(prefers-reduced-motion: reduce)')

export function readTheme() {
  const style = getComputedStyle(document.documentElement)
  const value = name => style.getPropertyValue(`--map-${name}`).trim()
  return {
    water: value('water'),
    missing: value('missing'),
    built: value('built'),
    accent: value('accent'),
    tint: Number(value('tint')),
    borders: {
      country: value('country'),
      state: value('state'),
      county: value('county'),
      water: value('shore'),
      other: value('other'),
    },
    land: {
      lightness: Number(value('land-lightness')),
      chroma: Number(value('land-chroma')),
      step: Number(value('land-step')),
      cast: value('land-cast').split(/\s+/).map(Number),
    },
  }
}

export function onThemeChange(listener) {
  dark.addEventListener('change', listener)
}

/** Calls the listener when the page moves to a screen of another pixel density or is zoomed by the browser. */
export function onDensityChange(listener) {
  const watch = () => matchMedia(`(resolution: ${devicePixelRatio}dppx)`).addEventListener('change', () => {
    listener()
    watch()
  }, { once: true })
  watch()
}

/** Matches where the card stands beside the map; elsewhere it covers the lower edge. The style sheet has the same width. */
export const roomy = matchMedia('(min-width: 720px)')

/** Whether the reader asked for no more motion than needed. */
export function prefersStill() {
  return still.matches
}
