// Writes build/seas.json: the seas of seas.csv as GeoJSON, each a box in which its name stands, ranked by their order.
// The same list gives the same bytes.
import { readFileSync } from 'node:fs'
import { write } from './write.mjs'

const [, ...rows] = readFileSync(new URL('seas.csv', import.meta.url), 'utf8').trimEnd().split('\n')
const features = rows.map((row, rank) => {
  const [name, kind, ...box] = row.split(',')
  const [west, south, east, north] = box.map(Number)
  if (!(-180 <= west && west < east && east <= 180 && -85 <= south && south < north && north <= 85)) throw new Error(`seas.csv: no box: ${row}`)
  return {
    type: 'Feature', properties: { name, featurecla: kind, LABELRANK: rank },
    geometry: { type: 'Polygon', coordinates: [[[west, south], [east, south], [east, north], [west, north], [west, south]]] },
  }
})
write('seas.json', JSON.stringify({ type: 'FeatureCollection', features }) + '\n')
