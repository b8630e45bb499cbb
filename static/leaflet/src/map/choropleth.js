// Layers coloured by a column: asks the server what the colours mean, and has the map drawn in them.
import { collectionPoint, collectionPointPath, legend as fetchLegend, sentence } from '../server/api.js'
import { classColour } from '../engine/colour.js'
import { el } from '../dom.js'
import { colourParameters } from '../hash.js'
import { onThemeChange, setNeutral, shownTheme } from '../theme.js'
import { title } from '../words/format.js'
import { displayText } from '../words/text.js'
import { language, t } from '../words/words.js'
import { swatch, valueText } from './legendrows.js'

// A server that refuses a division says why, in English.
function reason(error) {
  if (error.status !== 400 && error.status !== 404) return sentence(error)
  return language === 'en' && displayText(error.detail, 300) || t('The map cannot show this. Choose another column or division.')
}

/**
 * Colours the map's layers. rows are the types and collections of the layer switch, regions and points their layers on the map or null;
 * show(what) is called with what a legend is to show.
 */
export function createChoropleth({ rows, regions, points, show }) {
  const usual = new Map(rows.map(row => [row, row.from]))
  let wish = null // as hash.js has it
  let answer = null // the legend of the server
  let message = ''
  let theme = ''
  let asking = '' // the parameters of the answer that is there or on its way
  let asked = new AbortController()
  const row = () => rows.find(({ type }) => type === wish?.layer)
  const parameters = () => [...colourParameters(wish), ...row()?.filter ?? []]
  const column = () => row()?.columns.find(({ property }) => property === wish.property)

  async function update() {
    asked.abort()
    const { signal } = asked = new AbortController()
    theme = shownTheme()
    const now = wish && await fetchLegend(wish.layer, parameters(), theme, { signal }).catch(error => ({ error }))
    if (signal.aborted) return
    message = now?.error ? reason(now.error) : ''
    answer = message ? null : now
    const field = column()?.usual ? '' : wish?.property
    const ofPoints = row()?.role === 'points'
    regions?.setColours(ofPoints ? null : answer, field)
    points?.setColours(ofPoints ? answer : null, field)
    api.refresh()
  }

  onThemeChange(() => { if (wish && theme !== shownTheme()) update() })

  const api = {
    /** The name of the layer that is coloured, or undefined. */
    get layer() { return answer?.layer },

    /** Colours the map as hash.js says it, or as usual for null, with classes of what passes the filters. Resolves when it is known how. */
    async set(colours) {
      wish = colours
      const next = String(parameters())
      if (next === asking) return
      asking = next
      for (const [one, from] of usual) one.from = one === row() ? one.least ?? from : from
      setNeutral(wish !== null, 'colours')
      await update()
    },

    /** Shows the legend again, after a layer was switched on or off. */
    refresh() {
      show(wish && row()?.on !== false ? {
        colours: wish, title: title(wish.property), layer: row()?.label ?? displayText(wish.layer), kind: column()?.kind, legend: answer, message,
      } : null, wish)
    },

    /** The value of a region or a point of a layer as rows of a card: one, or none where another layer is coloured. */
    valueOf(layer, properties) {
      if (!answer || layer !== answer.layer) return []
      const value = Object.hasOwn(properties, answer.property) ? properties[answer.property] : undefined
      return [[title(answer.property), el('span', { class: 'valued' }, swatch(classColour(answer, value)), el('bdi', {}, valueText(value, column()?.kind)))]]
    },

    /** The record of a region with the value that the map shows, which may be of a collection of points with the ids of regions, such as sales.turnover. */
    async complete({ type, id }, record, options) {
      const [, collection, property] = /^([a-z][a-z0-9_-]{0,39})\.(.+)$/u.exec(answer?.property ?? '') ?? []
      if (type !== answer?.layer || !collection || Object.hasOwn(record, answer.property)) return record
      const { properties } = await collectionPoint(collectionPointPath(collection, id), options).catch(() => ({ properties: {} }))
      return { ...record, [answer.property]: properties[property] }
    },

    /** Whether what is coloured are regions. */
    get ofRegions() { return answer !== null && row()?.role !== 'points' && row()?.on },

    /** What a tip tells of a region with its value: its name, and the value with the colour of its class. */
    tip({ name, value }) {
      const rows = api.valueOf(answer?.layer, { [answer?.property]: value })
      return [el('b', {}, el('bdi', {}, name)), ...rows.map(([words, valued]) => el('div', {}, el('small', {}, words), valued))]
    },

    /** Without the column that valueOf shows. */
    others: (layer, properties) => properties.filter(([name]) => layer !== answer?.layer || name !== answer.property),
  }
  return api
}
