// Who the data come from, as /status tells it.
import { displayText } from '../words/text.js'

/** The attributions of every published source and base map, each once, in the order of /status. */
export function attributions(status) {
  const sources = (Array.isArray(status?.datasets) ? status.datasets : []).flatMap(({ sources } = {}) => sources ?? [])
  const maps = Array.isArray(status?.basemaps) ? status.basemaps.map(({ attribution } = {}) => ({ attribution })) : []
  const texts = [...sources, ...maps].map(source => displayText(source?.attribution) || displayText(source?.name)).filter(Boolean)
  return [...new Set(texts)]
}

const sites = {
  GeoNames: 'https://www.geonames.org', OpenStreetMap: 'https://www.openstreetmap.org/copyright', 'Natural Earth': 'https://www.naturalearthdata.com',
}

/** Text cut at its web addresses, or where it has none, at the names of sources that everybody uses: [{ text, href }], href absent for plain text. */
export function splitLinks(text) {
  if (!text.includes('https://')) return text.split(/(GeoNames|OpenStreetMap|Natural Earth)/).filter(Boolean).map(piece => Object.hasOwn(sites, piece) ? { text: piece, href: sites[piece] } : { text: piece })
  const isLink = piece => piece.startsWith('https://') && URL.canParse(piece)
  return text.split(/(https:\/\/[^\s,;<>"()]*[^\s,;<>"().])/).filter(Boolean)
    .map(piece => isLink(piece) ? { text: new URL(piece).hostname, href: piece } : { text: piece })
}
