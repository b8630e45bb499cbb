// The scale bar in kilometres or miles: pressing it changes from one to the other, and is remembered.
import { Control, DomEvent } from 'leaflet'
import { keep } from '../kept.js'
import { wantsMiles } from '../words/units.js'
import { t } from '../words/words.js'

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
    this._show(wantsMiles())
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
