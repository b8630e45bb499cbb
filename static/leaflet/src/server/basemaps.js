// Base maps: other people's pictures of the world, which the server has in archives.
import { title } from '../words/format.js'
import { displayText } from '../words/text.js'

const MOST = 20 // base maps in the switch

/**
 * The base maps of /status that are pictures, as rows of the layer switch: { type, label, role, from, on } and what a grid of
 * them needs. The first is on to begin with. Maps of vector tiles are for other clients.
 */
export function baseMaps(status) {
  const list = Array.isArray(status?.basemaps) ? status.basemaps : []
  return list.filter(one => typeof one?.name === 'string' && /^[a-z0-9][a-z0-9_-]{0,63}$/.test(one.name) && /^(png|jpg|webp|avif)$/.test(one.format) && Number.isInteger(one.maxzoom))
    .slice(0, MOST).map(({ name, title: given, format, minzoom, maxzoom, tile_size: size, bounds }, i) => ({
      type: `basemap:${name}`, label: displayText(given, 40) || title(name), role: 'basemap', from: Number.isInteger(minzoom) ? minzoom : 0, on: i === 0,
      path: `basemap/${name}/{z}/{x}/{y}.${format}`, maxzoom, double: size >= 512, bounds,
    }))
}
