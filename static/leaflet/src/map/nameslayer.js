// Names on the map: a Leaflet layer that loads the places of the tiles in view, takes the names of regions from their own
// layer's tiles, has them arranged, and shows them in boxes that move with the land.
import { Layer, Util } from 'leaflet'
import { placeTile } from '../server/api.js'
import { LabelGroup } from './labelgroup.js'
import { looksOf } from './looks.js'
import { prefersStill } from '../theme.js'
import { TileCache } from '../engine/tilecache.js'
import { coveringTiles, regionZoomOf, tileZoomOf } from '../engine/tilegrid.js'
import { turn } from '../engine/turns.js'

const WHILE_MOVING = 400 // milliseconds between two arrangements
const GROWN = 1.3 // how much larger or smaller names may become before they are arranged anew while the map zooms
const MOST_GROWN = 2.01 // and before they are taken off

/**
 * Options: studio (studio.js); places, whether to show them; regions, the VectorLayer whose regions are named, or null; panels,
 * which returns the elements that lie over the map, below which no country is to have its name. Fires
 * placesfailed with an error whose message is fit for the reader, or placesshown when no place is missing; of tiles of regions
 * that cannot be had their own layer tells.
 */
export const NamesLayer = Layer.extend({
  options: { studio: null, pane: 'names', places: true, regions: null, panels: () => [] },

  initialize(options) {
    Util.setOptions(this, options)
    const { studio } = this.options
    this._cache = new TileCache(async (key, signal) => {
      const [, z, x, y] = key.split('/').map(Number)
      await turn()
      signal.throwIfAborted()
      await placeTile({ z, x, y }, bytes => studio.call('places', { key, bytes }, { transfer: [bytes] }), signal)
      return key
    }, 256, key => studio.call('drop', { key }))
    this._held = []
    this._group = null
    this._groups = new Set() // with those that fade
    this._turn = 0
    this._due = 0
  },

  onAdd() {
    this.update()
  },

  onRemove() {
    this._turn++
    clearTimeout(this._due)
    this._hold([])
    for (const group of this._groups) group.remove({ fade: false })
    this._groups.clear()
    this._group = null
  },

  getEvents() {
    return { moveend: this.update, move: this._moved, zoom: this._zoomed, zoomanim: this._zoomsTo, viewreset: this._zoomed }
  },

  /** Shows places, or no longer. */
  showPlaces(places) {
    this.options.places = places
    this.update()
  },

  /** Arranges the names anew, after a move or after a layer was switched; what failed to load before is asked for again. */
  async update() {
    clearTimeout(this._due)
    this._due = 0
    if (!this._map) return
    const latest = ++this._turn
    const { places, regions } = this.options
    const zoom = this._map.getZoom()
    const ofPlaces = places ? this._covering(tileZoomOf(zoom), zoom) : []
    const ofRegions = regions ? this._covering(regionZoomOf(zoom), zoom) : []
    const wanted = [
      ...ofPlaces.map(tile => ({ ...tile, ...this._cache.acquire(`places/${tile.z}/${tile.x}/${tile.y}`), role: 'places' })),
      ...ofRegions.map(tile => ({ ...tile, ...regions.hold(tile, zoom), role: 'names' })),
    ]
    this._hold(wanted)
    const results = await Promise.allSettled(wanted.map(({ promise }) => promise))
    if (latest !== this._turn) return
    const loaded = wanted.flatMap((tile, i) => results[i].status === 'fulfilled' ? [plain(tile, results[i].value)] : [])
    const names = await this.options.studio.call('arrange', { view: { zoom, box: this._readable() }, looks: looksOf(this.getPane()), tiles: loaded })
    if (latest !== this._turn || !this._map) return
    this._show(names, zoom)
    const failure = results.find(({ reason }, i) => reason && wanted[i].role === 'places')?.reason
    if (failure) this.fire('placesfailed', { error: failure })
    else this.fire('placesshown')
  },

  // The pixels of the world that are seen, and those of them that lie under panels.
  _readable() {
    const { min, max } = this._map.getPixelBounds()
    const map = this._map.getContainer().getBoundingClientRect()
    const covered = this.options.panels().map(panel => panel.getBoundingClientRect()).filter(({ width }) => width > 0)
      .map(({ left, right, top, bottom }) => ({
        minX: min.x + left - map.left, maxX: min.x + right - map.left, minY: min.y + top - map.top, maxY: min.y + bottom - map.top,
      }))
    return { minX: min.x, minY: min.y, maxX: max.x, maxY: max.y, covered }
  },

  // The tiles of a zoom that cover the map, which is of another.
  _covering(z, zoom) {
    const { min, max } = this._map.getPixelBounds()
    const part = 2 ** (z - zoom)
    return coveringTiles({ minX: min.x * part, minY: min.y * part, maxX: max.x * part, maxY: max.y * part }, z)
  },

  // Names of another zoom than those on the map take their place as a whole.
  _show(names, zoom) {
    const fade = !prefersStill()
    if (this._group?.zoom === zoom) {
      this._group.show(names, { fade })
      return
    }
    this._clear()
    this._group = new LabelGroup(this._map, this.getPane(), zoom)
    this._groups.add(this._group)
    this._group.show(names, { fade })
  },

  _clear() {
    const group = this._group
    group?.remove({ fade: !prefersStill(), then: () => this._groups.delete(group) })
    this._group = null
  },

  // How much larger the names are than they were arranged for.
  _growth() {
    return this._group ? this._map.getZoomScale(this._map.getZoom(), this._group.zoom) : Infinity
  },

  _moved() {
    const growth = this._growth()
    const asArranged = growth !== 1 && growth < GROWN && growth > 1 / GROWN // zooms, which ends with an event of its own
    if (!asArranged) this._due ||= setTimeout(() => this.update(), WHILE_MOVING)
  },

  _zoomed() {
    const growth = this._growth()
    if (growth > MOST_GROWN || growth < 1 / MOST_GROWN) this._clear()
    this._place(this._map.getCenter(), this._map.getZoom())
  },

  _zoomsTo({ center, zoom }) {
    this._place(center, zoom)
  },

  _place(center, zoom) {
    for (const group of this._groups) group.place(center, zoom)
  },

  // Takes hold of the new tiles before letting go of the old, so that what both need is not aborted.
  _hold(held) {
    const old = this._held
    this._held = held
    for (const { release } of old) release()
  },
})

// What the workshop needs to know of a tile that it has by a key.
function plain({ z, world, role, view, types }, key) {
  return {
    z, world, [role]: key, view: view && { tile: view.tile, scale: view.scale }, types: types?.map(({ type, role }) => ({ type, role })),
  }
}
