"""Reads pairs, each part behind its length in 4 bytes: what a tile has, as JSON, and the
MapLibre Tile. Decodes the tile by maplibre-tiles, which is mlt-core in Rust, and tells
how they differ."""

import json
import struct
import sys

from maplibre_tiles import decode_mlt

TYPES = ["Point", "LineString", "Polygon", "MultiPoint", "MultiLineString", "MultiPolygon"]


def paths(wkb):
    """The points, lines or rings of a geometry; a ring without its last point."""
    at = 0

    def read(form):
        nonlocal at
        values = struct.unpack_from(form, wkb, at)
        at += struct.calcsize(form)
        return values

    def path(ring=False):
        (n,) = read("<I")
        points = [list(map(int, read("<dd"))) for _ in range(n)]
        return points[:-1] if ring else points

    def geometry():
        order, kind = read("<BI")
        assert order == 1
        if kind == 1:
            return [[list(map(int, read("<dd")))]]
        if kind == 2:
            return [path()]
        (n,) = read("<I")
        if kind == 3:
            return [path(True) for _ in range(n)]
        return [p for _ in range(n) for p in geometry()]

    return geometry()


def plain(value):
    return float(value) if type(value) is int else value


def main():
    data, at, tiles, features, wrong = sys.stdin.buffer.read(), 0, 0, 0, 0

    def part():
        nonlocal at
        (n,) = struct.unpack_from(">I", data, at)
        at += 4 + n
        return data[at - n : at]

    while at < len(data):
        want = json.loads(part())
        for layer in want:
            for f in layer["Features"]:
                f["Type"] = TYPES[f["Type"]]
                f["Properties"] = {k: plain(v) for k, v in f["Properties"].items()}
        got = [
            {
                "Name": layer.name,
                "Extent": layer.extent,
                "Features": [
                    {"ID": f.id or 0, "Type": f.geometry_type, "Paths": paths(f.wkb), "Properties": {k: plain(v) for k, v in f.properties.items() if v is not None}}
                    for f in layer.features
                ],
            }
            for layer in decode_mlt(part())
        ]
        tiles += 1
        features += sum(len(layer["Features"]) for layer in want)
        if got != want:
            wrong += 1
            if wrong < 4:
                print(f"tile {tiles}:\n want {want}\n got  {got}"[:4000])
    print(f"{tiles} tiles with {features} features, {wrong} differ")
    sys.exit(wrong > 0)


main()
