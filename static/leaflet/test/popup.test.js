import './document.js'
import assert from 'node:assert/strict'
import test from 'node:test'
import { linesOf, popupOf, valueOf } from '../src/popup.js'

test('a popup is a list of columns, or a text with columns in braces', () => {
  assert.equal(popupOf(null), null)
  assert.deepEqual(popupOf('x'.repeat(1001)), { columns: [] })
  assert.deepEqual(popupOf(''), { columns: [] })
  assert.deepEqual(popupOf(' name, price,,'), { columns: ['name', 'price'] })
  assert.equal(popupOf('a,'.repeat(200)).columns.length, 32)
  assert.deepEqual(popupOf('{name}: {price} €\nb'), { lines: [['', 'name', ': ', 'price', ' €'], ['b']] })
  for (const text of ['{}', '{', '}{', '{{}}']) assert.ok(popupOf(text).columns, text)
})

test('a column is a property, else a member of one', () => {
  const properties = { 'a.b': 1, a: { b: 2, c: { d: 3 } }, list: ['x'] }
  for (const [name, want] of [['a.b', 1], ['a.c.d', 3], ['a.x', undefined], ['constructor', undefined], ['a.constructor', undefined], ['list.length', 1], ['a.b.c', undefined]]) {
    assert.equal(valueOf(properties, name), want, name)
  }
})

test('a template tells values as texts, only addresses of the web as links, and no line without a value', () => {
  const tell = (template, properties) => linesOf(popupOf(template).lines, properties)
  assert.deepEqual(tell('<b>{name}</b>\n{price} €\nopen', { name: '<img src=x onerror=alert(1)>' }), [['<b>', '<img src=x onerror=alert(1)>', '</b>'], ['open']])
  assert.deepEqual(tell('{x}', { x: 'javascript:alert(1)' }), [['javascript:alert(1)']])
  assert.deepEqual(tell('{x}{y}', { x: '{y}', y: 0 }), [['{y}', '0']])
  assert.equal(tell('{x}', { x: 'https://example.org/a' })[0][0].tagName?.toLowerCase(), 'a')
  assert.equal([...tell('{x}', { x: 'n'.repeat(500) })[0][0]].length, 200)
  assert.deepEqual(tell('{x} €', { x: null }), [])
})
