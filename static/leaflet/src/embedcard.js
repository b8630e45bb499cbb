// The card of the map in a frame: what is known of the point or region that was clicked, as the address wants it told.
import { collectionPoint, collectionPointPath, region as fetchRegion } from './server/api.js'
import { el } from './dom.js'
import { namer } from './engine/namer.js'
import { OWN } from './engine/regiontypes.js'
import { aboutCountry } from './panels/around.js'
import { facts } from './panels/card.js'
import { rows } from './panels/ownpoint.js'
import { usualRows } from './panels/regioncard.js'
import { linesOf, popupOf, valueOf } from './popup.js'
import { isUsual, typeName } from './words/format.js'
import { displayText } from './words/text.js'
import { nameLanguages, t } from './words/words.js'

/**
 * Opens the card: at(latlng) is for what is drawn there, ofId(layer, id) for one feature. all are the rows of layers, colours is
 * choropleth.js, and tell(feature) is called with what was chosen, { layer, id, name, lat, lon, properties }.
 */
export function createEmbedCard({ card, view, popup: text, regions, points, all, colours, tell }) {
  const popup = popupOf(text)
  const nameOf = namer(nameLanguages)
  let turn = 0

  async function show(layer, id, told) {
    const mine = ++turn
    const kept = await recordOf(layer, id).catch(() => null)
    if (mine !== turn) return
    if (!kept && !told) return api.away()
    const feature = { layer, ...told, ...kept }
    feature.name = displayText(feature.properties.name)
    tell(feature)
    const ofPoints = layer.startsWith('points:')
    regions?.select(ofPoints ? null : { type: layer, id })
    view.mark(ofPoints ? feature : null)
    const content = contentOf(feature)
    if (!content) return card.hide()
    card.show({ kicker: all.find(({ type }) => type === layer)?.label ?? typeName(layer), title: content.title }, ...content.rest)
    if (Number.isFinite(feature.lat)) view.reveal(feature)
  }

  function contentOf({ layer, id, name, properties }) {
    const usual = { title: isUsual(layer) && nameOf(layer, id, properties) || name || displayText(id), rest: [] }
    if (popup?.lines) {
      const lines = linesOf(popup.lines, properties).map(line => el('span', {}, ...line))
      return lines.length > 0 && { title: lines[0], rest: lines.slice(1).map(line => el('p', { dir: 'auto' }, line)) }
    }
    const list = popup ? popup.columns.map(column => [column, valueOf(properties, column)]).filter(([, value]) => value !== undefined)
      : Object.entries(properties).filter(([column]) => !OWN.includes(column))
    if (popup && list.length === 0) return null
    const valued = popup ? [] : colours.valueOf(layer, properties)
    const others = popup ? list : colours.others(layer, list)
    const told = facts([...valued, ...!popup && isUsual(layer) ? usualRows(layer, properties, others) : rows('', others)])
    return { ...usual, rest: [told, !popup && layer === 'country' && aboutCountry(id, {})] }
  }

  const api = {
    async at(latlng) {
      const mine = ++turn
      const shown = points?.at(latlng)
      if (shown?.point.count > 0) {
        if (!view.approach(shown.point)) card.show({ kicker: shown.layer.label, title: t('{count} points', { count: shown.point.count }) })
        return undefined
      }
      if (shown) {
        const { id, lat, lon, name, properties } = shown.point
        return show(shown.layer.type, id, { id, lat, lon, properties: { ...name && { name }, ...Object.fromEntries(properties) } })
      }
      const region = await regions?.under(latlng).catch(() => null)
      if (mine !== turn) return undefined
      return region ? show(region.type, region.id, { id: region.id, lat: latlng.lat, lon: latlng.lng, properties: {} }) : api.away()
    },

    ofId: (layer, id) => show(layer, id),

    /** Closes the card. */
    away() {
      turn++
      regions?.select(null)
      view.mark(null)
      card.hide()
      tell({ layer: null, id: null })
    },
  }
  return api
}

// The record: tiles are exact to a part of a pixel, and have short texts only. The id of regions that a tile has merged begins with ~.
async function recordOf(layer, id) {
  if (layer.startsWith('points:')) {
    const { geometry: { coordinates: [lon, lat] }, properties } = await collectionPoint(collectionPointPath(layer.slice(7), id))
    return { id, lat, lon, properties }
  }
  const { type: _, id: own, bbox: __, ...properties } = await fetchRegion(layer, id.replace(/^~/, ''))
  return { id: own, properties }
}
