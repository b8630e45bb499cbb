// An answer of the service, fit to be shown.
import { bytes, duration } from '../words/format.js'

const MOST = 256 * 1024 // bytes that are read; a stream may have no end
const PATIENCE = 15_000 // milliseconds
const SHOWN = 40_000 // characters

/**
 * Sends a request { method, url, body, type, key } and tells of the answer: { status, figures, text, image }. figures are how long it
 * took to the last byte and how large it is; text is what to show of it, image a blob instead.
 */
export async function ask({ method, url, body, type, key }, now = () => performance.now()) {
  const headers = { ...body && { 'content-type': type }, ...key && { 'x-api-key': key } }
  const giveUp = new AbortController()
  const timer = setTimeout(() => giveUp.abort(), PATIENCE)
  const started = now()
  try {
    const response = await fetch(url, { method, body: body || undefined, headers, signal: giveUp.signal, cache: 'no-store' })
    const { chunks, size, whole } = await read(response)
    const ms = now() - started
    const media = (response.headers.get('content-type') ?? '').split(';')[0]
    const blob = new Blob(chunks, { type: media })
    const shown = /^image\/(png|svg)/.test(media) ? { image: blob } : { text: await textOf(blob, media, whole) }
    return { status: response.status, figures: [duration(ms), bytes(size) + (whole ? '' : ' read, then stopped'), media].filter(Boolean), ...shown }
  } catch (error) {
    const text = giveUp.signal.aborted ? 'No answer within 15 seconds.' : `The server cannot be reached: ${error.message}`
    return { status: 0, figures: [duration(now() - started)], text }
  } finally {
    clearTimeout(timer)
  }
}

// Reads at most so much; of a stream that goes on, what came until patience ended.
async function read(response) {
  const chunks = []
  let size = 0
  const reader = response.body?.getReader()
  try {
    while (reader && size < MOST) {
      const { done, value } = await reader.read()
      if (done) return { chunks, size, whole: true }
      chunks.push(value)
      size += value.length
    }
    await reader?.cancel()
  } catch (error) {
    if (size === 0) throw error
  }
  return { chunks, size, whole: !reader }
}

async function textOf(blob, media, whole) {
  if (blob.size === 0) return '(empty)'
  if (!/json|text|xml|javascript|event-stream/.test(media)) return `${bytes(blob.size)} of ${media || 'bytes'}`
  const text = await blob.text()
  let shown = text
  if (whole && /json/.test(media) && !/ndjson|seq/.test(media)) {
    try {
      shown = JSON.stringify(JSON.parse(text), null, 2)
    } catch { /* shown as it came */ }
  }
  return shown.length <= SHOWN ? shown : `${shown.slice(0, SHOWN)}\n… ${bytes(shown.length - SHOWN)} more`
}
