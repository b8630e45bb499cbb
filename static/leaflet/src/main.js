// Wires the page: what the server has, the map, the questions a reader can ask.
import { Control, control, DomEvent, tooltip } from 'leaflet'
import { createAnnouncer } from './panels/announce.js'
import { createAnswers } from './panels/answers.js'
import { properties, sentence } from './server/api.js'
import { attributions } from './server/attribution.js'
import { baseMaps } from './server/basemaps.js'
import { createCard } from './panels/card.js'
import { createChoropleth } from './map/choropleth.js'
import { createColourPicker } from './panels/colourpicker.js'
import { Credits } from './map/credits.js'
import { createCrossings } from './panels/crossings.js'
import { el } from './dom.js'
import { Finest } from './map/finest.js'
import { Graticule, GRATICULE } from './map/graticule.js'
import { decimals, PLACE_ID, regionOf, wrapLongitude } from './hash.js'
import { createFilters } from './panels/filters.js'
import { createHelp } from './panels/help.js'
import { createInspector, tileRequests } from './panels/inspector.js'
import { createLayerSwitch } from './panels/layerswitch.js'
import { drawLayers, whatThereIs } from './map/layers.js'
import { createNews } from './server/news.js'
import { createNotice } from './map/notice.js'
import { createPermalink } from './permalink.js'
import { columnsOfSchema, NEUTRAL, PLACES } from './engine/regiontypes.js'
import { Scale } from './map/scale.js'
import { Legend } from './map/legend.js'
import { shareLink } from './panels/share.js'
import { listen } from './panels/shortcuts.js'
import { createSuggest } from './panels/suggest.js'
import { keptTheme, mapTheme, otherTheme, roomy, setNeutral, setTheme } from './theme.js'
import { createThemes } from './panels/themes.js'
import { watchTiles } from './server/tilelog.js'
import { Toolbar } from './panels/toolbar.js'
import { createUnderlay } from './map/underlay.js'
import { createUse } from './panels/use.js'
import { createView, MAX_ZOOM } from './map/view.js'
import { direction, t, translate } from './words/words.js'

const DOUBLE_CLICK = 200 // milliseconds between the clicks of one, at most
const TOLD = 3000 // milliseconds that a message stays
const REST = 60 // milliseconds that the mouse rests on a region to point at it
const LOW = 644 // pixels; in lower windows the buttons lie in rows
const COLUMN = 548 // and where a sheet leaves less than this, which the bar and a column of all buttons take

translate(document.documentElement)
// In languages that are written from right to left the page is mirrored, but for the map itself.
const [START, END] = direction === 'rtl' ? ['right', 'left'] : ['left', 'right']

const element = id => document.getElementById(id)
const bar = document.querySelector('.bar')

const asksForUse = location.hash === '#use' // the documentation's link
const permalink = createPermalink()
setTheme(permalink.state.theme || keptTheme())
watchTiles()

const announce = createAnnouncer(element('announce'))
const notice = createNotice(element('notice'))
let regions = null
let answers = null
let names = null
let colours = null
let chosen = null // the name that was chosen by key
const tip = tooltip({ className: 'tip', opacity: 1, offset: [14, 0] }) // the value of the region beneath a mouse
const card = createCard(element('card'), {
  announce,
  onClose(focused) {
    if (focused) map.getContainer().focus()
    answers?.closed()
    layOut()
  },
})
const view = createView(element('map'), { card: card.root, bar, layers: element('layers'), permalink })
const { map } = view

// What lies over the map beside its controls.
const panels = () => [bar, card.root, element('layers'), ...document.querySelectorAll('.legend')]

