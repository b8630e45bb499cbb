// A hint, close up, that the map has no more to show than this.
import { Control } from 'leaflet'
import { el } from '../dom.js'
import { t } from '../words/words.js'

const CLOSE = 12 // the zoom from which borders of whole countries are coarser than the screen, whatever they were made for

/** What the hint says at a zoom of data whose tiles end at maxZoom, or ''. */
export function finestWords(zoom, maxZoom) {
  if (zoom < Math.min(CLOSE, maxZoom)) return ''
  return zoom <= maxZoom ? t('No finer data here') : t('No finer data here: tiles end at zoom {zoom}', { zoom: maxZoom })
}

export const Finest = Control.extend({
  initialize(maxZoom, options) {
    Control.prototype.initialize.call(this, options)
    this._maxZoom = maxZoom
  },

  onAdd(map) {
    this._root = el('p', { class: 'finest' })
    map.on('zoomend', this._tell, this)
    this._tell({ target: map })
    return this._root
  },

  onRemove(map) {
    map.off('zoomend', this._tell, this)
  },

  _tell({ target: map }) {
    this._root.textContent = finestWords(map.getZoom(), this._maxZoom)
    this._root.hidden = this._root.textContent === ''
  },
})
