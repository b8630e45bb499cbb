// Words and figures for people. Everything here is a pure function of its arguments and the reader's languages.
import { displayText } from './text.js'
import { wantsMiles } from './units.js'
import { language, locale, nameLanguages, number, t } from './words.js'

const oneDecimal = new Intl.NumberFormat(locale, { maximumFractionDigits: 1 })
const unit = (name, digits = 0) => new Intl.NumberFormat(locale, { style: 'unit', unit: name, maximumFractionDigits: digits })
const metre = unit('meter')
const kilometre = unit('kilometer')
const shortKilometre = unit('kilometer', 1)
const [foot, mile, shortMile, acre] = [unit('foot'), unit('mile'), unit('mile', 1), unit('acre', 1)]
const FEET = 0.3048 // metres
const MILE = 5280 * FEET

/** A distance in metres as words: "here", "850 m", "1.2 km", "1,234 km", or in feet and miles. Empty for what is not a distance. */
export function distance(metres, miles = wantsMiles()) {
  if (!Number.isFinite(metres) || metres < 0) return ''
  if (metres < 1) return t('here')
  if (miles) return metres < MILE / 10 ? foot.format(metres / FEET) : (metres < 10 * MILE ? shortMile : mile).format(metres / MILE)
  if (metres < 995) return metre.format(metres < 100 ? Math.round(metres) : Math.round(metres / 10) * 10)
  const km = metres / 1000
  return km < 10 ? shortKilometre.format(km) : kilometre.format(Math.round(km))
}

/** A size in square metres as words: "850 m²", "1.2 km²", "41,285 km²", or in acres and square miles. Empty for what is none. */
export function landSize(metres, miles = wantsMiles()) {
  if (!(metres >= 0)) return ''
  const large = metres / (miles ? MILE * MILE : 1e6)
  if (large < 0.1) return miles ? acre.format(640 * large) : `${number.format(Math.round(metres))} m²`
  return `${large < 100 ? oneDecimal.format(large) : number.format(Math.round(large))} ${miles ? 'mi²' : 'km²'}`
}

/** A height above the sea in metres. Empty for what is none. */
export const landHeight = metres => Number.isFinite(metres) ? metre.format(Math.round(metres)) : ''

/** "47.377° N, 8.542° E", with as many decimals as asked for. */
export function coordinates(lat, lon, digits = 4) {
  const part = (value, positive, negative) => {
    const text = Math.abs(value).toFixed(digits)
    return `${text}° ${value < 0 && Number(text) !== 0 ? negative : positive}`
  }
  return `${part(lat, t('N'), t('S'))}, ${part(lon, t('E'), t('W'))}`
}

/** A population: "438 thousand" is harder to compare than "438,000", so plain figures. Empty when unknown or zero. */
export function population(count) {
  return Number.isFinite(count) && count > 0 ? number.format(count) : ''
}

const kinds = {
  PPLC: t('capital'), PPLA: t('regional capital'), PPLA2: t('district seat'), PPLA3: t('local seat'), PPLA4: t('local seat'),
  PPLA5: t('local seat'), PPLG: t('seat of government'), PPLX: t('part of a town'), PPLL: t('locality'), PPLF: t('farm village'),
  PPLH: t('former place'), PPLQ: t('abandoned place'), PPLW: t('destroyed place'), PPLS: t('places'), STLMT: t('settlement'),
  PRK: t('park'), AIRP: t('airport'), MT: t('mountain'), MTS: t('mountains'), PK: t('peak'), LK: t('lake'), STM: t('stream'), ISL: t('island'),
}
const classes = {
  A: t('administrative area'), H: t('water'), L: t('area'), P: t('town or village'), R: t('road or railway'), S: t('site'),
  T: t('landform'), U: t('undersea feature'), V: t('vegetation'),
}

/** The feature classes of GeoNames as a list of kinds to choose from, the most wanted first. */
export const featureClasses = {
  P: t('Towns and villages'), A: t('Administrative areas'), H: t('Water'), T: t('Mountains, islands, landforms'), L: t('Parks and areas'),
  S: t('Buildings and sites'), R: t('Roads and railways'), V: t('Forests and vegetation'), U: t('Undersea features'),
}

