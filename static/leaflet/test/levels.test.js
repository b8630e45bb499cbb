import assert from 'node:assert/strict'
import test from 'node:test'
import './document.js'

const { bearing, distanceAndWind, wind } = await import('../src/panels/bearing.js')
const { devicePosition } = await import('../src/panels/device.js')
const { called, labelsOf, levels, usualLevel } = await import('../src/panels/levels.js')
const { curlOf, embedOf, javascriptOf, shareLink, takeAlong } = await import('../src/panels/share.js')

const country = { type: 'country', id: 'us', name: 'United States of America' }
const county = { type: 'county', id: '20159', name: 'Rice' }
const zone = { type: 'timezone', id: 'america-chicago', name: 'America/Chicago' }
const labels = labelsOf({ results: [
  { kind: 'place', type: 'P.PPL', id: '20159', label: 'Lyons, Kansas' },
  { kind: 'region', type: 'county', id: '20159', label: 'Rice County, Kansas, United States of America', parents: [{ name: 'Kansas' }, { name: 'United States of America' }] },
  { kind: 'region', type: 'country', id: 'us', label: 'United States of America' }, null,
] })

test('regions are called as people call them', () => {
  assert.deepEqual(called(county, labels(county)), { title: 'Rice County, Kansas', around: 'United States of America' })
  assert.deepEqual(called(country, labels(country)), { title: 'United States of America', around: '' })
  assert.deepEqual(called(county, undefined), { title: 'Rice', around: '' }, 'a server without a search')
  assert.deepEqual(called({ id: 'x', name: 'X' }, { label: 'X, Y', parents: [{ name: 'Z' }] }), { title: 'X, Y', around: '' }, 'a label that ends otherwise')
  assert.deepEqual(called({ id: 'x' }, { label: {}, parents: 7 }), { title: 'x', around: '' })
  assert.equal(labelsOf(null)(county), undefined)
  assert.deepEqual(called({ type: 'gebiet', id: 'de-44' }, { label: 'Kansas, United States' }), { title: 'de-44', around: 'Kansas, United States' }, 'nameless')
  assert.equal(called({ type: 'river', id: '1' }, undefined).title, 'Without a name', 'a number is no name')
})

test('a point is called by the region that is drawn, else by the finest, hardly by its time zone', () => {
  assert.equal(usualLevel([country, county, zone], country), country)
  assert.equal(usualLevel([country, county, zone], null), county)
  assert.equal(usualLevel([zone], null), zone)
  assert.equal(usualLevel([], null), null)
})

test('levels are chosen by buttons, and the chosen one is pressed', () => {
  let chosen = null
  const list = levels([zone, county, country], [{ type: 'country' }, { type: 'county' }, { type: 'timezone' }], { chosen: county, choose: region => { chosen = region } })
  const buttons = list.all.filter(({ tagName }) => tagName === 'button')
  assert.deepEqual(buttons.map(button => [button.textContent, button.attributes.get('aria-pressed')]), [['United States of Americaus', 'false'], ['Rice20159', 'true']])
  buttons[0].listeners.click()
  assert.equal(chosen, country)
  assert.equal(levels([{ type: 'gebiet', id: 'de-44' }], [], {}).textContent, 'Gebietde-44', 'an id in the place of a name stands once')
  assert.equal(levels([country, zone], [], { chosen: country }).all.filter(({ tagName }) => tagName === 'button').length, 0, 'one level is no choice')
})

test('bearings along great circles', () => {
  const at = (lat, lon, metres = 1000) => ({ lat, lon, distance_m: metres })
  for (const [from, to, want] of [
    [at(0, 0), at(1, 0), 0], [at(0, 0), at(0, 1), 90], [at(0, 0), at(-1, 0), 180], [at(0, 0), at(0, -1), 270],
    [at(0, 179), at(0, -179), 90], [at(89, 0), at(89, 180), 0], [at(-89, 0), at(-89, 180), 180],
    [at(51.5074, -0.1278), at(40.7128, -74.006), 288.33], // London to New York
  ]) assert.ok(Math.abs(bearing(from, to) - want) < 0.01, `${bearing(from, to)} for ${want}`)
  assert.deepEqual([0, 22.4, 22.6, 90, 337.4, 337.6, 359.9].map(wind), ['N', 'N', 'NE', 'E', 'NW', 'N', 'N'])
  assert.equal(distanceAndWind(at(0, 0), at(1, 1, 157_000)), '157 km NE')
  assert.equal(distanceAndWind(at(0, 0), at(0, 0, 3)), '3 m', 'so near, a direction says nothing')
  assert.equal(distanceAndWind(at(0, 0), at(0, 0, NaN)), '')
})

test('what is taken along works as pasted', () => {
  assert.equal(curlOf("http://h/a?b='c'&d"), "curl 'http://h/a?b='\\''c'\\''&d'")
  assert.equal(javascriptOf('http://h/"'), 'const answer = await (await fetch("http://h/\\"")).json()')
  assert.equal(embedOf({ lat: 1.5, lon: -2 }, 7, 'http://h/maps/'),
    '<iframe src="http://h/maps/embed?center=1.5%2C-2&amp;zoom=7&amp;marker=1.5%2C-2" width="600" height="400" style="border:0" title="Map" loading="lazy"></iframe>')
  const faces = (...what) => takeAlong(...what).flatMap(node => node.all).filter(({ tagName }) => tagName === 'button' || tagName === 'a').map(node => node.textContent)
  assert.deepEqual(faces({ title: 'x', path: 'at?lat=1', at: { lat: 1, lon: 2 }, announce() {} }), ['Share', 'Coordinates', 'Link', 'curl', 'JavaScript', 'Embed', 'JSON'])
  assert.deepEqual(faces({ title: 'x', path: '', at: null, announce() {} }), ['Share', 'Link'])
})

test('what cannot be shared is copied, unless the reader thought better of it', async context => {
  const { navigator } = globalThis
  context.after(() => Object.defineProperty(globalThis, 'navigator', { value: navigator, configurable: true }))
  context.after(() => delete globalThis.location)
  globalThis.location = { href: 'http://h/#1' }
  for (const [share, want] of [[undefined, ['http://h/#1', 'Link copied']], [async () => {}, []], [async () => { throw new DOMException('', 'AbortError') }, []], [async () => { throw new DOMException('', 'NotAllowedError') }, ['http://h/#1', 'Link copied']]]) {
    const told = []
    Object.defineProperty(globalThis, 'navigator', { value: { share, clipboard: { writeText: async text => told.push(text) } }, configurable: true })
    await shareLink('x', words => told.push(words))
    assert.deepEqual(told, want)
  }
})

test('a device says where it is, or nothing', async () => {
  assert.equal(await devicePosition(undefined), null)
  assert.equal(await devicePosition({ getCurrentPosition: (_, refuse) => refuse(new Error('denied')) }), null)
  assert.equal(await devicePosition({ getCurrentPosition: found => found({ coords: { latitude: NaN, longitude: 2 } }) }), null)
  assert.deepEqual(await devicePosition({ getCurrentPosition: found => found({ coords: { latitude: 1, longitude: 2, accuracy: 30 } }) }), { lat: 1, lon: 2, accuracy: 30 })
})
