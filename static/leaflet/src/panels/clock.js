// A clock on the wall of somewhere else.
import { el } from '../dom.js'
import { wallClock } from '../words/format.js'

const MINUTE = 60_000

/**
 * An element that shows the time in a time zone, for as long as it is on the page. now is the server's instant in milliseconds since
 * 1970 when it answered, so a wrong clock in the reader's device does not matter.
 */
export function ticking(zone, now) {
  const ahead = now - Date.now()
  const time = el('time', { class: 'clock', role: 'timer', 'aria-live': 'off' })
  const date = el('span', { class: 'quiet' })
  const root = el('span', { class: 'clock-face' }, time, date)
  function show() {
    const instant = Date.now() + ahead
    const wall = wallClock(instant, zone)
    time.textContent = wall.time
    date.textContent = wall.date
    setTimeout(() => { if (root.isConnected) show() }, MINUTE - instant % MINUTE)
  }
  show()
  return root
}
