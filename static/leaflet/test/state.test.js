import assert from 'node:assert/strict'
import test from 'node:test'
import { formatState, NOTHING_OPEN, parseHash, parseState } from '../src/hash.js'
import { createPermalink } from '../src/permalink.js'

test('what is open survives the permalink, beside the view', () => {
  for (const state of [
    NOTHING_OPEN,
    { ...NOTHING_OPEN, select: { kind: 'point', lat: -47.3769, lon: 8.5417 } },
    { ...NOTHING_OPEN, select: { kind: 'place', id: '2657896' }, theme: 'dark' },
    { ...NOTHING_OPEN, select: { kind: 'airport', code: 'ZRH' }, tiles: true },
    { ...NOTHING_OPEN, select: { kind: 'region', type: 'sales-territory', id: 'a & b/c=d' } },
    { ...NOTHING_OPEN, select: { kind: 'ip', ip: '2001:db8::1' }, layers: ['country', 'a & b/c=d,e'.replace(',', ' ')] },
    { ...NOTHING_OPEN, select: { kind: 'ip', ip: 'me' }, layers: [] },
    { ...NOTHING_OPEN, colours: { layer: 'county', property: 'a & b/c=d.é', classes: '-1.5,0,1e+6', scheme: 'blue-red' } },
    { ...NOTHING_OPEN, filters: [['points:shops.a & b/c=d.é', 'x=<b>,1&2'], ['points:my-cars.-free', '']], polygon: [[170, -10.5], [190.123456, -10], [180, 0.5]] },
    { ...NOTHING_OPEN, layers: ['points:my-shops'], colours: { layer: 'points:my-shops', property: 'price', classes: '', scheme: '' }, tiles: true },
  ]) {
    const text = formatState(state)
    const hash = `#5/45/12/${text}`
    assert.deepEqual(parseState(hash), state, text)
    assert.deepEqual(parseHash(hash), { zoom: 5, lat: 45, lon: 12 }, text)
  }
  assert.equal(formatState(NOTHING_OPEN), '')
  assert.equal(formatState({ ...NOTHING_OPEN, select: { kind: 'point', lat: 47.4, lon: 8.5 }, layers: ['country', 'places'], tiles: true }),
    'at=47.4,8.5&layers=country,places&tiles=1')
  assert.equal(formatState({ ...NOTHING_OPEN, select: { kind: 'region', type: 'timezone', id: 'europe/zurich' } }), 'region=timezone/europe/zurich')
})

test('what a permalink should not hold counts as not there', () => {
  for (const rest of ['', 'at=', 'at=91,0', 'at=0,181', 'at=1', 'at=1,2,3', 'at=1e1,2', 'place=x', 'place=1234567890123', 'place=-1', 'airport=../x',
    'airport=%3Cb%3E', 'region=country', 'region=/fr', 'region=country/', 'region=country/..', 'region=%2E./x', `region=country/${'x'.repeat(129)}`, 'ip=a/b', 'ip=1 2', 'ip=%E0%A4%A', `ip=${'1'.repeat(65)}`, 'tiles=2', 'theme=pink', 'color=x', 'color=a/b.c', 'classes=jenks&scheme=sea', '=', '&&&', 'at', '%', 'constructor=1']) {
    assert.deepEqual(parseState(`#5/45/12/${rest}`), NOTHING_OPEN, rest)
  }
  for (const polygon of ['1,2,3,4', '1,2,3,4,5', '1,2,3,4,5,91', '541,2,3,4,5,6', '1,2,3,4,5,6,', '1,2,3,4,5,1e1', 'NaN,2,3,4,5,6']) assert.deepEqual(parseState(`#5/45/12/polygon=${polygon}`), NOTHING_OPEN, polygon)
  for (const filter of ['points:Shops.x=1', 'points:shops.=1', 'shops.x=1', `points:shops.x=${'y'.repeat(257)}`]) assert.deepEqual(parseState(`#5/45/12/${filter}`), NOTHING_OPEN, filter)
  assert.equal(parseState(`#5/45/12/${Array.from({ length: 40 }, (_, i) => `points:a.p${i}=1`).join('&')}`).filters.length, 16)
  const long = Array.from({ length: 200 }, (_, i) => [i / 7, i / 11])
  assert.equal(formatState({ ...NOTHING_OPEN, polygon: long }), '', 'a long area is in no address')
  const drawn = Array.from({ length: 200 }, (_, i) => [-170.123456 - i / 100, -80.654321 + i / 10].map(value => Number(value.toFixed(6))))
  assert.deepEqual(parseState(`#5/45/12/${formatState({ ...NOTHING_OPEN, polygon: drawn })}`).polygon, drawn, 'as many corners as can be drawn')
  assert.deepEqual(parseState(''), NOTHING_OPEN)
  assert.deepEqual(parseState('#5/45/12/color=a.b&classes=%3Cb%3E&scheme=A').colours, { layer: 'a', property: 'b', classes: '', scheme: '' })
  assert.deepEqual(parseState('#5/45/12/tiles=1&tiles=0').tiles, true)
  assert.equal(parseState(`#1/2/3/layers=${'a,'.repeat(99)}`).layers.length, 32)
})

test('Back brings an area back that was closed in a step, wherever the map went since', () => {
  const entries = ['#5/45/12/polygon=1,2,3,4,5,6']
  let visit
  Object.assign(globalThis, {
    location: { get hash() { return entries.at(-1) } },
    history: { state: null, pushState: (state, title, hash) => entries.push(hash), replaceState: (state, title, hash) => entries.splice(-1, 1, hash) },
    addEventListener: (name, listener) => { visit = listener },
  })
  const permalink = createPermalink()
  let shown = null
  permalink.onVisit(({ polygon }) => { shown = polygon })
  permalink.startsAt({ zoom: 5, lat: 45, lon: 12 })
  permalink.set({ select: null, polygon: null }, { step: true })
  permalink.moved({ zoom: 6, lat: 45, lon: 12 })
  permalink.set({ select: null }, { step: true })
  assert.deepEqual([permalink.state.polygon, entries.length], [null, 2], 'what changes nothing is no step')
  entries.pop()
  visit()
  assert.deepEqual(shown, [[1, 2], [3, 4], [5, 6]])
})
