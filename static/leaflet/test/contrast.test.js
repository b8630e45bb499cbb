// Contrast as WCAG 2.2 defines it, of the colours that lie on each other, in both themes.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import test from 'node:test'
import { regionColour } from '../src/colour.js'

const sheet = async name => readFile(new URL(`../src/${name}.css`, import.meta.url), 'utf8')

// The custom properties of a sheet's first :root.
function properties(css) {
  const block = css.slice(css.indexOf(':root {'), css.indexOf('}'))
  return Object.fromEntries([...block.matchAll(/--([\w-]+):\s*([^;]+);/g)].map(([, name, value]) => [name, value.trim()]))
}

const light = properties(await sheet('base'))
const themes = { light, dark: { ...light, ...properties(await sheet('dark')) } }

// [r, g, b, a] from 0 to 1 of #rgb, #rgba, #rrggbb or #rrggbbaa.
function parse(hex) {
  const digits = hex.slice(1)
  const full = digits.length <= 4 ? [...digits].map(digit => digit + digit).join('') : digits
  assert.match(full, /^([0-9a-f]{6}|[0-9a-f]{8})$/i, hex)
  return [0, 2, 4, 6].map(at => at < full.length ? parseInt(full.slice(at, at + 2), 16) / 255 : 1)
}

// Björn Ottosson's OKLab to sRGB, clipped.
function fromOklab(text) {
  const [L, a, b] = text.match(/-?[\d.]+/g).map(Number)
  const [l, m, s] = [L + 0.3963377774 * a + 0.2158037573 * b, L - 0.1055613458 * a - 0.0638541728 * b, L - 0.0894841775 * a - 1.291485548 * b]
    .map(part => part ** 3)
  return [4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s, -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s]
    .map(part => Math.min(1, Math.max(0, part <= 0.0031308 ? 12.92 * part : 1.055 * part ** (1 / 2.4) - 0.055))).concat(1)
}

const over = ([r, g, b, a], [R, G, B]) => [r * a + R * (1 - a), g * a + G * (1 - a), b * a + B * (1 - a), 1]

function luminance(colour) {
  const [r, g, b] = colour.map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}

function contrast(one, other) {
  const [dark, bright] = [luminance(one), luminance(other)].sort((a, b) => a - b)
  return (bright + 0.05) / (dark + 0.05)
}

test('the formula gives the known ratios', () => {
  assert.equal(contrast(parse('#fff'), parse('#000')).toFixed(2), '21.00')
  assert.equal(contrast(parse('#777'), parse('#fff')).toFixed(2), '4.48')
  assert.deepEqual(fromOklab('oklab(1 0 0)').map(part => Math.round(part * 255)), [255, 255, 255, 255])
})

for (const [name, theme] of Object.entries(themes)) {
  const colour = key => parse(theme[key])
  const lands = Array.from({ length: 200 }, (_, i) => fromOklab(regionColour(`region-${i}`, {
    lightness: Number(theme['map-land-lightness']), chroma: Number(theme['map-land-chroma']), step: Number(theme['map-land-step']),
    cast: theme['map-land-cast'].split(/\s+/).map(Number),
  })))
  const backs = { solid: colour('solid'), raised: colour('raised'), 'surface over water': over(colour('surface'), colour('map-water')),
    ...Object.fromEntries(lands.slice(0, 20).map((land, i) => [`surface over land ${i}`, over(colour('surface'), land)])) }

  test(`${name}: text is legible on everything it lies on`, () => {
    for (const ink of ['text', 'quiet', 'accent']) {
      for (const [what, back] of Object.entries(backs)) {
        const ratio = contrast(colour(ink), back)
        assert.ok(ratio >= 4.5, `${ink} on ${what}: ${ratio.toFixed(2)}`)
      }
    }
    for (const [ink, back] of [['on-accent', 'accent'], ['problem', 'problem-back']]) {
      const ratio = contrast(colour(ink), colour(back))
      assert.ok(ratio >= 4.5, `${ink} on ${back}: ${ratio.toFixed(2)}`)
    }
  })

  test(`${name}: names are legible on the halo around them and on every land`, () => {
    for (const ink of ['ink', 'ink-quiet', 'ink-region', 'ink-part']) {
      for (const land of lands) {
        const ratio = Math.max(contrast(colour(ink), over(colour('halo'), land)), 0)
        assert.ok(ratio >= 4.5, `${ink} on its halo: ${ratio.toFixed(2)}`)
        const bare = contrast(colour(ink), land)
        assert.ok(bare >= 3, `${ink} on bare land: ${bare.toFixed(2)}`)
      }
    }
    const water = contrast(colour('ink-water'), colour('map-water'))
    assert.ok(water >= 4.5, `ink-water on water: ${water.toFixed(2)}`)
  })

  test(`${name}: what is drawn, not written, stands out three to one`, () => {
    for (const land of lands) assert.ok(contrast(colour('map-accent'), land) >= 3, `the pin on land: ${contrast(colour('map-accent'), land).toFixed(2)}`)
    assert.ok(contrast(colour('accent'), backs.solid) >= 3, 'the focus ring')
  })
}
