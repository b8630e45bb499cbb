// The map in a frame of another page: the land, names and points of the map page, and a link to it.
import { control } from 'leaflet'
import { collections as fetchCollections, sentence, status as fetchStatus, tileJSON as fetchTileJSON } from './server/api.js'
import { attributions } from './server/attribution.js'
import { collectionLayers } from './server/collections.js'
import { Credits } from './map/credits.js'
import { embedView } from './embedview.js'
import { formatHash, formatState, NOTHING_OPEN } from './hash.js'
import { NamesLayer } from './map/nameslayer.js'
import { createNotice } from './map/notice.js'
import { PointsLayer } from './map/pointslayer.js'
import { NEUTRAL, PLACES, regionTypes } from './engine/regiontypes.js'
import { createStudio } from './engine/studio.js'
import { onDensityChange, onThemeChange, readTheme, setNeutral, setTheme } from './theme.js'
import { VectorLayer } from './map/vectorlayer.js'
import { createView, MAX_ZOOM } from './map/view.js'
import { direction, t, translate } from './words/words.js'

translate(document.documentElement)
const END = direction === 'rtl' ? 'left' : 'right'

const studio = createStudio()
const root = document.querySelector('#map')
const large = document.querySelector('#large')
const notice = createNotice(document.querySelector('#notice'))

// The address of a frame is the other page's: nothing is written to it.
const permalink = { startsAt() {}, moved() {}, onVisit() {} }
const { map, pin, startAt } = createView(root, { card: { hidden: true }, bar: large, permalink })

const asked = embedView(location.search, { minZoom: map.getMinZoom(), maxZoom: MAX_ZOOM })
setTheme(asked.theme)
if (window !== top) leaveScrolling()
start()

async function start() {
  look()
  const [tileJSON, status, own] = await Promise.allSettled([fetchTileJSON(), fetchStatus(), fetchCollections()])
  new Credits(attributions(status.value), { position: `bottom${END}` }).addTo(map)
  control.zoom({ position: `top${END}`, zoomInTitle: t('Zoom in'), zoomOutTitle: t('Zoom out') }).addTo(map)
  if (!asked.center && !asked.marker && asked.zoom === null) startAt(tileJSON.value?.center)

  const types = regionTypes(tileJSON.value)
  const hasPlaces = tileJSON.value?.vector_layers?.some(layer => layer?.id === PLACES.type) ?? false
  const collections = collectionLayers(own.value)
  const all = [...types, ...hasPlaces ? [PLACES] : [], ...collections, NEUTRAL]
  NEUTRAL.on = collections.length > 0
  // A list that names nothing this server has is no reason for an empty frame.
  if (!all.some(one => one !== NEUTRAL && asked.layers?.includes(one.type))) asked.layers = null
  if (asked.layers) for (const one of all) one.on = asked.layers.includes(one.type)
  setNeutral(NEUTRAL.on)

  if (tileJSON.status === 'rejected' && collections.length === 0) tell('server', tileJSON.reason, () => location.reload())
  draw(tileJSON.value, types, hasPlaces, collections)
  map.on('moveend', link)
  link()
}

// Where to look: at the center, else at the marker.
function look() {
  const at = asked.center ?? asked.marker
  if (at) map.setView([at.lat, at.lon], asked.zoom ?? Math.max(map.getZoom(), asked.marker ? 10 : 4), { animate: false })
  else if (asked.zoom !== null) map.setZoom(asked.zoom, { animate: false })
  if (asked.marker) pin(asked.marker)
}

function draw(tileJSON, types, hasPlaces, collections) {
  let regions = null
  if (types.length > 0) {
    const maxDataZoom = Number.isInteger(tileJSON.maxzoom) ? tileJSON.maxzoom : 13
    regions = new VectorLayer({ studio, types, maxDataZoom, maxZoom: MAX_ZOOM })
    regions.on('bare', ({ bare }) => root.classList.toggle('bare', bare))
    regions.on('loading', () => root.setAttribute('aria-busy', 'true'))
    regions.on('load', () => {
      root.setAttribute('aria-busy', 'false')
      if (!regions.incomplete()) notice.settle('regions')
    })
    regions.on('tilefailed', ({ error }) => tell('regions', error, () => regions.retry()))
    onThemeChange(() => regions.repaint())
    onDensityChange(() => regions.repaint())
    regions.addTo(map)
  } else {
    root.classList.remove('bare')
    root.setAttribute('aria-busy', 'false')
  }
  const names = new NamesLayer({ studio, places: hasPlaces && PLACES.on, regions, panels: () => [large] })
  regions?.on('asked', () => names.update())
  onThemeChange(() => names.update())
  names.addTo(map)
  if (collections.length === 0) return
  const points = new PointsLayer({ collections, theme: readTheme() })
  onThemeChange(() => points.setTheme(readTheme()))
  names.options.points = points
  points.on('pointsshown', () => names.soon())
  points.addTo(map)
}

function tell(subject, error, again) {
  notice.show(subject, sentence(error), again)
}

// The large map opens where this one is.
function link() {
  const { lat, lng } = map.getCenter()
  const select = asked.marker && { kind: 'point', ...asked.marker }
  const state = formatState({ ...NOTHING_OPEN, select, layers: asked.layers, theme: asked.theme })
  large.href = `.${formatHash({ zoom: map.getZoom(), lat, lon: lng })}${state && `/${state}`}`
}

// A reader who scrolls the page around the frame does not mean the map, until a click or the Tab key has given it the focus.
function leaveScrolling() {
  root.parentElement.addEventListener('wheel', event => {
    if (!event.ctrlKey && document.activeElement !== root) event.stopPropagation()
  }, { capture: true, passive: true })
}
