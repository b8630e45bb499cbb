// Wires the page: what the server has, the map, the questions a reader can ask.
import { control } from 'leaflet'
import { createAddressLookup } from './address.js'
import { status as fetchStatus, tileJSON as fetchTileJSON } from './api.js'
import { attributions } from './attribution.js'
import { createCard } from './card.js'
import { Credits } from './credits.js'
import { createFound } from './found.js'
import { wrapLongitude } from './hash.js'
import { createHere } from './here.js'
import { createLayerSwitch } from './layerswitch.js'
import { NamesLayer } from './nameslayer.js'
import { createNotice } from './notice.js'
import { PLACES, regionTypes } from './regiontypes.js'
import { createSuggest } from './suggest.js'
import { onDensityChange, onThemeChange, readTheme, roomy } from './theme.js'
import { VectorLayer } from './vectorlayer.js'
import { createView, MAX_ZOOM } from './view.js'

const DOUBLE_CLICK = 200 // milliseconds between the clicks of one, at most

const element = id => document.getElementById(id)
const bar = document.querySelector('.bar')

const notice = createNotice(element('notice'))
let selectRegion = () => {}
const card = createCard(element('card'), focused => {
  if (focused) map.getContainer().focus()
  latest.abort()
  view.pin(null)
  selectRegion(null)
  layOut()
})
const view = createView(element('map'), { card: card.root, bar })
const { map } = view

// One question at a time: a new one ends the one before.
let latest = new AbortController()
function signal() {
  latest.abort()
  latest = new AbortController()
  return latest.signal
}

// On a narrow screen the card is a sheet at the bottom, and the map's own controls stand above it.
function layOut() {
  const sheet = card.root.hidden || roomy.matches ? 0 : card.root.offsetHeight
  document.documentElement.style.setProperty('--sheet', `${sheet}px`)
}
new ResizeObserver(layOut).observe(card.root)
addEventListener('resize', layOut)

// The map takes focus from a click too; only for the keyboard does it show so, with the point that Enter asks about.
addEventListener('keydown', () => document.documentElement.classList.add('keyboard'), true)
addEventListener('pointerdown', () => document.documentElement.classList.remove('keyboard'), true)

start()

async function start() {
  const [tileJSON, status] = await Promise.allSettled([fetchTileJSON(), fetchStatus()])
  new Credits(attributions(status.value), { roomy }).addTo(map)
  control.zoom({ position: 'bottomright' }).addTo(map)
  control.scale({ position: 'bottomleft', maxWidth: 120, imperial: roomy.matches }).addTo(map)

  view.startAt(tileJSON.value?.center)
  const types = regionTypes(tileJSON.value)
  const regions = addRegions(tileJSON.value, types)
  const hasPlaces = tileJSON.value?.vector_layers?.some(layer => layer?.id === PLACES.type) ?? false
  const names = addNames(regions, hasPlaces)
  const switches = hasPlaces ? [...types, PLACES] : types
  const tellZoom = createLayerSwitch(element('layers').querySelector('fieldset'), switches, type => {
    if (type === PLACES) names.showPlaces(type.on)
    else regions.refresh()
  })
  element('layers').hidden = switches.length === 0
  element('layers').open = roomy.matches && innerHeight >= 560
  tellZoom(map.getZoom())
  map.on('zoomend', () => tellZoom(map.getZoom()))

  ask(types)
  if (!regions) element('map').setAttribute('aria-busy', 'false')
  if (tileJSON.status === 'rejected') notice.show('server', tileJSON.reason.message, () => location.reload())
}

function addRegions(tileJSON, types) {
  if (types.length === 0) return null
  const maxDataZoom = Number.isInteger(tileJSON.maxzoom) ? tileJSON.maxzoom : 13
  const layer = new VectorLayer({ types, maxDataZoom, maxZoom: MAX_ZOOM, theme: readTheme() })
  layer.on('loading', () => element('map').setAttribute('aria-busy', 'true'))
  layer.on('load', () => {
    element('map').setAttribute('aria-busy', 'false')
    if (!layer.incomplete()) notice.settle('regions')
  })
  const failed = ({ error }) => notice.show('regions', `Part of the map is missing. ${error.message}`, () => layer.retry())
  layer.on('tilefailed', failed)
  onThemeChange(() => layer.setTheme(readTheme()))
  onDensityChange(() => layer.repaint())
  selectRegion = selection => layer.select(selection)
  return layer.addTo(map)
}

function addNames(regions, hasPlaces) {
  const layer = new NamesLayer({ places: hasPlaces && PLACES.on, regions })
  const failed = ({ error }) => notice.show('places', `Some place names are missing. ${error.message}`, () => layer.update())
  layer.on('placesfailed', failed)
  layer.on('placesshown', () => notice.settle('places'))
  regions?.on('asked', () => layer.update())
  return layer.addTo(map)
}

function ask(types) {
  const select = selection => selectRegion(selection)
  const { pin, flyToPoint, flyToBox } = view
  const here = createHere({ card, types, pin, select, goTo: place => flyToPoint(place, 5), signal })
  const lookup = createAddressLookup({ card, pin, select, flyToPoint, flyToBox, signal })

  async function askAt({ lat, lng }) {
    const answered = here({ lat, lon: lng, zoom: map.getZoom() })
    view.reveal({ lat, lon: lng })
    await answered
    view.reveal({ lat, lon: lng }) // the answer may be higher than the place kept for it
  }
  // The first half of a double click, which zooms, is no question.
  let pending = 0
  map.on('click', event => {
    clearTimeout(pending)
    pending = setTimeout(askAt, DOUBLE_CLICK, event.latlng)
  })
  map.on('dblclick', () => clearTimeout(pending))
  map.getContainer().addEventListener('keydown', event => {
    if (event.target !== map.getContainer()) return
    if (event.key === 'Enter') askAt(map.getCenter())
    if (event.key === 'Escape') card.close()
  })
  const found = createFound({ card, pin, select, goTo: place => flyToPoint(place, reach(place)), signal })
  createSuggest({
    form: element('search-form'), input: element('search'), list: element('suggestions'),
    choose: found.show, fail: found.nothing, lookup,
    // On a map of a country or less, what is called so there comes first.
    near: () => map.getZoom() >= 6 ? centre() : null,
  })
}

// Whole tenths of a degree are near enough, and let a cache answer.
function centre() {
  const { lat, lng } = map.getCenter()
  return { lat: lat.toFixed(1), lon: wrapLongitude(lng).toFixed(1) }
}

// How many kilometres around a place the map shows of it.
function reach({ class: featureClass, code, population = 0 }) {
  if (featureClass === 'A') return code?.startsWith('PCL') ? 600 : code === 'ADM1' ? 150 : 30
  return population > 1e6 ? 20 : population > 1e5 ? 10 : 5
}
