// The line at the bottom of the map that says what could not be shown.
import { el, fill } from './dom.js'
import { t } from './words.js'

/** A notice on an element. It shows one message at a time, the latest; subject says what it is about. */
export function createNotice(root) {
  let shown = null
  const hide = () => {
    shown = null
    root.hidden = true
    root.replaceChildren()
  }
  return {
    /** Shows a message with a button that calls retry. */
    show(subject, message, retry) {
      const again = () => {
        hide()
        retry()
      }
      shown = subject
      fill(root, el('p', {}, message), el('button', { type: 'button', onclick: again }, t('Try again')))
      root.hidden = false
    },

    /** Takes the message away if it is about the subject. */
    settle(subject) {
      if (shown === subject) hide()
    },
  }
}
