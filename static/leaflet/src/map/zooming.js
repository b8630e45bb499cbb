// Arithmetic of zooming by wheel and trackpad.

const PER_ZOOM = 240 // pixels of scrolling; a notch of most wheels is 100 or 120
const PER_ZOOM_PINCHED = 100 * Math.LN2 // browsers tell of a pinch as of a wheel turned by 100 times the logarithm of its scale
const MOST = 1 // zooms for one event
const PIXELS = [1, 16, 800] // in the units of deltaMode: pixels, lines, pages

/** How many zooms a wheel event asks for, closer being more than none. With ctrlKey it is a pinch on a trackpad. */
export function wheelSteps({ deltaY, deltaMode = 0, ctrlKey = false }) {
  const pixels = -deltaY * (PIXELS[deltaMode] ?? 1)
  if (!Number.isFinite(pixels)) return 0
  // A wheel turned with the Ctrl key held comes as a pinch too, and is no finer for it.
  const perZoom = ctrlKey && Math.abs(pixels) < 50 ? PER_ZOOM_PINCHED : PER_ZOOM
  return Math.max(-MOST, Math.min(MOST, pixels / perZoom))
}

/** The zoom some milliseconds nearer to a goal: fast at first, then ever slower. A pinch is followed more closely. */
export function glide(zoom, goal, ms, pinch = false) {
  const part = 1 - Math.exp(-Math.max(1, Math.min(ms, 100)) / (pinch ? 25 : 70))
  const next = zoom + part * (goal - zoom)
  return Math.abs(goal - next) < 0.005 ? goal : next
}
