// What the reader draws: how long the line is, and once it is closed what is in the area of every layer that is shown.
import { areaOf, inArea, isPosition, queryOf } from '../server/api.js'
import { failure, note, ringing, skeleton } from './card.js'
import { copyButton } from './copy.js'
import { el, fill } from '../dom.js'
import { conditionWords } from './filters.js'
import { createDrawing } from '../map/drawing.js'
import { lengthOf, sizeOf } from '../engine/landsize.js'
import { isShort, regionOf } from '../hash.js'
import { valueText } from '../map/legendrows.js'
import { areas, PLACES } from '../engine/regiontypes.js'
import { takeAlong } from './share.js'
import { distance, landSize, placeKind, title, typeName } from '../words/format.js'
import { askedLanguage } from '../words/language.js'
import { displayText } from '../words/text.js'
import { nameLanguages, number, t } from '../words/words.js'

const FIRST = 5
const MORE = 20
const MOST = 500 // rows of a list; who wants more has the table
const GROUPS = 12
const PAGE = 1000 // features of a list of GeoJSON at most

/**
 * The area of a map. rows() are those of the layer switch; own, place and region open what is in a list; toggled(on) is called when
 * the reader begins or ends drawing. signal() ends the question before, also a drawing.
 */
export function createArea({ card, map, mark, select, pin, rows, own, place, region, permalink, signal, announce, toggled }) {
  let open = false
  const chosen = new Map() // path → { by, sum } of its counts, which outlast a new answer
  const drawing = createDrawing(map, {
    toggled,
    changed(list) {
      const count = list.length
      measures.textContent = count > 0 ? [t('{count} corners', { count }), count > 1 && t('Length: {length}', { length: distance(lengthOf(list)) }), count > 2 && landSize(sizeOf(list))].filter(Boolean).join(' · ') : ''
      const focused = [close, back].find(one => one === document.activeElement)
      close.disabled = count < 3
      back.disabled = count === 0
      if (focused?.disabled) map.getContainer().focus() // rather than nothing
      if (count > 0) announce(measures.textContent)
    },
    done(polygon) {
      permalink.set({ polygon, select: null }, { step: true })
      api.show()
    },
  })
  const button = (words, onclick) => el('button', { type: 'button', class: 'chip', onclick }, words)
  const measures = el('span', {})
  const close = button(t('Close the area'), () => drawing.close())
  const back = button(t('Take the last corner back'), () => drawing.back())

  const api = {
    /** Whether the reader is drawing. */
    get drawing() { return drawing.on },

    /** Begins to draw, or ends it. */
    draw() {
      if (drawing.on) return card.close()
      signal()
      pin(null)
      select(null)
      permalink.set({ select: null }, { step: true })
      card.show({ kicker: t('Measure or draw an area'), title: t('Set corners'), subtitle: measures, chips: [close, back] },
        note(t('Click or tap the corners one after the other. The first corner or a double click closes the area.'),
          !matchMedia('(hover: none)').matches && t('By keyboard: the arrows move the map, the space bar sets a corner at the crosshair, Enter closes, Backspace takes a corner back, Esc ends.')))
      drawing.start()
    },

    /** After another question was asked. */
    leave() {
      open = false
      drawing.stop()
    },

    /** The reader closed the card: true where the area comes back, which another answer or a new drawing stood before; else it is removed. */
    closed() {
      const { polygon } = permalink.state
      if (polygon && !open) return true
      permalink.set({ select: null, polygon: null }, { step: true }) // Back brings it back
      drawing.show(null)
      return false
    },

    /** Draws the outline as the address has it. */
    outline() {
      drawing.show(permalink.state.polygon)
    },

    /** Shows the area of the address, and what is in it. */
    show() {
      const question = { signal: signal(), announce, mark, chosen, first: [] }
      const { polygon } = permalink.state
      open = true
      pin(null)
      select(null)
      api.outline()
      const size = landSize(sizeOf(polygon))
      card.show({
        kicker: t('Area'), title: size || t('Its edges cross'), subtitle: `${t('{count} corners', { count: polygon.length })} · ${t('Perimeter: {length}', { length: distance(lengthOf([...polygon, polygon[0]])) })}`,
        chips: [
          ...takeAlong({ title: t('Area'), path: '', at: null, announce }),
          copyButton('GeoJSON', () => JSON.stringify(areaOf(polygon)), announce), button(t('Remove'), () => card.close()),
        ],
      }, ...sections().map(one => section(one, polygon, question)))
      Promise.all(question.first).then(counts => {
        if (!question.signal.aborted && counts.some(Boolean)) announce(counts.filter(Boolean).join('; '))
      })
    },

    /** Asks again, after a layer or a filter was changed. */
    refresh() {
      if (open) api.show()
    },
  }

  // What can be asked: { label, path, name, key: of a list, kinds, sums: to choose among, filter, listed: parameters of all and of lists,
  // passing: filter in words, row: an entry of a list as { name, kind, spot, choose } }.
  function sections() {
    const shown = rows().filter(({ on }) => on)
    const types = areas(shown).filter(({ role }) => ['land', 'overlay', 'water'].includes(role)).map(({ type, label }) => [type, label])
    const collections = shown.filter(({ role }) => role === 'points').map(layer => ({
      label: layer.label, path: `points/${layer.name}`, name: layer.name, key: 'points', filter: layer.filter, listed: [],
      passing: layer.filter.map(one => conditionWords(layer, one)),
      kinds: [...layer.columns.map(({ property, kind }) => [`p.${property}`, title(property), kind]), ...types],
      sums: layer.columns.filter(({ kind }) => kind === 'number').map(({ property }) => property),
      row: ({ id, lat, lon, properties = {} }) => ({
        name: displayText(properties.name) || displayText(id), spot: { lat, lon },
        choose: () => own({ layer, point: { id, lat, lon, name: '', count: 0, properties: Object.entries(properties) } }),
      }),
    }))
    const places = {
      label: PLACES.label, path: 'places', name: 'places', key: 'places', filter: [], listed: [['lang', askedLanguage(nameLanguages)]],
      kinds: types, sums: ['population'],
      row: one => ({ name: displayText(one.name), kind: placeKind(one.class, one.code, one.population), spot: one, choose: () => place(one) }),
    }
    const regions = {
      label: t('Regions'), path: 'regions', name: 'regions', key: 'regions', filter: [['types', types.map(([type]) => type).join(',')]],
      listed: [['skipGeometry', 'true']], kinds: [], sums: [],
      row: ({ type, id, name }) => ({ name: displayText(name) || displayText(id), kind: typeName(type), choose: () => region(regionOf(type, id)) }),
    }
    return [...collections, ...shown.includes(PLACES) ? [places] : [], ...types.length > 0 ? [regions] : []]
  }
  return api
}