/** What kind of place a GeoNames class and code name: "capital", "lake", … */
export function placeKind(featureClass, code, people = 0) {
  if (Object.hasOwn(kinds, code ?? '')) return kinds[code]
  if (code === 'PPL' && people > 0) return people >= 100_000 ? t('city') : people >= 5_000 ? t('town') : t('village')
  return Object.hasOwn(classes, featureClass ?? '') ? classes[featureClass] : t('place')
}

const regionTypes = new Map([
  ['continent', t('Continent')], ['country', t('Country')], ['state', t('State')], ['county', t('County')], ['admin1', t('Division')], ['municipality', t('Municipality')],
  ['urban', t('Urban area')], ['lake', t('Lake')], ['timezone', t('Time zone')], ['marine', t('Sea')], ['river', t('River')], ['road', t('Road')], ['city', t('City')],
])

/** Whether a type of region is one of the usual ones, whose columns are those of well-known sources. */
export const isUsual = type => regionTypes.has(type)

const waters = new Map([
  ['ocean', t('Ocean')], ['gulf', t('Gulf')], ['bay', t('Bay')], ['bight', t('Bight')], ['strait', t('Strait')], ['channel', t('Channel')], ['sound', t('Sound')],
  ['fjord', t('Fjord')], ['lagoon', t('Lagoon')], ['basin', t('Basin')], ['inlet', t('Inlet')], ['reservoir', t('Reservoir')], ['alkaline lake', t('Salt lake')],
])

/** What a region is called by its type, or more exactly by the kind that sources of waters tell. */
export const regionKind = (type, kind) => waters.get(displayText(kind).toLowerCase()) ?? typeName(type)

/** What a type of region is called: that of the usual ones in the reader's language. */
export const typeName = type => regionTypes.get(type) ?? title(type)

/** What a type of region is called within a sentence; German writes its nouns with a capital. */
export const typeWord = type => language === 'de' ? typeName(type) : typeName(type).toLocaleLowerCase(locale)

