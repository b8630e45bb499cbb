"""OWSLib lists the collections and pages through each."""
import sys

from owslib.ogcapi.features import Features

server = Features(sys.argv[1])
names = server.feature_collections()
assert {"country", "places", "airports", "points:benches"} <= set(names), names
assert server.conformance()["conformsTo"]
assert server.api()["openapi"].startswith("3.0")
for name in names:
    assert server.collection(name)["id"] == name
    assert server.collection_queryables(name)["properties"]
    page = server.collection_items(name, limit=2)
    seen = [f["id"] for f in page["features"]]
    assert 0 < len(seen) <= 2 and page["numberReturned"] == len(seen), page
    assert server.collection_item(name, str(seen[0]))["id"] == seen[0]
found = server.collection_items("points:benches", filter="seats > 2 AND name LIKE 'O%'")
assert [f["properties"]["name"] for f in found["features"]] == ["Oak"], found
assert len(server.collection_items("points:benches", bbox=[170, -2, -170, 2])["features"]) == 1
assert len(server.collection_items("points:benches", datetime_="2026-02-01T00:00:00Z/..")["features"]) == 2