// On a narrow screen the card is a sheet at the bottom, and the map's own controls stand above it.
function layOut() {
  const sheet = card.root.hidden || roomy.matches ? 0 : card.root.offsetHeight
  for (const one of document.querySelectorAll('.leaflet-bottom, #notice')) one.style.setProperty('--sheet', `${sheet}px`) // on the root it would cost a frame
  document.documentElement.classList.toggle('low', innerHeight < LOW || innerHeight - sheet < COLUMN)
  if (!card.root.matches('.dragged')) names?.soon() // a finger that moves has the processor for itself
}
layOut()
new ResizeObserver(layOut).observe(card.root)
addEventListener('resize', layOut)
for (const end of ['pointerup', 'pointercancel']) card.root.addEventListener(end, layOut)
// A sheet of paper may be turned otherwise than the screen, which stays as it is.
const portrait = matchMedia('(orientation: portrait)')
let stands = [roomy.matches, portrait.matches]
for (const query of [roomy, portrait]) query.addEventListener('change', () => {
  const now = [roomy.matches, portrait.matches]
  if (matchMedia('print').matches || String(now) === String(stands)) return
  stands = now
  card.toHead()
})

// On paper the map shows what it shows here, on paper of any size.
addEventListener('beforeprint', () => {
  const { clientWidth, clientHeight } = map.getContainer()
  document.documentElement.style.setProperty('--seen-width', `${clientWidth}px`)
  document.documentElement.style.setProperty('--seen-height', `${clientHeight}px`)
})

// The map takes focus from a click too; only for the keyboard does it show so, with the point that Enter asks about.
addEventListener('keydown', () => document.documentElement.classList.add('keyboard'), true)
addEventListener('pointerdown', () => document.documentElement.classList.remove('keyboard'), true)

start()

async function start() {
  const has = await whatThereIs()
  const { types, hasPlaces, collections } = has
  new Credits(attributions(has.status), { position: `bottom${END}` }).addTo(map)
  control.zoom({ position: `bottom${END}`, zoomInTitle: t('Zoom in'), zoomOutTitle: t('Zoom out') }).addTo(map)
  new Scale({ position: `bottom${START}`, maxWidth: 120 }).addTo(map)

  view.startAt(has.tileJSON?.center)
  const maps = baseMaps(has.status)
  const switches = [...types, ...hasPlaces ? [PLACES] : [], ...types.length > 0 ? [GRATICULE, NEUTRAL] : [], ...collections, ...maps]
  const usual = typesOn(switches)
  switchTo(switches, permalink.state.layers)
  setNeutral(NEUTRAL.on)
  const underlay = createUnderlay(map, maps, { maxZoom: MAX_ZOOM })
  underlay.update()
  showGraticule()
  const filters = addFilters(collections, () => points)
  const drawn = drawLayers(map, has, { notice, panels, lines: underlay.shown() });
  ({ regions, names } = drawn)
  if (regions) new Finest(has.maxDataZoom, { position: `bottom${START}` }).addTo(map)
  const points = drawn.points && addPoints(drawn.points, collections)
  const inspector = addInspector(hasPlaces, points)
  const layers = addLayerSwitch(switches, usual, { points, inspector, underlay, filters })
  const showColours = addColours([...types, ...collections], drawn, layers, filters)

  answers = createAnswers({
    card, view, types, permalink, select: selection => regions?.select(selection), offer: regions => points?.crossings.offer(regions), showType: layers.turnOn, announce, colours, rows: () => switches, toggled: on => {
      tip.remove()
      toolbar?.press('area', on)
    },
  })
  ask(points)
  const help = createHelp(element('help'), has.status)
  const use = createUse(element('use'), { announce, shown: () => ({ ...centre(decimals(map.getZoom())), zoom: map.getZoom(), layers: typesOn(switches.filter(type => ![GRATICULE, NEUTRAL].includes(type) && type.role !== 'basemap')), colours: permalink.state.colours, filters: switches.filter(({ on }) => on).flatMap(({ filter = [] }) => filter), theme: mapTheme(), rows: switches.filter(({ on, columns }) => on && columns?.length > 0) }) })
  const tools = addTools(inspector, help, use, types.length > 0 && layers.changed)
  permalink.onVisit(state => {
    setTheme(state.theme || keptTheme())
    switchTo(switches, state.layers ?? usual)
    setNeutral(NEUTRAL.on)
    layers.show()
    filters.show(state.filters)
    showGraticule()
    tip.remove()
    underlay.update()
    regions?.setLines(underlay.shown())
    regions?.refresh()
    names.showPlaces(hasPlaces && PLACES.on)
    points?.switched()
    showColours(state.colours)
    inspector.toggle(state.tiles)
    answers.open(state.select)
    layOut()
  })
  inspector.toggle(permalink.state.tiles)
  tools.press('grid', inspector.on)
  if (permalink.state.select || permalink.state.polygon) answers.open(permalink.state.select, !view.linked)
  if (asksForUse) use()

  if (has.error) tellMissing(has.error)
  watchConnection(points)
}

