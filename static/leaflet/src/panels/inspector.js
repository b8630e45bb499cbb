// The tile inspector: the grid over the map, and for each tile its names and what it cost.
import { DomEvent, GridLayer } from 'leaflet'
import { absolute, measureTile, placeTilePath, sentence, vectorTilePath } from '../server/api.js'
import { copyButton } from './copy.js'
import { el, fill } from '../dom.js'
import { FineGrid } from '../map/finegrid.js'
import { costOf, summary } from './inspector-words.js'
import { tileLog } from '../server/tilelog.js'
import { t } from '../words/words.js'
import { quadkey, TILE_SIZE, tileZoomOf, wrapColumn } from '../engine/tilegrid.js'

const Grid = FineGrid.extend({
  options: { className: 'inspector', pane: 'inspector', updateWhenIdle: false },

  initialize(requests, pointed) {
    GridLayer.prototype.initialize.call(this, {})
    this._requests = requests
    this._pointed = pointed
    this._faces = new Map() // tile element → { tile, fill }, how to bring its figures up to date
    this._pinned = null
  },

  createTile({ z, x: column, y }) {
    const tile = { z, x: wrapColumn(column, z), y }
    const cost = el('span', { class: 'tile-cost' })
    const face = el('div', {},
      el('div', { class: 'tile-face' },
        el('b', {}, `${z}/${tile.x}/${y}`), el('span', { class: 'tile-key' }, quadkey(tile) || '·'), cost))
    face.addEventListener('pointerenter', () => this._pointed(tile))
    const fill = () => { cost.textContent = summary(this._requests(tile).map(({ path }) => tileLog.of(absolute(path)))) }
    face.classList.toggle('pinned', isSame(tile, this._pinned))
    this._faces.set(face, { tile, fill })
    fill()
    return face
  },

  refresh() {
    for (const { fill } of this._faces.values()) fill()
  },

  /** Shows one tile as pinned, or none. */
  pin(pinned) {
    this._pinned = pinned
    for (const [face, { tile }] of this._faces) face.classList.toggle('pinned', isSame(tile, pinned))
  },
})

const isSame = (a, b) => b !== null && a.z === b.z && a.x === b.x && a.y === b.y

/**
 * The inspector of a map. It tells about the tile the reader points at, until a click or Enter pins one: then about that one, so
 * that the way to the panel's buttons may lead over others. root is the element of the panel that tells about one tile; requests(tile) are what the map asks the
 * server for a tile, [{ name, path }]; toggled(on) is called after it was switched, and no tile is pinned while busy().
 */
