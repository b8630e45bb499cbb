import assert from 'node:assert/strict'
import test from 'node:test'
import { accuracyOf, reservedOf } from '../src/panels/address.js'
import { nameOfPlace } from '../src/panels/found.js'
import './document.js'
import { bytes, currencyName, duration, languageNames, regionKind, utcOffset, wallClock } from '../src/words/format.js'
import { ticking } from '../src/panels/clock.js'
import { askedLanguage, nameIn, wellFormed } from '../src/words/language.js'
import { isShortcut } from '../src/panels/shortcuts.js'
import { quadkey } from '../src/engine/tilegrid.js'

test('wall clocks and offsets', () => {
  const noon = Date.UTC(2026, 10, 21, 12)
  assert.deepEqual(wallClock(noon, 'Europe/Zurich'), { time: '13:00', date: 'Saturday 21 November', offset: 3600, name: 'Central European Standard Time' })
  assert.deepEqual(wallClock(noon, 'Etc/GMT+12'), { time: '00:00', date: 'Saturday 21 November', offset: -43200, name: '' })
  assert.equal(wallClock(noon, 'America/St_Johns').offset, -12600)
  assert.equal(wallClock(NaN, 'UTC'), null)
  assert.equal(wallClock(noon, 'Mars/Olympus'), null)
  for (const [seconds, want] of [[0, 'UTC'], [3600, 'UTC+1'], [-12600, 'UTC−3:30'], [20700, 'UTC+5:45'], [undefined, '']]) {
    assert.equal(utcOffset(seconds), want)
  }
})

test('a clock elsewhere ticks each minute, by the time of the server', context => {
  const noon = Date.UTC(2026, 10, 21, 12)
  context.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: noon + 5000 })
  const clock = ticking('Asia/Kathmandu', noon + 1000 + 30_000) // the device is half a minute late
  clock.isConnected = true
  assert.equal(clock.textContent, '17:45Saturday 21 November')
  context.mock.timers.tick(28_000)
  assert.equal(clock.childNodes[0].textContent, '17:45')
  context.mock.timers.tick(1000)
  assert.equal(clock.childNodes[0].textContent, '17:46')
  clock.isConnected = false
  context.mock.timers.tick(120_000)
  assert.equal(clock.childNodes[0].textContent, '17:46', 'off the page it stands')
})

test('languages and currencies have names, and codes that are none are left out', () => {
  assert.equal(languageNames(['de-CH', 'de-AT', 'rm', 'x y', 'zxxxx']), 'German, Romansh')
  assert.equal(currencyName('CHF'), 'Swiss Franc · CHF')
  assert.equal(currencyName('nonsense'), 'nonsense')
})

test('waters are called by their kind, whatever the case', () => {
  assert.deepEqual([regionKind('marine', 'gulf'), regionKind('lake', 'Reservoir'), regionKind('marine', 'generic'), regionKind('sales_area', 'shop'), regionKind('country')], ['Gulf', 'Reservoir', 'Sea', 'Sales area', 'Country'])
})

test('sizes and durations', () => {
  for (const [count, want] of [[0, '0 B'], [999, '999 B'], [4382, '4.4 kB'], [999_949, '999.9 kB'], [999_950, '1 MB'], [1.25e6, '1.3 MB'], [-1, ''], [undefined, '']]) {
    assert.equal(bytes(count), want)
  }
  for (const [ms, want] of [[0, '0 ms'], [0.42, '0.4 ms'], [12.4, '12 ms'], [1234, '1.2 s'], [NaN, '']]) assert.equal(duration(ms), want)
})

test('quadkeys of known tiles', () => {
  assert.equal(quadkey({ z: 0, x: 0, y: 0 }), '')
  assert.equal(quadkey({ z: 3, x: 3, y: 5 }), '213')
  assert.equal(quadkey({ z: 6, x: 33, y: 22 }), '120221')
  // Against the definition by bits, at every zoom.
  for (let z = 1; z <= 30; z++) {
    const [x, y] = [2 ** z - 1, Math.floor(2 ** z / 3)]
    const bits = value => value.toString(2).padStart(z, '0')
    assert.equal(quadkey({ z, x, y }), [...bits(x)].map((bit, i) => Number(bit) + 2 * Number(bits(y)[i])).join(''))
  }
})

test('reserved addresses in honest words', () => {
  const detail = '127.0.0.1 is in 127.0.0.0/8 (Loopback, RFC 1122), which is nowhere in particular; ask for a public address.'
  assert.deepEqual(reservedOf({ type: 'address-reserved', detail }), { ip: '127.0.0.1', use: 'Loopback', why: detail })
  assert.deepEqual(reservedOf({ type: 'address-reserved', detail: '::1 is in ::1/128 (Loopback Address, RFC 4291), which' }).use, 'Loopback Address')
  assert.deepEqual(reservedOf({ type: 'address-reserved' }), { ip: '', use: 'Reserved', why: '' })
  assert.equal(reservedOf({ type: 'address-not-found', detail }), null)
})

test('accuracy is a radius on Earth, or none', () => {
  for (const [radius, want] of [[5, 5], [0, 0], [-1, 0], ['5', 0], [1e9, 0], [NaN, 0]]) {
    assert.equal(accuracyOf({ location: { accuracy_radius: radius } }), want)
  }
  assert.equal(accuracyOf({}), 0)
})

test('names come in the language of the reader, else English', () => {
  const names = { en: 'Vienna', de: 'Wien', 'pt-BR': 'Viena' }
  assert.equal(nameIn(names, ['de-AT', 'fr']), 'Wien')
  assert.equal(nameIn(names, ['pt-BR']), 'Viena')
  assert.equal(nameIn(names, ['fr', 'ja']), 'Vienna')
  assert.equal(nameIn({ fr: 'Vienne' }, ['ja']), '')
  assert.equal(nameIn(undefined, ['de']), '')
  assert.equal(nameIn({ en: 5 }, ['constructor']), '')
  assert.deepEqual(wellFormed(['de-CH', 'x y', '<b>', 5]), ['de-CH'])
  assert.deepEqual(wellFormed(undefined), ['en'])
  assert.deepEqual([['de-CH'], ['en-GB', 'de'], ['fr'], ['de-Latn-CH-1901-x']].map(askedLanguage), ['de-CH', 'en', 'fr', 'de'])
})

test('what a permalink calls a place', () => {
  assert.deepEqual(nameOfPlace({ id: 2657896 }), { kind: 'place', id: '2657896' })
  assert.deepEqual(nameOfPlace({ kind: 'airport', iata: 'ZRH', icao: 'LSZH' }), { kind: 'airport', code: 'ZRH' })
  assert.deepEqual(nameOfPlace({ kind: 'airport', iata: '', icao: 'LSZH' }), { kind: 'airport', code: 'LSZH' })
  assert.equal(nameOfPlace({ kind: 'airport', iata: '../x' }), null)
  assert.equal(nameOfPlace({ id: '5' }), null)
})

test('keys are shortcuts unless someone types or means the browser', () => {
  assert.ok(isShortcut({ key: 'g', target: { tagName: 'BODY' } }))
  assert.ok(isShortcut({ key: 'g', target: { tagName: 'INPUT', type: 'checkbox' } }))
  for (const event of [{ ctrlKey: true }, { metaKey: true }, { altKey: true }, { isComposing: true }, { defaultPrevented: true },
    { target: { tagName: 'INPUT', type: 'text' } }, { target: { tagName: 'SELECT' } }, { target: { isContentEditable: true } }]) {
    assert.ok(!isShortcut(event), JSON.stringify(event))
  }
})