// A server without boundaries and places still answers for what it has.
function tellMissing(error) {
  const words = error.type === 'dataset-missing' ? t('This server has no map published yet. What else it has, the help (?) tells.') : sentence(error)
  notice.show('server', words, () => location.reload())
}

function watchConnection(points) {
  const again = () => {
    notice.settle('connection')
    regions?.retry()
    names.update()
    points?.layer.update()
  }
  const lost = () => notice.show('connection', t('You are offline. What is on the map stays; the rest waits for the connection.'), again)
  addEventListener('offline', lost)
  addEventListener('online', again)
  if (!navigator.onLine) lost()
}

const typesOn = switches => switches.filter(type => type.on).map(type => type.type)

function switchTo(switches, names) {
  if (!names) return
  for (const type of switches) type.on = names.includes(type.type)
}

// Filters of users' own points: chips on the map, and what follows of a change.
function addFilters(collections, points) {
  const filters = createFilters(collections, { away: () => map.getContainer().focus(), changed: now => {
    permalink.set({ filters: now })
    points().layer.update()
    colours?.set(permalink.state.colours)
    answers?.area.refresh()
  } })
  filters.show(permalink.state.filters)
  return filters
}

function addLayerSwitch(switches, usual, { points, inspector, underlay, filters }) {
  const changed = type => {
    if (type === PLACES) names.showPlaces(type.on)
    else if (type === GRATICULE) showGraticule()
    else if (type === NEUTRAL) setNeutral(type.on)
    else if (type.role === 'points') points.switched()
    else if (type.role === 'basemap') {
      underlay.update()
      regions?.setLines(underlay.shown())
    }
    else regions.refresh()
    colours?.refresh()
    tip.remove()
    inspector.refresh()
    const on = typesOn(switches)
    permalink.set({ layers: String(on) === String(usual) ? null : on })
    answers?.area.refresh()
  }
  const rows = switches.filter(type => type !== NEUTRAL)
  const layers = { ...createLayerSwitch(element('layers').querySelector('fieldset'), rows, changed, filters.form), changed }
  element('layers').hidden = switches.length === 0
  element('layers').open = roomy.matches && innerHeight >= 560
  element('layers').addEventListener('toggle', () => names.soon())
  layers.tellZoom(map.getZoom())
  map.on('zoomend', () => layers.tellZoom(map.getZoom()))
  return layers
}

// What the map is coloured by: the list among the layers, the legend and what the link says. Returns what shows it another way.
function addColours(rows, drawn, layers, filters) {
  const picker = createColourPicker(element('layers').querySelector('fieldset'), rows, async choice => {
    permalink.set({ colours: choice })
    tip.remove()
    await show(choice)
    if (!card.root.hidden && permalink.state.select) answers.open(permalink.state.select)
  })
  // Whose tiles have many columns have none without being asked; who goes to the layers may want one.
  let asked = null
  const more = async () => {
    await Promise.all(rows.filter(({ role, columns }) => role !== 'points' && columns.length === 0).map(async row => {
      row.columns = columnsOfSchema(await properties(row.type).catch(() => ({})))
    }))
    picker.list()
    colours.refresh()
  }
  const ask = () => { asked ??= more() }
  for (const coming of ['pointerenter', 'focusin']) element('layers').addEventListener(coming, ask)
  const legend = new Legend({ position: `bottom${START}`, settings: picker.settings }).addTo(map)
  const corner = [legend.root, filters.root]
  const height = () => corner.reduce((sum, one) => sum + one.offsetHeight, 0)
  const grown = new ResizeObserver(() => document.documentElement.style.setProperty('--legend', `${height()}px`))
  for (const one of corner) grown.observe(one)
  const chips = new Control({ position: `bottom${START}` })
  chips.onAdd = () => filters.root
  DomEvent.disableClickPropagation(filters.root)
  chips.addTo(map)
  colours = createChoropleth({ ...drawn, rows, show: (shown, choice) => {
    legend.show(shown)
    picker.show(choice)
  } })
  const show = async choice => {
    if (choice) layers.turnOn(choice.layer)
    if (choice && !rows.some(({ type, columns }) => type === choice.layer && columns.some(({ property }) => property === choice.property))) ask()
    await colours.set(choice)
    layers.tellZoom(map.getZoom())
  }
  show(permalink.state.colours)
  return show
}

