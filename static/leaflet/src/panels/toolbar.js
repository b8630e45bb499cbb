// The buttons beside the map: where the reader is, what to measure and to share, the tile grid, colours, how to use the map elsewhere, help.
import { Control, DomEvent } from 'leaflet'
import { el, icon } from '../dom.js'
import { t } from '../words/words.js'

const icons = {
  locate: 'M12 2v3M12 19v3M2 12h3M19 12h3M12 5a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM12 10.5a1.5 1.5 0 1 0 0 3 1.5 1.5 0 0 0 0-3z',
  area: 'M5 8l7-4 8 6-3 9-9-1zM5 8m-1.5 0a1.5 1.5 0 1 0 3 0a1.5 1.5 0 1 0-3 0M20 10m-1.5 0a1.5 1.5 0 1 0 3 0a1.5 1.5 0 1 0-3 0M8 18m-1.5 0a1.5 1.5 0 1 0 3 0a1.5 1.5 0 1 0-3 0',
  share: 'M12 15V4M7.5 8 12 3.5 16.5 8M5 12v8h14v-8',
  grid: 'M4 4h16v16H4zM4 12h16M12 4v16',
  theme: 'M12 3a9 9 0 1 0 0 18zM12 3a9 9 0 0 1 0 18',
  use: 'm8 7-5 5 5 5M16 7l5 5-5 5M13.5 4.5l-3 15',
  help: 'M9.2 9.3a2.9 2.9 0 1 1 4.2 2.6c-.9.5-1.4 1-1.4 2M12 17.4v.1M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z',
}

/** A bar of buttons, { name, label, key, press, toggles, opens }: name is that of an icon; one that toggles says whether it is pressed, and one that
 * opens an element, by its id, whether that is open. */
export const Toolbar = Control.extend({
  initialize(buttons, { position }) {
    this.options = { position }
    this._buttons = new Map(buttons.map(button => [button.name, el('button', {
      type: 'button', class: `tool-${button.name}`, onclick: button.press, title: button.key ? `${button.label} (${button.key})` : button.label, 'aria-label': button.label,
      'aria-keyshortcuts': button.key, 'aria-pressed': button.toggles && 'false', 'aria-expanded': button.opens && 'false', 'aria-controls': button.opens,
    }, icon(icons[button.name]))]))
  },

  onAdd() {
    const bar = el('div', { class: 'leaflet-bar tools', role: 'group', 'aria-label': t('Tools') }, ...this._buttons.values())
    DomEvent.disableClickPropagation(bar)
    DomEvent.disableScrollPropagation(bar)
    return bar
  },

  /** Shows a button as pressed or open, or not. */
  press(name, on) {
    const button = this._buttons.get(name)
    button.setAttribute(button.hasAttribute('aria-expanded') ? 'aria-expanded' : 'aria-pressed', String(on))
  },

  button(name) {
    return this._buttons.get(name)
  },
})