export function createInspector(map, root, { requests, toggled, announce, busy }) {
  let tile = null // the panel's
  let due = 0
  let failed = ''
  let pinned = false
  map.createPane('inspector').setAttribute('aria-hidden', 'true')
  const grid = new Grid(requests, pointed => { if (!pinned) show(pointed) })
  grid.on('tileunload', ({ tile: face }) => grid._faces.delete(face))
  const figures = el('div', { class: 'tile-figures' })
  const name = el('b', { class: 'tile-name' })
  const key = el('code', {})
  const hint = el('p', { class: 'tile-hint quiet' })
  const release = el('button', { type: 'button', class: 'chip', onclick: () => {
    pin(null)
    root.querySelector('.chip').focus() // this button is gone
  } }, t('Unpin'))
  fill(root,
    el('header', {}, el('p', { class: 'kicker' }, t('Tile')), name, key),
    figures, hint,
    el('p', { class: 'chips' },
      copyButton(t('Copy URL'), () => requests(tile).map(({ path }) => absolute(path)).join('\n'), announce),
      el('button', { type: 'button', class: 'chip', onclick: measure }, t('Measure again')),
      release,
      el('button', { type: 'button', class: 'chip', onclick: () => api.toggle(false) }, t('Close'))))
  DomEvent.disableClickPropagation(root)

  function show(next) {
    tile = next
    failed = ''
    draw()
  }
  function tileAt(at) {
    const z = tileZoomOf(map.getZoom())
    const { x, y } = map.project(at, z).divideBy(TILE_SIZE).floor()
    return { z, x: wrapColumn(x, z), y: Math.min(2 ** z - 1, Math.max(0, y)) }
  }
  // The tile in the middle of the map, for the keyboard.
  function middle() {
    show(tileAt(map.getCenter()))
  }
  function pin(next) {
    pinned = next !== null
    grid.pin(next)
    release.hidden = !pinned
    hint.textContent = pinned ? t('Pinned. Another click pins another.') : t('Click a tile, or press Enter on the map, to pin it.')
    if (next) show(next)
  }
  // A second time on the same tile lets go of it.
  function pinAt(at) {
    if (root.hidden || busy()) return
    const next = tileAt(at)
    const again = pinned && isSame(next, tile)
    pin(again ? null : next)
    announce(again ? t('Tile no longer pinned') : t('Tile {tile} pinned', { tile: `${next.z}/${next.x}/${next.y}` }))
  }
  function draw() {
    if (!tile || root.hidden) return
    name.textContent = `${tile.z}/${tile.x}/${tile.y}`
    key.textContent = quadkey(tile) || t('the world')
    const asked = requests(tile)
    fill(figures, ...asked.map(figuresOf), asked.length === 0 && el('p', { class: 'quiet' }, t('The map asks for nothing here.')),
      failed && el('p', { class: 'problem' }, failed))
  }
  async function measure() {
    const measured = tile
    try {
      await Promise.all(requests(measured).map(({ path }) => measureTile(path)))
      announce(t('Measured'))
    } catch (error) {
      if (tile === measured) failed = sentence(error)
      draw()
    }
  }
  // News come in bursts; the figures are drawn once for each.
  tileLog.changed = () => {
    if (due || root.hidden) return
    due = requestAnimationFrame(() => {
      due = 0
      grid.refresh()
      draw()
    })
  }
  map.on('moveend', () => { if (!root.hidden && !pinned && !root.matches(':hover')) middle() })
  map.on('zoomend', () => { if (pinned) pin(null) }) // it is no longer on the map
  map.on('click', ({ latlng }) => pinAt(latlng))
  map.getContainer().addEventListener('keydown', event => {
    if (event.target === map.getContainer() && event.key === 'Enter' && !event.defaultPrevented) pinAt(map.getCenter())
  })
  pin(null)

  const api = {
    get on() { return !root.hidden },

    /** Switches the inspector on or off; without an argument, over. */
    toggle(on = root.hidden) {
      if (on === !root.hidden) return
      root.hidden = !on
      if (on) grid.addTo(map)
      else grid.remove()
      pin(null)
      if (on) middle()
      toggled(on)
    },

    /** Brings the figures up to date after the layers changed. */
    refresh() {
      grid.refresh()
      draw()
    },

    measure,
  }
  return api
}

function figuresOf({ name, path, tile }) {
  const entry = tileLog.of(absolute(path))
  return el('dl', {}, el('dt', {}, name, tile && el('small', {}, ` ${tile.z}/${tile.x}/${tile.y}`)), el('dd', {}, costOf(entry)))
}

/** The requests of a tile of the map: of its regions and collections, which may come from a coarser tile, and of its places. */
export function tileRequests(tile, { regions, places, points }) {
  const list = []
  const source = regions?.source(tile)
  if (source?.types.length > 0) {
    list.push({ name: t('Regions'), path: vectorTilePath(source.types, source.tile, source.field), tile: source.tile.z < tile.z ? source.tile : undefined })
  }
  if (places) list.push({ name: t('Places'), path: placeTilePath(tile) })
  for (const { type, label, tile: from, field, filter } of points?.source(tile) ?? []) list.push({ name: label, path: vectorTilePath([type], from, field, filter), tile: from.z < tile.z ? from : undefined })
  return list
}
