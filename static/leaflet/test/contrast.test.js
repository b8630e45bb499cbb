// Contrast as WCAG 2.2 defines it, of the tokens' colours that lie on each other, in every theme.
import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import test from 'node:test'
import table from '../src/names.json' with { type: 'json' }
import { themes } from '../src/tokens.js'
import { tokensCSS } from '../tokens-css.js'

// [r, g, b, a] from 0 to 1 of #rrggbb or #rrggbbaa.
function parse(hex) {
  assert.match(hex, /^#([0-9a-f]{6}|[0-9a-f]{8})$/, `${hex} is not written as #rrggbb or #rrggbbaa`)
  return [1, 3, 5, 7].map(at => at < hex.length ? parseInt(hex.slice(at, at + 2), 16) / 255 : 1)
}

const over = ([r, g, b, a], [R, G, B]) => [r * a + R * (1 - a), g * a + G * (1 - a), b * a + B * (1 - a), 1]

const linear = part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4

function luminance(colour) {
  const [r, g, b] = colour.map(linear)
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}

function contrast(one, other) {
  const [dark, bright] = [luminance(one), luminance(other)].sort((a, b) => a - b)
  return (bright + 0.05) / (dark + 0.05)
}

// How far apart two colours look: the distance in Björn Ottosson's OKLab, where 0.02 is just seen side by side.
function distance(one, other) {
  const [here, there] = [one, other].map(colour => {
    const [r, g, b] = colour.map(linear)
    const [l, m, s] = [0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b, 0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b,
      0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b].map(Math.cbrt)
    return [0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s, 1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
      0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s]
  })
  return Math.hypot(...here.map((part, i) => part - there[i]))
}

function atLeast(least, ink, back, what) {
  const ratio = contrast(ink, back)
  assert.ok(ratio >= least, `${what}: ${ratio.toFixed(2)}`)
}

test('the formulas give the known values', () => {
  assert.equal(contrast(parse('#ffffff'), parse('#000000')).toFixed(2), '21.00')
  assert.equal(contrast(parse('#777777'), parse('#ffffff')).toFixed(2), '4.48')
  assert.equal(distance(parse('#ffffff'), parse('#000000')).toFixed(3), '1.000')
})

for (const [name, { map, label, ui }] of Object.entries(themes)) {
  const lands = map.land.map(parse)
  // Water of the plain theme is whatever the map beneath shows.
  const waters = [map.water, map.lake].map(parse).filter(([, , , alpha]) => alpha === 1)
  const shaded = lands.flatMap(land => map.shade.map(shade => over([...parse(shade).slice(0, 3), map['shade-strength']], land)))
  const grounds = [...lands, ...shaded, parse(map.urban), ...waters]

  test(`${name}: names are legible on every land and water, with their halo and without`, () => {
    const { halo, ...inks } = label
    for (const [ink, colour] of Object.entries(inks)) {
      for (const ground of grounds) {
        atLeast(4.5, parse(colour), ground, `${ink} on ${ground}`)
        atLeast(4.5, parse(colour), over(parse(halo), ground), `${ink} on its halo`)
      }
    }
    for (const { ink } of Object.values(table.looks)) assert.ok(inks[ink], ink)
  })

  test(`${name}: lands are told apart from each other, from water and from what is missing`, () => {
    assert.equal(lands.length, 6)
    const neutral = ['light', 'dark'].includes(name) // whose land is one, for what is laid over it
    if (neutral) assert.deepEqual([...new Set(map.land), map['shade-strength']], [map.land[0], 0])
    const all = [...neutral ? lands.slice(0, 1) : lands, parse(map.missing), ...waters.slice(0, 1)].filter(([, , , alpha]) => alpha === 1)
    all.forEach((one, i) => all.slice(0, i).forEach((other, j) =>
      assert.ok(distance(one, other) >= 0.025, `${i} and ${j}: ${distance(one, other).toFixed(3)}`)))
  })

  test(`${name}: what is drawn, not written, stands out as it should`, () => {
    for (const land of [...lands, ...shaded]) {
      atLeast(3, parse(map.selection), land, 'the selection on land')
      atLeast(3, parse(map.dot), land, 'dots on land')
      assert.ok(contrast(parse(map.border.country), land) > contrast(parse(map.border.state), land), 'countries over states')
      if (name !== 'plain') atLeast(2, parse(map.coast), land, 'the coast')
      assert.ok(contrast(parse(map.border.state), land) > contrast(parse(map.border.county), land), 'states over counties')
    }
    for (const point of map.points) atLeast(4.5, parse(map['points-count']), parse(point), 'counts on clusters')
  })

  if (ui) test(`${name}: the interface's text is legible on everything it lies on`, () => {
    const backs = { ...Object.fromEntries(['solid', 'raised', 'hover', 'selection', 'code-back'].map(key => [key, parse(ui[key])])),
      ...Object.fromEntries(grounds.map((ground, i) => [`surface over ground ${i}`, over(parse(ui.surface), ground)])) }
    for (const ink of ['text', 'quiet', 'accent', 'problem', 'ok', 'code-text']) {
      for (const [what, back] of Object.entries(backs)) atLeast(4.5, parse(ui[ink]), back, `${ink} on ${what}`)
    }
    for (const [ink, back] of [['on-accent', 'accent'], ['problem', 'problem-back'], ['ok', 'ok-back'], ['code-text', 'code-back']]) {
      atLeast(4.5, parse(ui[ink]), parse(ui[back]), `${ink} on ${back}`)
    }
    for (const [what, back] of Object.entries(backs)) atLeast(3, parse(ui.focus), back, `the focus ring on ${what}`)
  })
}

test('style sheets name no colour of their own, and use only tokens that there are', async () => {
  const src = new URL('../src/', import.meta.url)
  const names = (await readdir(src, { recursive: true })).filter(name => name.endsWith('.css'))
  const sheets = (await Promise.all(names.map(name => readFile(new URL(name, src), 'utf8')))).join('\n')
  assert.doesNotMatch(sheets.replace(/url\([^)]*\)/g, ''), /#[0-9a-f]{3,8}\b(?=[^{]*;)|\b(rgb|hsl|oklch|oklab|color-mix)\(/i)
  const declared = css => [...css.matchAll(/(--[\w-]+):/g)].map(([, name]) => name)
  const known = new Set([...declared(sheets), ...declared(tokensCSS('light')), ...declared(tokensCSS('type'))])
  for (const [, used] of sheets.matchAll(/var\((--[\w-]+)\)/g)) assert.ok(known.has(used), `${used} is no token`)
  assert.deepEqual(declared(tokensCSS('dark')), declared(tokensCSS('light')))
})
