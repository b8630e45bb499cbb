// What colours mean, in words.
import { el } from '../dom.js'
import { amounts } from '../words/format.js'
import { displayText } from '../words/text.js'
import { t } from '../words/words.js'

/** The rows of a legend as the server gives it, of a column of some kind: { colour, text, count }, the colour of no value being ''. */
export function legendRows({ classes, rest, missing }, kind) {
  const write = amounts(classes.flatMap(({ from, to }) => [from, to]).filter(Number.isFinite))
  const name = ({ from, to, value = '' }) => from === undefined ? valueText(value, kind) || '–' : from === to ? write(from) : `${write(from)} – ${write(to)}`
  return [
    ...classes.map(one => ({ colour: one.color, text: name(one), count: one.count })),
    rest && { colour: rest.color, text: t('Other values'), count: rest.count },
    missing && { colour: '', text: t('No value'), count: missing.count },
  ].filter(Boolean)
}

/** A value of a column of some kind ("number", "text" or "boolean") for people. */
export function valueText(value, kind) {
  if (value === undefined || value === null) return t('No value')
  if (typeof value === 'boolean' || kind === 'boolean') return String(value) === 'true' ? t('yes') : t('no')
  // Classes of single values have numbers as texts.
  if (kind === 'number' && typeof value === 'string' && Number.isFinite(Number(value || NaN))) value = Number(value)
  return typeof value === 'number' ? amounts([value], 12)(value) : displayText(value, 60)
}

/** A square in a colour of the map, or hatched for ''. */
export function swatch(colour) {
  const mark = el('i', { class: colour ? 'key' : 'key missing', 'aria-hidden': 'true' })
  if (colour) mark.style.background = colour
  return mark
}
