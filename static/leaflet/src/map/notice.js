// The line at the bottom of the map that says what could not be shown.
import { el, fill } from '../dom.js'
import { t } from '../words/words.js'

/**
 * A notice on an element. It shows one message at a time, the latest; subject says what it is about. The others wait beneath, and the
 * button tries again what any of them is about.
 */
export function createNotice(root) {
  const open = new Map() // subject → { message, retry }, the latest last
  const draw = () => {
    const latest = [...open.values()].at(-1)
    if (latest) fill(root, el('p', {}, latest.message), latest.retry && el('button', { type: 'button', onclick: again }, t('Try again')))
    else root.replaceChildren()
    root.hidden = !latest
  }
  const again = () => {
    const all = [...open.values()]
    open.clear()
    draw()
    for (const { retry } of all) retry?.()
  }
  return {
    /** Shows a message, with a button that calls retry if there is one. */
    show(subject, message, retry) {
      open.delete(subject)
      open.set(subject, { message, retry })
      draw()
    },

    /** Takes the message away that is about the subject. */
    settle(subject) {
      if (open.delete(subject)) draw()
    },
  }
}
