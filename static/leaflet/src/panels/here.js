// "What is here": everything the server knows about a point, by one call, and the places near it.
import { point as fetchPoint, pointPath, region as fetchRegion, reverse } from '../server/api.js'
import { aboutCountry, absent, localTime, nearest } from './around.js'
import { facts, failure, skeleton } from './card.js'
import { el } from '../dom.js'
import { coordinates } from '../words/format.js'
import { displayText } from '../words/text.js'
import { decimals, MAX_LATITUDE, wrapLongitude } from '../hash.js'
import { called, labelsOf, levels, usualLevel } from './levels.js'
import { nearbyList } from './nearby.js'
import { highlighted, visibleTypes } from '../engine/regiontypes.js'
import { takeAlong } from './share.js'
import { isBox } from '../engine/tilegrid.js'
import { t } from '../words/words.js'

const KICKER = t('What is here')

/** A point of the map as a permalink has it: on the grid of the world, as exact as the zoom shows it. */
export function pointAt({ lat, lon, zoom }) {
  const digits = Math.min(6, Math.max(2, decimals(zoom) + 1))
  const round = value => Number(value.toFixed(digits))
  return { kind: 'point', lat: round(Math.min(MAX_LATITUDE, Math.max(-MAX_LATITUDE, lat))), lon: round(wrapLongitude(lon)) }
}

/**
 * Answers for points. pin marks the point; select highlights a region; offer(regions) is what there is to do with regions; flyToPoint and
 * flyToBox move the map; mark rings a place; choose opens a place of the list, open what a permalink names; colours (choropleth.js) knows the value of a region; signal() ends the question before.
 */
export function createHere({ card, types, zoom, pin, mark, select, offer, flyToPoint, flyToBox, choose, signal, announce, colours, open }) {
  // Shows the answer under the name of one of its regions, which the map outlines.
  function present(at, { answer, labelOf, heading, near, question, words, value }, chosen, focus = false) {
    const found = regionList(answer, types)
    const missing = new Set(Array.isArray(answer?.missing) ? answer.missing : [])
    const { title, around } = chosen ? called(chosen, labelOf(chosen)) : { title: missing.has('boundaries') ? t('A point on Earth') : t('Outside every region'), around: '' }
    select(chosen && { type: chosen.type, id: chosen.id })
    const goTo = spot => flyToPoint(spot, 5)
    const choice = region => {
      present(at, { answer, labelOf, heading, near, question, words, value }, region, true)
      outline(region, question)
    }
    card.show({ ...heading(title), title, subtitle: [around, subtitleOf(at)].filter(Boolean).join('\n') },
      words, value, regionFacts(found, types, missing, { chosen, choose: choice, nameOf: region => displayText(labelOf(region)?.name) }), chosen?.type === 'country' && aboutCountry(chosen.id, { open, ...question }), offer(found), localTime(answer, missing), nearest(at, answer, missing, { mark, goTo }), near)
    if (focus) card.root.querySelector('.level[aria-pressed=true]')?.focus()
  }

  // A level that the map does not draw at its zoom is shown by going to where it does.
  async function outline(region, question) {
    if (highlighted([region], visibleTypes(types, zoom()))) return
    const record = await fetchRegion(region.type, region.id, question).catch(() => null)
    if (!question.signal.aborted && isBox(record?.bbox)) flyToBox(record.bbox)
  }

  // The value of the region that is coloured. Without it the card still has all else.
  async function valueAt(found, question) {
    const region = found.findLast(({ type }) => type === colours.layer)
    const record = region && await fetchRegion(region.type, region.id, question).catch(() => null)
    return record && facts(colours.valueOf(region.type, await colours.complete(region, record, question)))
  }

  const subtitleOf = at => coordinates(at.lat, at.lon, Math.min(5, Math.max(2, decimals(zoom()))))

  /** Shows what is at a point; kicker and words say where the point is from, accuracy how exact it is, in kilometres. */
  return async function here(at, { kicker = KICKER, words = '', accuracy = 0 } = {}) {
    const question = { signal: signal() }
    const path = pointPath(at.lat, at.lon)
    const heading = title => ({ kicker, chips: takeAlong({ title, path, at, zoom, announce }) })
    pin(at, accuracy)
    select(null)
    card.show({ ...heading(''), title: t('Looking…'), subtitle: subtitleOf(at), busy: true }, words, skeleton(5))
    const near = nearbyList(at, { mark, choose, signal: question.signal, announce })
    try {
      // Names as people say them are a matter of the search; a server without one still answers.
      const [answer, labels] = await Promise.all([fetchPoint(at.lat, at.lon, question), reverse(at.lat, at.lon, question).catch(() => null)])
      if (question.signal.aborted) return
      const found = regionList(answer, types)
      const value = await valueAt(found, question)
      if (question.signal.aborted) return
      present(at, { answer, labelOf: labelsOf(labels), heading, near, question, words, value }, usualLevel(found, highlighted(found, visibleTypes(types, zoom()))))
    } catch (error) {
      if (question.signal.aborted) return
      const title = error.type === 'dataset-missing' ? t('A point on Earth') : t('No answer')
      card.show({ ...heading(title), title, subtitle: subtitleOf(at) },
        words, failure(error, () => here(at, { kicker, words, accuracy }), t('Regions, time zones, airports and stations')), near)
    }
  }
}

// The regions of an answer, coarse first as the server sends them, without those that are there for their names: seas are boxes.
function regionList(answer, types) {
  return (Array.isArray(answer?.regions) ? answer.regions : []).filter(region =>
    typeof region?.type === 'string' && !types.some(({ type, role }) => type === region.type && role === 'names'))
}

function regionFacts(found, types, missing, choice) {
  if (missing.has('boundaries')) return absent(t('Regions'))
  if (found.length === 0) return el('p', { class: 'quiet lead' }, t('Open sea, or land that no published boundary covers.'))
  return levels(found, types, choice)
}
