// Comings and goings: the offer to tell of points that enter or leave a region, and the notes of those that did.
import { el, fill } from '../dom.js'
import { isolated, typeWord } from '../words/format.js'
import { displayText } from '../words/text.js'
import { MOST_FENCES, MOST_WATCHED } from '../server/news.js'
import { locale, t } from '../words/words.js'

const MOST_NOTES = 20
const clock = new Intl.DateTimeFormat(locale, { timeStyle: 'medium' })

/**
 * The notes on an element. collections are rows of the layer switch; watch(layer, fences) tells the service which crossings are
 * wanted; show({ layer, point }) shows a point on the map; away() takes the focus when what had it is gone.
 */
export function createCrossings(root, { collections, watch, show, announce, away }) {
  const wanted = [] // { layer, fence, name }
  const connected = new Set() // layers
  const watches = el('ul', { class: 'watches' })
  const notes = el('ol', { class: 'places' })
  const clear = el('button', { type: 'button', class: 'chip', onclick: () => { notes.replaceChildren(); settle(true) } }, t('Clear'))
  let redrawOffer = () => {}
  fill(root,
    el('div', { class: 'list-head' }, el('h2', {}, t('Comings and goings')), clear),
    watches,
    // Each note is read out as it comes, not the whole list.
    el('div', { role: 'status', 'aria-live': 'polite', 'aria-atomic': 'false', 'aria-relevant': 'additions' }, notes))

  const find = (layer, fence) => wanted.find(one => one.layer === layer && one.fence === fence)

  function draw() {
    const focused = root.contains(document.activeElement)
    fill(watches, ...wanted.map(one => el('li', {},
      el('span', {}, one.layer.label, ' · ', el('bdi', {}, one.name), el('small', { hidden: connected.has(one.layer) }, t(' · connecting…'))),
      el('button', { type: 'button', class: 'chip', 'aria-label': t('Stop telling about {what} and {region}', { what: one.layer.label, region: one.name }), onclick: () => toggle(one) }, t('Stop')))))
    redrawOffer()
    settle(focused)
  }

  // Hides what is empty, and finds another place for the focus when what had it is gone.
  function settle(focused) {
    clear.hidden = notes.children.length === 0
    root.hidden = wanted.length === 0 && clear.hidden
    if (!focused || !root.hidden && root.contains(document.activeElement) && !document.activeElement.hidden) return
    if (root.hidden) away()
    else (watches.querySelector('button') ?? clear).focus()
  }

  // Begins to tell of a region, or stops it.
  function toggle({ layer, fence, name }) {
    const known = find(layer, fence)
    if (known) wanted.splice(wanted.indexOf(known), 1)
    else wanted.push({ layer, fence, name })
    connected.delete(layer)
    watch(layer, wanted.filter(one => one.layer === layer).map(one => one.fence))
    draw()
    announce(known ? t('No longer watching {region}', { region: name }) : t('Watching {what} at {region}', { what: layer.label, region: name }))
  }

  function add(...content) {
    const focused = notes.contains(document.activeElement)
    notes.prepend(el('li', {}, ...content))
    while (notes.children.length > MOST_NOTES) notes.lastChild.remove()
    settle(focused)
  }

  return {
    /** Notes a crossing, as news.js tells it. */
    crossed(layer, { id, fence, enters, at, why }) {
      const region = find(layer, fence)
      if (!region) return
      const words = [
        el('span', { class: 'place-name' }, enters ? t('{point} entered {region}', { point: isolated(id), region: isolated(region.name) }) : t('{point} left {region}', { point: isolated(id), region: isolated(region.name) })),
        el('span', { class: 'place-kind' }, [layer.label, clock.format(new Date()), why].filter(Boolean).join(' · ')),
      ]
      const point = at && { id, name: '', count: 0, properties: [], ...at }
      add(at ? el('button', { type: 'button', title: t('Show on the map'), onclick: () => show({ layer, point }) }, ...words) : el('div', {}, ...words))
    },

    /** Notes that there may have been crossings that the service does not know any more. */
    missed(layer) {
      add(el('div', {}, el('span', {}, t('Some comings and goings of {what} may have been missed', { what: layer.label }))))
    },

    /** Shows whether crossings are being told. */
    connected(layer, on) {
      if (on) connected.add(layer)
      else connected.delete(layer)
      watches.querySelectorAll('small').forEach((note, i) => { note.hidden = connected.has(wanted[i].layer) })
    },

    /** The offer for the regions at a point, finest last, or null if no live collection is shown. */
    offer(regions) {
      const places = regions.filter(({ type, id }) => typeof id === 'string' && !`${type}${id}`.includes(','))
        .map(({ type, id, name }) => ({ fence: `${type}:${id}`, type, name: displayText(name, 64) || displayText(id, 64) }))
      const live = collections.filter(layer => layer.live && layer.on)
      if (places.length === 0 || live.length === 0) return null
      const chosen = el('select', { 'aria-label': t('Region to watch'), onchange: () => redrawOffer() },
        ...places.map(({ type, name }, i) => el('option', { value: i, selected: i === places.length - 1 }, `${name} (${typeWord(type)})`)))
      const buttons = el('p', { class: 'chips' })
      redrawOffer = () => {
        const focused = [...buttons.children].indexOf(document.activeElement)
        const { fence, name } = places[chosen.value]
        fill(buttons, ...live.map(layer => {
          const on = find(layer, fence) !== undefined
          const full = !on && !mayWatch(layer)
          return el('button', { type: 'button', class: 'chip', disabled: full, title: full && t('Stop another one first'), onclick: () => toggle({ layer, fence, name }) },
            on ? t('Stop telling me about {what}', { what: layer.label }) : t('Tell me when {what} enter or leave', { what: layer.label }))
        }))
        buttons.children[focused]?.focus()
      }
      redrawOffer()
      return el('section', { class: 'watch' }, el('div', { class: 'list-head' }, el('h3', {}, t('Comings and goings')), chosen), buttons)
    },
  }

  function mayWatch(layer) {
    const layers = new Set(wanted.map(one => one.layer))
    return (layers.has(layer) || layers.size < MOST_WATCHED) && wanted.filter(one => one.layer === layer).length < MOST_FENCES
  }
}
