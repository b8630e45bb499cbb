// The scale bar in kilometres or miles: pressing it changes from one to the other, and is remembered.
import { Control, DomEvent } from 'leaflet'
import { keep, kept } from '../kept.js'
import { languages } from '../words/language.js'
import { t } from '../words/words.js'

// Where people reckon in miles. Most browsers of the world say en-US, so the clock must be of such a country too.
const MILES = /-(us|gb|lr|mm)$/i
const CLOCKS = /^(US|Europe\/London|Africa\/Monrovia|Asia\/(Yangon|Rangoon)|Pacific\/Honolulu|America\/(New_York|Detroit|Kentucky|Louisville|Indiana|Chicago|Menominee|North_Dakota|Denver|Boise|Phoenix|Los_Angeles|Anchorage|Juneau|Sitka|Metlakatla|Yakutat|Nome|Adak))/

/** Whether a reader of these languages and this time zone, who chose before or did not, gets miles. */
export function wantsMiles(kept, [first] = languages, clock = new Intl.DateTimeFormat().resolvedOptions().timeZone) {
  return kept === 'imperial' || kept !== 'metric' && MILES.test(first) && CLOCKS.test(clock)
}

export const Scale = Control.Scale.extend({
  onAdd(map) {
    const root = Control.Scale.prototype.onAdd.call(this, map)
    root.classList.add('scale')
    root.title = t('Metric or imperial')
    root.tabIndex = 0
    root.setAttribute('role', 'button')
    DomEvent.disableClickPropagation(root)
    root.addEventListener('click', () => this._turn())
    root.addEventListener('keydown', event => {
      if (event.key !== 'Enter' && event.key !== ' ') return
      event.preventDefault()
      event.stopPropagation()
      this._turn()
    })
    this._show(wantsMiles(kept('units')))
    return root
  },

  _turn() {
    this._show(this._mScale.hidden === false)
    keep('units', this._mScale.hidden ? 'imperial' : 'metric')
  },

  _show(miles) {
    this._mScale.hidden = miles
    this._iScale.hidden = !miles
  },
})
