// Camptocamp's client lists the collections and fetches features.
import assert from 'node:assert'
import { OgcApiEndpoint } from '@camptocamp/ogc-client'

const endpoint = new OgcApiEndpoint(process.argv[2])
const info = await endpoint.info
assert.equal(info.title, 'Quadrille')
assert.equal(await endpoint.hasFeatures, true)
const names = await endpoint.featureCollections
for (const name of ['country', 'places', 'airports', 'points:benches']) {
  assert.ok(names.includes(name), `${name} of ${names}`)
  const collection = await endpoint.getCollectionInfo(name)
  assert.equal(collection.id, name)
  const items = await endpoint.getCollectionItems(name, 2)
  assert.ok(items.length > 0 && items.length <= 2, name)
  const item = await endpoint.getCollectionItem(name, String(items[0].id))
  assert.deepEqual(item.properties, items[0].properties)
}
