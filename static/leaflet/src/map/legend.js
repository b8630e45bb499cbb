// What the colours of the map mean, in a corner of it.
import { Control, DomEvent } from 'leaflet'
import { el, fill } from '../dom.js'
import { amounts } from '../words/format.js'
import { t } from '../words/words.js'
import { legendRows, swatch } from './legendrows.js'

/** Options: position, and settings, an element that stands beneath the classes, if there is one. */
export const Legend = Control.extend({
  initialize({ position, settings }) {
    this.options = { position }
    this._told = el('div', {})
    this.root = el('section', { class: 'legend', 'aria-label': t('Legend'), hidden: true }, this._told, settings)
  },

  onAdd() {
    DomEvent.disableClickPropagation(this.root)
    DomEvent.disableScrollPropagation(this.root)
    return this.root
  },

  /** Shows a legend of the server, or the message why there is none; null for no colours at all. title and layer are what it is of. */
  show(shown) {
    this.root.hidden = shown === null
    if (!shown) return
    const { title, layer, legend, kind, message } = shown
    const row = ({ colour, text, count }) => el('li', {}, swatch(colour), el('bdi', {}, text), el('small', {}, amounts([count])(count)))
    fill(this._told, el('h2', {}, el('bdi', {}, title), el('small', {}, el('bdi', {}, layer))),
      legend ? el('ul', {}, ...legendRows(legend, kind).map(row)) : el('p', { role: 'alert' }, message))
  },
})
