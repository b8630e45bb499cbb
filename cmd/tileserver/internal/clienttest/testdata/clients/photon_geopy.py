"""Asks a server everything that geopy's Photon client can ask.

Usage: photon_geopy.py HOST:PORT. The server has Photon at its root. Needs geopy 2.2 or newer.
"""
import sys

from geopy.exc import GeocoderServiceError
from geopy.geocoders import Photon

client = Photon(scheme="http", domain=sys.argv[1], timeout=20)


def check(what, got, want):
    if got != want:
        sys.exit(f"{what}: {got!r}, want {want!r}")


place = client.geocode("eastport")
check("geocode", (place.latitude, place.longitude), (42.0, 18.5))
check("name", place.raw["properties"]["name"], "Eastport")
check("address", place.address.split(", ")[0], "Eastport")
check("osm_id", place.raw["properties"]["osm_id"], 5)
check("nothing found", client.geocode("nowhere at all"), None)
towns = client.geocode("town", exactly_one=False, limit=5, location_bias=(41.5, 3.0), language="en") or []
check("limit", len(towns) <= 5, True)
check("country", client.geocode("westland").raw["properties"]["type"], "country")
check("extent", client.geocode("westland").raw["properties"]["extent"], [0, 50, 10, 40])
check("osm_tag", client.geocode("westland", osm_tag="place:city"), None)
check("osm_tags", client.geocode("eastport", osm_tag=["place:city", "!boundary"]).raw["properties"]["osm_value"], "city")
check("bbox", client.geocode("eastport", bbox=[(40, 0), (50, 10)]), None)
check("bbox around", client.geocode("eastport", bbox=[(40, 10), (50, 20)]).latitude, 42.0)

place = client.reverse((42.1, 18.4))
check("reverse", place.raw["properties"]["city"], "Eastport")
check("reverse, all", len(client.reverse((42.1, 18.4), exactly_one=False, limit=2)), 2)
check("reverse at sea", client.reverse((-40, -140)), None)

try:
    client.geocode("eastport", language="english")
    sys.exit("a language that is none is taken")
except GeocoderServiceError:
    pass
print("geopy's Photon is content")
