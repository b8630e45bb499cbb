// What a mouse rests on of a coloured layer: the region's name and value, beside the pointer. Fingers have none, and keyboards the card.
import { el, fill } from '../dom.js'

const AWAY = 14 // CSS pixels from the pointer

/** The tip of a map. under(latlng) resolves to the region there, { name, type, id, value }, or null; words(region) are what it tells. */
export function createTip(map, { under, words }) {
  const root = el('div', { class: 'tip', 'aria-hidden': 'true', hidden: true })
  map.getContainer().append(root)
  let mouse = false
  let wanted = null
  let asking = false
  for (const kind of ['pointermove', 'pointerdown']) map.getContainer().addEventListener(kind, ({ pointerType }) => { mouse = pointerType === 'mouse' }, true)

  // Of the positions that come while one is asked about, the last is asked about next.
  async function tell() {
    asking = true
    while (wanted) {
      const { latlng, containerPoint: { x, y } } = wanted
      wanted = null
      const region = await under(latlng).catch(() => null)
      if (!region || !mouse) {
        root.hidden = true
        continue
      }
      fill(root, ...words(region))
      root.hidden = false
      const { x: width, y: height } = map.getSize()
      const left = x + AWAY + root.offsetWidth > width ? x - AWAY - root.offsetWidth : x + AWAY
      const top = y + AWAY + root.offsetHeight > height ? y - AWAY - root.offsetHeight : y + AWAY
      root.style.transform = `translate(${Math.max(0, left)}px, ${Math.max(0, top)}px)`
    }
    asking = false
  }

  const hide = () => {
    wanted = null
    root.hidden = true
  }
  map.on('mouseout movestart', hide)
  return {
    hide,
    /** The mouse is at a point of the map, as Leaflet's event says. */
    at(event) {
      if (!mouse) return
      wanted = event
      if (!asking) tell()
    },
  }
}
