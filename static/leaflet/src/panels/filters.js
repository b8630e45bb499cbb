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
const signs = { ne: ' != ', lt: ' < ', gt: ' > ', gte: `: ${t('From')} `, lte: `: ${t('To')} ` }
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
const escaped = value => value.replace(/[\\,]/g, '\\$&')

/** A filter in words: "Shops · Price: From 5". */
export function filterWords(row, [name, value]) {
  const { property, operator } = partsOf(row, name)
  const what = operator === '-' ? t('No value') : displayText(value.replace(/\\(.)/g, '$1').replace(LAST, ''), 60)
  const kind = row.columns.find(column => column.property === property)?.kind
  return `${row.label} · ${title(property)}${signs[operator] ?? ': '}${kind === 'boolean' && operator === '' ? valueText(value, kind) : what}`
}

/** Filters of rows, the collections of the layer switch. changed(filters) is called with all of them, as hash.js has them; away() takes the focus of a chip that is gone. */
export function createFilters(rows, { changed, away }) {
  const root = el('section', { class: 'filters', 'aria-label': t('Filters'), hidden: true })
  let filters = []
  const forms = []

  function show(now) {
    filters = now
    for (const row of rows) row.filter = filtersFor(row.type, now)
    root.hidden = !rows.some(({ filter }) => filter.length > 0)
    fill(root, ...rows.flatMap(row => row.filter.map(one => {
      const words = filterWords(row, one)
      return el('button', { type: 'button', class: 'chip', 'aria-label': t('Remove the filter {what}', { what: words }), title: t('Remove the filter {what}', { what: words }), onclick: () => {
        change(filters.filter(other => other !== one))
        if (root.hidden) away()
        else root.querySelector('button').focus()
      } }, el('bdi', {}, words), icon(CROSS, 14))
    })))
    for (const form of forms) form()
  }
  function change(now) {
    show(now)
    changed(filters)
  }
  // Other filters of the property go.
  const put = (row, property, pairs) =>
    change([...filters.filter(one => !row.filter.includes(one) || partsOf(row, one[0]).property !== property), ...pairs])

  // The values of a property, the most frequent first, among the points that pass the other filters.
  async function values(row, { property, kind }, now) {
    const others = row.filter.filter(([name]) => partsOf(row, name).property !== property)
    const { groups, others: more } = await inArea(`points/${row.name}/count`, null, [['by', `p.${property}`], ['limit', MOST], ...others], ({ groups }) => Array.isArray(groups))
    const list = groups.map(({ group, count }) => [group?.[property] ?? null, count])
    const select = el('select', { 'aria-label': t('Value'), onchange: () => {
      const [value] = list[select.value] ?? []
      put(row, property, value === undefined ? [] : [value === null ? [`${row.type}.-${property}`, ''] : [nameOf(row, property), escaped(String(value))]])
    } }, el('option', { value: '' }, t('Every value')), ...list.map(([value, count], i) =>
      el('option', { value: i, selected: now.some(([name, text]) => value === null ? name === `${row.type}.-${property}` : text === escaped(String(value))) }, `${valueText(value, kind)} (${number.format(count)})`)),
    more && el('option', { disabled: true }, t('{count} more values', { count: more.groups })))
    return [select]
  }

  // Numbers and times are chosen from … to.
  async function range(row, { property, kind }, now) {
    const days = kind === 'time'
    const of = operator => (now.find(([name]) => partsOf(row, name).operator === operator)?.[1] ?? '').slice(0, days ? 10 : undefined)
    const told = days ? {} : await inArea(`points/${row.name}/count`, null, [['min', `p.${property}`], ['max', `p.${property}`]], () => true)
    const input = (operator, words, hint) => el('input', {
      type: days ? 'date' : 'number', step: 'any', value: of(operator), placeholder: hint === undefined ? '' : String(hint), 'aria-label': words, onchange: () =>
        put(row, property, [['gte', from.value], ['lte', to.value && days ? `${to.value}${LAST}` : to.value]].flatMap(([operator, value]) => value ? [[nameOf(row, property, operator), value]] : [])),
    })
    const from = input('gte', t('From'), told.min?.[property])
    const to = input('lte', t('To'), told.max?.[property])
    return [from, el('span', {}, '–'), to]
  }

  return {
    root,
    show,

    /** The button and the form of a row of the layer switch, or none where it has nothing to filter by. */
    form(row) {
      if (!rows.includes(row) || row.columns.length === 0) return []
      let turn = 0
      const where = el('div', { class: 'filter-values' })
      const ask = async () => {
        const mine = ++turn
        const column = row.columns[property.value]
        if (!column || form.hidden) {
          fill(where)
          return
        }
        const now = row.filter.filter(([name]) => partsOf(row, name).property === column.property)
        const parts = await (['number', 'time'].includes(column.kind) ? range : values)(row, column, now).catch(error => [el('p', { role: 'alert' }, sentence(error))])
        if (mine === turn && !(where.contains(document.activeElement) && where.children.length === parts.length)) fill(where, ...parts)
        form.scrollIntoView({ block: 'nearest' })
      }
      const property = el('select', { 'aria-label': t('Property'), onchange: () => {
        fill(where)
        ask()
      } }, el('option', { value: '' }, t('Choose a property')), ...row.columns.map(({ property }, i) => el('option', { value: i }, title(property) || '?')))
      const form = el('div', { class: 'filter-form', hidden: true }, property, where)
      const button = el('button', { type: 'button', class: 'filter-button', 'aria-expanded': 'false', 'aria-label': t('Filter {what}', { what: row.label }), title: t('Filter {what}', { what: row.label }), onclick: () => {
        form.hidden = !form.hidden
        button.setAttribute('aria-expanded', String(!form.hidden))
        form.scrollIntoView({ block: 'nearest' })
        ask()
      } }, icon(FUNNEL, 18))
      forms.push(() => {
        button.classList.toggle('filtered', row.filter.length > 0)
        ask()
      })
      return [button, form]
    },
  }
}
