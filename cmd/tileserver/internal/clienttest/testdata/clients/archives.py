"""Writes archives of tiles by the package pmtiles, and reads archives by it or by sqlite3.

archives.py write DIR     vector.pmtiles, with leaf directories, and pictures.pmtiles
archives.py read FILE     a line per tile: z/x/y, and the SHA-256 of its bytes as they are stored
"""

import gzip
import hashlib
import os
import random
import sqlite3
import sys
import zlib

from pmtiles.reader import MmapSource, all_tiles
from pmtiles.tile import Compression, TileType, zxy_to_tileid
from pmtiles.writer import write


def vector(name):
    layer = b"\x0a" + bytes([len(name)]) + name + b"\x78\x02"
    return gzip.compress(b"\x1a" + bytes([len(layer)]) + layer, mtime=0)


def picture(shade):
    def chunk(kind, data):
        return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")

    rows = (b"\0" + bytes([shade]) * 256) * 256
    head = (256).to_bytes(4, "big") * 2 + b"\x08\0\0\0\0"
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def write_archives(directory):
    rand = random.Random(7)

    def header(kind, compression):
        return {
            "tile_type": kind, "tile_compression": compression,
            "min_lon_e7": -1800000000, "min_lat_e7": -850000000, "max_lon_e7": 1800000000, "max_lat_e7": 850000000,
            "center_zoom": 1, "center_lon_e7": 0, "center_lat_e7": 0,
        }

    with write(os.path.join(directory, "vector.pmtiles")) as w:
        ids = sorted(rand.sample(range(350000), 60000))
        for i, tile in enumerate(ids):
            w.write_tile(tile, vector(b"sea") if i % 5 == 0 else vector(str(tile).encode()))
        w.finalize(header(TileType.MVT, Compression.GZIP), {"name": "vector", "vector_layers": [{"id": "x", "fields": {}}]})
    with write(os.path.join(directory, "pictures.pmtiles")) as w:
        for z in range(4):
            for x in range(1 << z):
                for y in range(1 << z):
                    w.write_tile(zxy_to_tileid(z, x, y), picture(z * 60 + (x + y) % 50))
        w.finalize(header(TileType.PNG, Compression.NONE), {"name": "pictures"})


def tiles(path):
    if not path.endswith(".mbtiles"):
        with open(path, "rb") as f:
            yield from all_tiles(MmapSource(f))
        return
    db = sqlite3.connect(path)
    for z, x, row, data in db.execute("SELECT zoom_level, tile_column, tile_row, tile_data FROM tiles"):
        yield (z, x, (1 << z) - 1 - row), data


if sys.argv[1] == "write":
    write_archives(sys.argv[2])
else:
    for (z, x, y), data in tiles(sys.argv[2]):
        print(f"{z}/{x}/{y}", hashlib.sha256(data).hexdigest())
