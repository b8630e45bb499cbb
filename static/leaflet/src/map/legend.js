// What the colours of the map mean, in a corner of it.
import { Control, DomEvent } from 'leaflet'
import { el, fill } from '../dom.js'
import { amounts } from '../words/format.js'
import { displayText } from '../words/text.js'
import { t } from '../words/words.js'

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

  /** Shows a legend as the server gives it, or the message why there is none; null for no colours at all. title and layer are what it is of. */
  show(shown) {
    this.root.hidden = shown === null
    if (!shown) return
    const { title, layer, legend, kind, message } = shown
    const rows = legend && [
      ...legend.classes.map((one, i) => ({ ...one, text: nameOf(one, kind, legend, i) })),
      legend.rest && { ...legend.rest, text: t('Other values') },
      legend.missing && { ...legend.missing, text: t('No value'), color: '' },
    ].filter(Boolean)
    fill(this._told, el('h2', {}, el('bdi', {}, title), el('small', {}, el('bdi', {}, layer))),
      rows ? el('ul', {}, ...rows.map(({ color, text, count }) => el('li', {}, swatch(color), el('bdi', {}, text), el('small', {}, amounts([count])(count))))) : el('p', { role: 'alert' }, message))
  },
})

/** A square in a colour of the map, or hatched for ''. */
export function swatch(colour) {
  const mark = el('i', { class: colour ? 'key' : 'key missing', 'aria-hidden': 'true' })
  if (colour) mark.style.background = colour
  return mark
}

/** A value of some kind ("number", "text" or "boolean") for people. */
export function valueText(value, kind) {
  if (value === undefined || value === null) return t('No value')
  if (typeof value === 'boolean' || kind === 'boolean') return String(value) === 'true' ? t('yes') : t('no')
  return typeof value === 'number' ? amounts([value], 12)(value) : displayText(value, 60)
}

function nameOf({ from, to, value = '' }, kind, { classes }) {
  if (from === undefined) return valueText(value, kind) || '–'
  const write = amounts(classes.flatMap(({ from, to }) => [from, to]))
  return from === to ? write(from) : `${write(from)} – ${write(to)}`
}
