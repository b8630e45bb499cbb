import assert from 'node:assert/strict'
import test from 'node:test'
import { PbfWriter } from 'pbf'
import { answerWith } from './document.js'

const { collectionLayers, linkOf, radiusOf, shownPoints } = await import('../src/server/collections.js')
const { rows } = await import('../src/panels/ownpoint.js')
const api = await import('../src/server/api.js')
const { formatState, parseState } = await import('../src/hash.js')

test('each public collection has a row in the switch, the first three are on', () => {
  const list = collectionLayers({ collections: [
    { name: 'cars', title: 'Cars\u202e <b>', live: true }, { name: 'secret', private: true }, { name: 'my_shops', live: false }, { name: 'c' }, { name: 'd' },
  ] })
  assert.deepEqual(list.map(({ type, label, on, live }) => [type, label, on, live]), [
    ['points:cars', 'Cars <b>', true, true], ['points:my_shops', 'My shops', true, false], ['points:c', 'C', true, false], ['points:d', 'D', false, false],
  ])
})

test('what is no list of collections is an empty one', () => {
  for (const answer of [undefined, null, {}, { collections: 5 }, { collections: [{}, null, { name: 5 }, { name: '../x' }, { name: 'A' }, { name: 'a/b' }, { name: 'broken', live: true, state: 'damaged' }] }]) {
    assert.deepEqual(collectionLayers(answer), [])
  }
  assert.ok(collectionLayers({ collections: Array.from({ length: 500 }, (_, i) => ({ name: `c${i}` })) }).length <= 20)
})

test('a service that does not know collections has none', async () => {
  answerWith({ status: 404, body: 'no' })
  await assert.rejects(api.collections())
  answerWith({ body: '{"collections":[]}' })
  assert.deepEqual(await api.collections(), { collections: [] })
})

test('a permalink keeps collections among its layers', () => {
  const layers = ['country', 'points:shops', 'points:my-cars']
  assert.deepEqual(parseState(`#5/1/2/${formatState({ layers })}`).layers, layers)
})

// The bytes of a tile with one layer of points, each { at: [x, y], tags: { name: value } }.
function tile(name, points) {
  const out = new PbfWriter()
  out.writeMessage(3, (_, layer) => {
    const keys = [...new Set(points.flatMap(({ tags }) => Object.keys(tags)))]
    const values = points.flatMap(({ tags }) => Object.values(tags))
    let next = 0
    layer.writeVarintField(15, 2)
    layer.writeStringField(1, name)
    for (const { at: [x, y], tags } of points) {
      layer.writeMessage(2, (_, feature) => {
        feature.writePackedVarint(2, Object.keys(tags).flatMap(key => [keys.indexOf(key), next++]))
        feature.writeVarintField(3, 1)
        feature.writePackedVarint(4, [9, x << 1, y << 1])
      })
    }
    for (const key of keys) layer.writeStringField(3, key)
    for (const value of values) {
      layer.writeMessage(4, (_, message) => {
        if (typeof value === 'string') message.writeStringField(1, value)
        else if (typeof value === 'boolean') message.writeBooleanField(7, value)
        else message.writeDoubleField(3, value)
      })
    }
    layer.writeVarintField(5, 4096)
  })
  return out.finish()
}

test('a tile shows points with their properties, and clusters', () => {
  const bytes = tile('points:shops', [
    { at: [2048, 2048], tags: { id: 'a/1', name: '<b>A\u0000</b>', open: true, stars: 4.5 } },
    { at: [0, 2048], tags: { cluster: true, point_count: 1200, point_count_abbreviated: '1.2k', cluster_id: '0-a1' } },
    { at: [0, 0], tags: { cluster: true, point_count: 0 } },
  ])
  assert.deepEqual(shownPoints(bytes, 'points:shops', { z: 0, x: 0, y: 0 }), [
    { id: 'a/1', name: '<b>A </b>', count: 0, lat: 0, lon: 0, properties: [['open', true], ['stars', 4.5]] },
    { id: '', name: '', count: 1200, short: '1.2k', cluster: '0-a1', lat: 0, lon: -180, properties: [] },
  ])
  assert.deepEqual(shownPoints(bytes, 'points:others', { z: 0, x: 0, y: 0 }), [])
  assert.deepEqual(shownPoints(new ArrayBuffer(0), 'points:shops', { z: 0, x: 0, y: 0 }), [])
})

test('more points have a larger disc', () => {
  assert.ok(radiusOf(0) < radiusOf(2) && radiusOf(2) < radiusOf(2000) && radiusOf(1e12) < 32)
})

test('only an address of the web is a link', () => {
  assert.equal(linkOf('https://example.org/a?b=<c>'), 'https://example.org/a?b=%3Cc%3E')
  for (const text of ['javascript:alert(1)', 'data:text/html,x', ' https://a b', 'see https://example.org', 'https://', '//example.org', 5, null, undefined]) {
    assert.equal(linkOf(text), '', `${text}`)
  }
})

test('the card has the properties as text', () => {
  const [id, ...others] = rows('<i>', [['name', 'left out'], ['opening_hours', '9–5'], ['open', false], ['tags', ['a', '<b>', { c: 1 }]], ['inner', { a: 1 }], ['web', 'http://example.org']])
  assert.deepEqual(id, ['Id', '<i>'])
  assert.deepEqual(others.slice(0, 4), [['Opening hours', '9–5'], ['Open', 'no'], ['Tags', 'a, <b>'], ['Inner', '']])
  const link = others[4][1]
  assert.deepEqual([link.tagName, link.attributes.get('href'), link.attributes.get('rel'), link.textContent], ['a', 'http://example.org/', 'noopener noreferrer', 'http://example.org'])
})

test('the path of a point reaches it, whatever its id', () => {
  for (const [id, path] of [['t-7', 't-7'], ['count', '%63ount'], ['events', '%65vents'], ['a/b', 'a%2Fb'], ['%', '%25'], ['%2e%2e', '%252e%252e'], ['...', '...'],
    ['a?b#c', 'a%3Fb%23c'], ['a b', 'a%20b'], ['geo:1', 'geo:1'], ['ä', '%C3%A4']]) {
    assert.equal(api.collectionPointPath('my-cars', id), `points/my-cars/${path}`)
    assert.equal(new URL(api.absolute(`points/my-cars/${path}`)).pathname, `/points/my-cars/${path}`)
  }
  for (const id of ['.', '..']) assert.equal(api.collectionPointPath('my-cars', id), '')
})
