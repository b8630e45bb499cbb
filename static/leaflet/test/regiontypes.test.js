import assert from 'node:assert/strict'
import test from 'node:test'
import { borderWidth } from '../src/engine/borders.js'
import { highlighted, regionTypes, visibleTypes } from '../src/engine/regiontypes.js'

const layers = (...ids) => ({ vector_layers: ids.map(id => ({ id })) })
const names = types => types.map(({ type }) => type)

test('types come coarse first, companions and places left out, unknown ones last and off', () => {
  const types = regionTypes(layers('county', 'sales', 'country_line', 'state', 'places', 'country', 'country_label', 'district'))
  assert.deepEqual(names(types), ['country', 'state', 'county', 'district', 'sales'])
  assert.deepEqual(types.map(({ on }) => on), [true, true, true, false, false])
  assert.equal(types.at(-1).label, 'Sales')
})

test('a type whose name only looks like a companion stands for itself', () => {
  assert.deepEqual(names(regionTypes(layers('country', 'power_line'))), ['country', 'power_line'])
})

test('a type of lines has nothing but these', () => {
  const fields = { id: 'String', name: 'String' }
  const borders = { id: 'country_line', fields: { left: 'String', right: 'String' } }
  const types = regionTypes({ vector_layers: [{ id: 'country', fields: { ...fields, map_color: 'Number' } }, borders, { id: 'river_line', fields }, { id: 'trail_line', fields }] })
  assert.deepEqual(types.map(({ type, role }) => [type, role]), [['country', 'land'], ['river', 'line'], ['trail', 'overlay']])
})

test('columns make no areas of lines, and a type of areas called so keeps its lines', () => {
  const lines = { id: 'String', name: 'String', surface: 'String', lanes: 'Number', left: 'Boolean', odd: 'Nothing' }
  const borders = { left: 'String', right: 'String' }
  const types = regionTypes({ vector_layers: [{ id: 'road_line', minzoom: 4, fields: lines }, { id: 'power_line', fields: { id: 'String', map_color: 'Number' } }, { id: 'power_line_line', fields: borders }, { id: 'stray_line', fields: borders }] })
  assert.deepEqual(types.map(({ type, role, least, columns }) => [type, role, least, columns.map(({ property, kind }) => `${property} ${kind}`).join()]), [
    ['road', 'line', 4, 'surface text,lanes number,left boolean'], ['power_line', 'overlay', 0, ''], ['stray_line', 'overlay', 0, 'left text,right text'],
  ])
})

test('a server without the usual types does not open on an empty map', () => {
  assert.deepEqual(regionTypes(layers('sales')).map(({ on, from }) => [on, from]), [[true, 0]])
  assert.deepEqual(regionTypes(layers('state')).map(({ on, from }) => [on, from]), [[true, 0]])
})

test('the document\'s own least zoom counts', () => {
  const [country] = regionTypes({ vector_layers: [{ id: 'country', minzoom: 2 }] })
  assert.equal(country.from, 2)
})

test('documents that are none give no types', () => {
  for (const bad of [undefined, null, {}, { vector_layers: 'x' }, { vector_layers: [null, {}, { id: 7 }, { id: '' }] }]) {
    assert.deepEqual(regionTypes(bad), [])
  }
})

test('zoom thresholds', () => {
  const types = regionTypes(layers('country', 'state', 'county'))
  for (const [zoom, want] of [[0, ['country']], [2, ['country']], [3, ['country', 'state']], [5, ['country', 'state']], [7, ['country', 'state']], [8, ['country', 'state', 'county']]]) {
    assert.deepEqual(names(visibleTypes(types, zoom)), want, `zoom ${zoom}`)
  }
  types[0].on = false
  assert.deepEqual(names(visibleTypes(types, 4)), ['state'])
})

test('the finest region that is drawn gets the highlight', () => {
  const regions = [{ type: 'county', id: 'a' }, { type: 'country', id: 'b' }, { type: 'state', id: 'c' }, { type: 'x', id: 'd' }]
  const types = regionTypes(layers('country', 'state', 'county'))
  assert.equal(highlighted(regions, visibleTypes(types, 0)).id, 'b')
  assert.equal(highlighted(regions, visibleTypes(types, 4)).id, 'c')
  assert.equal(highlighted(regions, visibleTypes(types, 9)).id, 'a')
  assert.equal(highlighted([], types), null)
})

test('borders grow with the zoom and stay within a tile\'s buffer', () => {
  for (const type of ['country', 'state', 'county', 'unknown']) {
    for (let zoom = 0; zoom < 18; zoom++) {
      assert.ok(borderWidth(type, zoom) <= borderWidth(type, zoom + 1))
      assert.ok(borderWidth(type, zoom) > 0 && borderWidth(type, zoom) <= 4)
    }
  }
})
