// The card of a point of a user's own collection.
import { clusterPoints, collectionPoint, collectionPointPath } from '../server/api.js'
import { facts, failure, skeleton } from './card.js'
import { linkOf } from '../server/collections.js'
import { el, fill } from '../dom.js'
import { coordinates, title } from '../words/format.js'
import { displayText } from '../words/text.js'
import { decimals } from '../hash.js'
import { takeAlong } from './share.js'
import { t } from '../words/words.js'

const MOST = 100 // rows; who wants more has the JSON

/** Shows points, { layer, point }, and tells where they are. pin marks one; signal() ends the question before. */
export function createOwnPoint({ card, pin, select, zoom, signal, announce, colours }) {
  // A tile is exact to a part of a pixel and has short texts only, so the record is asked for. Without it the tile's must do.
  async function ofPoint(layer, point) {
    const question = signal()
    const path = collectionPointPath(layer.name, point.id)
    const show = (at, digits, properties) => {
      const named = properties.find(([name]) => name === 'name')?.[1]
      const chips = takeAlong({ title: displayText(named) || displayText(point.id), path, at, zoom, announce })
      pin(at)
      card.show({
        kicker: layer.label, title: displayText(named) || displayText(point.id), subtitle: coordinates(at.lat, at.lon, digits), chips,
      }, facts([...colours.valueOf(layer.type, Object.fromEntries(properties)), ...rows(point.id, colours.others(layer.type, properties))]))
    }
    const digits = Math.min(5, Math.max(2, decimals(zoom())))
    const rounded = { lat: Number(point.lat.toFixed(digits)), lon: Number(point.lon.toFixed(digits)) }
    const told = point.name ? [['name', point.name], ...point.properties] : point.properties
    show(rounded, digits, told)
    if (!path) return rounded
    try {
      const { geometry: { coordinates: [lon, lat] }, properties } = await collectionPoint(path, { signal: question })
      if (!question.aborted) show({ lat, lon }, 5, Object.entries(properties))
      return { lat, lon }
    } catch { /* what the tile tells stays */ }
    return rounded
  }

  // Points that no zoom tells apart are listed.
  async function ofCluster(layer, point) {
    const question = signal()
    const list = el('ol', { class: 'places' }, skeleton(3))
    pin(point)
    card.show({ kicker: layer.label, title: t('{count} points', { count: point.count }) }, list)
    try {
      const { points } = await clusterPoints(layer, point.cluster, Math.min(point.count, MOST), { signal: question })
      fill(list, ...points.map(({ id, lat, lon, properties }) => el('li', {}, el('button', {
        type: 'button', onclick: () => ofPoint(layer, { id, lat, lon, properties: [] }),
      }, el('bdi', { class: 'place-name' }, displayText(properties?.name) || displayText(id))))))
    } catch (error) {
      if (!question.aborted) fill(list, failure(error, () => ofCluster(layer, point), layer.label))
    }
    return point
  }

  return ({ layer, point }) => {
    select(null)
    return (point.count > 0 ? ofCluster : ofPoint)(layer, point)
  }
}

/** The properties of a point or a region, [name, value], as rows of a card. */
export function rows(id, properties) {
  return [[t('Id'), displayText(id)], ...properties.filter(([name]) => name !== 'name').slice(0, MOST)
    .map(([name, value]) => [title(name) || '?', shown(value)])]
}

/** A value as a text, or as a link where it is an address of the web. */
export function shown(value) {
  if (typeof value === 'boolean') return value ? t('yes') : t('no')
  if (Array.isArray(value)) return value.slice(0, MOST).map(one => displayText(one)).filter(Boolean).join(', ')
  const href = linkOf(value)
  return href ? el('a', { href, target: '_blank', rel: 'noopener noreferrer' }, displayText(value)) : displayText(value)
}
