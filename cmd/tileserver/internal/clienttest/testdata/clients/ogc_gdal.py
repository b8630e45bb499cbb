"""Lets GDAL's drivers OAPIF, OGCAPI and MVT read every collection of a server.

    python3 ogc_gdal.py http://127.0.0.1:8080

It needs pyogrio, which brings a GDAL of its own: the driver OGCAPI of GDAL 3.6 does not
know the standard as it was approved. It prints a line for each collection and ends with an
error if GDAL and the server do not agree.
"""

import json
import sys
import urllib.parse
import urllib.request

import pyogrio
import pyogrio.raw

VECTOR = "http://www.opengis.net/def/rel/ogc/1.0/tilesets-vector"


def get(url):
    with urllib.request.urlopen(url, timeout=60) as answer:
        return json.load(answer)


def check(ok, *what):
    if not ok:
        sys.exit(" ".join(map(str, what)))


def count(url):
    """How many features there are, by the links to the next page."""
    n = 0
    while url:
        page = get(url)
        n += len(page["features"])
        url = next((l["href"] for l in page["links"] if l["rel"] == "next"), None)
    return n


def items(root, name):
    """All features by OAPIF, a few in each page."""
    whole = count(f"{root}/collections/{urllib.parse.quote(name)}/items?f=json&limit=1000")
    read = pyogrio.raw.read(f"OAPIF:{root}", layer=name, PAGE_SIZE="7")[2]
    check(len(read) == whole, name, "has", whole, "features, OAPIF read", len(read))
    read = pyogrio.raw.read(f"OGCAPI:{root}/collections/{name}", API="ITEMS")[2]
    check(len(read) == whole, name, "has", whole, "features, OGCAPI read", len(read))
    return whole


def tiles(root, name, deepest):
    """The vector tiles by OGCAPI, which has a layer for each zoom. It takes those in degrees."""
    source = f"OGCAPI:{root}/collections/{name}"
    layers = list(pyogrio.list_layers(source)[:, 0])
    check(layers == [f"Zoom level {z}" for z in range(deepest)], name, "has the layers", layers)
    meta, _, geometries, _ = pyogrio.raw.read(source, layer="Zoom level 1", API="TILES")
    check("CRS84" in meta["crs"], name, "has tiles of", meta["crs"])
    check(len(geometries) > 0, name, "has no features in tiles of zoom 1")
    return len(geometries)


def tileset(root, name):
    """One tile by MVT, whose layers are those that the tileset tells."""
    told = {l["id"] for l in get(f"{root}/collections/{urllib.parse.quote(name)}/tiles/WebMercatorQuad?f=json")["layers"]}
    there = set(pyogrio.list_layers(f"MVT:{root}/collections/{urllib.parse.quote(name)}/tiles/WebMercatorQuad/0/0/0?f=mvt")[:, 0])
    check(there and there <= told, name, "has the layers", there, "but tells of", told)


def main(site):
    root = site + "/ogc"
    for collection in get(root + "/collections?f=json")["collections"]:
        name = collection["id"]
        print(name, items(root, name), "features", end="")
        if any(l["rel"] == VECTOR for l in collection["links"]):
            deepest = 22 if name.startswith("points:") else 13
            print(",", tiles(root, name, deepest), "in tiles", end="")
            tileset(root, name)
        print()


print("GDAL", ".".join(map(str, pyogrio.__gdal_version__)))
main(sys.argv[1])
