// Names on the map: a Leaflet layer that loads the places of the tiles in view, takes the names of regions from their own
// layer's tiles, and keeps one small marker for each name it shows.
import { divIcon, Layer, marker, Util } from 'leaflet'
import { placeTile } from './api.js'
import { el } from './dom.js'
import { displayText } from './format.js'
import { arrange, placeOf, worthShowing } from './labels.js'
import { TileCache } from './tilecache.js'
import { coveringTiles, TILE_SIZE } from './tilegrid.js'

/**
 * Options: places, whether to show them; regions, the VectorLayer whose regions are named, or null. Fires placesfailed
 * with an error whose message is fit for the reader, or placesshown when no place is missing; of tiles of regions that
 * cannot be had their own layer tells.
 */
export const NamesLayer = Layer.extend({
  options: { pane: 'names', places: true, regions: null },

  initialize(options) {
    Util.setOptions(this, options)
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
    this.update()
  },

  onRemove() {
    this._turn++
    this._hold([])
    for (const { marker } of this._markers.values()) marker.remove()
    this._markers.clear()
  },

  getEvents() {
    return { moveend: this.update }
  },

  /** Shows places, or no longer. */
  showPlaces(places) {
    this.options.places = places
    this.update()
  },

  /** Arranges the names anew, after a layer was switched on or off; what failed to load before is asked for again. */
  async update() {
    if (!this._map) return
    const turn = ++this._turn
    const { places, regions } = this.options
    const zoom = this._map.getZoom()
    const { min, max } = this._map.getPixelBounds()
    const tiles = coveringTiles({ minX: min.x, minY: min.y, maxX: max.x, maxY: max.y }, zoom)
    const ofPlaces = places ? tiles.map(tile => ({ ...tile, ...this._cache.acquire(`${tile.z}/${tile.x}/${tile.y}`) })) : []
    const ofRegions = regions ? tiles.map(tile => ({ ...tile, ...regions.hold(tile) })) : []
    this._hold([...ofPlaces, ...ofRegions])
    const [placeTiles, regionTiles] = await Promise.all([loaded(ofPlaces), loaded(ofRegions)])
    if (turn !== this._turn) return
    this._show(placeTiles.flatMap(placesOf), [...new Map(regionTiles.flatMap(regionsOf)).values()])
    const failure = placeTiles.find(({ error }) => error)
    if (failure) this.fire('placesfailed', failure)
    else this.fire('placesshown')
  },

  // Takes hold of the new tiles before letting go of the old, so that what both need is not aborted.
  _hold(held) {
    const old = this._held
    this._held = held
    for (const { release } of old) release()
  },

  _show(places, regions) {
    const map = this._map
    const zoom = map.getZoom()
    const measure = this._measure()
    const origin = map.getPixelOrigin()
    const arranged = arrange(
      places.map(place => ({ ...place, ...map.latLngToLayerPoint([place.lat, place.lon]) })),
      regions.map(region => ({ ...region, x: region.x - origin.x, y: region.y - origin.y })),
      measure,
    )
    const stale = this._markers
    this._markers = new Map()
    for (const { place, tier, side } of arranged.places) {
      this._keep(stale, place.id, [place.lat, place.lon], `place place-${tier} name-${side}`, place.name)
    }
    for (const { region, look, text, x, y } of arranged.regions) {
      this._keep(stale, region.id, map.unproject([x + origin.x, y + origin.y], zoom), `region region-${look}`, text)
    }
    for (const { marker } of stale.values()) marker.remove()
  },

  // Moves a marker that stays as it is from the stale ones to the shown; else makes one.
  _keep(stale, id, at, look, text) {
    const known = stale.get(id)
    if (known?.look === look && known.text === text) {
      stale.delete(id)
      this._markers.set(id, known)
      known.marker.setLatLng(at)
      return
    }
    const icon = divIcon({ className: look, iconSize: [0, 0], html: el('span', { class: 'name', dir: 'auto' }, text) })
    const options = { icon, interactive: false, keyboard: false, pane: this.options.pane }
    this._markers.set(id, { look, text, marker: marker(at, options).addTo(this._map) })
  },

  // Measures lines with the fonts that the style sheet gives the looks.
  _measure() {
    const context = el('canvas').getContext('2d')
    const styles = {}
    return (line, look) => {
      const { font, height, spacing, capitals } = styles[look] ??= this._style(look)
      context.font = font
      const text = capitals ? line.toUpperCase() : line
      return { width: context.measureText(text).width + spacing * text.length, height }
    }
  },

  _style(look) {
    const probe = el('span', { class: 'name' }, 'x')
    const holder = el('div', { class: `${look.split('-')[0]} ${look} name-right` }, probe)
    this.getPane().append(holder)
    const { fontStyle, fontWeight, fontSize, fontFamily, letterSpacing, textTransform } = getComputedStyle(probe)
    const height = probe.offsetHeight
    holder.remove()
    return {
      font: `${fontStyle} ${fontWeight} ${fontSize} ${fontFamily}`, height,
      spacing: Number.parseFloat(letterSpacing) || 0, capitals: textTransform === 'uppercase',
    }
  },
})

// The tiles with what their promises gave: value, or error. Never rejects.
async function loaded(tiles) {
  const results = await Promise.allSettled(tiles.map(({ promise }) => promise))
  return results.map(({ value, reason }, i) => ({ ...tiles[i], value, error: reason }))
}

// The places of a tile where it stands on the map, which may be in another copy of the world.
function placesOf({ z, world, value = [] }) {
  return value.filter(place => worthShowing(place, z))
    .map(place => ({ ...place, id: `${place.id}:${world}`, lon: place.lon + 360 * world }))
}

// The named regions of a tile by their ids on the map, in pixels of the world. Close up several tiles of the map show parts
// of one data tile, and so have the same.
function regionsOf({ world, value = new Map(), view, types }) {
  const side = TILE_SIZE * view.scale
  const column = view.tile.x + world * 2 ** view.tile.z
  return types.flatMap(type => (value.get(type.type)?.names ?? []).map(name => {
    const id = `${type.type}/${name.id}:${world}`
    const x = (column + name.x) * side
    const y = (view.tile.y + name.y) * side
    return [id, { ...name, id, type, x, y, across: name.across * side, down: name.down * side }]
  }))
}
