"""Lets QGIS read every collection of a server, page by page, and draw its tiles.

    QT_QPA_PLATFORM=offscreen python3 ogc_qgis.py http://127.0.0.1:8080 [PICTURE.png]

It prints a line for each collection and ends with an error if QGIS and the server do
not agree. The picture is a map of the vector tiles, as QGIS drew them.
"""

import json
import sys
import urllib.parse
import urllib.request

from qgis.core import (
    QgsApplication,
    QgsCoordinateReferenceSystem,
    QgsMapRendererParallelJob,
    QgsMapSettings,
    QgsRasterLayer,
    QgsRectangle,
    QgsVectorLayer,
    QgsVectorTileLayer,
)
from qgis.PyQt.QtCore import QSize
from qgis.PyQt.QtGui import QColor

WORLD = 20037508.342789244
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


def features(root, collection):
    """Reads a collection by QGIS's provider, which follows the next links."""
    name = collection["id"]
    layer = QgsVectorLayer(f"url='{root}' typename='{name}' pageSize='7'", name, "OAPIF")
    check(layer.isValid(), name, "is not valid")
    ids, fields = set(), {f.name() for f in layer.fields()}
    extent = QgsRectangle()
    for feature in layer.getFeatures():
        ids.add(feature.id())
        check(not feature.geometry().isNull(), name, feature.id(), "has no geometry")
        extent.combineExtentWith(feature.geometry().boundingBox())
    items = f"{root}/collections/{urllib.parse.quote(name)}/items?f=json&limit="
    whole = count(items + "1000")
    check(len(ids) == whole, name, "has", whole, "features, QGIS read", len(ids))
    if whole:
        missing = set(get(items + "1")["features"][0]["properties"]) - fields
        check(not missing, name, "has properties that QGIS does not see:", missing)
    print(name, len(ids), "features", ",".join(sorted(fields)), extent.toString(2))


def template(root, url, form):
    """The address of tiles that a tileset gives, as QGIS writes it."""
    for tileset in get(url)["tilesets"]:
        if not tileset["tileMatrixSetURI"].endswith("/WebMercatorQuad"):
            continue
        here = next(l["href"] for l in tileset["links"] if l["rel"] == "self")
        for link in get(here)["links"]:
            if link["rel"] == "item" and link.get("type") == form:
                check(link["templated"], here, "has an item that is no template")
                href = link["href"]
                for ours, theirs in (("tileMatrix", "z"), ("tileRow", "y"), ("tileCol", "x")):
                    href = href.replace("{" + ours + "}", "{" + theirs + "}")
                return href
    sys.exit(f"{url} has no tiles of {form}")


def uri(href, zoom):
    return f"type=xyz&zmin=0&zmax={zoom}&url=" + urllib.parse.quote(href, safe=":/{}")


def draw(layer, name, picture=None):
    """Draws the world with QGIS's own style, and wants more than one colour."""
    check(layer.isValid(), name, "is not valid")
    settings = QgsMapSettings()
    settings.setLayers([layer])
    settings.setDestinationCrs(QgsCoordinateReferenceSystem("EPSG:3857"))
    settings.setBackgroundColor(QColor("white"))
    settings.setOutputSize(QSize(512, 512))
    settings.setExtent(QgsRectangle(-WORLD, -WORLD, WORLD, WORLD))
    job = QgsMapRendererParallelJob(settings)
    job.start()
    job.waitForFinished()
    image = job.renderedImage()
    colors = {image.pixel(x, y) for x in range(0, 512, 2) for y in range(0, 512, 2)}
    check(len(colors) > 1, name, "draws nothing:", [e.message for e in job.errors()])
    if picture:
        image.save(picture)
    return len(colors)


def main(site, picture=None):
    root = site + "/ogc"
    collections = get(root + "/collections?f=json")["collections"]
    check(collections, root, "has no collections")
    for collection in collections:
        features(root, collection)
    for collection in collections:
        name = collection["id"]
        href = next((l["href"] for l in collection["links"] if l["rel"] == VECTOR), None)
        if href is None:
            print(name, "has no tiles")
            continue
        address = template(root, href, "application/vnd.mapbox-vector-tile")
        layer = QgsVectorTileLayer(uri(address, 13), name)
        print(name, "has vector tiles, drawn in", draw(layer, name), "colours")
    links = {l["rel"]: l["href"] for l in get(root + "?f=json")["links"]}
    whole = QgsVectorTileLayer(uri(template(root, links[VECTOR], "application/vnd.mapbox-vector-tile"), 13), "all")
    draw(whole, "the vector tiles of all", picture)
    drawn = template(root, links["http://www.opengis.net/def/rel/ogc/1.0/tilesets-map"], "image/png")
    draw(QgsRasterLayer(uri(drawn, 22), "map", "wms"), "the map tiles of all")


QgsApplication.setPrefixPath("/usr", True)
application = QgsApplication([], False)
application.initQgis()
try:
    main(*sys.argv[1:])
finally:
    application.exitQgis()
