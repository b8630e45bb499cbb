// Writes build/rivers.json: the rivers of Natural Earth that the package mapeo-offline-map carries, without names, one feature
// of all rivers that maps show from a zoom on. Coordinates are rounded to 0.01°, so corners are cut. The same package gives the
// same bytes.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { smooth } from './smooth.mjs'
import { write } from './write.mjs'

const rivers = JSON.parse(readFileSync(createRequire(import.meta.url).resolve('mapeo-offline-map/dist/rivers.json'), 'utf8')).features
const from = new Map()
for (const { properties: { min_zoom: zoom }, geometry } of rivers) from.set(zoom, [...from.get(zoom) ?? [], smooth(geometry.coordinates, 1)])
const decimals = (key, value) => typeof value === 'number' ? Math.round(value * 1e5) / 1e5 : value
const features = [...from].sort(([a], [b]) => a - b).map(([zoom, coordinates], i) => (
  { type: 'Feature', id: i + 1, properties: { min_zoom: zoom }, geometry: { type: 'MultiLineString', coordinates } }))
write('rivers.json', JSON.stringify({ type: 'FeatureCollection', features }, decimals) + '\n')
