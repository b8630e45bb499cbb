// Filters of collections: a form for each in the layer switch, and on the map a chip for each that is in force.
import { inArea, sentence } from '../server/api.js'
import { el, fill, icon } from '../dom.js'
import { filtersFor } from '../hash.js'
import { valueText } from '../map/legendrows.js'
import { title } from '../words/format.js'
import { displayText } from '../words/text.js'
import { number, t } from '../words/words.js'

const MOST = 50 // values to choose among, the most frequent
const FUNNEL = 'M4 5h16l-6.2 7.4V19l-3.6-2v-4.6z'
const CROSS = 'M6 6l12 12M18 6L6 18'
const signs = { '-': ' != ', ne: ' != ', lt: ' < ', gt: ' > ' }
const ISO_DAY = /^\d{4}-\d\d-\d\d$/
const isDay = text => ISO_DAY.test(text) && Number.isFinite(Date.parse(text))
const dayAfter = (day, days = 1) => new Date(Date.parse(day) + days * 86_400_000).toISOString().slice(0, 10)

/**
 * The properties that a filter of a collection's row is for, several only of "has" and "lacks", and its operator: "-" for not true, ''
 * for some of its values.
 */
export function partsOf(row, [name, value]) {
  const own = name.slice(row.type.length + 1)
  if (own === 'has' || own === 'lacks') return { properties: valuesOf(value), operator: own }
  if (own.startsWith('-')) return { properties: [own.slice(1)], operator: '-' }
  const whole = own.replace(/^p\./, '')
  const [, property, operator] = /^(.+)\.(ne|lte?|gte?|prefix)$/su.exec(whole) ?? []
  const ends = property && !row.columns.some(column => column.property === whole)
  return ends ? { properties: [property], operator } : { properties: [whole], operator: '' }
}

const nameOf = (row, property, operator = '') =>
  `${row.type}.${/\.|^-|^(has|lacks)$/.test(property) ? 'p.' : ''}${property}${operator && `.${operator}`}`
const escaped = value => String(value).replace(/[\\,]/g, '\\$&')
const plain = value => value.replace(/\\(.)/gs, '$1')
const valuesOf = list => (list.match(/(?:\\.|[^\\,])+/gs) ?? []).map(plain)

/** A filter in words: "Shops · Price: From 5". */
export const filterWords = (row, filter) => `${row.label} · ${conditionWords(row, filter)}`

/** The same where the collection is known: "Price: From 5". */
export function conditionWords(row, [name, value]) {
  const { properties, operator } = partsOf(row, [name, value])
  const kind = row.columns.find(column => column.property === properties[0])?.kind
  const what = displayText(plain(value), 60)
  const before = words => `${properties.map(one => title(one)).join(', ')}${signs[operator] ?? ': '}${words}`
  if (operator === 'has') return before(t('Has a value'))
  if (operator === 'lacks') return before(t('No value'))
  if (operator === '-') return before(t('yes'))
  if (operator === 'gte') return before(t('From {value}', { value: what }))
  if (operator === 'lte') return before(t('To {value}', { value: what }))
  if (operator === 'lt' && kind === 'time' && isDay(value)) {
    return `${title(properties[0])}: ${t('To {value}', { value: dayAfter(value, -1) })}`
  }
  return before(operator === '' && kind === 'boolean' ? valueText(value, kind) : what)
}

/**
 * The filters of rows, the collections of the layer switch. changed(filters) is called with all of them, as hash.js has them; away() takes
 * the focus of the last chip.
 */
