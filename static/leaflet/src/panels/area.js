// An area that the reader draws: how to, and then what is in it of every layer that is shown.
import { inArea, isPosition, queryOf } from '../server/api.js'
import { failure, note, ringing, skeleton } from './card.js'
import { copyButton } from './copy.js'
import { el, fill } from '../dom.js'
import { createDrawing } from '../map/drawing.js'
import { sizeOf } from '../engine/landsize.js'
import { isShort, regionOf } from '../hash.js'
import { valueText } from '../map/legendrows.js'
import { areas, PLACES } from '../engine/regiontypes.js'
import { takeAlong } from './share.js'
import { landSize, placeKind, title, typeName } from '../words/format.js'
import { askedLanguage } from '../words/language.js'
import { displayText } from '../words/text.js'
import { nameLanguages, number, t } from '../words/words.js'

const FIRST = 5
const MORE = 20
const MOST = 500 // rows of a list; who wants more has the table
const GROUPS = 12

/**
 * The area of a map. rows() are those of the layer switch that can be asked; own, place and region open what is in a list; toggled(on) is called when the
 * reader begins or ends drawing. signal() ends the question before, also a drawing.
 */
export function createArea({ card, map, mark, select, pin, rows, own, place, region, permalink, signal, announce, toggled }) {
  let open = false
  const chosen = new Map() // path → { by, sum } of its counts, which outlast a new answer
  const drawing = createDrawing(map, {
    toggled,
    changed(count) {
      corners.textContent = count > 0 ? t('{count} corners', { count }) : ''
      close.disabled = count < 3
      back.disabled = count === 0
      if (count > 0) announce(corners.textContent)
    },
    done(polygon) {
      permalink.set({ polygon, select: null }, { step: true })
      api.show()
    },
  })
  const button = (words, onclick) => el('button', { type: 'button', class: 'chip', onclick }, words)
  const corners = el('span', { class: 'quiet' })
  const close = button(t('Close the area'), () => drawing.close())
  const back = button(t('Take the last corner back'), () => drawing.back())

  const api = {
    get drawing() { return drawing.on },

    /** Begins to draw, or ends it. */
    draw() {
      if (drawing.on) return card.close()
      signal()
      pin(null)
      select(null)
      permalink.set({ select: null })
      card.show({ kicker: t('Draw an area'), title: t('Set its corners'), chips: [close, back, corners] },
        note(t('Click or tap the corners one after the other. The first corner or a double click closes the area.'),
          !matchMedia('(hover: none)').matches && t('By keyboard: the arrows move the map, the space bar sets a corner at the crosshair, Enter closes, Backspace takes a corner back, Esc ends.')))
      drawing.start()
    },

    /** After another question was asked. */
    leave() {
      open = false
      drawing.stop()
    },

    /** The reader closed the card: true where the area is to be shown again, which another answer stood before; else it is removed. */
    closed() {
      const { polygon } = permalink.state
      if (polygon && !open && !drawing.on) return true
      permalink.set({ polygon: null })
      drawing.show(null)
      return false
    },

    /** Draws the outline as the address has it. */
    outline() {
      drawing.show(permalink.state.polygon)
    },

    /** Shows the area of the address, and what is in it. */
    show() {
      const question = { signal: signal(), announce, chosen }
      const { polygon } = permalink.state
      open = true
      pin(null)
      select(null)
      api.outline()
      const size = landSize(sizeOf(polygon))
      card.show({
        kicker: t('Area'), title: size || t('Its edges cross'), subtitle: t('{count} corners', { count: polygon.length }),
        chips: [...takeAlong({ title: t('Area'), path: '', at: null, announce }), copyButton('GeoJSON', () => JSON.stringify({ type: 'Polygon', coordinates: [[...polygon, polygon[0]]] }), announce),
          button(t('Remove'), () => card.close())],
      }, ...sections().map(one => section(one, polygon, question)))
    },

    /** Asks again, after a layer or a filter was changed. */
    refresh() {
      if (open) api.show()
    },
  }

  // What can be asked: { label, path, name, kinds and sums to choose among, filter and listed: parameters of counts and lists, key and row of a list }.
  function sections() {
    const shown = rows().filter(({ on }) => on)
    const types = areas(shown).filter(({ role }) => ['land', 'overlay', 'water'].includes(role))
    const kinds = types.map(({ type, label }) => [type, label])
    const inside = (name, kind, spot, choose) => el('li', {}, el('button', { type: 'button', onclick: choose, ...spot && ringing(mark, spot) },
      el('bdi', { class: 'place-name' }, name), kind && el('span', { class: 'place-kind' }, kind)))
    return [
      ...shown.filter(({ role }) => role === 'points').map(layer => ({
        label: layer.label, path: `points/${layer.name}`, name: layer.name, filter: layer.filter, listed: [], key: 'points',
        kinds: [...layer.columns.map(({ property, kind }) => [`p.${property}`, title(property), kind]), ...kinds],
        sums: layer.columns.filter(({ kind }) => kind === 'number').map(({ property }) => property),
        row: ({ id, lat, lon, properties = {} }) => inside(displayText(properties.name) || displayText(id), '', { lat, lon },
          () => own({ layer, point: { id, lat, lon, name: '', count: 0, properties: Object.entries(properties) } })),
      })),
      ...shown.includes(PLACES) ? [{
        label: PLACES.label, path: 'places', name: 'places', filter: [], listed: [['lang', askedLanguage(nameLanguages)]], key: 'places', kinds, sums: ['population'],
        row: one => inside(displayText(one.name), placeKind(one.class, one.code, one.population), one, () => place(one)),
      }] : [],
      ...types.length > 0 ? [{
        label: t('Regions'), path: 'regions', name: 'regions', filter: [['types', types.map(({ type }) => type).join(',')]], listed: [['skipGeometry', 'true']], key: 'regions', kinds: [], sums: [],
        row: ({ type, id, name }) => inside(displayText(name) || displayText(id), typeName(type), null, () => region(regionOf(type, id))),
      }] : [],
    ]
  }
  return api
}

