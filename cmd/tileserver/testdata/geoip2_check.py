# Asks a server through the unmodified geoip2 package and checks what the client
# makes of the answers. Run by geoip_test.go: python3 geoip2_check.py HOST:PORT
import sys

import geoip2.errors
import geoip2.webservice

host = sys.argv[1]


def client(account, key):
    return geoip2.webservice.Client(account, key, host=host)


def refused(what, error):
    try:
        what()
    except error as err:
        assert str(err), "no message"
        return
    raise AssertionError("no %s" % error.__name__)


c = client(42, "secret")
# Releases before 3 offer city() too, and "me".
city = c.city("81.2.69.160")
assert city.city.names["de"] == "Zürich", city.city.names
assert city.city.name == "Zurich <i>&"
assert city.city.geoname_id == 2657896
assert city.country.iso_code == "CH"
assert city.continent.code == "EU"
assert city.registered_country.is_in_european_union
assert city.location.latitude == 47.3682 and city.location.longitude == 8.5671
assert city.location.time_zone == "Europe/Zurich" and city.location.accuracy_radius == 20
assert city.postal.code == "8001"
assert city.subdivisions.most_specific is not None and [s.iso_code for s in city.subdivisions][0] == "ZH"
assert str(city.traits.ip_address) == "81.2.69.160"
assert city.traits.autonomous_system_number == 559
if hasattr(city.traits, "network"):
    assert str(city.traits.network) == "81.2.69.0/24"

country = c.country("2a00:1::1")
assert country.country.iso_code == "DE" and country.country.is_in_european_union

refused(lambda: c.city("10.0.0.1"), geoip2.errors.AddressNotFoundError)
refused(lambda: c.city("99.1.2.3"), geoip2.errors.AddressNotFoundError)
refused(lambda: c.country("2606:4700::1111"), geoip2.errors.AddressNotFoundError)
refused(lambda: c.country(), geoip2.errors.AddressNotFoundError)  # "me" is 127.0.0.1
refused(lambda: c.insights("81.2.69.160"), geoip2.errors.PermissionRequiredError)
refused(lambda: client(42, "wrong").city("81.2.69.160"), geoip2.errors.AuthenticationError)
refused(lambda: client(43, "secret").country("81.2.69.160"), geoip2.errors.AuthenticationError)
print("city, country, reserved, not found, me, insights, unauthorised: as expected")
