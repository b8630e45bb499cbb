// The page's side of the workshop: in a worker, or in the page itself where workers cannot paint.
import { onThemeChange, readTheme } from '../theme.js'
import { connect, serve } from './service.js'
import { nameLanguages } from '../words/words.js'
import { createWorkshop } from './workshop.js'

// The bundler puts the address here: the worker is a file of its own, with a hash in its name.
const WORKER = new URL(TILE_WORKER, import.meta.url)

/** Calls to a workshop, as connect of service.js makes them, in the theme that holds; names come in the reader's language where the data or the browser know them. */
export function createStudio() {
  const studio = canUseWorker() ? inWorker() : inPage()
  const dress = () => studio.call('theme', readTheme())
  dress()
  onThemeChange(dress)
  studio.call('speak', { languages: nameLanguages })
  return studio
}

function canUseWorker() {
  try {
    return typeof Worker === 'function' && new OffscreenCanvas(1, 1).getContext('2d') !== null
  } catch {
    return false // no OffscreenCanvas, or none that can be painted on
  }
}

// A worker that does not start, for want of its file or by some policy, is replaced before it was asked anything.
function inWorker() {
  const worker = startWorker()
  if (!worker) return inPage()
  const far = connect(worker)
  const studio = far.ready.then(() => far, () => inPage())
  worker.addEventListener('error', event => {
    event.preventDefault()
    far.failed(new Error('The tile worker does not start.'))
  })
  return { call: async (...what) => (await studio).call(...what) }
}

// A sandboxed frame has an origin that no file is of, and may start none as a worker but its own, which may load others.
function startWorker() {
  const inOwn = new Blob([`importScripts(${JSON.stringify(WORKER.href)})`], { type: 'text/javascript' })
  for (const address of [() => WORKER, () => URL.createObjectURL(inOwn)]) {
    try {
      return new Worker(address())
    } catch { /* then the next, or none */ }
  }
  return null
}

function inPage() {
  const { port1, port2 } = new MessageChannel()
  const near = connect(port1)
  serve(port2, createWorkshop({ newCanvas: () => document.createElement('canvas'), picture: canvas => createImageBitmap(canvas) }))
  return near
}

/** Shows a picture on a canvas, which takes it over. */
export function show(canvas, { bitmap }) {
  const context = canvas.getContext('bitmaprenderer')
  if (canvas.width !== bitmap.width) [canvas.width, canvas.height] = [bitmap.width, bitmap.height]
  context.transferFromImageBitmap(bitmap)
}
