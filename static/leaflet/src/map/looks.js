// The fonts that the style sheet gives to the looks of names.
import { el } from '../dom.js'

const all = [
  'place-capital', 'place-major', 'place-city', 'place-town',
  'region-country-large', 'region-country', 'region-country-small', 'region-state', 'region-water', 'region-other',
]
let known = null

/** { look: { font, height, spacing, capitals } } for every look, in CSS pixels. pane is where names stand. */
export function looksOf(pane) {
  return known ??= read(pane)
}

function read(pane) {
  const probes = all.map(look => {
    const probe = el('span', { class: 'name' }, 'x')
    return { look, probe, holder: el('div', { class: `${look.split('-')[0]} ${look} name-right` }, probe) }
  })
  pane.append(...probes.map(({ holder }) => holder))
  const looks = Object.fromEntries(probes.map(({ look, probe }) => {
    const { fontStyle, fontWeight, fontSize, fontFamily, letterSpacing, textTransform } = getComputedStyle(probe)
    return [look, {
      font: `${fontStyle} ${fontWeight} ${fontSize} ${fontFamily}`, height: probe.offsetHeight,
      spacing: Number.parseFloat(letterSpacing) || 0, capitals: textTransform === 'uppercase',
    }]
  }))
  for (const { holder } of probes) holder.remove()
  return looks
}
