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
const signs = { ne: ' != ', lt: ' < ', lte: `: ${t('To')} `, gt: ' > ', gte: `: ${t('From')} ` }
const LAST = 'T23:59:59Z' // of a day

/** The property that a filter of a collection's row is for, and its operator: "-" for no value, '' for some of its values. */
export function partsOf(row, name) {
  const own = name.slice(row.type.length + 1)
  if (own.startsWith('-')) return { property: own.slice(1), operator: '-' }
  const whole = own.replace(/^p\./, '')
  const [, property, operator] = /^(.+)\.(ne|lte?|gte?|prefix)$/su.exec(whole) ?? []
  return property && !row.columns.some(column => column.property === whole) ? { property, operator } : { property: whole, operator: '' }
}

const nameOf = (row, property, operator = '') =>
  `${row.type}.${/\.|^-|^(has|lacks)$/.test(property) ? 'p.' : ''}${property}${operator && `.${operator}`}`
const escaped = value => String(value).replace(/[\\,]/g, '\\$&')

/** A filter in words: "Shops · Price: From 5". */
export function filterWords(row, [name, value]) {
  const { property, operator } = partsOf(row, name)
  const kind = operator === '' && row.columns.find(column => column.property === property)?.kind
  const plain = displayText(value.replace(/\\(.)/g, '$1').replace(LAST, ''), 60)
  const what = operator === '-' ? t('No value') : kind === 'boolean' ? valueText(value, kind) : plain
  return `${row.label} · ${title(property)}${signs[operator] ?? ': '}${what}`
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
    const of = property => row.filter.filter(([name]) => partsOf(row, name).property === property)
    const others = list => list.filter(one => !of(column().property).includes(one))
    const ask = query => inArea(`points/${row.name}/count`, null, [...query, ...others(row.filter)], () => true)
    const put = pairs => change([...others(filters), ...pairs])

    // The values of a property, the most frequent first, among the points that pass the other filters.
    async function choice({ property, kind }) {
      const { groups = [], others: more } = await ask([['by', `p.${property}`], ['limit', MOST]])
      const list = groups.map(({ group, count }) => {
        const value = group?.[property] ?? null
        const filter = value === null ? [`${row.type}.-${property}`, ''] : [nameOf(row, property), escaped(value)]
        return { filter, words: `${valueText(value, kind)} (${number.format(count)})` }
      })
      const now = of(property).map(String)
      const select = el('select', { 'aria-label': t('Value'), onchange: () => put(select.value ? [list[select.value].filter] : []) },
        el('option', { value: '' }, t('Every value')),
        ...list.map(({ filter, words }, i) => el('option', { value: i, selected: now.includes(String(filter)) }, words)),
        more && el('option', { disabled: true }, t('{count} more values', { count: more.groups })))
      return [select]
    }

    // Numbers and times are chosen from … to.
    async function range({ property, kind }) {
      const days = kind === 'time'
      const { min, max } = days ? {} : await ask([['min', `p.${property}`], ['max', `p.${property}`]])
      const ends = [['gte', t('From'), min, ''], ['lte', t('To'), max, days ? LAST : '']].map(([operator, words, hint, rest]) => {
        const name = nameOf(row, property, operator)
        const [, now = ''] = of(property).find(one => one[0] === name) ?? []
        const input = el('input', {
          type: days ? 'date' : 'number', step: 'any', value: days ? now.slice(0, 10) : now, placeholder: String(hint?.[property] ?? ''),
          'aria-label': words, onchange: () => put(ends.flatMap(({ name, input, rest }) => input.value ? [[name, input.value + rest]] : [])),
        })
        return { name, rest, input }
      })
      return [ends[0].input, el('span', {}, '–'), ends[1].input]
    }

    const property = el('select', { 'aria-label': t('Property'), onchange: () => {
      fill(values)
      tell()
    } }, el('option', { value: '' }, t('Choose a property')),
      ...row.columns.map(({ property }, i) => el('option', { value: i }, title(property) || '?')))
    const column = () => row.columns[property.value]
    async function tell() {
      const mine = ++turn
      const parts = column() ? await (['number', 'time'].includes(column().kind) ? range : choice)(column())
        .catch(error => [el('p', { role: 'alert' }, sentence(error))]) : []
      if (mine !== turn) return
      fill(values, ...parts)
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
      if (column() && !values.contains(document.activeElement)) tell()
    }
    step()
    forms.push(step)
    return [button, body]
  }
  return { root, show, form }
}
