// Asks a server through the unmodified @maxmind/geoip2-node and checks what
// the client makes of the answers. Run by geoip_test.go, from the directory in
// which the client is installed: node --input-type=module - HOST:PORT < this
import assert from 'node:assert/strict';

const { WebServiceClient } = await import('@maxmind/geoip2-node');
const host = process.argv[2];
const client = new WebServiceClient('42', 'secret', { host, timeout: 10000 });

const city = await client.city('81.2.69.160');
assert.equal(city.city.names.de, 'Zürich');
assert.equal(city.city.names.en, 'Zurich <i>&');
assert.equal(city.city.geonameId, 2657896);
assert.equal(city.country.isoCode, 'CH');
assert.equal(city.continent.code, 'EU');
assert.equal(city.registeredCountry.isoCode, 'DE');
assert.equal(city.registeredCountry.isInEuropeanUnion, true);
assert.equal(city.location.latitude, 47.3682);
assert.equal(city.location.longitude, 8.5671);
assert.equal(city.location.accuracyRadius, 20);
assert.equal(city.location.timeZone, 'Europe/Zurich');
assert.equal(city.postal.code, '8001');
assert.equal(city.subdivisions.length, 2);
assert.equal(city.subdivisions[0].isoCode, 'ZH');
assert.equal(city.traits.ipAddress, '81.2.69.160');
assert.equal(city.traits.network, '81.2.69.0/24');
assert.equal(city.traits.autonomousSystemNumber, 559);
assert.equal(city.traits.isAnycast, true);

const country = await client.country('2a00:1::1');
assert.equal(country.country.isoCode, 'DE');
assert.equal(country.traits.network, '2a00:1::/32');
assert.equal(country.city, undefined);

async function refused(promise, code) {
  await assert.rejects(promise, (err) => {
    assert.equal(err.code, code);
    assert.ok(err.error || err.message);
    return true;
  });
}
await refused(client.city('10.0.0.1'), 'IP_ADDRESS_RESERVED');
await refused(client.city('99.1.2.3'), 'IP_ADDRESS_NOT_FOUND');
await refused(client.country('2606:4700::1111'), 'IP_ADDRESS_NOT_FOUND');
await refused(client.insights('81.2.69.160'), 'PERMISSION_REQUIRED');
await refused(new WebServiceClient('42', 'wrong', { host, timeout: 10000 }).city('81.2.69.160'), 'AUTHORIZATION_INVALID');
await refused(new WebServiceClient('43', 'secret', { host, timeout: 10000 }).country('81.2.69.160'), 'AUTHORIZATION_INVALID');
console.log('city, country, reserved, not found, insights, unauthorised: as expected');
