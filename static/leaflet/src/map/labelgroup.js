// The names of one arrangement as elements on the map, all in one box that moves and grows with the land.
import { DomUtil, point } from 'leaflet'
import { el } from '../dom.js'

const FADE = 200 // milliseconds, as the style sheet has it
const MOST_SPARE = 200
const AT_ONCE = 8 // names that come on the map in one frame, so that no frame takes long

const spare = [] // elements of names no longer shown, to be used again

/** A box in a pane for names { id, at, look, text } as arrangement.js has them for a zoom. */
export class LabelGroup {
  #map
  #root = el('div', { class: 'names leaflet-zoom-animated' })
  #labels = new Map() // id → { element, look, text }
  #origin
  #coming = [] // elements that have yet to be put in
  #box = null // where they go
  #frame = 0
  zoom

  constructor(map, pane, zoom) {
    this.#map = map
    this.zoom = zoom
    this.#origin = map.project(map.getCenter(), zoom).floor()
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
    const here = label => label.element.isConnected
    const fresh = []
    for (const { id, at: [x, y], look, text } of names) {
      const known = stale.get(id)
      const same = known?.look === look && known.text === text && here(known)
      const label = same ? known : { element: element(look, text), look, text }
      if (same) stale.delete(id)
      else fresh.push(label.element)
      this.#labels.set(id, label)
      const { x: left, y: top } = point(x, y).subtract(this.#origin).round()
      const transform = `translate(${left}px,${top}px)`
      if (label.transform !== transform) label.element.style.transform = label.transform = transform
    }
    this.#coming = fresh
    if (fresh.length > 0) this.#root.append(this.#box = el('div', { class: fade ? 'fresh' : '' }))
    this.#put(fade)
    const leaving = [...stale.values()].filter(here)
    if (leaving.length > 0) this.#part(leaving, fade)
    for (const part of this.#root.children) if (part.childElementCount === 0) part.remove()
  }

  // The most important names come first.
  #put(fade) {
    cancelAnimationFrame(this.#frame)
    this.#box?.append(...fade ? this.#coming.splice(0, AT_ONCE) : this.#coming.splice(0))
    if (this.#coming.length > 0) this.#frame = requestAnimationFrame(() => this.#put(fade))
  }

  // What fades does so in a box of its own: each that moves or fades is one more thing for the browser to put together.
  #part(labels, fade) {
    const box = el('div', {}, ...labels.map(({ element }) => element))
    this.#root.append(box)
    vanish(box, labels, fade)
  }

  /** Takes the whole box off the map, and then calls a function. While it fades it still has to be placed. */
  remove({ fade, then }) {
    cancelAnimationFrame(this.#frame)
    vanish(this.#root, [...this.#labels.values()], fade, then)
  }
}

// A box of labels goes; its elements may be used again.
function vanish(box, labels, fade, then = () => {}) {
  const end = () => {
    box.remove()
    for (const { element } of labels) {
      element.remove()
      if (spare.length < MOST_SPARE) spare.push(element)
    }
    then()
  }
  if (!fade) {
    end()
    return
  }
  box.classList.add('gone')
  setTimeout(end, FADE)
}

function element(look, text) {
  const label = spare.pop() ?? el('div', {}, el('span', { class: 'name', dir: 'auto' }))
  label.className = look
  label.firstChild.textContent = text
  return label
}
