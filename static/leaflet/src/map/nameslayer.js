// Names on the map: a Leaflet layer that loads the places of the tiles in view, takes the names of regions from their own
// layer's tiles, and shows the picture of all names that the workshop makes. It moves with the land.
import { DomUtil, Layer, point, Util } from 'leaflet'
import { el } from '../dom.js'
import { placeTile } from '../server/api.js'
import { prefersStill } from '../theme.js'
import { held, TileCache } from '../engine/tilecache.js'
import { show } from '../engine/studio.js'
import { coveringTiles, regionZoomOf, tileZoomOf } from '../engine/tilegrid.js'
import { turn } from '../engine/turns.js'

const WHILE_MOVING = 400 // milliseconds between two arrangements
const GROWN = 1.3 // how much larger or smaller names may become before they are arranged anew while the map zooms
const MOST_GROWN = 2.01 // and before they are taken off
const BEYOND = 128 // CSS pixels around the view for which names are written too
const SOON = 60 // milliseconds
const FADE = 200 // milliseconds, as the style sheet has it

/**
 * Options: studio (studio.js); places, whether to show them; regions, the VectorLayer whose regions are named, or null; panels,
 * which returns the elements that lie over the map, and points, the PointsLayer if there is one: names keep clear of both, of the
 * map's controls and of pins. Fires
 * placesfailed with an error whose message is fit for the reader, or placesshown when no place is missing; of tiles of regions
 * that cannot be had their own layer tells. aimed is the name that is pointed at, or null; a change of it fires aimed.
 */