const graticule = new Graticule()
function showGraticule() {
  if (GRATICULE.on) graticule.addTo(map)
  else graticule.remove()
}

// Says something on the map for a moment.
function tell(message) {
  notice.show('told', message)
  setTimeout(() => notice.settle('told'), TOLD)
}

// Users' own points on the map, and what comes with them.
function addPoints(layer, collections) {
  const crossings = createCrossings(element('crossings'), {
    collections, announce, watch: (...what) => news.watch(...what), show: point => answers.own(point), away: () => map.getContainer().focus(),
  })
  const news = createNews(collections, { ...crossings, changed: () => layer.update() })
  news.update()
  map.on('mousemove', ({ latlng }) => map.getContainer().classList.toggle('over-point', layer.at(latlng) !== null))
  return {
    layer,
    crossings,
    switched() {
      news.update()
      layer.update()
    },
  }
}

let toolbar = null
function addInspector(hasPlaces, points) {
  return createInspector(map, element('tile'), {
    announce,
    busy: () => answers?.area.drawing,
    requests: tile => tileRequests(tile, { regions, places: hasPlaces && PLACES.on, points: points?.layer }),
    toggled(on) {
      toolbar?.press('grid', on)
      permalink.set({ tiles: on })
      announce(on ? t('Tile grid on') : t('Tile grid off'))
    },
  })
}

// changed(NEUTRAL) is called after the land got other colours; it is missing where there is no land.
function addTools(inspector, help, use, changed) {
  const showTheme = theme => {
    setTheme(theme, { keep: true })
    permalink.set({ theme })
  }
  const tools = [
    { name: 'locate', label: t('Where am I'), key: 'm', press: () => answers.locate() },
    { name: 'area', label: t('Measure or draw an area'), key: 'p', press: () => answers.area.draw(), toggles: true },
    { name: 'share', label: t('Share'), key: 's', press: () => shareLink(card.title, tell) },
    { name: 'grid', label: t('Tile grid'), key: 'g', press: () => inspector.toggle(), toggles: true },
    { name: 'theme', label: t('Colours'), press: () => themes(), opens: 'themes' },
    { name: 'use', label: t('Use this map'), key: 'u', press: use },
    { name: 'help', label: t('Help and data'), key: '?', press: help },
  ]
  toolbar = new Toolbar(tools, { position: `bottom${END}` }).addTo(map)
  const themes = createThemes(element('themes'), toolbar.button('theme'), {
    chosen: () => ({ theme: permalink.state.theme || keptTheme(), neutral: changed ? NEUTRAL.on : undefined }),
    choose({ theme, neutral }) {
      if (theme !== undefined) return showTheme(theme)
      NEUTRAL.on = neutral
      changed(NEUTRAL)
    },
    opened: on => toolbar.press('theme', on),
  })
  const layers = element('layers')
  listen({
    ...Object.fromEntries(tools.map(({ key, press }) => [key, press])),
    '/': () => element('search').focus(),
    Escape: () => card.close(),
    l: () => {
      layers.open = !layers.open
      if (layers.open) layers.querySelector('input')?.focus()
    },
    t: () => showTheme(otherTheme()),
    n: () => step(1),
    N: () => step(-1),
    r: () => { if (inspector.on) inspector.measure() },
  })
  return toolbar
}

