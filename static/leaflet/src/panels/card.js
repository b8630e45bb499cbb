// The card that holds an answer, and the pieces answers are made of.
import { sentence } from '../server/api.js'
import { el, fill, icon } from '../dom.js'
import { createSheet } from './sheet.js'
import { t } from '../words/words.js'

const CLOSE = 'M6 6l12 12M18 6L6 18'

/**
 * The card on an element; onClose(focused) is called when the reader closes it, with whether the focus was inside. announce tells
 * screen readers a sentence: the card as a whole would be too much at once.
 */
export function createCard(root, { onClose, announce }) {
  const sheet = createSheet(root)
  let shown = '' // the heading
  function close() {
    if (root.hidden) return
    const focused = root.contains(document.activeElement)
    hide()
    onClose(focused)
  }
  function hide() {
    root.hidden = true
    shown = ''
    root.replaceChildren()
  }

  return {
    root,
    close,

    /** What it is about, or the page's own title. */
    get title() { return root.querySelector('h2')?.textContent || t('Quadrille map') },

    hide,

    /** Shows its head, after the screen was turned. */
    toHead() {
      root.scrollTop = 0
      sheet.fit()
    },

    /** Shows a heading of kicker, title (a text or a node) and subtitle, with chips (buttons and links) below, above any content. */
    show({ kicker, title, subtitle, chips = [], busy = false }, ...content) {
      const focused = root.contains(document.activeElement)
      const handle = el('button', { type: 'button', class: 'handle', 'aria-label': t('More or less of the answer'), 'aria-expanded': String(sheet.full),
        onclick: sheet.turn })
      const closer = el('button', { type: 'button', class: 'close', 'aria-label': t('Close'), title: t('Close (Esc)'), onclick: close }, icon(CLOSE))
      fill(root,
        handle,
        el('header', {},
          el('div', {},
            el('p', { class: 'kicker' }, kicker),
            el('h2', { dir: 'auto' }, title),
            subtitle && el('p', { class: 'subtitle' }, subtitle)),
          closer),
        chips.length > 0 && el('p', { class: 'chips' }, ...chips),
        el('div', { class: 'content' }, ...content))
      root.setAttribute('aria-busy', busy)
      root.hidden = false
      root.scrollTop = 0
      sheet.fit()
      if (focused) closer.focus() // what had the focus is gone
      const heading = `${kicker}: ${title.textContent ?? title}`
      if (!busy && heading !== shown) announce(heading)
      shown = heading
    },
  }
}

/** A button that closes a dialog, as a click beside it does. */
export function closer(dialog) {
  dialog.addEventListener('click', event => { if (event.target === dialog) dialog.close() })
  return el('button', { type: 'button', class: 'solid', onclick: () => dialog.close() }, t('Close'))
}

/** What rings a spot on the map while a button is pointed at or has the focus. */
export function ringing(mark, spot) {
  const [point, leave] = [() => mark(spot), () => mark(null)]
  return { onpointerenter: point, onpointerleave: leave, onfocus: point, onblur: leave }
}

/** A link to the answer as the service gives it. */
export function jsonLink(path) {
  return el('a', { class: 'chip', href: path, target: '_blank', rel: 'noopener' }, 'JSON')
}

/** A headed part of a card. */
export function part(heading, ...content) {
  return el('section', {}, el('h3', {}, heading), ...content)
}

/** Rows of a term and what it is; rows whose value is empty are left out. */
export function facts(rows) {
  return el('dl', {}, ...rows.filter(([, value]) => value !== undefined && value !== '')
    .map(([term, value]) => el('div', {}, el('dt', {}, term), el('dd', { dir: typeof value === 'string' && 'auto' }, value))))
}

/** A sentence that says something went wrong, with a button that calls retry if there is one. */
export function problem(message, retry) {
  const again = retry && el('button', { type: 'button', onclick: retry }, t('Try again'))
  return el('div', { class: 'problem', role: 'alert' }, el('p', {}, message), again)
}

/**
 * What to show for an error: that the server does not have what was asked for, subject in the plural, is no failure, and asking
 * again would not help.
 */
export function failure(error, retry, subject = t('These data')) {
  if (error.type === 'dataset-missing') return note(t('{what} are not published on this server.', { what: subject }), t('Its operator can add them with the ingest command.'))
  return problem(sentence(error), error.status >= 400 && error.status < 429 ? undefined : retry)
}

/** A sentence that says what there is to know, calmly, and more in small print. */
export function note(message, more) {
  return el('div', { class: 'note' }, el('p', {}, message), more && el('p', { class: 'quiet' }, more))
}

/** Grey bars in the place of rows that are on their way. */
export function skeleton(rows) {
  return el('div', { class: 'skeleton', 'aria-hidden': 'true' }, ...Array.from({ length: rows }, () => el('span')))
}
