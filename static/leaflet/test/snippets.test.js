import './document.js'
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import test from 'node:test'
import { snippets } from '../src/panels/snippets.js'
import { next } from '../src/panels/tabs.js'

const view = { base: 'https://maps.example/below/', lat: 47.4, lon: 8.5, zoom: 6, layers: ['country', 'points:shops'], theme: 'dark' }
const texts = of => Object.fromEntries(snippets(of).map(({ id, text }) => [id, text]))

test('snippets have the view, the layers and the address of the service', () => {
  const all = texts(view)
  assert.deepEqual(Object.keys(all), ['maplibre', 'leaflet-vector', 'leaflet-png', 'openlayers', 'qgis', 'iframe'])
  for (const [id, text] of Object.entries(all)) assert.match(text, /https:\/\/maps\.example\/below\/(style|tiles|embed)/, id)
  assert.match(all.maplibre, /style: 'https:\/\/maps\.example\/below\/style\.json\?layers=country,points:shops&theme=dark',\n +center: \[8\.5, 47\.4\],\n +zoom: 5,/)
  assert.match(all['leaflet-vector'], /setView\(\[47\.4, 8\.5\], 6\)/)
  assert.match(all['leaflet-png'], /below\/tiles\/country,points:shops\.png\.json\?theme=dark'/)
  assert.match(all.openlayers, /fromLonLat\(\[8\.5, 47\.4\]\), zoom: 6/)
  assert.match(all.qgis, /^Source URL: https:\/\/maps\.example\/below\/tiles\/country,points:shops\/\{z\}\/\{x\}\/\{y\}\.mvt$/m)
  assert.match(all.iframe, /embed\?center=47\.4%2C8\.5&amp;zoom=6&amp;layers=country%2Cpoints%3Ashops%2Cneutral&amp;theme=dark"/)
})

test('snippets have the colours of a column where their program can draw them', () => {
  const all = texts({ ...view, colours: { layer: 'country', property: 'a & b', classes: 'jenks:7', scheme: '' } })
  for (const id of ['maplibre', 'leaflet-vector', 'qgis']) assert.match(all[id], /style\.json\?layers=country,points:shops&color=country\.a%20%26%20b&classes=jenks%3A7&theme=dark/, id)
  assert.match(all.iframe, /&amp;color=country\.a\+%26\+b&amp;classes=jenks%3A7&amp;theme=dark/)
})

test('snippets have the filters of collections', () => {
  const all = texts({ ...view, filters: [['points:shops.category', "cafe & 'bar'"]] })
  for (const [id, text] of Object.entries(all)) assert.match(text, id === 'iframe' ? /&amp;points%3Ashops\.category=cafe\+%26\+%27bar%27/ : /[?&]points:shops\.category=cafe%20%26%20'bar'/, id)
})

test('a map without layers is one of all', () => {
  assert.match(texts({ ...view, layers: [] }).maplibre, /layers=all&/)
})

test('names of layers end no script and no string', () => {
  for (const text of Object.values(texts({ ...view, layers: ["</script><b>'", '"`${x}\\'] }))) {
    assert.doesNotMatch(text, /<\/script><b>/)
    assert.ok(!text.includes('${x}'), text)
  }
})

test('the versions are those of the libraries that the pages are tried with', async () => {
  const { dependencies } = JSON.parse(await readFile(new URL('../../../cmd/tileserver/internal/clienttest/testdata/clients/package.json', import.meta.url)))
  const asked = Object.values(texts(view)).flatMap(text => [...text.matchAll(/unpkg\.com\/((?:@[\w-]+\/)?[\w.-]+)@([\d.]+)\//g)])
  assert.ok(asked.length >= 8)
  for (const [, name, version] of asked) assert.equal(version, dependencies[name], name)
})

test('arrows walk the tabs around, as they are written', () => {
  assert.equal(next({ key: 'ArrowRight' }, 5, 6, false), 0)
  assert.equal(next({ key: 'ArrowRight' }, 0, 6, true), 5)
  assert.equal(next({ key: 'ArrowLeft' }, 0, 6, false), 5)
  assert.deepEqual(['Home', 'End', 'Tab'].map(key => next({ key }, 3, 6, false)), [0, 5, null])
})
