"""Asks a server everything that geopy's GeoNames client can ask.

Usage: geopy_check.py HOST:PORT. Needs geopy 2.4 or newer and pytz.
"""
import sys

import geopy
from geopy.exc import GeocoderServiceError
from geopy.geocoders import GeoNames

client = GeoNames("anybody", scheme="http", domain=sys.argv[1], timeout=20)


def check(what, got, want):
    if got != want:
        sys.exit(f"{what}: {got!r}, want {want!r}")


def near(what, got, want):
    if abs(got - want) > 1e-6:
        sys.exit(f"{what}: {got!r}, want {want!r}")


place = client.geocode("zurich")
check("geocode", place.address, "Zurich, Zurich, Switzerland")
near("latitude", place.latitude, 47.36667)
near("longitude", place.longitude, 8.55)
check("geonameId", place.raw["geonameId"], 2657896)
check("nothing found", client.geocode("nowhere at all"), None)
check("country", [p.raw["countryCode"] for p in client.geocode("b", exactly_one=False, country=["CH", "PE"])], ["CH"])
check("country_bias", client.geocode("portland", country_bias="US").raw["countryCode"], "US")
check("list", len(client.geocode("port", exactly_one=False)), 2)

place = client.reverse("47.4, 8.5")
check("reverse", place.address, "Zurich, Zurich, Switzerland")
check("reverse in a language", client.reverse((47.4, 8.5), lang="it").raw["name"], "Zurigo")
check("reverse, all", len(client.reverse((47.4, 8.5), exactly_one=False)), 4)
check("reverse at sea", client.reverse((0, -140)), None)

# A zero that were a number would make geopy lose the place.
place = client.reverse((0, 0), find_nearby_type="findNearby")
near("latitude of nothing", place.latitude, 0)
near("longitude of nothing", place.longitude, 0)
place = client.reverse((47.4, 8.5), find_nearby_type="findNearby", feature_code="PPLC")
check("findNearby by code", place.raw["geonameId"], 2661552)

check("time zone", str(client.reverse_timezone((47.4, 8.5)).pytz_timezone), "Europe/Zurich")
zone = client.reverse_timezone((0, -140))
check("time zone at sea", zone.pytz_timezone.utcoffset(None).total_seconds(), -9 * 3600)

try:
    client.geocode(" ")
except GeocoderServiceError as e:
    check("error", str(e).startswith("missing parameter"), True)
else:
    sys.exit("no error for an empty query")
print("geopy", geopy.__version__, "is content")
