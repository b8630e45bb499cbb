// What a reader takes along from an answer: its coordinates, a link, the request as a program makes it, a line that embeds the map.
import { absolute } from '../server/api.js'
import { jsonLink } from './card.js'
import { copyButton, copyText } from './copy.js'
import { el } from '../dom.js'
import { t } from '../words/words.js'

const quoted = text => `'${text.replaceAll("'", "'\\''")}'`

/** The request of an answer for a shell. */
export const curlOf = url => `curl ${quoted(url)}`

/** The request of an answer for a browser's console or a module. */
export const javascriptOf = url => `const answer = await (await fetch(${JSON.stringify(url)})).json()`

/** The markup that shows a point on a map in another page: at is { lat, lon } in degrees, base the service's address. */
export function embedOf(at, zoom, base) {
  return frameOf({ center: `${at.lat},${at.lon}`, zoom: String(zoom), marker: `${at.lat},${at.lon}` }, base)
}

/** The markup that shows a map in another page; values are the parameters of /embed, the sizes those of the frame. */
export function frameOf(values, base, { width = '600', height = '400', title = '' } = {}) {
  const url = new URL('embed', base)
  url.search = new URLSearchParams(values)
  return `<iframe src="${attribute(url.href)}" width="${attribute(width)}" height="${attribute(height)}" style="border:0" title="${attribute(title || t('Map'))}" loading="lazy"></iframe>`
}

const attribute = text => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')

/**
 * The buttons of an answer: share and copy. path is its request, relative to the service, or ''; at the point it is about, or null;
 * title what to call it; zoom() is the map's.
 */
export function takeAlong({ title, path, at, zoom = () => 10, announce }) {
  const copies = [
    at && copyButton(t('Coordinates'), () => `${at.lat}, ${at.lon}`, announce),
    copyButton(t('Link'), () => location.href, announce),
    path && copyButton('curl', () => curlOf(absolute(path)), announce),
    path && copyButton('JavaScript', () => javascriptOf(absolute(path)), announce),
    at && copyButton(t('Embed'), () => embedOf(at, Math.round(zoom()), document.baseURI), announce),
  ].filter(Boolean)
  return [
    canShare() ? el('button', { type: 'button', class: 'chip', onclick: () => shareLink(title, announce) }, t('Share')) : copyButton(t('Share'), () => location.href, announce),
    el('details', { class: 'copies' }, el('summary', { class: 'chip' }, t('Copy')), el('span', { class: 'chips' }, ...copies)),
    path && jsonLink(path),
  ].filter(Boolean)
}

const canShare = () => typeof globalThis.navigator?.share === 'function'

/** Shares the address of the page; where the browser cannot or does not, copies it and tells how that went. */
export async function shareLink(title, tell) {
  const shared = canShare() && await navigator.share({ title, url: location.href }).then(() => true, ({ name }) => name === 'AbortError') // the reader thought better of it
  if (!shared) tell(await copyText(location.href) ? t('Link copied') : t('The browser does not let the page copy'))
}
