// Calls to the service, and its errors in words. Addresses are relative to the page, so that it also works below a path.
import { displayText } from './format.js'
import { askedLanguage } from './language.js'
import { tileLog } from './tilelog.js'

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

const byStatus = {
  401: 'This server answers only to API keys, and the map page has none. Its operator can let the page pass with --anonymous.',
  403: 'This server does not allow that.',
  404: 'The server has nothing there.',
  429: 'Too many questions in a short time. Wait a moment and ask again.',
  503: 'The server is busy. Wait a moment and ask again.',
}

/** What to tell the reader of an answer that is an error: the problem document's own words, else, and of a key that is missing, the status in ours. */
export function problemMessage(status, problem) {
  if (status === 401) return byStatus[401] // what the server says is for programs
  const words = [problem?.title, problem?.detail].map(part => displayText(part, 400)).filter(Boolean)
    .map(part => /[.!?…]$/.test(part) ? part : `${part}.`)
  return words.join(' ') || byStatus[status] || (status >= 500
    ? 'The server could not answer. Its log tells why.'
    : `The server refused the question (status ${status}).`)
}

/** Seconds a Retry-After header asks for, bounded to what a reader would wait; 0 when it asks for nothing. */
export function retrySeconds(header) {
  const seconds = /^\d+$/.test(header ?? '') ? Number(header) : 0
  return Math.min(seconds, 10)
}

async function request(path, { signal, accept, cache = 'default' }) {
  let response
  try {
    response = await fetch(absolute(path), { signal, cache, headers: { accept } })
  } catch (cause) {
    if (signal?.aborted) throw cause
    throw new ApiError('The server cannot be reached. Check the connection and try again.', { cause })
  }
  if (response.ok) return response
  const problem = await response.json().catch(() => null) // not every proxy's error page is a problem document
  throw new ApiError(problemMessage(response.status, problem), {
    status: response.status,
    type: displayText(problem?.type),
    detail: displayText(problem?.detail, 400),
    retryAfter: retrySeconds(response.headers.get('retry-after')),
  })
}

// Reads a body to its end, the empty one of a 204 too (a browser reports a body left unread as a failed request).
async function parse(response, signal) {
  try {
    const text = await response.text()
    return text === '' ? null : JSON.parse(text)
  } catch (cause) {
    if (signal?.aborted) throw cause
    const message = 'The server sent an answer that the page cannot read. Reload the page.'
    throw new ApiError(message, { status: response.status, cause })
  }
}

async function json(path, { signal } = {}) {
  return parse(await request(path, { signal, accept: 'application/json, application/problem+json;q=0.5' }), signal)
}

// A colon may stand in a path as it is, and an IPv6 address is easier to read in a log with its colons.
const segment = text => encodeURIComponent(text).replaceAll('%3A', ':')

export const tileJSON = options => json('tiles/all.json', options)
export const status = options => json('status', options)
export const region = (type, id, options) => json(`regions/${segment(type)}/${segment(id)}`, options)
export const pointPath = (lat, lon) => `at?lat=${lat}&lon=${lon}${inLanguage()}`
export const point = (lat, lon, options) => json(pointPath(lat, lon), options)
export const placePath = id => `places/${segment(id)}${inLanguage('?')}`
export const place = (id, options) => json(placePath(id), options)
export const airportPath = code => `airports/${segment(code)}`
export const airport = (code, options) => json(airportPath(code), options)

/** A page of the places nearest to a point; class '' is every one, cursor what the page before gave as next, or ''. */
export const placesNearby = ({ lat, lon, limit, featureClass, cursor }, options) => {
  const filter = (featureClass && `&class=${segment(featureClass)}`) + (cursor && `&cursor=${segment(cursor)}`)
  return json(`places/nearby?lat=${lat}&lon=${lon}&limit=${limit}${filter}${inLanguage()}`, options)
}

// Without a limit the answer is one that the server has finished beforehand.
export const placesSearch = (text, near, options) => {
  const bias = near ? `&lat=${near.lat}&lon=${near.lon}` : ''
  return json(`places/search?q=${encodeURIComponent(text)}${bias}${inLanguage()}`, options)
}

function inLanguage(sign = '&') {
  const code = askedLanguage()
  return code && `${sign}lang=${segment(code)}`
}

export const addressPath = ip => `ip/${segment(ip)}`
export const address = (ip, options) => json(addressPath(ip), options)

export const placeTilePath = ({ z, x, y }) => `tiles/places/${z}/${x}/${y}.geojson`
export const vectorTilePath = (types, { z, x, y }) => `tiles/${types.map(segment).join(',')}/${z}/${x}/${y}.mvt`

/** The places of a tile as GeoJSON features; none for an empty tile. */
export async function placeTile(tile, signal) {
  const collection = await parse(await tileRequest(placeTilePath(tile), PLACES_AS, signal), signal)
  return Array.isArray(collection?.features) ? collection.features : []
}

/** The bytes of a vector tile of the given region types; empty for an empty tile. */
export async function vectorTile(types, tile, signal) {
  return (await tileRequest(vectorTilePath(types, tile), REGIONS_AS, signal)).arrayBuffer()
}

// A cache keeps one answer for each Accept header, so whoever asks again must ask alike.
const PLACES_AS = 'application/geo+json, application/json;q=0.9'
const REGIONS_AS = 'application/vnd.mapbox-vector-tile'

/** Asks for a tile again, past the browser's cache if it has not changed, for its figures. */
export async function measureTile(path) {
  const response = await request(path, { accept: path.endsWith('.mvt') ? REGIONS_AS : PLACES_AS, cache: 'no-cache' })
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

// A busy server says so with 503 and Retry-After; a map asks for many tiles at once, so it waits and asks once more.
async function withRetry(ask, signal) {
  try {
    return await ask()
  } catch (error) {
    if (error.status !== 503 || signal?.aborted) throw error
    await new Promise(resolve => setTimeout(resolve, 1000 * (error.retryAfter || 1)))
    signal?.throwIfAborted()
    return ask()
  }
}
