// What the server has and the layers that show it, on the map page and in the frame alike.
import { collections as fetchCollections, sentence, status as fetchStatus, tileJSON as fetchTileJSON } from '../server/api.js'
import { collectionLayers } from '../server/collections.js'
import { onDensityChange, onThemeChange, readTheme } from '../theme.js'
import { NEUTRAL, PLACES, regionTypes } from '../engine/regiontypes.js'
import { createStudio } from '../engine/studio.js'
import { NamesLayer } from './nameslayer.js'
import { PointsLayer } from './pointslayer.js'
import { VectorLayer } from './vectorlayer.js'
import { MAX_ZOOM } from './view.js'
import { t } from '../words/words.js'

const studio = createStudio()

/**
 * What the server has: { tileJSON, status, types, hasPlaces, collections, maxDataZoom, error }, error where it has no map and no
 * points. The rows are those of the layer switch; where there are points, the map beneath them begins in neutral colours.
 */
export async function whatThereIs() {
  const [tileJSON, status, own] = await Promise.allSettled([fetchTileJSON(), fetchStatus(), fetchCollections()])
  const collections = collectionLayers(own.value) // a server without any may not know the question
  NEUTRAL.on = collections.length > 0
  return {
    tileJSON: tileJSON.value, status: status.value, types: regionTypes(tileJSON.value), collections,
    hasPlaces: tileJSON.value?.vector_layers?.some(layer => layer?.id === PLACES.type) ?? false,
    maxDataZoom: Number.isInteger(tileJSON.value?.maxzoom) ? tileJSON.value.maxzoom : 13,
    error: collections.length === 0 ? tileJSON.reason : undefined,
  }
}

/** Puts layers of all that on a map: { regions, names, points }, regions and points null where there are none. */
export function drawLayers(map, { types, hasPlaces, collections, maxDataZoom }, { notice, panels, lines = false }) {
  const root = map.getContainer()
  const regions = types.length > 0 ? new VectorLayer({ studio, types, maxDataZoom, maxZoom: MAX_ZOOM, lines }) : null
  const names = new NamesLayer({ studio, places: hasPlaces && PLACES.on, regions, panels })
  const points = collections.length > 0 ? new PointsLayer({ collections, theme: readTheme() }) : null
  const tells = (layer, subject, words, again) => layer.on(`${subject}failed`, ({ error }) => notice.show(subject, `${words} ${sentence(error)}`, again))
  const busy = on => root.setAttribute('aria-busy', String(on))

  if (regions) {
    regions.on('bare', ({ bare }) => root.classList.toggle('bare', bare))
    regions.on('asked', () => names.update())
    regions.on('loading', () => busy(true))
    regions.on('load', () => {
      busy(false)
      if (!regions.incomplete()) notice.settle('tile')
    })
    tells(regions, 'tile', t('Part of the map is missing.'), () => regions.retry())
    regions.addTo(map)
  } else {
    root.classList.remove('bare')
    busy(false)
  }
  tells(names, 'places', t('Some place names are missing.'), () => names.update())
  names.on('placesshown', () => notice.settle('places'))
  names.addTo(map)
  if (points) {
    names.options.points = points
    tells(points, 'points', t('Some points are missing.'), () => points.update())
    points.on('pointsshown', () => {
      notice.settle('points')
      names.soon()
    })
    points.addTo(map)
  }
  const redraw = () => {
    regions?.repaint()
    names.update()
  }
  onDensityChange(redraw)
  onThemeChange(() => {
    redraw()
    points?.setTheme(readTheme())
  })
  return { regions, names, points }
}
