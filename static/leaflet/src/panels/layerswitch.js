// The list of layers: one checkbox for each region type the server has, one for places, and one for each collection of points.
import { el } from '../dom.js'
import { t } from '../words/words.js'

/**
 * Fills the fieldset with the types and keeps each type's `on` in step with its box. changed(type) is called after a
 * change; of what is returned, tellZoom tells the list the map's zoom, to mark what only shows closer in, turnOn(type)
 * switches one on as its box does, and show brings the boxes in step with the types after these were changed.
 * more(type) are elements that stand behind a type.
 */
export function createLayerSwitch(fieldset, types, changed, more = () => []) {
  const rows = types.map(type => {
    const box = el('input', { type: 'checkbox', checked: type.on, value: type.type })
    const note = el('small', {})
    box.addEventListener('change', () => {
      type.on = box.checked
      changed(type)
    })
    return { type, box, note, row: el('label', {}, box, swatch(type), el('span', {}, type.label), note) }
  })
  fieldset.append(...rows.map(({ type, row }) => {
    const parts = more(type)
    return parts.length > 0 ? el('div', { class: 'with-filter' }, row, ...parts) : row
  }))
  return {
    tellZoom(zoom) {
      for (const { type, note, row } of rows) {
        const hidden = zoom < type.from
        note.textContent = hidden ? t('zoom in') : ''
        row.classList.toggle('too-far', hidden)
      }
    },
    turnOn(name) {
      rows.find(({ type }) => type.type === name && !type.on)?.box.click()
    },
    show() {
      for (const { type, box } of rows) box.checked = type.on
    },
  }
}

// The colour that the points of a collection have on the map.
function swatch({ colour }) {
  return colour !== undefined && el('i', { class: `swatch swatch-${colour}`, 'aria-hidden': 'true' })
}
