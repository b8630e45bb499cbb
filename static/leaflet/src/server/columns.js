// The columns of a layer that a map can be coloured by.

const MOST = 200 // of a layer
const kinds = new Map(Object.entries({
  number: 'number', integer: 'number', any: 'number', mixed: 'number', text: 'text', time: 'time', string: 'text', boolean: 'boolean',
}))

/**
 * The columns among pairs of a property and its type, as TileJSON, JSON schema or the list of collections call it: { property, kind, usual },
 * kind being "number", "text", "time" or "boolean". usual is whether tiles have them without being asked, except are properties that are none.
 */
export function columnsOf(pairs, usual, except) {
  return pairs.map(([property, type]) => ({ property, kind: kinds.get(String(type).toLowerCase()), usual }))
    .filter(({ property, kind }) => kind && typeof property === 'string' && !except.includes(property)).slice(0, MOST)
}
