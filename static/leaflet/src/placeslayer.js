// Place names: a Leaflet layer that loads the places of the tiles in view and keeps one small marker for each it shows.
import { divIcon, Layer, marker } from 'leaflet'
import { placeTile } from './api.js'
import { el } from './dom.js'
import { displayText } from './format.js'
import { arrange, placeOf, worthShowing } from './labels.js'
import { TileCache } from './tilecache.js'
import { coveringTiles } from './tilegrid.js'

/** Fires placesfailed with an error whose message is fit for the reader, or placesshown when nothing is missing. */
export const PlacesLayer = Layer.extend({
  options: { pane: 'places' },

  initialize() {
    this._cache = new TileCache(async (key, signal) => {
      const [z, x, y] = key.split('/').map(Number)
      const features = await placeTile({ z, x, y }, signal)
      return features.map(feature => placeOf(feature, displayText)).filter(place => place !== null)
    })
    this._held = []
    this._markers = new Map()
    this._turn = 0
  },

  onAdd() {
    this._update()
  },

  onRemove() {
    this._turn++
    this._hold([])
    for (const { marker } of this._markers.values()) marker.remove()
    this._markers.clear()
  },

  getEvents() {
    return { moveend: this._update }
  },

  async _update() {
    const turn = ++this._turn
    const zoom = this._map.getZoom()
    const { min, max } = this._map.getPixelBounds()
    const tiles = coveringTiles({ minX: min.x, minY: min.y, maxX: max.x, maxY: max.y }, zoom)
    const held = tiles.map(tile => this._cache.acquire(`${tile.z}/${tile.x}/${tile.y}`))
    this._hold(held)
    const results = await Promise.allSettled(held.map(({ promise }) => promise))
    if (turn !== this._turn) return
    this._show(results.flatMap(({ value = [] }, i) => value.filter(place => worthShowing(place, zoom))
      .map(place => ({ ...place, id: `${place.id}:${tiles[i].world}`, lon: place.lon + 360 * tiles[i].world }))))
    const failure = results.find(({ status }) => status === 'rejected')
    if (failure) this.fire('placesfailed', { error: failure.reason })
    else this.fire('placesshown')
  },

  /** Loads again what failed. */
  retry() {
    if (this._map) this._update()
  },

  // Takes hold of the new tiles before letting go of the old, so that what both need is not aborted.
  _hold(held) {
    const old = this._held
    this._held = held
    for (const { release } of old) release()
  },

  _show(places) {
    const map = this._map
    const positioned = places.map(place => ({ ...place, ...map.latLngToLayerPoint([place.lat, place.lon]) }))
    const stale = new Map(this._markers)
    for (const { place, tier, side } of arrange(positioned, this._measure())) {
      const look = `place place-${tier} name-${side}`
      const known = stale.get(place.id)
      if (known?.look === look) {
        stale.delete(place.id)
        continue
      }
      const icon = divIcon({ className: look, iconSize: [0, 0], html: el('span', { class: 'name' }, place.name) })
      const options = { icon, interactive: false, keyboard: false, pane: this.options.pane }
      known?.marker.remove()
      stale.delete(place.id)
      this._markers.set(place.id, { look, marker: marker([place.lat, place.lon], options).addTo(map) })
    }
    for (const [id, { marker }] of stale) {
      marker.remove()
      this._markers.delete(id)
    }
  },

  // Measures with the fonts the style sheet gives the names.
  _measure() {
    const context = el('canvas').getContext('2d')
    const styles = {}
    return (name, tier) => {
      styles[tier] ??= this._style(tier)
      context.font = styles[tier].font
      return { width: context.measureText(name).width, height: styles[tier].height }
    }
  },

  _style(tier) {
    const probe = el('span', { class: 'name' }, 'x')
    const holder = el('div', { class: `place place-${tier} name-right` }, probe)
    this.getPane().append(holder)
    const { fontStyle, fontWeight, fontSize, fontFamily } = getComputedStyle(probe)
    const height = probe.offsetHeight
    holder.remove()
    return { font: `${fontStyle} ${fontWeight} ${fontSize} ${fontFamily}`, height }
  },
})
