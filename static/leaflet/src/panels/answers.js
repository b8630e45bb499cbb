// What is open on the card: one answer at a time, named in the permalink so that it can be opened again.
import { createAddressLookup, ME } from './address.js'
import { createArea } from './area.js'
import { note } from './card.js'
import { devicePosition } from './device.js'
import { distance } from '../words/format.js'
import { createFound, nameOfPlace } from './found.js'
import { createHere, pointAt } from './here.js'
import { selectionOf } from './hit.js'
import { createOwnPoint } from './ownpoint.js'
import { createRegionCard } from './regioncard.js'
import { isBox } from '../engine/tilegrid.js'
import { t } from '../words/words.js'

const CONTINENT = 2500 // kilometres from its middle that the map shows

/**
 * The answers a reader can open. view is the map's, select highlights a region of it, and offer(regions) is what the
 * card of a point says of its regions; showType(type) switches a region type on; rows() are those of the layer switch, and toggled(on) is called when an area begins or ends to be drawn; colours (choropleth.js) tells the values that the map shows. A new question ends the one before.
 */
export function createAnswers({ card, view, types, permalink, select, offer, showType, announce, colours, rows, toggled }) {
  const { map, pin, mark, flyToPoint, flyToBox } = view
  let latest = new AbortController()
  function signal() {
    latest.abort()
    area.leave()
    mark(null)
    latest = new AbortController()
    return latest.signal
  }
  const fly = place => flyToPoint(place, reach(place))
  const parts = { card, pin, mark, select, signal, announce, colours, open: selection => api.name(selection, true) }
  const here = createHere({ ...parts, types, offer, flyToPoint, flyToBox, choose: place => api.place(place), zoom: view.zoom })
  const found = createFound({ ...parts, fly, zoom: view.zoom, choose: place => api.place(place) })
  const lookup = createAddressLookup({ ...parts, flyToPoint, flyToBox, zoom: view.zoom })
  const own = createOwnPoint({ ...parts, zoom: () => map.getZoom() })
  const region = createRegionCard({ ...parts, offer, flyToBox })
  const area = createArea({
    ...parts, map, permalink, rows, toggled,
    own: shown => api.own(shown), place: place => api.place(place), region: selection => api.name(selection, true),
  })
  const step = selection => permalink.set({ select: selection }, { step: true })

  // The card must not cover what was asked about; its height is known once the answer has come.
  async function ask(at) {
    const answered = here(at)
    view.reveal(at)
    await answered
    view.reveal(at)
  }

  const api = {
    /** What is at a point of the map, { lat, lng }. */
    point({ lat, lng }) {
      const at = pointAt({ lat, lon: lng, zoom: map.getZoom() })
      step(at)
      return ask(at)
    },

    /** A point of a collection, { layer, point }. The permalink names the spot. */
    async own(shown) {
      step(pointAt({ ...shown.point, zoom: map.getZoom() }))
      const answered = own(shown)
      view.reveal(shown.point)
      view.reveal(await answered)
    },

    /** What a search found: the map goes there, and the card tells of it. */
    found(hit) {
      if (hit.type === 'continent' && !isBox(hit.bbox)) { // none that a layer draws: the map shows it, and there is nothing to tell
        step(null)
        api.open(null)
        flyToPoint(hit, CONTINENT)
        return
      }
      const selection = selectionOf(hit)
      step(selection)
      if (selection.kind === 'region') {
        showType(selection.type)
        region(selection, true, hit)
      } else if (selection.kind === 'point') {
        here(selection)
        if (isBox(hit.bbox)) flyToBox(hit.bbox)
        else flyToPoint(selection, 5)
      } else {
        found.load(selection, true, hit)
      }
    },

    /** What a name on the map is of: a selection as the permalink has it. */
    name(selection, moving = false) {
      step(selection)
      api.open(selection, moving)
    },

    /** A place of which everything is known. */
    place(place) {
      step(nameOfPlace(place))
      found.show(place, true)
    },

    /** Where an IP address is, or the reader's own: "me". */
    address(ip) {
      step(ip ? { kind: 'ip', ip } : null)
      return lookup(ip)
    },

    /** Where the reader is: the device is asked first, and the card says when the address stands in for it. */
    async locate() {
      const asking = signal()
      const found = await devicePosition()
      if (asking.aborted) return undefined // something else was asked meanwhile
      if (!found) {
        step({ kind: 'ip', ip: ME })
        return lookup(ME, true, note(t('The device does not tell where it is, so the address of its connection stands in.')))
      }
      const at = pointAt({ ...found, zoom: Infinity })
      const accuracy = found.accuracy > 0 ? found.accuracy / 1000 : 0
      step(at)
      flyToPoint(at, Math.max(1, 2 * accuracy))
      return here(at, { kicker: t('Where you are, by your device'), accuracy, words: accuracy > 0 && note(t('Exact to {distance}.', { distance: distance(found.accuracy) })) })
    },

    /** Why a search found nothing: nothing has the name, or the error that kept the page from knowing. */
    nothing(text, error, retry) {
      step(null)
      found.nothing(text, error, retry)
    },

    /** Opens what a permalink names; moving says whether the map goes there too. */
    open(selection, moving = false) {
      area.outline()
      if (!selection && permalink.state.polygon) area.show()
      else if (!selection) {
        signal()
        pin(null)
        select(null)
        card.hide()
      } else if (selection.kind === 'point') ask(selection)
      else if (selection.kind === 'ip') lookup(selection.ip, moving)
      else if (selection.kind === 'region') region(selection, moving)
      else found.load(selection, moving)
    },

    /** After the card was closed by the reader. */
    closed() {
      const again = area.closed()
      signal()
      pin(null)
      select(null)
      step(null)
      if (again) area.show()
    },

    /** The area that the reader draws. */
    area,
  }
  return api
}

// How many kilometres around a place the map shows of it.
function reach({ class: featureClass, code, population = 0 }) {
  if (featureClass === 'A') return code?.startsWith('PCL') ? 600 : code === 'ADM1' ? 150 : 30
  return population > 1e6 ? 20 : population > 1e5 ? 10 : 5
}
