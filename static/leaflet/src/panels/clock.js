// A clock on the wall of somewhere else.
import { el } from '../dom.js'
import { wallClock } from '../words/format.js'

/**
 * An element that shows the time where clocks are offset seconds ahead of UTC, ticking for as long as it is on the page. now is
 * the server's instant in milliseconds since 1970 when it answered, so a wrong clock in the reader's device does not matter.
 */
export function ticking(now, offset) {
  const ahead = now - Date.now()
  const time = el('time', { class: 'clock', role: 'timer', 'aria-live': 'off' })
  const date = el('span', { class: 'quiet' })
  const root = el('span', { class: 'clock-face' }, time, date)
  function show() {
    const wall = wallClock(Date.now() + ahead, offset)
    time.textContent = wall.time
    date.textContent = wall.date
  }
  show()
  const timer = setInterval(() => {
    if (root.isConnected) show()
    else clearInterval(timer)
  }, 1000)
  return root
}
