// The style sheets own every colour; the canvas reads them from their custom properties, again whenever light turns dark. The
// dark sheet lies over the light one: which of the two holds is a matter of its media attribute.

import { COLOURS } from './collections.js'

const dark = matchMedia('(prefers-color-scheme: dark)')
const still = matchMedia('(prefers-reduced-motion: reduce)')
const sheet = document.querySelector('#dark')
const KEPT = 'quadrille-theme'
const listeners = new Set()
let chosen = ''

/** What the reader chose on an earlier visit: "light", "dark" or "" for the system's. */
export function keptTheme() {
  try {
    const kept = localStorage.getItem(KEPT)
    return kept === 'light' || kept === 'dark' ? kept : ''
  } catch {
    return '' // storage may be forbidden
  }
}

/** Shows the page light or dark, or '' as the system is; kept says whether to remember it. */
export function setTheme(theme, { keep = false } = {}) {
  chosen = theme
  sheet.media = { light: 'not all', dark: 'all' }[theme] ?? '(prefers-color-scheme: dark)'
  if (keep) {
    try {
      if (theme) localStorage.setItem(KEPT, theme)
      else localStorage.removeItem(KEPT)
    } catch { /* then for this visit only */ }
  }
  for (const listener of listeners) listener()
}

/** The theme that is not shown now; '' where that is the system's. */
export function otherTheme() {
  const other = (chosen || (dark.matches ? 'dark' : 'light')) === 'dark' ? 'light' : 'dark'
  return other === (dark.matches ? 'dark' : 'light') ? '' : other
}

export function readTheme() {
  const style = getComputedStyle(document.documentElement)
  const value = name => style.getPropertyValue(`--map-${name}`).trim()
  return {
    water: value('water'),
    missing: value('missing'),
    built: value('built'),
    accent: value('accent'),
    points: {
      colours: Array.from({ length: COLOURS }, (_, i) => value(`points-${i}`)),
      rim: value('points-rim'),
      count: value('points-count'),
    },
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
  listeners.add(listener)
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
