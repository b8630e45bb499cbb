// Which region types the map shows, how, and from which zoom: the server's TileJSON says what there is, the table below
// how the usual types look. A type the table does not know appears by itself, as a tinted overlay.
import table from '../names.json' with { type: 'json' }
import { columnsOf } from '../server/columns.js'
import { title } from '../words/format.js'
import { t } from '../words/words.js'

// Coarse before fine. role: the coarsest land shown is filled and the next tinted, every land is outlined; water is
// filled with the water's colour; built with a flat shade; line is
// stroked; names only has names; overlay is tinted over the land. from: the zoom a type starts
// to help at.
const presets = [
  { type: 'continent', label: t('Continents'), role: 'land', from: 0, on: false },
  { type: 'country', label: t('Countries'), role: 'land', from: 0, on: true },
  { type: 'state', label: t('States'), role: 'land', from: 3, on: true },
  { type: 'county', label: t('Counties'), role: 'land', from: table.regions.county.from, on: true },
  { type: 'urban', label: t('Urban areas'), role: 'built', from: 4, on: true },
  { type: 'river', label: t('Rivers'), role: 'line', from: 3, on: true },
  { type: 'road', label: t('Roads'), role: 'line', from: 5, on: true },
  { type: 'lake', label: t('Lakes'), role: 'water', from: 2, on: true },
  { type: 'marine', label: t('Seas'), role: 'names', from: 0, on: true },
  { type: 'timezone', label: t('Time zones'), role: 'overlay', from: 0, on: false },
]

/** The switch's last row; the server decides which places a zoom shows. */
export const PLACES = { type: 'places', label: t('Places'), role: 'places', from: 0, on: true }

/** And the row of how all of it is coloured. */
export const NEUTRAL = { type: 'neutral', label: t('Neutral colours'), role: 'style', from: 0, on: false }

// Airports are points for other clients; here the search box and the card of a point show them.
const AIRPORTS = 'airports'

/**
 * The region types of a TileJSON document in drawing order, coarse first: { type, label, role, from, least, columns, on }, least being
 * the first zoom that the tiles have, and columns as columns.js has them. The layers with a type's border lines and labels belong
 * to their type; places are no region.
 */
export function regionTypes(tileJSON) {
  const layers = new Map()
  for (const layer of Array.isArray(tileJSON?.vector_layers) ? tileJSON.vector_layers : []) {
    if (typeof layer?.id === 'string' && layer.id !== '') layers.set(layer.id, { least: Number(layer.minzoom) || 0, fields: layer.fields ?? {} })
  }
  // Rivers have nothing but lines, which have ids, unlike borders. A type of areas that is called so has borders too.
  for (const [id, layer] of [...layers]) {
    const type = id.replace(/_line$/, '')
    if (type === id || type === '' || layers.has(type) || layers.has(`${id}_line`) || !Object.hasOwn(layer.fields, 'id')) continue
    layers.delete(id)
    layers.set(type, layer)
  }
  layers.delete(PLACES.type)
  layers.delete(AIRPORTS)
  const companion = id => /_(line|label)$/.test(id) && layers.has(id.replace(/_(line|label)$/, ''))
  const types = [...layers.keys()].filter(id => !companion(id)).map(id => ({
    ...(presets.find(preset => preset.type === id) ?? { type: id, label: title(id), role: 'overlay', from: 0, on: false }),
  }))
  const rank = ({ type }) => (presets.findIndex(preset => preset.type === type) + presets.length + 1) % (presets.length + 1)
  types.sort((a, b) => rank(a) - rank(b) || (a.type < b.type ? -1 : 1))

  // A server with only layers of its own, or only states, would otherwise open on an empty sea.
  if (!types.some(type => type.on)) types.forEach(type => { type.on = true })
  if (!types.some(type => type.on && type.from === 0)) types.slice(0, 1).forEach(type => { type.from = 0 })
  for (const type of types) {
    const { least, fields } = layers.get(type.type)
    Object.assign(type, { least, from: Math.max(type.from, least), columns: columnsOf(Object.entries(fields), true, OWN) })
  }
  return types
}

/** The properties that regions of every type have. */
export const OWN = ['id', 'name', 'map_color', 'merged', 'type', 'code', 'source_id']

/** The columns of a type whose tiles have none without being asked, by the JSON schema of its properties. */
export const columnsOfSchema = properties => columnsOf(Object.entries(properties).map(([name, about]) => [name, about?.type]), false, OWN)

/** The types to draw at a zoom. */
export function visibleTypes(types, zoom) {
  return types.filter(type => type.on && zoom >= type.from)
}

/** Those among types of which the map can highlight a region. */
export const areas = types => types.filter(type => !['built', 'names', 'line'].includes(type.role))

/** The most specific of the regions at a point that the map draws now, to be highlighted. */
export function highlighted(regions, types) {
  const ranks = new Map(areas(types).map((type, rank) => [type.type, rank]))
  let best = null
  for (const region of regions) {
    if (ranks.has(region.type) && (!best || ranks.get(region.type) >= ranks.get(best.type))) best = region
  }
  return best
}
