// What the address of the embedded map asks for: /embed?center=lat,lon&zoom=&marker=lat,lon&fit=&layers=&color=&classes=&scheme=&theme=&title=&popup=&points:shops.category=.
import { coloursOf, filtersOf, layerList, MAX_LATITUDE, wrapLongitude } from './hash.js'
import { isBox } from './engine/tilegrid.js'
import { displayText } from './words/text.js'

const DEGREES = /^([+-]?\d{1,3}(?:\.\d{1,20})?),([+-]?\d{1,4}(?:\.\d{1,20})?)$/

/**
 * The view of a query: center and marker are { lat, lon } in degrees or null, zoom a number within the limits or null, layers a list
 * of types or null, colours and filters as hash.js has them, theme "light", "dark" or '' for the system's; fit is a box or the name of a
 * layer or region, popup as popup.js reads it. What is not valid counts as not there; what is out of bounds is
 * brought back into them, but for a latitude beyond a pole.
 */
export function embedView(search, { minZoom, maxZoom }) {
  const values = new URLSearchParams(search)
  const text = values.get('zoom') ?? ''
  const zoom = /^\d{1,2}(\.\d{1,6})?$/.test(text) ? Math.min(maxZoom, Math.max(minZoom, Number(text))) : null
  const layers = layerList(values.get('layers') ?? undefined)
  const theme = values.get('theme')
  return {
    center: position(values.get('center')), marker: position(values.get('marker')), zoom,
    layers: layers?.length ? layers : null, colours: coloursOf(values), filters: filtersOf(values),
    fit: fitOf(values.get('fit') ?? ''), popup: values.get('popup'), title: displayText(values.get('title'), 120), theme: theme === 'light' || theme === 'dark' ? theme : '',
  }
}

/** What a Leaflet map shows, as a query may ask for it: { center: [lat, lon], zoom, bounds: [west, south, east, north] }. */
export function viewOf(map) {
  const { lat, lng } = map.getCenter()
  const box = map.getBounds()
  const [west, east] = box.getEast() - box.getWest() >= 360 ? [-180, 180] : [box.getWest(), box.getEast()].map(wrapLongitude)
  const rounded = list => list.map(value => Number(value.toFixed(6)))
  return { center: rounded([lat, wrapLongitude(lng)]), zoom: rounded([map.getZoom()])[0], bounds: rounded([west, box.getSouth(), east, box.getNorth()]) }
}

// A box [west, south, east, north] in degrees, or the name of a layer, or a region as type:id.
function fitOf(text) {
  const box = text.split(',').map(part => part.trim() === '' ? NaN : Number(part))
  if (text.includes(',')) return isBox(box) && text.length < 100 ? box : ''
  return text.slice(0, 200)
}

function position(text) {
  const [, lat, lon] = DEGREES.exec(text ?? '')?.map(Number) ?? []
  if (!(Math.abs(lat) <= 90)) return null
  return { lat: Math.min(MAX_LATITUDE, Math.max(-MAX_LATITUDE, lat)), lon: wrapLongitude(lon) }
}
