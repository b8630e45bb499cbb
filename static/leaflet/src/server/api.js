// Calls to the service, and its errors in words. Addresses are relative to the page, so that it also works below a path.
import { displayText } from '../words/text.js'
import { askedLanguage } from '../words/language.js'
import { tileLog } from './tilelog.js'
import { nameLanguages, t } from '../words/words.js'

/** A failed request. The message is a sentence for the reader; status is 0 when there was no answer at all. */
export class ApiError extends Error {
  constructor(message, { status = 0, type = '', detail = '', retryAfter = 0, cause } = {}) {
    super(message, { cause })
    this.name = 'ApiError'
    this.status = status
    this.type = type
    this.detail = detail
    this.retryAfter = retryAfter
  }
}

// A sentence for each sort of answer that is an error: what is the matter, and what the reader can do. The words of problem
// documents are for programs.
const byType = {
  'dataset-unavailable': t('The server cannot read these data right now. Try again in a moment.'),
  'data-corrupt': t('These data are damaged on the server. Tell its operator.'),
  'data-damaged': t('These data are damaged on the server. Tell its operator.'),
}
const byStatus = {
  400: t('The server does not understand this question. Ask for something else, or reload the page.'),
  401: t('This server answers only to API keys, and the map page has none. Its operator can let the page pass with --anonymous.'),
  403: t('This server does not allow the page to ask that. Its operator can tell why.'),
  404: t('The server does not have what the page asks for. Reload the page; if that does not help, tell its operator.'),
  410: t('The data have been published anew meanwhile. Reload the page.'),
  413: t('This is too long for the server. Shorten it and ask again.'),
  414: t('This is too long for the server. Shorten it and ask again.'),
  422: t('This is too much for one answer. Zoom in, or choose another kind of place.'),
  429: t('Too many questions in a short time. Ask again in {wait}.'),
  431: t('This is too long for the server. Shorten it and ask again.'),
  502: t('The server does not answer its proxy. Try again in a moment.'),
  503: t('The server is busy. Try again in {wait}.'),
  504: t('The server does not answer its proxy in time. Try again in a moment.'),
}

/** What to tell the reader of an answer that is an error; wait is for how many seconds the server wants to be left alone. */
export function problemMessage(status, type, wait = 0) {
  const words = byType[type] ?? byStatus[status] ?? (status >= 500
    ? t('Something failed on the server. Try again; if it lasts, tell its operator.')
    : t('The server refused the question (status {status}). Reload the page; if that does not help, tell its operator.', { status: String(status) }))
  return words.replace('{wait}', duration(wait))
}

function duration(seconds) {
  if (seconds < 1) return t('a moment')
  if (seconds < 100) return t('{count} seconds', { count: Math.ceil(seconds) })
  if (seconds < 100 * 60) return t('{count} minutes', { count: Math.ceil(seconds / 60) })
  return t('{count} hours', { count: Math.ceil(seconds / 3600) })
}

/** What to tell the reader of any error: those that are not the server's are mistakes of the page, which are told in English by browsers. */
export function sentence(error) {
  return error instanceof ApiError ? error.message : UNREADABLE
}

const UNREADABLE = t('The server sent an answer that the page cannot read. Reload the page.')

/** Seconds a Retry-After header asks for, as a number or a date; 0 when it asks for nothing. */
export function retrySeconds(header, now = Date.now()) {
  const text = header ?? ''
  const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - now) / 1000
  return seconds > 0 && seconds < 1e6 ? Math.ceil(seconds) : 0
}

async function request(path, { signal, accept, cache = 'default', body }) {
  let response
  try {
    const posted = body && { method: 'POST', body: JSON.stringify(body) }
    response = await fetch(absolute(path), { signal, cache, headers: { accept, ...body && { 'content-type': 'application/geo+json' } }, ...posted })
  } catch (cause) {
    if (signal?.aborted) throw cause
    throw new ApiError(t('The server cannot be reached. Check the connection and try again.'), { cause })
  }
  if (response.ok) return response
  const problem = await response.json().catch(() => null) // not every proxy's error page is a problem document
  const type = displayText(problem?.type)
  const retryAfter = retrySeconds(response.headers.get('retry-after'))
  throw new ApiError(problemMessage(response.status, type, retryAfter), {
    status: response.status, type, detail: displayText(problem?.detail, 400), retryAfter,
  })
}

