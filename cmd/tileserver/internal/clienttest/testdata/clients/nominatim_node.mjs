// node-geocoder's provider openstreetmap, unmodified, against a server given by its address.
import assert from 'node:assert/strict'
import nodeGeocoder from 'node-geocoder'

const osmServer = process.argv[2] + '/nominatim'
const geocoder = nodeGeocoder({ provider: 'openstreetmap', osmServer })
const [found] = await geocoder.geocode('Eastport')
assert.equal(`${found.latitude} ${found.longitude} ${found.city}`, '42 18.5 Eastport')
const [structured] = await geocoder.geocode({ city: 'Eastport', limit: 1 })
assert.equal(structured.city, 'Eastport')
const [back] = await geocoder.reverse({ lat: 42.1, lon: 18.4 })
assert.equal(back.city, 'Eastport')
assert.equal((await geocoder.geocode('qqqqqq')).length, 0)
console.log('node-geocoder: forward, structured and reverse')
