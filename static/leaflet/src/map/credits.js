// Who the data come from: a Leaflet control filled from /status.
import { Control, DomEvent } from 'leaflet'
import { splitLinks } from '../server/attribution.js'
import { el, icon } from '../dom.js'
import { t } from '../words/words.js'

const INFO = 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 11v5.5M12 7.5v.1'

/** One line, or on narrow screens none; a button unfolds them all. */
export const Credits = Control.extend({
  initialize(texts, { position }) {
    this.options = { position }
    this._texts = texts
  },

  onAdd() {
    const credit = text => splitLinks(text).map(({ text, href }) => href ? link(href, text) : text)
    const list = el('ul', {}, ...this._texts.map(text => el('li', {}, ...credit(text))),
      el('li', {}, t('Map by'), ' ', link('https://leafletjs.com', 'Leaflet')),
      el('li', {}, link('licenses.txt', t('Licences'))))
    const unfold = el('button', { type: 'button', 'aria-label': t('Credits'), 'aria-expanded': 'false', onclick: () => {
      unfold.setAttribute('aria-expanded', String(root.classList.toggle('open')))
    } }, icon(INFO, 16))
    const root = el('div', { class: 'credits' }, list, unfold)
    DomEvent.disableClickPropagation(root)
    DomEvent.disableScrollPropagation(root)
    return root
  },
})

function link(href, text) {
  return el('a', { href, target: '_blank', rel: 'noopener' }, text)
}
