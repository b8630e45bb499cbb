"""Compares a GeoParquet file with lines of JSON: id, properties, wkb (hex) and box, in the order of the rows.

Judges are pyarrow and, where they are installed, geopandas and duckdb with its extension spatial.
"""
import datetime
import json
import math
import pathlib
import sys

import pyarrow
import pyarrow.parquet as pq

path, lines = sys.argv[1:]
with open(lines, encoding="utf-8") as f:
    want = [json.loads(line) for line in f]
failed = 0


def check(what, got, expected):
    global failed
    if got != expected:
        failed += 1
        if failed <= 10:
            print(f"{what}: {got!r}, want {expected!r}")


def plain(value, is_json):
    """Returns a value as JSON has it."""
    if isinstance(value, datetime.datetime):
        micros = (value - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)) // datetime.timedelta(microseconds=1)
        return ("time", micros)
    if is_json and isinstance(value, (str, bytes)):
        return json.loads(value)
    return value


def expected(value, is_time):
    if is_time and value is not None:
        head, _, digits = value[:-1].partition(".")
        at = datetime.datetime.fromisoformat(head + "+00:00")
        micros = (at - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)) // datetime.timedelta(microseconds=1)
        return ("time", micros + int((digits + "000000")[:6]))
    return value


file = pq.ParquetFile(path)
geo = json.loads(file.metadata.metadata[b"geo"])
column = geo["columns"]["geometry"]
check("version", geo["version"], "1.1.0")
check("rows", file.metadata.num_rows, len(want))
schema = file.schema
json_columns, time_columns = set(), set()
for i in range(len(schema)):
    leaf = schema.column(i)
    if leaf.logical_type.type == "JSON":
        json_columns.add(leaf.path)
    if leaf.logical_type.type == "TIMESTAMP":
        time_columns.add(leaf.path)
names = [field.name for field in file.schema_arrow]


def compare(judge, rows):
    n = 0
    for row, line in zip(rows, want):
        n += 1
        check(f"{judge} id", row["id"], line["id"])
        for name in names:
            if name in ("id", "geometry", "bbox"):
                continue
            value = line["properties"].get(name)
            got = plain(row[name], name in json_columns)
            if isinstance(got, int) and name in time_columns:
                got = ("time", got)
            check(f"{judge} {line['id']} {name}", got, expected(value, name in time_columns))
        check(f"{judge} {line['id']} geometry", row["geometry"].hex() if row["geometry"] is not None else None, line.get("wkb"))
        box = row["bbox"]
        if "box" in line:
            sides = [box[side] for side in ("xmin", "ymin", "xmax", "ymax")]
            w, s, e, north = line["box"]
            check(f"{judge} {line['id']} box {sides} {line['box']}",
                  sides[0] <= w and sides[1] <= s and sides[2] >= e and sides[3] >= north and
                  all(math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-37) for a, b in zip(sides, line["box"])), True)
        else:
            check(f"{judge} {line['id']} box", box, None)
    check(f"{judge} rows", n, len(want))
    return n


def arrow_rows():
    for batch in file.iter_batches():
        yield from batch.to_pylist()


print(f"pyarrow {pyarrow.__version__}: {compare('pyarrow', arrow_rows())} rows")
boxes = [line["box"] for line in want if "box" in line]
if boxes:
    check("bbox", column["bbox"], [min(b[0] for b in boxes), min(b[1] for b in boxes), max(b[2] for b in boxes), max(b[3] for b in boxes)])

try:
    import geopandas
except ImportError:
    print("geopandas is not installed")
else:
    frame = geopandas.read_parquet(path)
    check("geopandas crs", frame.crs.to_string() if frame.crs else None, "OGC:CRS84")
    for shape, line in zip(frame.geometry, want):
        check(f"geopandas {line['id']}", None if shape is None else shape.wkb_hex.lower(), line.get("wkb"))
    kinds = {shape.geom_type for shape in frame.geometry if shape is not None}
    check("geometry_types", set(column["geometry_types"]), kinds)
    print(f"geopandas {geopandas.__version__}: {len(frame)} rows")

try:
    import duckdb
except ImportError:
    print("duckdb is not installed")
else:
    db = duckdb.connect()
    db.execute("SET TimeZone='UTC'")
    # Without pytz, duckdb gives no times to Python.
    replaced = [f'epoch_us({name}) AS {name}' for name in ('"' + name.replace('"', '""') + '"' for name in time_columns)]
    try:
        try:
            import duckdb_extension_spatial as wheel
            db.load_extension(str(next(pathlib.Path(wheel.__file__).parent.rglob("*.duckdb_extension"))))
        except ImportError:
            db.load_extension("spatial")
        replaced.append("ST_AsWKB(geometry) AS geometry")
    except duckdb.Error as error:
        db.execute("SET enable_geoparquet_conversion=false")
        print(f"duckdb has no spatial: {error}")
    read = "* REPLACE (" + ", ".join(replaced) + ")" if replaced else "*"
    result = db.execute(f"SELECT {read} FROM read_parquet(?)", [path])
    keys = [d[0] for d in result.description]
    rows = (dict(zip(keys, row)) for row in result.fetchall())
    print(f"duckdb {duckdb.__version__}, {'with' if 'ST_AsWKB' in read else 'without'} spatial: {compare('duckdb', rows)} rows")
sys.exit(failed > 0)
