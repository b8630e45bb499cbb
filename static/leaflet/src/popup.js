// What the card of an embedded map tells of a feature: popup=name,price has its columns, popup={name}: {price} € its text.
import { shown } from './panels/ownpoint.js'

const LONGEST = 1000 // characters
const MOST = 32 // columns

/**
 * The popup of an address: { columns }, none of which is no card, { lines }, each a list of text and columns in turn, or null for the usual
 * card. A line end is one of the template. One that is too long tells nothing rather than all.
 */
export function popupOf(text) {
  if (text === null) return null
  if (text.length > LONGEST) return { columns: [] }
  if (/\{[^{}]+\}/.test(text)) return { lines: text.split('\n').map(line => line.split(/\{([^{}]+)\}/)) }
  return { columns: text.split(',').map(name => name.trim()).filter(Boolean).slice(0, MOST) }
}

/** The value of a column; address.city is a member of an object, if no column has the whole name. */
export function valueOf(properties, name) {
  if (Object.hasOwn(properties, name)) return properties[name]
  return name.split('.').reduce((value, part) => value !== null && typeof value === 'object' && Object.hasOwn(value, part) ? value[part] : undefined, properties)
}

/** The lines of a template as lists of nodes and texts. A line whose columns are all empty is left out. */
export function linesOf(lines, properties) {
  return lines.map(parts => {
    const values = parts.map((part, i) => i % 2 === 0 ? part : shown(valueOf(properties, part)))
    return parts.length > 1 && !values.some((value, i) => i % 2 === 1 && value) ? [] : values.filter(Boolean)
  }).filter(values => values.length > 0)
}
