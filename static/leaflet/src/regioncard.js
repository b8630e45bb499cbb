// The card of a region that was searched for or linked to. The map outlines it.
import { region as fetchRegion, regionPath } from './api.js'
import { facts, failure, jsonLink, note, skeleton } from './card.js'
import { displayText, title } from './format.js'
import { contextOf } from './hit.js'
import { rows } from './ownpoint.js'
import { isBox } from './tilegrid.js'

/**
 * Answers about one region, { type, id }: hit is what a search said of it, or null after a link; moving says whether the map
 * goes there. select highlights it; offer(regions) is what there is to do with it; signal() ends the question before.
 */
export function createRegionCard({ card, pin, select, offer, flyToBox, signal }) {
  return async function show({ type, id }, moving, hit = null) {
    const question = signal()
    const heading = { kicker: title(type), subtitle: hit ? contextOf(hit) : '', chips: [jsonLink(regionPath(type, id))] }
    pin(null)
    select({ type, id })
    card.show({ ...heading, title: displayText(hit?.name) || 'Looking…', busy: true }, skeleton(3))
    const flying = moving && isBox(hit?.bbox)
    if (flying) flyToBox(hit.bbox)
    try {
      const { name, bbox, type: _, id: own, ...properties } = await fetchRegion(type, id, { signal: question })
      if (question.aborted) return
      const shown = displayText(hit?.name) || displayText(name) || displayText(own)
      card.show({ ...heading, title: shown }, facts(rows(own, Object.entries(properties))), offer([{ type, id: own, name: shown }]))
      if (moving && !flying && isBox(bbox)) flyToBox(bbox)
    } catch (error) {
      if (question.aborted) return
      const gone = error.type === 'region-not-found' || error.type === 'unknown-layer'
      card.show({ ...heading, title: displayText(hit?.name) || 'No answer' },
        gone ? note('This server does not have this region.', 'Search for it by its name.') : failure(error, () => show({ type, id }, moving, hit), 'Regions'))
    }
  }
}