// A point of a collection that is drawn there answers before what lies beneath, and a cluster by opening.
// So does a name that was chosen by key, or the place whose name was clicked: a region is where its name stands.
function askAt(points, latlng, name = null) {
  const shown = name ? null : points?.layer.at(latlng)
  const under = names.at(latlng)
  const selection = selectionOfName(name ?? (under?.kind === 'place' ? under : null))
  if (!shown && selection) answers.name(selection)
  else if (!shown) answers.point(latlng)
  else if (shown.point.count > 0 && view.approach(shown.point)) announce(t('{count} points of {what}. The map goes closer.', { count: shown.point.count, what: shown.layer.label }))
  else answers.own(shown)
}

// Names are { kind, id } of the map, with the copy of the world they are in.
function selectionOfName(name) {
  if (!name) return null
  const { kind, id } = name
  const own = id.replace(/:-?\d+$/, '')
  const [type, ...rest] = own.split('/')
  if (kind === 'region') return regionOf(type, rest.join('/'))
  return PLACE_ID.test(own) ? { kind: 'place', id: own } : null
}

function step(by) {
  chosen = names.next(by)
  if (chosen) announce(chosen.text)
}

function ask(points) {
  // The first half of a double click, which zooms, is no question.
  let pending = 0
  map.on('click', event => {
    clearTimeout(pending)
    if (!answers.area.drawing) pending = setTimeout(askAt, DOUBLE_CLICK, points, event.latlng)
  })
  map.on('dblclick', () => clearTimeout(pending))
  map.getContainer().addEventListener('keydown', event => {
    if (event.target === map.getContainer() && event.key === 'Enter' && !event.defaultPrevented && !answers.area.drawing) askAt(points, map.getCenter(), chosen)
  })
  let resting = 0
  let turn = 0
  const leave = () => {
    turn++
    clearTimeout(resting)
  }
  const point = region => regions?.select(undefined, region)
  let mouse = false
  const pointed = ({ pointerType }) => { mouse = pointerType === 'mouse' }
  for (const what of ['pointermove', 'pointerdown']) map.getContainer().addEventListener(what, pointed, true)
  map.on('mousemove', ({ latlng }) => {
    const name = map.dragging.moving() ? null : names.at(latlng)
    map.getContainer().classList.toggle('over-name', name !== null)
    if (name?.id !== names.aimed?.id) names.aim(name)
    chosen = null
    leave()
    const mine = turn
    // What the mouse only crosses is not outlined; fingers rest on nothing.
    if (regions && mouse && (!name || colours.ofRegions)) resting = setTimeout(async () => {
      const still = !map.dragging.moving() && !answers.area.drawing
      const region = still ? await regions.under(latlng, colours.ofRegions && colours.layer).catch(() => null) : null
      if (mine !== turn) return
      if (!names.aimed) point(region)
      const tells = region && colours.ofRegions && !answers.area.drawing
      if (tells) tip.setLatLng(latlng).setContent(el('div', {}, ...colours.tip(region))).addTo(map)
      else tip.remove()
    }, REST)
  })
  map.on('mouseout', () => {
    leave()
    tip.remove()
    names.aim(null)
    point(null)
  })
  names.on('aimed', () => {
    if (!names.aimed) chosen = null
    const { kind, type, id } = selectionOfName(names.aimed) ?? {}
    point(kind === 'region' ? { type, id } : null)
  })
  createSuggest({
    form: element('search-form'), input: element('search'), list: element('suggestions'),
    choose: answers.found, fail: answers.nothing, lookup: answers.address, announce,
    // On a map of a country or less, what is called so there comes first. Whole tenths of a degree let a cache answer.
    near: () => map.getZoom() >= 6 ? centre(1) : null,
  })
}

function centre(digits) {
  const { lat, lng } = map.getCenter()
  return { lat: Number(lat.toFixed(digits)), lon: Number(wrapLongitude(lng).toFixed(digits)) }
}
