// The map in a frame of another page: the land, names and points of the map page, and a link to it.
import { control } from 'leaflet'
import { sentence } from './server/api.js'
import { attributions } from './server/attribution.js'
import { createChoropleth } from './map/choropleth.js'
import { Credits } from './map/credits.js'
import { embedView } from './embedview.js'
import { filtersFor, formatHash, formatState, NOTHING_OPEN } from './hash.js'
import { drawLayers, whatThereIs } from './map/layers.js'
import { Legend } from './map/legend.js'
import { createNotice } from './map/notice.js'
import { NEUTRAL, PLACES } from './engine/regiontypes.js'
import { setNeutral, setTheme } from './theme.js'
import { createView, MAX_ZOOM } from './map/view.js'
import { direction, t, translate } from './words/words.js'

translate(document.documentElement)
const [START, END] = direction === 'rtl' ? ['right', 'left'] : ['left', 'right']

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
  const has = await whatThereIs()
  new Credits(attributions(has.status), { position: `bottom${END}` }).addTo(map)
  control.zoom({ position: `top${END}`, zoomInTitle: t('Zoom in'), zoomOutTitle: t('Zoom out') }).addTo(map)
  if (!asked.center && !asked.marker && asked.zoom === null) startAt(has.tileJSON?.center)

  const all = [...has.types, ...has.hasPlaces ? [PLACES] : [], ...has.collections, NEUTRAL]
  // A list that names nothing this server has is no reason for an empty frame.
  if (!all.some(one => one !== NEUTRAL && asked.layers?.includes(one.type))) asked.layers = null
  if (asked.layers) for (const one of all) one.on = asked.layers.includes(one.type)
  for (const one of has.collections) one.filter = filtersFor(one.type, asked.filters)
  setNeutral(NEUTRAL.on)
  const coloured = all.find(({ type }) => type === asked.colours?.layer)
  if (coloured) coloured.on = true

  if (has.error) notice.show('server', sentence(has.error), () => location.reload())
  const legend = new Legend({ position: `top${START}` }).addTo(map)
  const drawn = drawLayers(map, has, { notice, panels: () => [large, legend.root] })
  createChoropleth({ ...drawn, rows: [...has.types, ...has.collections], show: shown => legend.show(shown) }).set(asked.colours)
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

// The large map opens where this one is.
function link() {
  const { lat, lng } = map.getCenter()
  const select = asked.marker && { kind: 'point', ...asked.marker }
  const state = formatState({ ...NOTHING_OPEN, select, layers: asked.layers, colours: asked.colours, filters: asked.filters, theme: asked.theme })
  large.href = `.${formatHash({ zoom: map.getZoom(), lat, lon: lng })}${state && `/${state}`}`
}

// A reader who scrolls the page around the frame does not mean the map, until a click or the Tab key has given it the focus.
function leaveScrolling() {
  root.parentElement.addEventListener('wheel', event => {
    if (!event.ctrlKey && document.activeElement !== root) event.stopPropagation()
  }, { capture: true, passive: true })
}
