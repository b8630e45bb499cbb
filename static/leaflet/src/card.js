// The card that holds an answer, and the pieces answers are made of.
import { el, icon } from './dom.js'

const CLOSE = 'M6 6l12 12M18 6L6 18'

/** The card on an element; onClose(focused) is called when the reader closes it, with whether the focus was inside. */
export function createCard(root, onClose) {
  function close() {
    if (root.hidden) return
    const focused = root.contains(document.activeElement)
    root.hidden = true
    root.replaceChildren()
    onClose(focused)
  }
  root.addEventListener('keydown', event => { if (event.key === 'Escape') close() })

  return {
    root,
    close,

    /** Shows a heading of kicker, title and subtitle above any content. */
    show({ kicker, title, subtitle, busy = false }, ...content) {
      root.replaceChildren(
        el('header', {},
          el('div', {},
            el('p', { class: 'kicker' }, kicker),
            el('h2', {}, title),
            subtitle && el('p', { class: 'subtitle' }, subtitle)),
          el('button', { type: 'button', class: 'close', 'aria-label': 'Close', onclick: close }, icon(CLOSE))),
        el('div', { class: 'content' }, ...content))
      root.setAttribute('aria-busy', busy)
      root.hidden = false
      root.scrollTop = 0
    },
  }
}

/** A headed part of a card. */
export function part(heading, ...content) {
  return el('section', {}, el('h3', {}, heading), ...content)
}

/** Rows of a term and what it is; rows whose value is empty are left out. */
export function facts(rows) {
  return el('dl', {}, ...rows.filter(([, value]) => value !== undefined && value !== '')
    .map(([term, value]) => el('div', {}, el('dt', {}, term), el('dd', {}, value))))
}

/** A sentence that says something went wrong. */
export function problem(message) {
  return el('p', { class: 'problem', role: 'alert' }, message)
}

/** Grey bars in the place of rows that are on their way. */
export function skeleton(rows) {
  return el('div', { class: 'skeleton', 'aria-hidden': 'true' }, ...Array.from({ length: rows }, () => el('span')))
}