function section(question, polygon, { signal, announce, mark, chosen, first }) {
  const { label, path, name, key, filter, listed, passing = [], kinds, sums, row } = question
  const now = chosen.get(path) ?? {}
  const choice = (words, list, now) => el('select', {
    'aria-label': `${label}: ${words}`, hidden: list.length === 0, onchange: async () => announce(await count()),
  }, el('option', { value: '' }, words), ...list.map(([value, words]) => el('option', { value, selected: value === now }, words)))
  const by = choice(t('Count by…'), kinds, now.by)
  const sum = choice(t('Sum of…'), sums.map(one => [one, title(one)]), now.sum)
  const amount = el('b', {})
  const table = el('div', {})
  const list = el('ol', { class: 'places' })
  const foot = el('div', { class: 'list-foot' })
  const ask = (what, query, isAnswer) => inArea(`${path}/${what}`, polygon, [...query, ...filter], isAnswer, { signal })
  const entry = ({ name, kind, spot, choose }) => el('li', {}, el('button', { type: 'button', onclick: choose, ...spot && ringing(mark, spot) },
    el('bdi', { class: 'place-name' }, name), kind && el('span', { class: 'place-kind' }, kind)))

  // A list of GeoJSON is a page; whoever has more gets a feature a line. Regions come in pages in every form.
  const files = el('p', { class: 'chips' })
  const cut = el('p', { class: 'quiet', hidden: true }, t('The files have the first {count}.', { count: PAGE }))
  const page = key === 'regions' ? PAGE : undefined
  const file = (form, words, limit) => el('a', {
    class: 'chip', download: `${name}.${form}`,
    href: `${path}/within?${queryOf([['polygon', String(polygon)], ['format', form], ['limit', limit], ...filter])}`,
  }, words)

  const root = el('section', { class: 'in-area' },
    el('div', { class: 'list-head' }, el('h3', {}, label), amount),
    passing.length > 0 && el('p', { class: 'quiet passing' }, el('bdi', {}, passing.join('; '))),
    el('p', { class: 'chips' }, by, sum), table, list, foot, files, cut)

  let turn = 0
  // Resolves to the answer in words, or '' where there is none.
  async function count() {
    const mine = ++turn
    chosen.set(path, { by: by.value, sum: sum.value })
    const kind = kinds.find(([value]) => value === by.value)
    try {
      const query = [['by', by.value], ['sum', sum.value], ['limit', kind && GROUPS]]
      const answer = await ask('count', query, ({ count, groups = [] }) => Number.isFinite(count) && Array.isArray(groups))
      if (mine !== turn) return ''
      amount.textContent = number.format(answer.count)
      root.classList.toggle('empty', answer.count === 0)
      const features = answer.count > PAGE ? file('ndjson', 'GeoJSON (ndjson)', page) : file('geojson', 'GeoJSON', PAGE)
      if (isShort(polygon)) fill(files, file('csv', 'CSV', page), features)
      cut.hidden = !page || answer.count <= page || files.children.length === 0
      fill(table, tableOf(answer, label, kind, sum.value))
      return `${label}: ${amount.textContent}`
    } catch (error) {
      if (mine === turn && !signal.aborted) fill(table, failure(error, count, label))
      return ''
    }
  }

  async function load(cursor, limit) {
    fill(foot, skeleton(1))
    try {
      const answer = await ask('within', [['limit', limit], ['cursor', cursor], ...listed], answer => Array.isArray(answer[key]))
      const rows = answer[key].filter(one => key === 'regions' ? regionOf(one?.type, one?.id) : isPosition(one)).map(one => entry(row(one)))
      list.append(...rows)
      const next = typeof answer.next === 'string' && list.children.length < MOST && answer.next
      fill(foot, next && el('button', { type: 'button', class: 'chip more', onclick: () => load(next, MORE) }, t('Show more')))
      if (!cursor) return
      announce(t('{count} more in the list', { count: rows.length }))
      rows[0]?.querySelector('button').focus()
    } catch (error) {
      if (!signal.aborted) fill(foot, error.status !== 400 && failure(error, () => load(cursor, limit), label)) // the count tells of that
    }
  }
  first.push(count())
  load('', FIRST)
  return root
}

