// Which of the tokens' themes holds: the canvas draws with it, anew whenever light turns dark. The style sheets are made of the
// same tokens, and the dark one lies over the light one: which of the two holds is a matter of its media attribute.

import { keep as remember, kept } from './kept.js'
import { themes } from './tokens.js'

const dark = matchMedia('(prefers-color-scheme: dark)')
const contrast = matchMedia('(prefers-contrast: more)')
const still = matchMedia('(prefers-reduced-motion: reduce)')
const sheet = document.querySelector('#dark')
const listeners = new Set()
let chosen = ''
const neutral = new Set() // reasons

/** What the reader chose on an earlier visit: "light", "dark" or "" for the system's. */
export function keptTheme() {
  return ['light', 'dark'].find(theme => theme === kept('theme')) ?? ''
}

/** Shows the page light or dark, or '' as the system is; kept says whether to remember it. */
export function setTheme(theme, { keep = false } = {}) {
  chosen = theme
  sheet.media = { light: 'not all', dark: 'all' }[theme] ?? '(prefers-color-scheme: dark)'
  if (keep) remember('theme', theme)
  tell()
}

/** Draws the map in neutral colours, as a ground for what a reader adds, or in those of a political map, if there is no other reason for them. */
export function setNeutral(on, reason = 'choice') {
  if (neutral.has(reason) === on) return
  neutral[on ? 'add' : 'delete'](reason)
  tell()
}

function tell() {
  for (const listener of listeners) listener()
}

/** The name of the map's colours now, as tiles and styles are asked for in them. */
export function mapTheme() {
  return neutral.size > 0 ? shownTheme() : { light: 'political', dark: 'political-dark' }[shownTheme()]
}

/** The theme that is not shown now; '' where that is the system's. */
export function otherTheme() {
  const other = shownTheme() === 'dark' ? 'light' : 'dark'
  return other === (dark.matches ? 'dark' : 'light') ? '' : other
}

/** The colours that the page's canvases draw with now: those of the map in tokens.json, and as `ink` those of its names. */
export function readTheme() {
  const { map, label } = themes[mapTheme()]
  const plain = { quiet: label.city, state: label.city, country: label.city }
  return { ...map, ink: { ...label, ...contrast.matches && plain } }
}

/** The theme that is shown now: "light" or "dark". */
export function shownTheme() {
  return chosen || (dark.matches ? 'dark' : 'light')
}

export function onThemeChange(listener) {
  listeners.add(listener)
  for (const query of [dark, contrast]) query.addEventListener('change', listener)
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
