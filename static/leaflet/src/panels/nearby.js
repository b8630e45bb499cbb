// The list of places near a point: the nearest first, more on demand, of one kind or of every.
import { isPosition, placesNearby } from '../server/api.js'
import { distanceAndWind } from './bearing.js'
import { failure, ringing, skeleton } from './card.js'
import { el, fill } from '../dom.js'
import { featureClasses, placeKind, population } from '../words/format.js'
import { displayText } from '../words/text.js'
import { t } from '../words/words.js'

const FIRST = 5
const MORE = 15
const MOST = 200 // rows; who wants more wants the API

/**
 * The list for a point. mark(place or null) is called with what the reader points at, choose(place) with what they choose; signal
 * ends whatever is under way.
 */
export function nearbyList({ lat, lon }, { mark, choose, signal, announce }) {
  const kinds = el('select', { 'aria-label': t('Kind of place') }, el('option', { value: '' }, t('Every kind')),
    ...Object.entries(featureClasses).map(([code, words]) => el('option', { value: code }, words)))
  const list = el('ol', { class: 'places' })
  const foot = el('div', { class: 'list-foot' })
  const root = el('section', { class: 'nearby' }, el('div', { class: 'list-head' }, el('h3', {}, t('Nearby places')), kinds), list, foot)

  let turn = 0
  let next = ''
  async function load(limit, focus = false) {
    const mine = ++turn
    const cursor = next
    fill(foot, skeleton(cursor ? 1 : 3))
    try {
      const answer = await placesNearby({ lat, lon, limit, featureClass: kinds.value, cursor }, { signal })
      if (mine !== turn) return
      const places = answer.places.filter(isPosition)
      next = typeof answer.next === 'string' && list.children.length + places.length < MOST ? answer.next : ''
      const rows = places.map(place => row({ lat, lon }, place, { mark, choose }))
      list.append(...rows)
      fill(foot, ...footing(list.children.length))
      if (cursor) announce(t('{count} more places', { count: rows.length }))
      if (focus) rows[0]?.querySelector('button').focus()
    } catch (error) {
      if (mine !== turn || signal.aborted) return
      if (error.status === 410) return restart() // published anew meanwhile
      kinds.hidden = error.type === 'dataset-missing'
      fill(foot, failure(error, () => load(limit), t('Places')))
    }
  }
  function footing(count) {
    if (count === 0) return [el('p', { class: 'quiet' }, kinds.value ? t('None of this kind in these data.') : t('No place is published yet.'))]
    return next ? [el('button', { type: 'button', class: 'chip more', onclick: () => load(MORE, true) }, t('Show more'))] : []
  }
  function restart() {
    next = ''
    list.replaceChildren()
    mark(null)
    return load(FIRST)
  }

  kinds.addEventListener('change', restart)
  list.addEventListener('keydown', event => {
    const buttons = [...list.querySelectorAll('button')]
    const at = buttons.indexOf(document.activeElement)
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: buttons.length - 1 }[event.key]
    if (at < 0 || to === undefined) return
    event.preventDefault()
    buttons[Math.min(buttons.length - 1, Math.max(0, to))].focus()
  })
  load(FIRST)
  return root
}

function row(at, place, { mark, choose }) {
  const people = population(place.population) && t('{count} people', { count: place.population })
  const kind = placeKind(place.class, place.code, place.population)
  return el('li', {}, el('button', {
    type: 'button', onclick: () => choose(place), ...ringing(mark, place),
  },
  el('bdi', { class: 'place-name' }, displayText(place.name)),
  el('span', { class: 'place-distance' }, distanceAndWind(at, place)),
  el('span', { class: 'place-kind' }, people ? `${kind}, ${people}` : kind)))
}
