# Joins the points of a file with the polygons of others, by geopandas, SedonaDB and DuckDB. Prints the processor
# time of each without that of loading. DuckDB gets a fiftieth of the points, for it is slow.
import os, sys, time

import numpy as np
import pyogrio

points = np.fromfile(sys.argv[1], dtype="<f8").reshape(-1, 2)
lat, lon = points[:, 0], points[:, 1]
sources = [s.split("=", 1) for s in sys.argv[2:]]


def read(path):
    path = os.path.abspath(path)
    return pyogrio.read_dataframe("/vsigzip/" + path if path.endswith(".gz") else path)[["geometry"]]


polygons = {typ: read(path) for typ, path in sources}


def measure(name, n, join):
    total = 0.0
    for typ in polygons:
        before = time.process_time()
        rows = join(typ)
        took = time.process_time() - before
        total += took
        print(f"  {name}, {typ}: {n} points, {took:.2f} s of processor, {rows} rows", flush=True)
    print(f"  {name}: {n / total / 1e6:.4f} million/s a core for all layers", flush=True)


def geopandas():
    import geopandas as gpd
    frame = gpd.GeoDataFrame(geometry=gpd.points_from_xy(lon, lat), crs="EPSG:4326")
    measure("geopandas " + gpd.__version__, len(frame), lambda typ: len(gpd.sjoin(frame, polygons[typ], predicate="within")))


def sedona():
    import geopandas as gpd
    import sedona.db
    db = sedona.db.connect()
    db.create_data_frame(gpd.GeoDataFrame(geometry=gpd.points_from_xy(lon, lat), crs="EPSG:4326")).to_view("points")
    for typ, frame in polygons.items():
        db.create_data_frame(frame).to_view(typ)
    sql = "SELECT count(*) AS n FROM points p JOIN {} r ON ST_Intersects(r.geometry, p.geometry)"
    measure("SedonaDB", len(lat), lambda typ: db.sql(sql.format(typ)).to_pandas()["n"][0])


def duckdb():
    import duckdb
    import duckdb_extension_spatial as spatial
    db = duckdb.connect()
    found = [os.path.join(at, f) for at, _, files in os.walk(os.path.dirname(spatial.__file__)) for f in files if f.endswith(".duckdb_extension")]
    db.execute(f"LOAD '{found[0]}'")
    n = len(lat) // 50
    import pandas as pd
    drawn = pd.DataFrame({"lon": lon[:n], "lat": lat[:n]})
    db.execute("CREATE TABLE points AS SELECT ST_Point(lon, lat) AS g FROM drawn")
    for typ, frame in polygons.items():
        wkb = pd.DataFrame({"wkb": frame.geometry.to_wkb()})
        db.execute(f"CREATE TABLE {typ} AS SELECT ST_GeomFromWKB(wkb) AS g FROM wkb")
    sql = "SELECT count(*) FROM points p JOIN {} r ON ST_Intersects(r.g, p.g)"
    measure("DuckDB " + duckdb.__version__, n, lambda typ: db.execute(sql.format(typ)).fetchone()[0])


for peer in geopandas, sedona, duckdb:
    try:
        peer()
    except Exception as e:
        print(f"  {peer.__name__} was left out: {e!r}", flush=True)