// How many of each kind, [value, words, kind of value], and what a column of them sums up to. Regions are counted by their types.
function tableOf({ groups, others, types, sum: all }, label, kind, summed) {
  const rows = groups ? groups.map(({ group, count, sum }) => [groupName(group ?? {}, kind), count, sum?.[summed]])
    : Object.entries(types ?? {}).map(([type, count]) => [typeName(type), count])
  if (others) rows.push([t('Other values'), others.count])
  if (!groups && summed) rows.push([t('All together'), undefined, all?.[summed]])
  if (rows.length === 0) return ''
  const head = [kind?.[1] ?? label, t('Number'), ...summed ? [t('Sum of {what}', { what: title(summed) })] : []]
  const cells = ([words, count, sum]) => el('tr', {}, el('th', { scope: 'row' }, el('bdi', {}, words)),
    el('td', {}, Number.isFinite(count) ? number.format(count) : ''), summed && el('td', {}, sum === undefined ? '–' : valueText(sum)))
  return el('table', { class: 'groups' },
    el('thead', {}, el('tr', {}, ...head.map(words => el('th', { scope: 'col' }, words)))), el('tbody', {}, ...rows.map(cells)))
}

function groupName(group, [value, , valueKind]) {
  const own = group[value.replace(/^p\./, '')]
  if (valueKind) return valueText(own, valueKind)
  return displayText(group[`${value}_name`]) || displayText(own) || t('Outside every region')
}
