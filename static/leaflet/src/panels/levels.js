// The regions at a point as levels to choose from: which one the card is called by and the map outlines.
import { facts } from './card.js'
import { el } from '../dom.js'
import { isUsual, typeName } from '../words/format.js'
import { displayText } from '../words/text.js'
import { t } from '../words/words.js'

const isZone = ({ type }) => type === 'timezone'

/**
 * What people call a region, and what is around that: { title, around }. A county is known by its state ("Rice County, Kansas"), a
 * state or a country by itself. labelled is the region's result of /reverse or /geocode with its label and parents, or undefined.
 */
export function called(region, labelled) {
  const name = displayText(region.name) || (isUsual(region.type) ? t('Without a name') : displayText(region.id))
  const label = displayText(labelled?.label)
  if (!label) return { title: name, around: '' }
  if (!displayText(region.name)) return { title: name, around: label } // which names what is around it
  const country = displayText(Array.isArray(labelled.parents) ? labelled.parents.at(-1)?.name : '')
  if (!country || !label.endsWith(`, ${country}`)) return { title: label, around: '' }
  return { title: label.slice(0, -country.length - 2), around: country }
}

/** The labels of a /reverse answer by region: a function from { type, id } to the result or undefined. */
export function labelsOf(answer) {
  const known = new Map()
  for (const hit of answer?.results ?? []) if (hit?.kind === 'region') known.set(`${hit.type}\n${hit.id}`, hit)
  return ({ type, id }) => known.get(`${type}\n${id}`)
}

/**
 * The rows of levels, coarse first; the chosen one is pressed, and choose(region) is called with another. found are the regions of a
 * point, types those of the map; nameOf(region) is a name in the reader's language or ''.
 */
export function levels(found, types, { chosen, choose, nameOf = () => '' }) {
  const rank = ({ type }) => types.findIndex(known => known.type === type)
  const row = region => {
    const words = nameOf(region) || displayText(region.name) || displayText(region.id)
    const name = el('bdi', {}, words)
    const id = !isZone(region) && words !== displayText(region.id) && el('code', {}, displayText(region.id, 24))
    const on = region === chosen
    const value = isZone(region) || found.filter(one => !isZone(one)).length < 2 ? el('span', {}, name, id) : el('button', {
      type: 'button', class: 'level', 'aria-pressed': String(on), onclick: () => choose(region),
    }, name, id)
    return [typeName(region.type), value]
  }
  const list = facts(found.toSorted((a, b) => rank(a) - rank(b)).map(row))
  list.classList.add('levels')
  return list
}

/** The region that a point is called by: the finest that the map draws, else the finest; nobody calls a spot by its time zone. */
export function usualLevel(found, drawn) {
  return drawn ?? found.findLast(region => !isZone(region)) ?? found.at(-1) ?? null
}