function section({ label, path, name, kinds, sums, filter, listed, key, row }, polygon, { signal, announce, chosen }) {
  const now = chosen.get(path) ?? {}
  const choice = (words, list, now) => el('select', { 'aria-label': `${label}: ${words}`, hidden: list.length === 0, onchange: () => count() },
    el('option', { value: '' }, words), ...list.map(([value, words]) => el('option', { value, selected: value === now }, words)))
  const by = choice(t('Count by…'), kinds, now.by)
  const sum = choice(t('Sum of…'), sums.map(one => [one, title(one)]), now.sum)
  const amount = el('b', {})
  const table = el('div', {})
  const list = el('ol', { class: 'places' })
  const foot = el('div', { class: 'list-foot' })
  const ask = (what, query, isAnswer) => inArea(`${path}/${what}`, polygon, [...query, ...filter], isAnswer, { signal })
  const file = (form, words) => el('a', {
    class: 'chip', download: `${name}.${form}`, href: `${path}/within?${queryOf([['polygon', String(polygon)], ['format', form], ...path === 'regions' || path === 'places' ? [['limit', 1000]] : [], ...filter])}`,
  }, words)

  let turn = 0
  async function count() {
    const mine = ++turn
    chosen.set(path, { by: by.value, sum: sum.value })
    const kind = kinds.find(([value]) => value === by.value)
    try {
      const answer = await ask('count', [['by', by.value], ['sum', sum.value], ['limit', kind && GROUPS]], ({ count, groups = [] }) => Number.isFinite(count) && Array.isArray(groups))
      if (mine !== turn) return
      amount.textContent = number.format(answer.count)
      root.classList.toggle('empty', answer.count === 0)
      fill(table, tableOf(answer, label, kind, sum.value))
    } catch (error) {
      if (mine === turn && !signal.aborted) fill(table, failure(error, count, label))
    }
  }

  async function load(cursor, limit) {
    fill(foot, skeleton(1))
    try {
      const answer = await ask('within', [['limit', limit], ['cursor', cursor], ...listed], answer => Array.isArray(answer[key]))
      const rows = answer[key].filter(one => key === 'regions' ? regionOf(one?.type, one?.id) : isPosition(one)).map(row)
      list.append(...rows)
      const next = typeof answer.next === 'string' && list.children.length < MOST && answer.next
      fill(foot, next && el('button', { type: 'button', class: 'chip more', onclick: () => load(next, MORE) }, t('Show more')))
      if (!cursor) return
      announce(t('{count} more in the list', { count: rows.length }))
      rows[0]?.querySelector('button').focus()
    } catch (error) {
      if (!signal.aborted) fill(foot, failure(error, () => load(cursor, limit), label))
    }
  }
  count()
  load('', FIRST)
  const root = el('section', { class: 'in-area' },
    el('div', { class: 'list-head' }, el('h3', {}, label), amount), el('p', { class: 'chips' }, by, sum), table, list, foot,
    isShort(polygon) && el('p', { class: 'chips' }, file('csv', 'CSV'), file('geojson', 'GeoJSON')))
  return root
}

// How many of each kind, [value, words, kind of value], and what a column of them sums up to. Regions are counted by their types.
function tableOf({ groups, others, types, sum: all }, label, kind, summed) {
  const rows = groups ? groups.map(({ group, count, sum }) => [groupName(group ?? {}, kind), count, sum?.[summed]])
    : Object.entries(types ?? {}).map(([type, count]) => [typeName(type), count])
  if (others) rows.push([t('Other values'), others.count])
  if (!groups && summed) rows.push([t('All together'), undefined, all?.[summed]])
  if (rows.length === 0) return ''
  const cells = ([words, count, sum]) => el('tr', {}, el('th', { scope: 'row' }, el('bdi', {}, words)), el('td', {}, Number.isFinite(count) ? number.format(count) : ''), summed && el('td', {}, sum === undefined ? '–' : valueText(sum)))
  return el('table', { class: 'groups' },
    el('thead', {}, el('tr', {}, el('th', { scope: 'col' }, kind?.[1] ?? label), el('th', { scope: 'col' }, t('Number')), summed && el('th', { scope: 'col' }, t('Sum of {what}', { what: title(summed) })))),
    el('tbody', {}, ...rows.map(cells)))
}

function groupName(group, [value, , valueKind]) {
  const own = group[value.replace(/^p\./, '')]
  if (valueKind) return valueText(own, valueKind)
  return displayText(group[`${value}_name`]) || displayText(own) || t('Outside every region')
}
