// Colours by a column: what is chosen, and what a legend says.
import { element } from './document.js'
import assert from 'node:assert/strict'
import test from 'node:test'
import { amounts } from '../src/words/format.js'

const { legendRows, valueText } = await import('../src/map/legendrows.js')
const { createColourPicker } = await import('../src/panels/colourpicker.js')
const { collectionLayers } = await import('../src/server/collections.js')
const { columnsOfSchema } = await import('../src/engine/regiontypes.js')

test('numbers side by side have the digits that tell them apart', () => {
  for (const [list, want] of [
    [[2.95, 131.39, 1882.6], ['2.95', '131', '1883']], [[2000.12, 2000.98], ['2000.12', '2000.98']], [[-14.91184, 0, 9.0909], ['−14.9', '0', '9.09']],
    [[1990, 2005], ['1990', '2005']], [[0.00012, 25_000], ['0.00012', '25,000']], [[23_400_000, 1.2e9], ['23.4M', '1.2B']], [[5], ['5']],
  ]) assert.deepEqual(list.map(amounts(list)), want)
  assert.equal(amounts([1253.8900001], 12)(1253.8900001), '1253.8900001')
})

test('a legend has a row for each class, and for values in none', () => {
  const numbers = { classes: [{ color: 'a', from: 1, to: 3, count: 5 }, { color: 'b', from: 4, to: 4, count: 1 }], rest: { color: 'r', count: 2 }, missing: { color: 'm', count: 3 } }
  assert.deepEqual(legendRows(numbers, 'number').map(({ colour, text, count }) => [colour, text, count]),
    [['a', '1 – 3', 5], ['b', '4', 1], ['r', 'Other values', 2], ['', 'No value', 3]])
  const values = [{ color: 'a', value: '<b>x</b>', count: 1 }, { color: 'b', count: 1 }]
  assert.deepEqual(legendRows({ classes: values }, 'text').map(({ text }) => text), ['<b>x</b>', '–'])
  assert.deepEqual(legendRows({ classes: [{ color: 'a', value: 'true', count: 1 }, { color: 'b', value: 'false', count: 1 }] }, 'boolean').map(({ text }) => text), ['yes', 'no'])
  assert.deepEqual(legendRows({ classes: [] }, 'number'), [])
})

test('a value is written for people', () => {
  assert.deepEqual([undefined, null, true, 1234567.125, 'a\u202Eb'].map(value => valueText(value)), ['No value', 'No value', 'yes', '1,234,567.125', 'a b'])
})

const column = (property, kind) => ({ property, kind, usual: true })

test('who chooses a column, a division or colours chooses no more', () => {
  const fieldset = element('fieldset')
  const chosen = []
  const rows = [{ type: 'county', label: 'Counties', columns: [column('turnover', 'number'), column('party', 'text')] }, { type: 'lake', label: 'Lakes', columns: [] }, { type: 'points:shops', label: 'Shops', columns: [column('price', 'number')] }]
  const picker = createColourPicker(fieldset, rows, choice => { chosen.push(choice); picker.show(choice) })
  const [list] = fieldset.all.filter(({ tagName }) => tagName === 'select')
  const [division, classes, colours] = picker.settings.all.filter(({ tagName }) => tagName === 'select')
  const choose = (select, value) => {
    select.value = value
    select.listeners.change()
    return chosen.at(-1)
  }
  assert.deepEqual(fieldset.all.filter(({ tagName }) => tagName === 'optgroup').map(({ attributes }) => attributes.get('label')), ['Counties', 'Shops'])
  assert.deepEqual(choose(list, '0'), { layer: 'county', property: 'turnover', classes: '', scheme: '' })
  assert.equal(choose(division, 'jenks').classes, 'jenks:5')
  assert.equal(choose(classes, '7').classes, 'jenks:7')
  assert.deepEqual(choose(colours, 'sea'), { layer: 'county', property: 'turnover', classes: 'jenks:7', scheme: 'sea' })
  assert.equal(choose(division, 'unique').classes, 'unique')
  const hidden = () => picker.settings.all.filter(({ tagName }) => tagName === 'label').map(({ hidden }) => hidden)
  assert.deepEqual(hidden(), [false, true, false])
  picker.show({ layer: 'county', property: 'turnover', classes: '0,10', scheme: '' })
  assert.deepEqual([division.value, ...hidden()], ['0,10', false, true, false])
  assert.deepEqual(choose(list, '1'), { layer: 'county', property: 'party', classes: '', scheme: '' })
  assert.deepEqual(hidden(), [true, true, false])
  assert.deepEqual(choose(list, '2'), { layer: 'points:shops', property: 'price', classes: '', scheme: '' })
  assert.equal(choose(list, ''), null)
  picker.show({ layer: 'gone', property: 'x', classes: '', scheme: '' })
  assert.equal(list.value, '')
  const joined = { layer: 'lake', property: 'sales.turnover', classes: '', scheme: '' }
  picker.show(joined)
  assert.deepEqual([list.all.find(({ attributes }) => attributes.get('value') === list.value).textContent, division.value], ['Sales.turnover', 'quantile'])
})

test('a map without columns has no list of them, until there are some', () => {
  const fieldset = element('fieldset')
  const rows = [{ type: 'ward', label: 'Wards', columns: [] }]
  const picker = createColourPicker(fieldset, rows, () => {})
  assert.equal(fieldset.childNodes.length, 0)
  rows[0].columns = columnsOfSchema({ 'a/b <i>': { type: 'string' }, big: { type: 'number' }, geometry: {}, id: { type: 'string' }, map_color: { type: 'number' }, odd: null })
  assert.deepEqual(rows[0].columns, [{ property: 'a/b <i>', kind: 'text', usual: false }, { property: 'big', kind: 'number', usual: false }])
  picker.list()
  assert.equal(fieldset.childNodes.length, 1)
})

test('points have the columns that their list has, private ones none', () => {
  const schema = [{ name: 'name', type: 'text' }, { name: 'price', type: 'number' }, { name: 'open', type: 'boolean' }, { name: 'tags', type: 'list' }, null]
  const [shops] = collectionLayers({ collections: [{ name: 'shops', schema }, { name: 'secret', private: true, schema }] })
  assert.deepEqual(shops.columns, [{ property: 'price', kind: 'number', usual: true }, { property: 'open', kind: 'boolean', usual: true }])
  const many = Array.from({ length: 21 }, (_, i) => ({ name: `c${i}`, type: 'number' }))
  assert.equal(collectionLayers({ collections: [{ name: 'shops', schema: many }] })[0].columns[0].usual, false)
  assert.deepEqual(collectionLayers({ collections: [{ name: 'shops', schema: 5 }] })[0].columns, [])
})
