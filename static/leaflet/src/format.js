// Words and figures for people. Everything here is a pure function of its arguments.

const number = new Intl.NumberFormat('en')
const oneDecimal = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })

/** A distance in metres as words: "here", "850 m", "1.2 km", "1,234 km". Empty for what is not a distance. */
export function distance(metres) {
  if (!Number.isFinite(metres) || metres < 0) return ''
  if (metres < 1) return 'here'
  if (metres < 995) return `${number.format(metres < 100 ? Math.round(metres) : Math.round(metres / 10) * 10)} m`
  const km = metres / 1000
  return `${km < 10 ? oneDecimal.format(km) : number.format(Math.round(km))} km`
}

/** "47.377° N, 8.542° E", with as many decimals as asked for. */
export function coordinates(lat, lon, digits = 4) {
  const part = (value, positive, negative) => {
    const text = Math.abs(value).toFixed(digits)
    return `${text}° ${value < 0 && Number(text) !== 0 ? negative : positive}`
  }
  return `${part(lat, 'N', 'S')}, ${part(lon, 'E', 'W')}`
}

/** A population: "438 thousand" is harder to compare than "438,000", so plain figures. Empty when unknown or zero. */
export function population(count) {
  return Number.isFinite(count) && count > 0 ? number.format(count) : ''
}

const kinds = {
  PPLC: 'capital', PPLA: 'regional capital', PPLA2: 'district seat', PPLA3: 'local seat', PPLA4: 'local seat',
  PPLA5: 'local seat', PPLG: 'seat of government', PPLX: 'part of a town', PPLL: 'locality', PPLF: 'farm village',
  PPLH: 'former place', PPLQ: 'abandoned place', PPLW: 'destroyed place', PPLS: 'places', STLMT: 'settlement',
  PRK: 'park', AIRP: 'airport', MT: 'mountain', MTS: 'mountains', PK: 'peak', LK: 'lake', STM: 'stream', ISL: 'island',
}
const classes = {
  A: 'administrative area', H: 'water', L: 'area', P: 'town or village', R: 'road or railway', S: 'site',
  T: 'landform', U: 'undersea feature', V: 'vegetation',
}

/** What kind of place a GeoNames class and code name: "capital", "lake", … */
export function placeKind(featureClass, code, people = 0) {
  if (Object.hasOwn(kinds, code ?? '')) return kinds[code]
  if (code === 'PPL' && people > 0) return people >= 100_000 ? 'city' : people >= 5_000 ? 'town' : 'village'
  return Object.hasOwn(classes, featureClass ?? '') ? classes[featureClass] : 'place'
}

/** A region type as people write it: "sales_territory" → "Sales territory". */
export function title(type) {
  const words = displayText(type).replace(/[_-]+/g, ' ').trim()
  return words.charAt(0).toUpperCase() + words.slice(1)
}

// Format characters that reorder or hide neighbouring text, beside the control characters: bidirectional overrides and
// isolates, zero-width spaces, the byte order mark. Joiners (U+200C, U+200D) stay: several scripts spell with them.
const unseen = /[\p{Cc}\u200B\u200E\u200F\u2028-\u202E\u2060-\u2069\uFEFF]+/gu

/** Text from outside made fit for one line: control and reordering characters out, blanks joined, length bounded. */
export function displayText(value, limit = 200) {
  if (typeof value !== 'string' && typeof value !== 'number') return ''
  const text = String(value).slice(0, limit * 8).replace(unseen, ' ').replace(/\s+/g, ' ').trim()
  const characters = Array.from(text)
  return characters.length <= limit ? text : `${characters.slice(0, limit - 1).join('')}…`
}
