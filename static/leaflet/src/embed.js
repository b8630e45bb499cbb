// The map in a frame of another page: the land, names and points of the map page, and a link to it.
import { control } from 'leaflet'
import { region as fetchRegion, search, sentence, tileJSON } from './server/api.js'
import { createAnnouncer } from './panels/announce.js'
import { attributions } from './server/attribution.js'
import { createCard } from './panels/card.js'
import { createChoropleth } from './map/choropleth.js'
import { Credits } from './map/credits.js'
import { createEmbedCard } from './embedcard.js'
import { createHost } from './embedhost.js'
import { embedView, viewOf } from './embedview.js'
import { filtersFor, filtersOf, formatHash, formatState, NOTHING_OPEN } from './hash.js'
import { drawLayers, whatThereIs } from './map/layers.js'
import { Legend } from './map/legend.js'
import { createNotice } from './map/notice.js'
import { NEUTRAL, PLACES } from './engine/regiontypes.js'
import { setNeutral, setTheme } from './theme.js'
import { createView, MAX_ZOOM } from './map/view.js'
import { isBox } from './engine/tilegrid.js'
import { displayText } from './words/text.js'
import { direction, t, translate } from './words/words.js'

const DOUBLE_CLICK = 200 // milliseconds between the clicks of one, at most
const CLOSEST = 14 // the zoom that a fit to very little ends on

translate(document.documentElement)
const [START, END] = direction === 'rtl' ? ['right', 'left'] : ['left', 'right']

const root = document.querySelector('#map')
const large = document.querySelector('#large')
const title = document.querySelector('#title')
const notice = createNotice(document.querySelector('#notice'))

const card = createCard(document.querySelector('#card'), { announce: createAnnouncer(document.querySelector('#announce')), onClose(focused) {
  answer?.away()
  if (focused) root.focus()
} })
let answer = null // the card of what is clicked
let going = 0 // how often the page around this one wanted to look elsewhere

// The address of a frame is the other page's: nothing is written to it.
const permalink = { startsAt() {}, moved() {}, onVisit() {} }
const view = createView(root, { card: card.root, bar: title, permalink })
const { map, pin } = view
const limits = { minZoom: map.getMinZoom(), maxZoom: MAX_ZOOM }

const asked = embedView(location.search, limits)
setTheme(asked.theme)
if (window !== top) leaveScrolling()
start()

async function start() {
  entitle()
  look(asked)
  const [has, box] = await Promise.all([whatThereIs(), boxOf(asked.fit)])
  new Credits(attributions(has.status), { position: `bottom${END}` }).addTo(map)
  control.zoom({ position: `top${END}`, zoomInTitle: t('Zoom in'), zoomOutTitle: t('Zoom out') }).addTo(map)
  if (box) show(box, { animate: false })
  else if (!asked.center && !asked.marker && asked.zoom === null) view.startAt(has.tileJSON?.center)

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
  const drawn = drawLayers(map, has, { notice, panels: () => [large, title, card.root, legend.root] })
  const colours = createChoropleth({ ...drawn, rows: [...has.types, ...has.collections], show: shown => legend.show(shown) })
  colours.set(asked.colours)
  const tell = createHost({
    view: message => go(message),
    filter({ filters }) {
      asked.filters = filtersOf(Object.entries(filters ?? {}).map(([name, value]) => [name, String(value)]))
      for (const one of has.collections) one.filter = filtersFor(one.type, asked.filters)
      drawn.points?.update()
      colours.set(asked.colours)
      link()
    },
    select: ({ layer, id }) => id ? answer.ofId(String(layer), String(id)) : leave(),
  })
  answer = createEmbedCard({ ...drawn, card, view, popup: asked.popup, all, colours, tell: feature => tell('select', feature) })
  ask(drawn.points)
  const moved = name => {
    link()
    tell(name, viewOf(map))
  }
  map.on('moveend', () => moved('view'))
  moved('ready')
}

// The title stands over the map, above the legend, if the address has one.
function entitle() {
  title.textContent = asked.title
  title.hidden = !asked.title
  if (!asked.title) return
  document.title = asked.title
  root.setAttribute('aria-label', asked.title)
  document.documentElement.style.setProperty('--title', `${title.offsetHeight + 8}px`)
}

// Where to look: at the center, else at the marker.
function look({ center, marker, zoom }) {
  const at = center ?? marker
  if (at) map.setView([at.lat, at.lon], zoom ?? Math.max(map.getZoom(), marker ? 10 : 4), { animate: false })
  else if (zoom !== null) map.setZoom(zoom, { animate: false })
  if (marker) pin(marker)
}

const show = (box, options) => view.flyToBox(box, { maxZoom: CLOSEST, ...options })

// The page around this one wants to look elsewhere: its message has center, zoom, marker or fit, as an address has them.
async function go({ center, zoom, marker, fit }) {
  const mine = ++going
  const given = Object.entries({ center, zoom, marker, fit }).filter(([, value]) => value !== undefined && value !== null)
  const wish = embedView(`?${new URLSearchParams(given)}`, limits)
  look(wish)
  const box = await boxOf(wish.fit)
  if (box && mine === going) show(box)
}

// The box that a fit names, or null. Of a region it is what a search frames, which leaves out far islands, if it finds that.
async function boxOf(fit) {
  const mine = going
  notice.settle('fit')
  if (!fit || Array.isArray(fit)) return fit || null
  try {
    const [, type, id] = /^(?!points:)([^:]+):(.+)$/.exec(fit) ?? []
    if (!type) return (await tileJSON(fit)).bounds
    const record = await fetchRegion(type, id)
    const found = await search(displayText(record.name), null).catch(() => ({ results: [] }))
    const box = found.results.find(hit => hit?.type === type && hit.id === record.id)?.bbox ?? record.bbox
    return isBox(box) ? box : null
  } catch (error) {
    if (mine !== going) return null // nobody waits for it any more
    const words = error.status === 404 ? t('The map does not know where {what} is.', { what: displayText(fit, 64) }) : sentence(error)
    notice.show('fit', words, () => go({ fit }))
    return null
  }
}

// Nothing is chosen any more: neither what a card tells, nor what has none, nor what the server is asked about.
function leave() {
  if (card.root.hidden) answer?.away()
  else card.close()
}

// A click, or Enter for the middle of the map; the first half of a double click, which zooms, asks for nothing.
function ask(points) {
  let pending = 0
  map.on('click', ({ latlng }) => {
    clearTimeout(pending)
    pending = setTimeout(answer.at, DOUBLE_CLICK, latlng)
  })
  map.on('dblclick', () => clearTimeout(pending))
  if (points) map.on('mousemove', ({ latlng }) => root.classList.toggle('over-point', points.at(latlng) !== null))
  addEventListener('pointerdown', () => document.documentElement.classList.remove('keyboard'), true)
  addEventListener('keydown', event => {
    document.documentElement.classList.add('keyboard')
    if (event.key === 'Escape') leave()
    if (event.key === 'Enter' && event.target === root) answer.at(map.getCenter())
  }, true)
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
