// The permalink: #zoom/latitude/longitude, degrees WGS84, and what else is open: /at=47.37,8.54&layers=country&tiles=1.

/** Zooms are told apart to a hundredth. */
export function roundZoom(zoom) {
  return Math.round(zoom * 100) / 100
}

/** The limit of Web Mercator's square, in degrees of latitude. */
export const MAX_LATITUDE = 85.05112877980659

/** Decimals of a degree that tell two pixels apart at a zoom. */
export function decimals(zoom) {
  return Math.max(0, Math.ceil(-Math.log10(360 / 256 / 2 ** zoom)))
}

/** Longitude brought into [-180, 180). */
export function wrapLongitude(lon) {
  return lon - 360 * Math.floor((lon + 180) / 360)
}

export function formatHash({ zoom, lat, lon }) {
  const digits = decimals(zoom)
  return `#${roundZoom(zoom)}/${fixed(lat, digits)}/${fixed(wrapLongitude(lon), digits)}`
}

// The parts of a hash. Other maps begin theirs with "map=", addresses within addresses have their slashes encoded, and of the text
// around an address a bracket or a full stop may have come along.
function partsOf(hash) {
  const text = hash.replace(/^#(map=)?/i, '')
  const parts = (/^[^/]+%2F/i.test(text) ? decoded(text) : text).split('/')
  if (parts.length === 3) parts[2] = parts[2].replace(/^([+-]?\d+(?:\.\d+)?)(?:&.*|[)\]}>.,;:!?"'\u00bb\u201d]+)$/, '$1')
  return parts
}

/** The view a hash names, or null when it names none. The zoom is within [minZoom, maxZoom]. */
export function parseHash(hash, { minZoom = 0, maxZoom = 22 } = {}) {
  const parts = partsOf(hash)
  if (parts.length < 3 || parts.slice(0, 3).some(part => !/^[+-]?\d+(\.\d+)?$/.test(part))) return null
  const [zoom, lat, lon] = parts.map(Number)
  if (Math.abs(lat) > 90 || Math.abs(lon) > 1e6) return null
  return {
    zoom: Math.min(maxZoom, Math.max(minZoom, roundZoom(zoom))),
    lat: Math.min(MAX_LATITUDE, Math.max(-MAX_LATITUDE, lat)),
    lon: wrapLongitude(lon),
  }
}

// toFixed writes -0.00 for what rounds to zero from below.
function fixed(value, digits) {
  return value.toFixed(digits).replace(/^-(0(?:\.0*)?)$/, '$1')
}

const MOST_LAYERS = 32

/** How places and airports are named in a permalink and in the service's addresses. */
export const PLACE_ID = /^\d{1,12}$/
export const AIRPORT_CODE = /^[A-Za-z0-9-]{1,16}$/

/** A region as a selection, or null where no address reaches it: browsers take an id of . or .. for a folder. */
export function regionOf(type, id) {
  return /^[\w-]{1,64}$/.test(type ?? '') && /^(?!\.{1,2}$).{1,128}$/u.test(id ?? '') ? { kind: 'region', type, id } : null
}

const themes = new Set(['light', 'dark'])

/**
 * What is open besides the view: select is { kind: 'point', lat, lon }, { kind: 'place', id }, { kind: 'airport', code },
 * { kind: 'region', type, id }, { kind: 'ip', ip } or null, "me" being an ip too; layers are the types shown, or null for those the page starts with; tiles is
 * whether the tile inspector is on; colours is { layer, property, classes, scheme } as the parameters of a style say it, or null; filters
 * are parameters of tiles, [["points:shops.category", "cafe"]]; polygon has the corners of an area, [[lon, lat]], or is null; theme is "light", "dark" or "" for the system's.
 */
export const NOTHING_OPEN = Object.freeze({ select: null, layers: null, tiles: false, colours: null, filters: [], polygon: null, theme: '' })

/** The state as the permalink's last part, without its slash; '' for nothing open. */
export function formatState({ select, layers, tiles, colours, filters = [], polygon, theme }) {
  const parts = []
  if (select?.kind === 'point') parts.push(['at', `${select.lat},${select.lon}`])
  if (select?.kind === 'place') parts.push(['place', select.id])
  if (select?.kind === 'airport') parts.push(['airport', select.code])
  if (select?.kind === 'region') parts.push(['region', `${select.type}/${select.id}`])
  if (select?.kind === 'ip') parts.push(['ip', select.ip])
  if (layers) parts.push(['layers', layers.join(',')])
  if (tiles) parts.push(['tiles', 1])
  parts.push(...colourParameters(colours), ...filters)
  if (polygon && isShort(polygon)) parts.push(['polygon', String(polygon)])
  if (theme) parts.push(['theme', theme])
  return parts.map(([key, value]) => `${readable(key)}=${readable(value)}`).join('&')
}

/** The state a permalink names. Whatever in it is not valid counts as not there. */
export function parseState(hash) {
  const [, , , ...rest] = partsOf(hash)
  const values = new Map()
  for (const part of rest.join('/').split('&')) {
    const [, key, value] = /^([^=]+)=(.*)$/s.exec(part) ?? []
    if (key && !values.has(decoded(key))) values.set(decoded(key), decoded(value))
  }
  return {
    select: selection(values),
    layers: layerList(values.get('layers')),
    tiles: values.get('tiles') === '1',
    colours: coloursOf(values),
    filters: filtersOf(values),
    polygon: polygonOf(values.get('polygon')),
    theme: themes.has(values.get('theme')) ? values.get('theme') : '',
  }
}

/** How the map is coloured by a Map or a query: { layer, property, classes, scheme }, the latter two '' for the server's choice, or null. */
export function coloursOf(values) {
  const [, layer, property] = /^((?:points:)?[\w-]{1,64})\.(.{1,128})$/u.exec(values.get('color') ?? '') ?? []
  const text = (name, pattern) => pattern.exec(values.get(name) ?? '')?.[0] ?? ''
  return layer ? { layer, property, classes: text('classes', /^[\w.,:+-]{1,256}$/), scheme: text('scheme', /^[a-z-]{1,32}$/) } : null
}

const MOST_FILTERS = 16

/** The filters of collections among the pairs of a Map or a query: [["points:shops.price.lt", "20"]]. */
export const filtersOf = values => [...values].slice(0, 200)
  .filter(([name, value]) => /^points:[a-z][a-z0-9_-]{0,39}\..{1,128}$/u.test(name) && value.length <= 256).slice(0, MOST_FILTERS)

/** Those of one collection, a type of the layer switch. */
export const filtersFor = (type, filters) => filters.filter(([name]) => name.startsWith(`${type}.`))

/** Whether an area, [[lon, lat]], is short enough for an address: every one that can be drawn is. */
export const isShort = polygon => String(polygon).length <= 5000

/** The corners that a list lon,lat,… names, or null where they are no area. Those across 180° have longitudes beyond it. */
export function polygonOf(text = '') {
  const numbers = /^-?\d{1,3}(\.\d{1,7})?(,-?\d{1,3}(\.\d{1,7})?){5,}$/.test(text) ? text.split(',').map(Number) : []
  const corners = numbers.flatMap((lon, i) => i % 2 === 0 ? [[lon, numbers[i + 1]]] : [])
  return corners.length > 0 && corners.every(([lon, lat]) => Math.abs(lon) <= 540 && Math.abs(lat) <= 90) ? corners : null
}

/** The colours as parameters of a link, a style or a frame: [name, value]. */
export function colourParameters(colours) {
  if (!colours) return []
  const { layer, property, classes, scheme } = colours
  return [['color', `${layer}.${property}`], ['classes', classes], ['scheme', scheme]].filter(([, value]) => value)
}

function selection(values) {
  const [, lat, lon] = /^(-?\d{1,2}(?:\.\d+)?),(-?\d{1,3}(?:\.\d+)?)[)\]}>.,;:!?"']*$/.exec(values.get('at'))?.map(Number) ?? []
  if (Math.abs(lat) <= 90 && Math.abs(lon) <= 180) return { kind: 'point', lat, lon }
  const text = (key, pattern) => pattern.test(values.get(key) ?? '') ? values.get(key) : ''
  const [id, code, ip] = [text('place', PLACE_ID), text('airport', AIRPORT_CODE), text('ip', /^[\w.:%-]{1,64}$/)]
  if (id) return { kind: 'place', id }
  if (code) return { kind: 'airport', code }
  const [type, ...rest] = (values.get('region') ?? '').split('/')
  return regionOf(type, rest.join('/')) ?? (ip ? { kind: 'ip', ip } : null)
}

/** The types that a comma list names, no more than a map has use for, or null where there is no list. */
export function layerList(text) {
  return text === undefined ? null : text.split(',').filter(Boolean).slice(0, MOST_LAYERS)
}

/** A part of an address as text; '' where it is not encoded well. */
export function decoded(text) {
  try {
    return decodeURIComponent(text)
  } catch {
    return ''
  }
}

// A fragment may hold commas, colons and slashes as they are.
function readable(value) {
  return encodeURIComponent(value).replaceAll('%2C', ',').replaceAll('%3A', ':').replaceAll('%2F', '/')
}