// Reads a body to its end, the empty one of a 204 too (a browser reports a body left unread as a failed request). An answer that
// is not what was asked for is an error: it must not look like one with nothing in it.
async function parse(response, signal, isAnswer) {
  const text = await whole(response, 'text', signal)
  if (text === '' && response.status === 204) return null
  try {
    const answer = JSON.parse(text)
    if (answer !== null && typeof answer === 'object' && isAnswer(answer)) return answer
  } catch { /* the same as an answer of another kind */ }
  throw new ApiError(UNREADABLE)
}

async function json(path, isAnswer, { signal, body } = {}) {
  return parse(await request(path, { signal, body, accept: 'application/json, application/problem+json;q=0.5' }), signal, isAnswer)
}

/** Whether an answer has a position. */
export const isPosition = answer => Number.isFinite(answer?.lat) && Number.isFinite(answer?.lon)
const isPoint = answer => isPosition(answer) && (Array.isArray(answer.regions) || [answer.missing].flat().includes('boundaries'))
const isFeature = ({ geometry, properties }) => geometry?.coordinates?.length >= 2 && geometry.coordinates.every(Number.isFinite) && properties !== null && typeof properties === 'object'
const isList = ({ places }) => Array.isArray(places)

// A colon may stand in a path as it is, and an IPv6 address is easier to read in a log with its colons.
const segment = text => encodeURIComponent(text).replaceAll('%3A', ':')

export const tileJSON = (layers = 'all') => json(`tiles/${segment(layers)}.json`, answer => Array.isArray(answer.vector_layers))
export const status = options => json('status', answer => Array.isArray(answer.datasets), options)
export const collections = options => json('points', answer => Array.isArray(answer.collections), options)
export const collectionPoint = (path, options) => json(path, isFeature, options)

/**
 * The path of a point, or '' where no address reaches it: browsers take . and .. for folders, however they are encoded. A word may
 * be an endpoint's, such as count, so one letter of it is encoded.
 */
export function collectionPointPath(name, id) {
  if (id === '.' || id === '..') return ''
  const word = /^[a-z]+$/.test(id)
  return `points/${segment(name)}/${word ? `%${id.charCodeAt(0).toString(16)}${id.slice(1)}` : segment(id)}`
}

/** The points in a cluster of a collection, at most so many: { points }. */
export const clusterPoints = ({ name, filter }, cluster, limit, options) =>
  json(`points/${segment(name)}/cluster/${segment(cluster)}?${queryOf([['limit', limit], ...filter])}`, ({ points }) => Array.isArray(points) && points.every(isPosition), options)

/** An area, [[lon, lat]], as GeoJSON. */
export const areaOf = polygon => ({ type: 'Polygon', coordinates: [[...polygon, polygon[0]]] })

/** A question about an area, or about a whole layer for null: path is "points/shops/count" or such, query its parameters, [name, value]. */
export const inArea = (path, polygon, query, isAnswer, options) =>
  json(`${path}?${queryOf(query)}`, isAnswer, { ...options, body: polygon && areaOf(polygon) })

/** Parameters, [name, value], as an address has them; those without a value are left out, unless they are filters. */
export const queryOf = pairs => pairs.filter(([name, value]) => value !== undefined && (value !== '' || name.includes('.')))
  .map(([name, value]) => `${segment(name)}=${segment(String(value))}`).join('&')

export const regionPath = (type, id) => `regions/${segment(type)}/${segment(id)}`
export const region = (type, id, options) => json(regionPath(type, id), ({ id }) => typeof id === 'string', options)
export const pointPath = (lat, lon) => `at?lat=${lat}&lon=${lon}${inLanguage()}`
export const point = (lat, lon, options) => json(pointPath(lat, lon), isPoint, options)

/** The regions at a point with their labels, finest first, and the place there: { results }. */
export const reverse = (lat, lon, options) => json(`reverse?lat=${lat}&lon=${lon}${inLanguage()}`, ({ results }) => Array.isArray(results), options)
export const placePath = id => `places/${segment(id)}${inLanguage('?')}`
export const place = (id, options) => json(placePath(id), isPosition, options)
export const country = (code, options) => json(`countries/${segment(code)}${inLanguage('?')}`, ({ code }) => typeof code === 'string', options)
export const airportPath = code => `airports/${segment(code)}`
export const airport = (code, options) => json(airportPath(code), isPosition, options)

/** A page of the places nearest to a point; class '' is every one, cursor what the page before gave as next, or ''. */
export const placesNearby = ({ lat, lon, limit, featureClass, cursor }, options) => {
  const filter = (featureClass && `&class=${segment(featureClass)}`) + (cursor && `&cursor=${segment(cursor)}`)
  return json(`places/nearby?lat=${lat}&lon=${lon}&limit=${limit}${filter}${inLanguage()}`, isList, options)
}

