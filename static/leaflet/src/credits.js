// Who the data come from: a Leaflet control filled from /status.
import { Control, DomEvent } from 'leaflet'
import { splitLinks } from './attribution.js'
import { el, icon } from './dom.js'
import { t } from './words.js'

const INFO = 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 11v5.5M12 7.5v.1'

/** Always open where roomy, a media query list, matches; folded behind a button elsewhere. */
export const Credits = Control.extend({
  initialize(texts, { roomy, position }) {
    this.options = { position }
    this._texts = texts
    this._roomy = roomy
  },

  onAdd() {
    const credit = text => splitLinks(text).map(({ text, href }) => href ? link(href, text) : text)
    const list = el('ul', {}, ...this._texts.map(text => el('li', {}, ...credit(text))),
      el('li', {}, t('Map by'), ' ', link('https://leafletjs.com', 'Leaflet')),
      el('li', {}, link('licenses.txt', t('Licences'))))
    const summary = el('summary', { 'aria-label': t('Credits') }, icon(INFO))
    const details = el('details', { class: 'credits', open: this._roomy.matches }, summary, list)
    this._roomy.addEventListener('change', () => { details.open = this._roomy.matches })
    DomEvent.disableClickPropagation(details)
    DomEvent.disableScrollPropagation(details)
    return details
  },
})

function link(href, text) {
  return el('a', { href, target: '_blank', rel: 'noopener' }, text)
}
