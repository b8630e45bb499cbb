"""geopy's geocoders Nominatim and GeoNames, unmodified, against a server given as host:port."""
import sys

from geopy.geocoders import GeoNames, Nominatim

host = sys.argv[1]
for domain in (host, host + "/nominatim"):
    nominatim = Nominatim(user_agent="quadrille-check", domain=domain, scheme="http")
    found = nominatim.geocode("Eastport", addressdetails=True, extratags=True, namedetails=True, language="en", geometry="geojson")
    assert (found.latitude, found.longitude) == (42, 18.5) and found.raw["address"]["city"] == "Eastport", found.raw
    found = nominatim.geocode({"city": "Eastport"}, exactly_one=False, limit=5, viewbox=[(40, 15), (45, 20)], bounded=True)
    assert found[0].address.startswith("Eastport"), found
    assert nominatim.geocode("qqqqqq") is None
    found = nominatim.reverse((42.1, 18.4), zoom=10, language="en")
    assert found.raw["address"]["city"] == "Eastport", found.raw
    assert nominatim.reverse((0, -140)) is None
geonames = GeoNames("demo", scheme="http")
geonames.domain = host
geonames.api = geonames.api.replace("api.geonames.org", host)
geonames.api_reverse = geonames.api_reverse.replace("api.geonames.org", host)
found = geonames.geocode("Eastport")
assert (found.latitude, found.longitude) == (42, 18.5), found
found = geonames.reverse((42.1, 18.4))
assert found.raw["name"] == "Eastport", found.raw
print("geopy: Nominatim and GeoNames, forward and reverse")