export const NamesLayer = Layer.extend({
  options: { studio: null, pane: 'names', places: true, regions: null, panels: () => [], points: null },

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
    this._sheets = [] // the latest last, and those that it takes the place of
    this._turn = 0
    this._due = 0
    this.aimed = null
  },

  onAdd() {
    this.update()
  },

  onRemove() {
    this._turn++
    clearTimeout(this._due)
    this._held = held([], this._held)
    this._clear()
  },

  getEvents() {
    return { moveend: this.update, move: this._moved, zoom: this._zoomed, zoomanim: this._zoomsTo, viewreset: this._zoomed, layeradd: this._pinned, layerremove: this._pinned }
  },

  /** Arranges the names anew in a moment, after something came over the map or went. */
  soon() {
    this._due ||= setTimeout(() => this.update(), SOON)
  },

  _pinned({ layer }) {
    if (layer.options.icon) this.soon()
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
    const view = this._map.getPixelBounds()
    const ofPlaces = places ? coveringTiles(view, zoom, tileZoomOf(zoom)) : []
    const ofRegions = regions ? coveringTiles(view, zoom, regionZoomOf(zoom)) : []
    const wanted = [
      ...ofPlaces.map(tile => ({ ...tile, ...this._cache.acquire(`places/${tile.z}/${tile.x}/${tile.y}`), role: 'places' })),
      ...ofRegions.map(tile => ({ ...tile, ...regions.hold(tile, zoom), role: 'names' })),
    ]
    this._held = held(wanted, this._held)
    const results = await Promise.allSettled(wanted.map(({ promise }) => promise))
    if (latest !== this._turn) return
    const loaded = wanted.flatMap((tile, i) => results[i].status === 'fulfilled' ? [plain(tile, results[i].value)] : [])
    const box = this._readable()
    const frame = { minX: Math.floor(box.minX - BEYOND), minY: Math.floor(box.minY - BEYOND), maxX: Math.ceil(box.maxX + BEYOND), maxY: Math.ceil(box.maxY + BEYOND) }
    const written = await this.options.studio.call('arrange', { view: { zoom, box, first: this.aimed?.id }, frame, density: devicePixelRatio, tiles: loaded })
    if (latest !== this._turn || !this._map) written.bitmap.close()
    else this._show(written, point(frame.minX, frame.minY), zoom)
    if (latest !== this._turn) return
    const failure = results.find(({ reason }, i) => reason && wanted[i].role === 'places')?.reason
    if (failure) this.fire('placesfailed', { error: failure })
    else this.fire('placesshown')
  },

  /** The name at a point of the map, { lat, lng }, or null: { id, text, kind, look, box }, box in CSS pixels of the picture. */
  at(latlng) {
    const sheet = this._sheets.at(-1)
    const { x, y } = sheet ? this._map.project(latlng, sheet.zoom).subtract(sheet.origin) : {}
    return sheet?.names.find(({ box }) => x > box.left && x < box.right && y > box.top && y < box.bottom) ?? null
  },

  /** The name that comes a number of names after the one aimed at, from the middle of the map outwards, aimed at now; null where there is none. */
  next(step) {
    const sheet = this._sheets.at(-1)
    const { x, y } = this._map.getSize()
    const seen = this._map.getZoom() === sheet?.zoom ? sheet.names.filter(({ text, box: { left, right, top, bottom } }) => text && left > BEYOND && right < x + BEYOND && top > BEYOND && bottom < y + BEYOND) : []
    const away = ({ box: { left, right, top, bottom } }) => Math.hypot((left + right) / 2 - BEYOND - x / 2, (top + bottom) / 2 - BEYOND - y / 2)
    seen.sort((a, b) => away(a) - away(b))
    const at = seen.findIndex(({ id }) => id === this.aimed?.id)
    this.aim(seen.at(at < 0 && step < 0 ? -1 : (at + step) % seen.length) ?? null)
    return this.aimed
  },

  /** Shows which name is pointed at, or none. */
  aim(name) {
    const other = this.aimed?.id !== name?.id
    this.aimed = name
    if (other) this.fire('aimed')
    const sheet = this._sheets.at(-1)
    if (!sheet) return
    const { box: { left, top, right, bottom } = {} } = name ?? {}
    sheet.ring.hidden = !name
    if (name) Object.assign(sheet.ring.style, { left: `${left}px`, top: `${top}px`, width: `${right - left}px`, height: `${bottom - top}px` })
  },

  // The pixels of the world that are seen, and those of them where no name is to stand.
  _readable() {
    const { min, max } = this._map.getPixelBounds()
    const { panels, points } = this.options
    const container = this._map.getContainer()
    const map = container.getBoundingClientRect()
    const elements = [...panels(), ...container.querySelectorAll('.leaflet-control, .pin span, .ring span')]
    const covered = elements.map(one => ({ box: one.getBoundingClientRect(), pin: one.matches('.pin span, .ring span') })).filter(({ box }) => box.width > 0)
      .map(({ box: { left, right, top, bottom }, pin }) => ({
        pin, minX: min.x + left - map.left, maxX: min.x + right - map.left, minY: min.y + top - map.top, maxY: min.y + bottom - map.top,
      })).concat(points?.boxes() ?? [])
    return { minX: min.x, minY: min.y, maxX: max.x, maxY: max.y, covered }
  },

  // The new picture comes over the old one, which goes when all of it is seen: what stays does not flicker.
  _show({ bitmap, names, density }, origin, zoom) {
    const canvas = el('canvas')
    const ring = el('div', { class: 'aimed', hidden: true })
    const old = this._sheets
    const fades = !prefersStill() && old.at(-1)?.zoom === zoom
    const root = el('div', { class: `names leaflet-zoom-animated ${fades ? 'fresh' : ''}` }, canvas, ring)
    Object.assign(canvas.style, { width: `${bitmap.width / density}px`, height: `${bitmap.height / density}px` })
    show(canvas, { bitmap })
    this._sheets = [...old, { root, ring, names, origin, zoom }]
    this._place(this._map.getCenter(), this._map.getZoom())
    this.getPane().append(root)
    canvas.names = names // for whoever inspects the page
    const aimed = names.find(({ id }) => id === this.aimed?.id)
    if (aimed || !this._due) this.aim(aimed ?? null) // else what lies over the map has changed since: the names to come decide
    setTimeout(() => this._drop(old), fades ? FADE : 0)
  },

  _drop(sheets) {
    for (const { root } of sheets) root.remove()
    this._sheets = this._sheets.filter(sheet => !sheets.includes(sheet))
  },

  _clear() {
    this._drop(this._sheets)
    this.aim(null)
  },

  // How much larger the names are than they were arranged for.
  _growth() {
    const sheet = this._sheets.at(-1)
    return sheet ? this._map.getZoomScale(this._map.getZoom(), sheet.zoom) : Infinity
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
    for (const { root, origin, zoom: own } of this._sheets) {
      const scale = this._map.getZoomScale(zoom, own)
      DomUtil.setTransform(root, origin.multiplyBy(scale).subtract(this._map._getNewPixelOrigin(center, zoom)), scale)
    }
  },
})

// What the workshop needs to know of a tile that it has by a key.
function plain({ z, world, role, view, types }, key) {
  return {
    z, world, [role]: key, view: view && { tile: view.tile, scale: view.scale }, types: types?.map(({ type, role }) => ({ type, role })),
  }
}
