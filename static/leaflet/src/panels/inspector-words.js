// What a tile cost, in words.
import { bytes, duration } from '../words/format.js'
import { t } from '../words/words.js'

const caches = { hit: t('cached'), 304: '304', miss: t('fetched') }
const short = { hit: 'hit', 304: '304', miss: '' }

/** What one request cost: size as sent, and unpacked where that is more, time, coding and which cache answered. */
export function costOf(entry) {
  if (entry?.ms === undefined) return t('not asked for yet')
  const { sent, unpacked, ms, coding, cache } = entry
  const size = unpacked > sent ? t('{sent} of {unpacked}', { sent: bytes(sent), unpacked: bytes(unpacked) }) : bytes(sent)
  return [size, duration(ms), coding || 'identity', caches[cache]].filter(Boolean).join(' · ')
}

/** One line for the requests of a tile: bytes together, the longest wait, and what the first says of coding and cache. */
export function summary(entries) {
  const known = entries.filter(entry => entry?.ms !== undefined)
  if (known.length === 0) return ''
  const sum = known.reduce((total, { sent = 0 }) => total + sent, 0)
  const [first] = known
  return [bytes(sum), duration(Math.max(...known.map(({ ms }) => ms))), first.coding, short[first.cache]].filter(Boolean).join(' · ')
}
