"""Compares what maxminddb finds with the answers of a file: address, tab, JSON."""
import json
import sys

import maxminddb

compared = differ = 0
with maxminddb.open_database(sys.argv[1]) as db, open(sys.argv[2], encoding="utf-8") as questions:
    for line in questions:
        address, want = line.rstrip("\n").split("\t")
        compared += 1
        if db.get(address) != json.loads(want):
            differ += 1
            if differ <= 10:
                print(address, db.get(address), "want", want)
    print(f"{maxminddb.__name__} {getattr(maxminddb, '__version__', '')}, {type(db).__name__}: {compared} compared, {differ} differ")
sys.exit(differ > 0)
