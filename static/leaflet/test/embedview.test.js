import assert from 'node:assert/strict'
import test from 'node:test'
import { embedView, viewOf } from '../src/embedview.js'
import { MAX_LATITUDE } from '../src/hash.js'
import { embedOf, frameOf } from '../src/panels/share.js'

const limits = { minZoom: 1, maxZoom: 18 }
const NOTHING = { center: null, marker: null, zoom: null, layers: null, colours: null, filters: [], fit: '', popup: null, title: '', theme: '' }

test('what an embedded map is asked for', () => {
  assert.deepEqual(embedView('?center=47.4,-8.5&zoom=7.25&marker=-47,8&layers=country,points:a b&color=points:a-b.net.sales&classes=jenks:7&scheme=sea&theme=dark&lang=de&fit=country:fr&title=A%20%20b&popup=%7Bname%7D: %7Bprice%7D €&points:shops.category=cafe%26&points:Shops.x=1&points:shops.=1', limits), {
    center: { lat: 47.4, lon: -8.5 }, marker: { lat: -47, lon: 8 }, zoom: 7.25, layers: ['country', 'points:a b'],
    colours: { layer: 'points:a-b', property: 'net.sales', classes: 'jenks:7', scheme: 'sea' }, filters: [['points:shops.category', 'cafe&']],
    fit: 'country:fr', popup: '{name}: {price} €', title: 'A b', theme: 'dark',
  })
  assert.deepEqual(embedView('', limits), NOTHING)
  assert.deepEqual(embedView('?fit=170,-20,-170,10', limits).fit, [170, -20, -170, 10])
})

test('what is out of bounds is brought back', () => {
  assert.equal(embedView('?zoom=99', limits).zoom, 18)
  assert.equal(embedView('?zoom=0', limits).zoom, 1)
  assert.deepEqual(embedView('?center=90,190', limits).center, { lat: MAX_LATITUDE, lon: -170 })
  assert.equal(embedView(`?layers=${'a,'.repeat(500)}`, limits).layers.length, 32)
})

test('what is not valid counts as not there', () => {
  for (const query of ['center=', 'center=91,0', 'center=1', 'center=1,2,3', 'center=x,y', 'center=1e3,2', 'center=NaN,NaN', 'center=<b>,1', 'marker=Infinity,0',
    'marker=1,2;3', 'zoom=', 'zoom=-1', 'zoom=1e1', 'zoom=five', 'zoom=100', 'layers=', 'layers=,,', 'color=county', 'color=.x', 'color=county.', 'color=a/b.c', 'classes=jenks', 'scheme=blue', 'theme=plain', 'theme=', 'theme=constructor', 'fit=1,2,3', 'fit=,,,', 'fit=1,5,2,4', 'fit=x,1,2,3', 'fit=', 'title=', '%', '%E0%A4%A=1', 'x=1']) {
    assert.deepEqual(embedView(`?${query}`, limits), NOTHING, query)
  }
})

test('what the map tells of its view can be asked for', () => {
  const told = (zoom, lat, lng, west, east) => viewOf({ getZoom: () => zoom, getCenter: () => ({ lat, lng }),
    getBounds: () => ({ getWest: () => west, getSouth: () => -10.00000001, getEast: () => east, getNorth: () => 1e-7 }) })
  const view = told(4.653792436175079, 1e-7, 361.00000012, 350, 372)
  assert.deepEqual(view, { center: [0, 1], zoom: 4.653792, bounds: [-10, -10, 12, 0] })
  const { center, zoom, fit } = embedView(`?center=${view.center}&zoom=${view.zoom}&fit=${view.bounds}`, limits)
  assert.deepEqual({ center, zoom, fit }, { center: { lat: 0, lon: 1 }, zoom: view.zoom, fit: view.bounds })
  assert.deepEqual(told(1, 0, 12, -200, 224).bounds, [-180, -10, 180, 0])
})

test('the line that embeds a map asks for what it shows', () => {
  const src = markup => new URL(/src="([^"]+)"/.exec(markup)[1].replaceAll('&amp;', '&'))
  const point = src(embedOf({ lat: 47.4, lon: -8.5 }, 9, 'https://maps.example/below/'))
  assert.equal(point.pathname, '/below/embed')
  assert.deepEqual(embedView(point.search, limits), { ...NOTHING, center: { lat: 47.4, lon: -8.5 }, zoom: 9, marker: { lat: 47.4, lon: -8.5 } })
  const sized = frameOf({}, 'https://maps.example/', { width: '100%', height: '9"', title: '"><script>&' })
  assert.match(sized, /embed" width="100%" height="9&quot;" style="border:0" title="&quot;>&lt;script>&amp;" /)
  const hostile = frameOf({ center: '1,2', zoom: '3', layers: 'a"><script>,b' }, 'https://maps.example/')
  assert.ok(!hostile.includes('<script>'))
  assert.deepEqual(embedView(src(hostile).search, limits).layers, ['a"><script>', 'b'])
})
