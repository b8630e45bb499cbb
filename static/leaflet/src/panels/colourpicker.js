// Which column colours the map, and how: a list among the layers, and settings beneath the legend.
import { el, fill } from '../dom.js'
import { title } from '../words/format.js'
import { t } from '../words/words.js'

const MOST = 12 // classes
const USUAL = 5
const methods = [['quantile', t('Quantiles')], ['jenks', t('Natural breaks')], ['equal', t('Equal steps')], ['log', t('Logarithmic steps')], ['unique', t('Each value')]]
const schemes = [
  ['', t('Usual colours')], ['blue', t('Blue')], ['green', t('Green')], ['orange', t('Orange')], ['purple', t('Purple')], ['red', t('Red')], ['grey', t('Grey')],
  ['sea', t('Yellow to blue')], ['heat', t('Yellow to red')], ['blue-red', t('Blue and red')], ['purple-green', t('Purple and green')], ['brown-teal', t('Brown and teal')],
  ['many', t('Many colours')],
]

/**
 * Adds the list of columns of rows, the types and collections of the layer switch, to its fieldset, where there are any. changed(colours)
 * is called with the choice as hash.js has it, or null. Of what is returned, show(colours) brings the choice in step, list() does so
 * with columns that rows have got meanwhile, and settings is the element to put beneath a legend.
 */
export function createColourPicker(fieldset, rows, changed) {
  let now = null
  let pairs = []
  const choose = change => changed({ ...now, ...change })
  const column = el('select', { onchange: () => {
    const { layer, property } = pairs[column.value] ?? {}
    changed(layer ? { layer, property, classes: '', scheme: '' } : null)
  } })
  const row = el('label', { class: 'colour-by' }, el('span', {}, t('Colour by')), column)
  const place = () => pairs.findIndex(({ layer, property }) => layer === now?.layer && property === now.property)
  const list = () => {
    pairs = rows.flatMap(({ type, columns }) => columns.map(column => ({ layer: type, ...column })))
    if (place() < 0 && rows.some(({ type }) => type === now?.layer)) pairs.push(now) // from a link
    fill(column, el('option', { value: '' }, t('No column')), ...rows.filter(({ type }) => pairs.some(({ layer }) => layer === type)).map(({ type, label }) =>
      el('optgroup', { label }, ...pairs.flatMap(({ layer, property }, i) => layer === type ? [el('option', { value: i }, title(property) || '?')] : []))))
    if (pairs.length > 0 && !row.isConnected) fieldset.append(row)
    column.value = String(place() < 0 ? '' : place())
  }

  const divide = () => choose({ classes: method.value === 'unique' || /\d/.test(method.value) ? method.value : `${method.value}:${count.value}` })
  const method = el('select', { onchange: divide })
  const count = el('select', { onchange: divide }, ...Array.from({ length: MOST - 1 }, (_, i) => el('option', { value: i + 2 }, String(i + 2))))
  const scheme = el('select', { onchange: () => choose({ scheme: scheme.value }) }, ...schemes.map(option))
  const labelled = (words, select) => el('label', {}, el('span', {}, words), select)
  const rowsOfNumbers = [labelled(t('Division'), method), labelled(t('Classes'), count)]

  function show(colours) {
    now = colours
    const at = place()
    if (now && at < 0) list()
    else column.value = at < 0 ? '' : String(at)
    if (!now) return
    const [, name = 'quantile', number = String(USUAL)] = /^([a-z]+)(?::(\d+))?$/.exec(now.classes) ?? []
    const bounds = now.classes !== '' && !/^[a-z]/.test(now.classes)
    fill(method, ...methods.map(option), bounds && option([now.classes, now.classes]))
    method.value = bounds ? now.classes : name
    count.value = number
    scheme.value = now.scheme
    const numbers = !['text', 'time', 'boolean'].includes(pairs[at]?.kind)
    rowsOfNumbers[0].hidden = !numbers
    rowsOfNumbers[1].hidden = !numbers || bounds || name === 'unique'
  }

  list()
  return {
    list() {
      list()
      show(now)
    },
    show,
    settings: el('details', { class: 'classing' }, el('summary', {}, t('Classes and colours')), ...rowsOfNumbers, labelled(t('Colours'), scheme)),
  }
}

const option = ([value, words]) => el('option', { value }, words)
