// The names of one arrangement as elements on the map, all in one box that moves and grows with the land.
import { DomUtil, point } from 'leaflet'
import { el } from './dom.js'

const FADE = 200 // milliseconds, as the style sheet has it
const MOST_SPARE = 200

const spare = [] // elements of names no longer shown, to be used again

/** A box in a pane for names { id, at, look, text } as arrangement.js has them for a zoom. */
export class LabelGroup {
  #map
  #root = el('div', { class: 'names leaflet-zoom-animated' })
  #labels = new Map() // id → { element, look, text }
  #origin
  zoom

  constructor(map, pane, zoom, { fade }) {
    this.#map = map
    this.zoom = zoom
    this.#origin = map.project(map.getCenter(), zoom).floor()
    if (fade) this.#root.classList.add('fresh')
    this.place(map.getCenter(), map.getZoom())
    pane.append(this.#root)
  }

  /** Puts the box where it belongs when the map shows a centre at a zoom. */
  place(centre, zoom) {
    const scale = this.#map.getZoomScale(zoom, this.zoom)
    DomUtil.setTransform(this.#root, this.#origin.multiplyBy(scale).subtract(this.#map._getNewPixelOrigin(centre, zoom)), scale)
  }

  /** Shows these names and no others. What stays keeps its element; what is new or gone fades, if asked. */
  show(names, { fade }) {
    const stale = this.#labels
    this.#labels = new Map()
    const fresh = []
    for (const { id, at: [x, y], look, text } of names) {
      const known = stale.get(id)
      const same = known?.look === look && known.text === text
      const label = same ? known : { element: element(look, text), look, text }
      if (same) stale.delete(id)
      else fresh.push(label.element)
      this.#labels.set(id, label)
      const { x: left, y: top } = point(x, y).subtract(this.#origin).round()
      const transform = `translate(${left}px,${top}px)`
      if (label.transform !== transform) label.element.style.transform = label.transform = transform
      if (!same && fade) label.element.classList.add('fresh')
    }
    this.#root.append(...fresh)
    for (const { element } of stale.values()) vanish(element, fade, () => keep(element))
  }

  /** Takes the whole box off the map. */
  remove({ fade }) {
    vanish(this.#root, fade, () => {
      for (const { element } of this.#labels.values()) keep(element)
    })
  }
}

function vanish(element, fade, then) {
  const end = () => {
    element.remove()
    then()
  }
  if (!fade) {
    end()
    return
  }
  element.classList.add('gone')
  setTimeout(end, FADE)
}

function keep(element) {
  if (spare.length < MOST_SPARE) spare.push(element)
}

function element(look, text) {
  const label = spare.pop() ?? el('div', {}, el('span', { class: 'name', dir: 'auto' }))
  label.className = look
  label.firstChild.textContent = text
  return label
}