/** What a text names: places, regions, airports, positions. near is where the map is, or null. */
export const search = (text, near, options) => {
  const bias = near ? `&lat=${near.lat}&lon=${near.lon}` : ''
  return json(`geocode?q=${encodeURIComponent(text)}${bias}${inLanguage()}`, ({ results }) => Array.isArray(results), options)
}

function inLanguage(sign = '&') {
  return `${sign}lang=${segment(asked)}`
}

export const addressPath = ip => `ip/${segment(ip)}`
export const address = (ip, options) => json(addressPath(ip), ({ ip }) => typeof ip === 'string', options)

/** What the colours of a layer mean, { classes, rest, missing, … }, in the theme "light" or "dark"; parameters are [name, value]. */
export async function legend(layer, parameters, theme, options) {
  const query = queryOf([['layers', layer], ...parameters, ['theme', theme], ['names', 'false']])
  const style = await json(`style.json?${query}`, ({ metadata }) => Array.isArray(metadata?.[LEGEND]?.classes), options)
  return style.metadata[LEGEND]
}

/** The properties of a region type by name, as JSON schema has them. */
export const properties = async (type, options) =>
  (await json(`ogc/collections/${segment(type)}/queryables`, answer => answer.properties !== null && typeof answer.properties === 'object', options)).properties

const LEGEND = 'quadrille:legend'

// Names of places and regions in the reader's language, beside those of the data.
const asked = askedLanguage(nameLanguages)
export const placeTilePath = ({ z, x, y }) => `tiles/places/${z}/${x}/${y}.geojson?names=${asked}`
export function vectorTilePath(types, { z, x, y }, field = '', filter = []) {
  const query = queryOf([['names', types.every(type => type.startsWith('points:')) ? '' : asked], ['fields', field], ...filter])
  return `tiles/${types.map(segment).join(',')}/${z}/${x}/${y}.mvt${query && `?${query}`}`
}

/** Has the bytes of a tile of places read, GeoJSON or nothing for an empty tile; read resolves to false where they are neither. */
export async function placeTile(tile, read, signal) {
  const bytes = await whole(await tileRequest(placeTilePath(tile), PLACES_AS, signal), 'arrayBuffer', signal)
  if (!await read(bytes)) throw new ApiError(UNREADABLE)
}

/** The bytes of a vector tile of the given region types; empty for an empty tile. field is a property that it has in place of the usual ones, or '', filter what its points pass, [name, value]. */
export async function vectorTile(types, tile, { signal, field, filter } = {}) {
  return whole(await tileRequest(vectorTilePath(types, tile, field, filter), REGIONS_AS, signal), 'arrayBuffer', signal)
}

// The body as what a method of the answer makes of it.
async function whole(response, method, signal) {
  try {
    return await response[method]()
  } catch (cause) {
    if (signal?.aborted) throw cause
    throw new ApiError(t('The connection to the server broke off. Try again.'), { cause })
  }
}

// A cache keeps one answer for each Accept header, so whoever asks again must ask alike.
const PLACES_AS = 'application/geo+json, application/json;q=0.9'
const REGIONS_AS = 'application/vnd.mapbox-vector-tile'

/** Asks for a tile again, past the browser's cache if it has not changed, for its figures. */
export async function measureTile(path) {
  const response = await request(path, { accept: /\.mvt(\?|$)/.test(path) ? REGIONS_AS : PLACES_AS, cache: 'no-cache' })
  tileLog.answered(absolute(path), response)
  await response.arrayBuffer()
}

/** The address of a path of the service, in full. */
export function absolute(path) {
  return new URL(path, document.baseURI).href
}

async function tileRequest(path, accept, signal) {
  const response = await withRetry(() => request(path, { signal, accept }), signal)
  tileLog.answered(absolute(path), response)
  return response
}

const LONGEST_WAIT = 10 // seconds

// A busy server says so with 503 and Retry-After; a map asks for many tiles at once, so it waits and asks once more.
async function withRetry(ask, signal) {
  try {
    return await ask()
  } catch (error) {
    if (error.status !== 503 || signal?.aborted) throw error
    await new Promise(resolve => setTimeout(resolve, 1000 * Math.min(error.retryAfter || 1, LONGEST_WAIT)))
    signal?.throwIfAborted()
    return ask()
  }
}