export function createFilters(rows, { changed, away }) {
  const root = el('section', { class: 'filters', 'aria-label': t('Filters'), hidden: true })
  const forms = [] // what brings each in step
  let filters = []

  function show(now) {
    filters = now
    for (const row of rows) row.filter = filtersFor(row.type, now)
    fill(root, ...rows.flatMap(row => row.filter.map(one => chip(filterWords(row, one), one))))
    root.hidden = root.children.length === 0
    for (const form of forms) form()
  }
  function change(now) {
    show(now)
    changed(filters)
  }
  function chip(words, one) {
    const what = t('Remove the filter {what}', { what: words })
    return el('button', { type: 'button', class: 'chip', 'aria-label': what, title: what, onclick: event => {
      event.stopPropagation() // the map cannot tell where a button was that is gone
      change(filters.filter(other => other !== one))
      if (root.hidden) away()
      else root.firstChild.focus()
    } }, el('bdi', {}, words), icon(CROSS, 14))
  }

  /** The button and the form of a row of the layer switch, or nothing where there is nothing to filter by. */
  function form(row) {
    if (!rows.includes(row) || row.columns.length === 0) return []
    const values = el('div', { class: 'filter-values' })
    let turn = 0
    let inStep = null // brings the inputs of a range in step with the filters
    // Filters of a property, without the other properties of a list; and a list of filters without those.
    const of = property => row.filter.flatMap(one => {
      const { properties, operator } = partsOf(row, one)
      if (!properties.includes(property)) return []
      return operator === 'has' || operator === 'lacks' ? [[one[0], escaped(property)]] : [one]
    })
    const others = list => list.flatMap(one => {
      const { properties } = row.filter.includes(one) ? partsOf(row, one) : { properties: [] }
      if (!properties.includes(column().property)) return [one]
      const rest = properties.filter(property => property !== column().property)
      return rest.length > 0 ? [[one[0], rest.map(escaped).join(',')]] : []
    })
    const ask = query => inArea(`points/${row.name}/count`, null, [...query, ...others(row.filter)], () => true)
    // An address has a name once: what is lacking is one list.
    const put = pairs => change(pairs.reduce((list, [name, value]) => {
      const same = list.find(one => one[0] === name)
      return [...list.filter(one => one !== same), [name, same ? `${same[1]},${value}` : value]]
    }, others(filters)))

    // The values of a property, the most frequent first, among the points that pass the other filters.
    async function choice({ property, kind }) {
      const { groups = [], others: more } = await ask([['by', `p.${property}`], ['limit', MOST]])
      const list = groups.map(({ group, count }) => {
        const value = group?.[property] ?? null
        const filter = value === null ? [`${row.type}.lacks`, escaped(property)] : [nameOf(row, property), escaped(value)]
        return { filter, words: `${valueText(value, kind)} (${number.format(count)})` }
      })
      const now = of(property).map(String)
      const select = el('select', { 'aria-label': t('Value'), onchange: () => put(select.value ? [list[select.value].filter] : []) },
        el('option', { value: '' }, t('Every value')),
        ...list.map(({ filter, words }, i) => el('option', { value: i, selected: now.includes(String(filter)) }, words)),
        more && el('option', { disabled: true }, t('{count} more values', { count: more.groups })))
      return { nodes: [select] }
    }

    // Numbers and times are chosen from … to, times by whole days. Its inputs stay as long as the property, so that both can be typed.
    async function range({ property, kind }) {
      const days = kind === 'time'
      const { min, max } = days ? {} : await ask([['min', `p.${property}`], ['max', `p.${property}`]])
      const same = value => value
      const end = (operator, words, hint, write = same, read = same) => ({
        name: nameOf(row, property, operator), write, read,
        input: el('input', {
          type: days ? 'date' : 'number', step: 'any', max: days && '9999-12-30', placeholder: String(hint?.[property] ?? ''),
          'aria-label': words,
          onchange: () => put(ends.flatMap(({ name, input, write }) =>
            input.value && (!days || isDay(input.value)) ? [[name, write(input.value)]] : [])),
        }),
      })
      const last = days ? end('lt', t('To'), max, dayAfter, day => dayAfter(day, -1)) : end('lte', t('To'), max)
      const ends = [end('gte', t('From'), min), last]
      const step = () => {
        for (const { name, input, read } of ends) {
          const [, now = ''] = of(property).find(one => one[0] === name) ?? []
          const value = !days ? now : isDay(now.slice(0, 10)) ? read(now.slice(0, 10)) : ''
          if (input.value !== value) input.value = value
        }
      }
      step()
      return { nodes: [ends[0].input, el('span', {}, '–'), ends[1].input], step }
    }

    const property = el('select', { 'aria-label': t('Property'), onchange: () => {
      fill(values)
      inStep = null
      tell()
    } }, el('option', { value: '' }, t('Choose a property')),
      ...row.columns.map(({ property }, i) => el('option', { value: i }, title(property) || '?')))
    const column = () => row.columns[property.value]
    async function tell() {
      const mine = ++turn
      const { nodes, step = null } = column() ? await (['number', 'time'].includes(column().kind) ? range : choice)(column())
        .catch(error => ({ nodes: [el('p', { role: 'alert' }, sentence(error))] })) : { nodes: [] }
      if (mine !== turn) return
      inStep = step
      fill(values, ...nodes)
      body.scrollIntoView({ block: 'nearest' })
    }
    const body = el('div', { class: 'filter-form', hidden: true }, property, values)
    const words = t('Filter {what}', { what: row.label })
    const toggle = () => {
      body.hidden = !body.hidden
      button.setAttribute('aria-expanded', String(!body.hidden))
      body.scrollIntoView({ block: 'nearest' })
    }
    const button = el('button', {
      type: 'button', class: 'close filter-button', 'aria-expanded': 'false', 'aria-label': words, title: words, onclick: toggle,
    }, icon(FUNNEL, 18))
    const step = () => {
      button.classList.toggle('filtered', row.filter.length > 0)
      if (inStep) inStep()
      else if (column() && !values.contains(document.activeElement)) tell()
    }
    step()
    forms.push(step)
    return [button, body]
  }
  return { root, show, form }
}
