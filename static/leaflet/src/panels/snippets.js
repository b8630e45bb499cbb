// What other programs need to draw this map: pages to paste for map libraries, lines for QGIS, a frame.
import { queryOf } from '../server/api.js'
import { colourParameters } from '../hash.js'
import { frameOf } from './share.js'
import { themes } from '../tokens.js'

// Copies of the libraries that anyone may load; the versions are those that the tests run the pages with.
const CDN = 'https://unpkg.com'
const MAPLIBRE = `${CDN}/maplibre-gl@6.17.0/dist/maplibre-gl`
const LEAFLET = `${CDN}/leaflet@1.9.4/dist/leaflet`
const BRIDGE = `${CDN}/@maplibre/maplibre-gl-leaflet@0.1.4/dist/leaflet-maplibre-gl.mjs`
const OPENLAYERS = `${CDN}/ol@10.11.0`

/**
 * The snippets for a view: [{ id, name, text }], that of the iframe with frame, the parameters of /embed. base is the service's address, lat and lon
 * are degrees, zoom is of tiles of 256 pixels, layers the types that are on, colours the column that these show, as hash.js has it, or
 * null, filters those of collections, theme the name of the map's colours.
 */
export function snippets({ base, lat, lon, zoom, layers, colours = null, filters = [], theme }) {
  const list = layers.length > 0 ? layers.map(encodeURIComponent).join(',').replaceAll('%3A', ':') : 'all'
  const shown = colourParameters(colours)
  const query = queryOf(filters)
  const also = query && `&${query}`
  const at = {
    lat, lon, zoom, list, theme, also,
    style: `${base}style.json?layers=${list}${shown.map(([name, value]) => `&${name}=${encodeURIComponent(value)}`).join('')}&theme=${theme}${also}`, vector: `${base}tiles/${list}.json${query && `?${query}`}`, pictures: `${base}tiles/${list}.png.json?theme=${theme}${also}`,
  }
  const frame = { center: `${lat},${lon}`, zoom: String(zoom), layers: [...layers, ...theme.startsWith('political') ? [] : ['neutral']].join(','), ...Object.fromEntries([...shown, ...filters]), theme: theme.endsWith('dark') ? 'dark' : 'light' }
  return [
    { id: 'maplibre', name: 'MapLibre GL', text: maplibre(at) },
    { id: 'leaflet-vector', name: 'Leaflet vector', text: leafletVector(at) },
    { id: 'leaflet-png', name: 'Leaflet PNG', text: leafletPictures(at) },
    { id: 'openlayers', name: 'OpenLayers', text: openlayers(at) },
    { id: 'qgis', name: 'QGIS', text: qgis(at, base) },
    { id: 'iframe', name: 'iframe', text: frameOf(frame, base), frame },
  ]
}

// A text as a string of JavaScript in a page: no text ends the script that it stands in.
const js = value => JSON.stringify(value).replaceAll('<', '\\u003c').replace(/^"([^'\\]*)"$/, "'$1'")

// Zooms of MapLibre are for tiles of 512 pixels.
const halved = zoom => Math.max(0, Math.round(100 * (zoom - 1)) / 100)

const page = (sheets, script, background = '') => `<!doctype html>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Map</title>
${sheets.map(href => `<link rel="stylesheet" href="${href}">`).join('\n')}
<style>
  body { margin: 0 }
  #map { height: 100vh${background && `; background: ${background}`} }
</style>
<div id="map"></div>
${script}
`

const maplibre = ({ lat, lon, zoom, style }) => page([`${MAPLIBRE}.css`], `<script type="module">
  import { Map, NavigationControl } from '${MAPLIBRE}.mjs'

  const map = new Map({
    container: 'map',
    style: ${js(style)},
    center: [${lon}, ${lat}],
    zoom: ${halved(zoom)},
  })
  map.addControl(new NavigationControl())
</script>`)

const leafletVector = ({ lat, lon, zoom, style }) => page([`${LEAFLET}.css`, `${MAPLIBRE}.css`], `<script type="importmap">
  { "imports": {
    "leaflet": "${LEAFLET}-src.esm.js",
    "maplibre-gl": "${MAPLIBRE}.mjs",
    "maplibre-gl-leaflet": "${BRIDGE}"
  } }
</script>
<script type="module">
  import * as L from 'leaflet'
  import { MaplibreGL } from 'maplibre-gl-leaflet'

  const map = L.map('map', { minZoom: 1 }).setView([${lat}, ${lon}], ${zoom})
  new MaplibreGL({ style: ${js(style)} }).addTo(map)
</script>`)

const leafletPictures = ({ lat, lon, zoom, pictures, theme }) => page([`${LEAFLET}.css`], `<script type="module">
  import * as L from '${LEAFLET}-src.esm.js'

  const map = L.map('map').setView([${lat}, ${lon}], ${zoom})
  const scale = devicePixelRatio > 1 ? 2 : 1
  const told = await (await fetch(${js(pictures)} + '&scale=' + scale)).json()
  L.tileLayer(told.tiles[0], {
    attribution: told.attribution,
    minZoom: told.minzoom,
    maxNativeZoom: told.maxzoom,
  }).addTo(map)
</script>`, themes[theme].map.water)

const openlayers = ({ lat, lon, zoom, vector, theme }) => {
  const { map, label } = themes[theme]
  return page([`${OPENLAYERS}/ol.css`], `<script src="${OPENLAYERS}/dist/ol.js"></script>
<script type="module">
  const told = await (await fetch(${js(vector)})).json()
  const source = new ol.source.VectorTile({
    format: new ol.format.MVT(),
    url: told.tiles[0],
    minZoom: told.minzoom,
    maxZoom: told.maxzoom,
    attributions: told.attribution,
  })
  // Layers of the tiles that are not named here are not drawn: told.vector_layers lists them all.
  const from = layer => ['==', ['get', 'layer'], layer]
  const style = [
    { filter: from('country'), style: { 'fill-color': '${map.land[0]}' } },
    { filter: from('lake'), style: { 'fill-color': '${map.lake}' } },
    { filter: from('state_line'), style: { 'stroke-color': '${map.border.state}', 'stroke-width': 0.7 } },
    { filter: from('country_line'), style: { 'stroke-color': '${map.border.country}', 'stroke-width': 1.2 } },
    { filter: from('places'), style: {
      'circle-radius': 2.5, 'circle-fill-color': '${map.dot}',
      'text-value': ['get', 'name'], 'text-font': '13px sans-serif', 'text-offset-y': 12,
      'text-fill-color': '${label.city}', 'text-stroke-color': '${label.halo}', 'text-stroke-width': 3,
    } },
  ]
  new ol.Map({
    target: 'map',
    layers: [new ol.layer.VectorTile({ source, style, declutter: true })],
    view: new ol.View({ center: ol.proj.fromLonLat([${lon}, ${lat}]), zoom: ${zoom} }),
  })
</script>`, map.water)
}

// The words are those of QGIS's own windows.
const qgis = ({ list, style, theme, also }, base) => `Layer > Add Layer > Add Vector Tile Layer… > New > New Generic Connection…
Name: Quadrille
Source URL: ${base}tiles/${list}/{z}/{x}/{y}.mvt${also.replace('&', '?')}
Min. Zoom Level: 0
Max. Zoom Level: 13
Style URL: ${style}

XYZ Tiles > New Connection…
Name: Quadrille ${theme}
URL: ${base}tiles/${list}/{z}/{x}/{y}@2x.png?theme=${theme}${also}
Min. Zoom Level: 0
Max. Zoom Level: 13
Tile Resolution: High (512x512 / 192 DPI)
`