/** A type or a property as people write it: "sales_territory" → "Sales territory". */
export function title(type) {
  const words = displayText(type).replace(/[_-]+/g, ' ').trim()
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** Text from outside as part of a sentence, whose direction it must not change (Unicode's isolates). */
export const isolated = text => `\u2068${displayText(text, 64)}\u2069`

const displayNames = type => new Intl.DisplayNames([...nameLanguages, 'en'], { type, fallback: 'none' })
const [countries, tongues, currencies] = ['region', 'language', 'currency'].map(displayNames)

// A code may be none that the browser takes.
function nameOf(names, code) {
  try {
    return names.of(code) ?? ''
  } catch {
    return ''
  }
}

/** The names of languages by their codes, such as de-CH, each once. */
export const languageNames = codes => [...new Set(codes.map(code => nameOf(tongues, displayText(code).split('-')[0])).filter(Boolean))].join(', ')

/** The name of a currency with its code. */
export const currencyName = code => [nameOf(currencies, code), displayText(code)].filter(Boolean).join(' · ')

/** The name of an ISO 3166-1 code in the reader's language; the code itself where the browser knows none. */
export function countryName(code) {
  const text = displayText(code, 8)
  if (!/^[A-Z]{2}$/.test(text)) return text
  return countries.of(text) ?? text
}

/**
 * The name of what a search found in three parts, the middle one what was typed: ["", "Zür", "ich"]. Where another of
 * its names was found, that stands behind its own, in parentheses. Positions count UTF-16 code units, as strings do here.
 */
export function marked(place) {
  const name = displayText(place.name)
  const { name: other, highlight } = place.match ?? {}
  const found = typeof other === 'string' ? other : place.name
  const [start, end] = Array.isArray(highlight) ? highlight : []
  const whole = other === undefined || other === place.name
  const fits = Number.isInteger(start) && Number.isInteger(end) && start >= 0 && start < end && end <= (found?.length ?? 0)
    && displayText(found) === found // else the positions are not those of what is shown
  if (!fits) return [whole ? name : `${name} (${displayText(found)})`, '', '']
  const parts = [found.slice(0, start), found.slice(start, end), found.slice(end)]
  return whole ? parts : [`${name} (${parts[0]}`, parts[1], `${parts[2]})`]
}

/**
 * The wall clock of an instant, milliseconds since 1970, in a time zone: { time, date, offset, name }, offset being seconds ahead of UTC and name
 * what people call the time there, or ''. Null for a zone that the browser does not know.
 */
export function wallClock(instant, zone) {
  try {
    const text = (options, language = locale) => new Intl.DateTimeFormat(language, { timeZone: zone, ...options })
    const zoneText = (style, language) => text({ timeZoneName: style }, language).formatToParts(instant).find(({ type }) => type === 'timeZoneName').value
    const [, sign, hours = 0, minutes = 0, seconds = 0] = /([+-])(\d+):(\d+)(?::(\d+))?/.exec(zoneText('longOffset', 'en')) ?? []
    const name = zoneText('long')
    return {
      time: text({ hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }).format(instant), date: text({ weekday: 'long', day: 'numeric', month: 'long' }).format(instant),
      offset: (sign === '-' ? -1 : 1) * (3600 * hours + 60 * minutes + Number(seconds)), name: /\d|^UTC$/.test(name) ? '' : name,
    }
  } catch {
    return null
  }
}

/** An offset from UTC in seconds: "UTC", "UTC+1", "UTC−3:30". */
export function utcOffset(seconds) {
  if (!Number.isFinite(seconds)) return ''
  const minutes = Math.round(Math.abs(seconds) / 60)
  if (minutes === 0) return 'UTC'
  const [hours, rest] = [Math.floor(minutes / 60), minutes % 60]
  return `UTC${seconds < 0 ? '−' : '+'}${hours}${rest ? `:${String(rest).padStart(2, '0')}` : ''}`
}

/** How the time zone of a point is known: "as at the nearest airport, 720 km away". Empty when a map of time zones says it. */
export function zoneBasis({ source, nautical, distance_m: metres }) {
  if (nautical) return t('by longitude, as ships reckon')
  if (source === 'longitude') return t('by longitude, in no zone')
  if (source === 'country') return t('the only zone of the country')
  if (source !== 'airport' && source !== 'place') return ''
  const far = distance(metres)
  if (!far || metres < 1) return source === 'airport' ? t('as at the nearest airport') : t('as at the nearest place')
  return source === 'airport' ? t('as at the nearest airport, {distance} away', { distance: far }) : t('as at the nearest place, {distance} away', { distance: far })
}

/**
 * A function that writes numbers that stand together with as many digits, three at least, as tell them apart: 2.95 and 1,253, or
 * 1.2M and 3.4M. digits is how many a number has at least.
 */
export function amounts(list, digits = 3) {
  const range = Math.max(...list) - Math.min(...list)
  const short = range >= 1e6 && { notation: 'compact', maximumSignificantDigits: digits }
  const after = size => size > 0 ? Math.min(15, Math.max(0, digits - 1 - Math.floor(Math.log10(size)))) : 0
  return value => new Intl.NumberFormat(language === 'en' ? 'en' : locale, {
    useGrouping: 'min2', ...short || { maximumFractionDigits: Math.max(after(range), after(Math.abs(value))) },
  }).format(value).replace('-', '−')
}

/** A size: "612 B", "4.4 kB", "1.2 MB", in powers of a thousand. Empty for what is no size. */
export function bytes(count) {
  if (!Number.isFinite(count) || count < 0) return ''
  if (count < 1000) return `${Math.round(count)} B`
  return count < 999_950 ? `${oneDecimal.format(count / 1000)} kB` : `${oneDecimal.format(count / 1e6)} MB`
}

/** A duration in milliseconds: "0.4 ms", "12 ms", "1.2 s". Empty for what is none. */
export function duration(ms) {
  if (!Number.isFinite(ms) || ms < 0) return ''
  if (ms < 999.5) return `${ms < 10 ? oneDecimal.format(ms) : Math.round(ms)} ms`
  return `${oneDecimal.format(ms / 1000)} s`
}
