package main

import (
	"encoding"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"

	"quadrille/ask"
	"quadrille/cmd/ingest/internal/job"
	pointsjob "quadrille/cmd/ingest/internal/job/points"
	"quadrille/cmd/ingest/internal/liveclient"
	"quadrille/cmd/ingest/internal/source/columns"
	"quadrille/cmd/ingest/internal/source/pointtable"
	"quadrille/feature"
	"quadrille/internal/bom"
	"quadrille/places/live"
)

// pointFiles has the files of a command that publishes points, and the flags for reading them.
// Every such command has these flags and their environment variables.
type pointFiles struct {
	Files       []string    `arg:"" optional:"" config:"" name:"file" help:"Tables and workbooks, or JSON, GeoPackage, GeoParquet and shapefiles of points; - is standard input."`
	ID          string      `name:"id" env:"QUADRILLE_POINTS_ID" placeholder:"COLUMN" help:"The column or property that is the id of a point; COLUMN+COLUMN joins two."`
	Name        string      `env:"QUADRILLE_POINTS_NAME" placeholder:"COLUMN" help:"The column or property that becomes the property name; COLUMN+COLUMN joins two by a blank."`
	Lat         string      `env:"QUADRILLE_POINTS_LAT" placeholder:"COLUMN" help:"The column of latitudes of a table, in degrees."`
	Lon         string      `env:"QUADRILLE_POINTS_LON" placeholder:"COLUMN" help:"The column of longitudes of a table, in degrees; that of --lat again where it has positions."`
	AxisOrder   string      `env:"QUADRILLE_POINTS_AXIS_ORDER" enum:",lat-lon,lon-lat" default:"" placeholder:"ORDER" help:"The order of two numbers in one column, lat-lon or lon-lat. Left out, [a, b] has the longitude first, and a,b and (a, b) the latitude."`
	Type        []typeFlag  `env:"QUADRILLE_POINTS_TYPE" sep:";" placeholder:"PROPERTY=TYPE" help:"The type of a property: text, number, boolean, time, texts or any; repeatable. Left out, it is found from the values. In the environment several are separated by semicolons."`
	Empty       []string    `env:"QUADRILLE_POINTS_EMPTY" placeholder:"WORDS" help:"The words that stand for an empty cell, separated by commas; none with --empty=, while the environment variable set to nothing is as if left out. Left out, they are, in tables, \\N, NULL, null, NA, N/A, n/a, #N/A, NaN, nan, None and -."`
	Encoding    string      `env:"QUADRILLE_POINTS_ENCODING" placeholder:"NAME" help:"The encoding of tables and GeoJSON, such as windows-1252, iso-8859-2, cp850, shift_jis or utf-16le. Left out, text is UTF-8, UTF-16 where its beginning shows that, or windows-1252 where it is not and every byte fits; a line says so."`
	BBox        *boxFlag    `name:"bbox" env:"QUADRILLE_POINTS_BBOX" placeholder:"W,S,E,N" help:"Take only points in this box, in degrees: west, south, east and north. West may be greater than east, across 180."`
	Repeated    string      `env:"QUADRILLE_POINTS_REPEATED" enum:",refuse,first,last" default:"" placeholder:"WHICH" help:"Which of the records with one id counts: first, or last. Left out, or with refuse, the first does, and the others are bad records."`
	Layer       string      `env:"QUADRILLE_POINTS_LAYER" placeholder:"NAME" help:"The layer of a GeoPackage, the sheet of a workbook, or the shapefile of an archive, that has several."`
	Title       string      `text:"" env:"QUADRILLE_POINTS_TITLE" placeholder:"TEXT" help:"What the collection is called where people read it."`
	Attribution attribution `text:"" placeholder:"TEXT" help:"What a map must show for using the points: text, with links as <a href=\"https://example.org\">text</a>."`
	License     string      `placeholder:"NAME" help:"Licence of the points, such as CC-BY-4.0."`

	spellings
	tagged
	filtered
}

func (c *pointFiles) reads() []string { return withoutLayers(c.Files) }

// collection returns the job's collection for a data set and the name of its points.
func (c *pointFiles) collection(d ask.Dataset, name string) (of pointsjob.Collection, err error) {
	fields := make([]feature.Field, len(c.Type))
	for i, f := range c.Type {
		fields[i] = f.field
	}
	types, err := feature.NewSchema(fields)
	if err == nil {
		err = live.CheckName(name)
	}
	if err != nil {
		return of, &usageError{err}
	}
	return pointsjob.Collection{
		Repeated:      pointsjob.Repeated(strings.TrimPrefix(c.Repeated, "refuse")),
		Dataset:       d,
		Name:          name,
		PropertyTypes: types,
		Layer:         c.Layer,
		Title:         c.Title,
		Empty:         c.Empty,
		Style:         c.style(),
		Headless:      c.headless(),
		ColumnNames:   c.Columns,
		Tags:          c.Tags.all,
		Encoding:      c.Encoding,
		Bounds:        c.BBox.bound(),
		Where:         c.Where,
		Told:          columns.Told{ID: c.ID, Name: c.Name},
		Columns:       pointtable.Columns{Lat: c.Lat, Lon: c.Lon, Order: c.AxisOrder},
		Credit:        job.Credit{License: c.License, Attribution: string(c.Attribution)},
	}, nil
}

type pointsCmd struct {
	Collection string `arg:"" optional:"" config:"" name:"collection" help:"Name of the collection: a letter a to z and then letters, digits, hyphens and underscores."`
	pointFiles

	Private  bool   `env:"QUADRILLE_POINTS_PRIVATE" help:"Show the collection only to those who may read it."`
	Search   bool   `env:"QUADRILLE_POINTS_SEARCH" help:"Let searches of all names find the points, by their property name."`
	IntoLive string `env:"-" placeholder:"URL" help:"Publish nothing, and write the points into the live collection of the tileserver at this address, such as http://127.0.0.1:8080. It is made if it is not there."`
	KeyFile  string `type:"path" placeholder:"FILE" help:"File whose first line is the key that may write the collection of --into-live."`

	positioned
	renewing
	valuesOf
}

func (pointsCmd) Help() string {
	return `Publishes a collection of your own points, such as shops, as the data set points-COLLECTION. The
files together become the collection; what was published of it before is replaced.

  ingest points shops shops.csv
  ingest points chargers north.geojson south.geojson.gz --id ref --name operator
  ingest points shops export.csv --lat geo_y --lon geo_x --type price=number --type tags=texts
  ingest points stops survey.gpkg --layer stops
  ingest points cafes places.parquet --where "categories.primary IN ('cafe', 'bakery') AND confidence > 0.5"
  ingest points sales turnover.xlsx --values-of county
  curl https://example.org/shops.csv | ingest points shops -

FILE is, whatever its name, one of these, with positions in degrees (WGS84, or a datum a few metres from it,
such as NAD83, ETRS89 and GDA94). Each may be compressed by gzip, zstd, bzip2 or xz or be in a .zip or .tar.gz, of which several files of one kind are read as one:

  A table of text (UTF-8, or what --encoding names) with a header, or names by --columns: columns separated by commas, semicolons, tabs or vertical bars.
  GeoJSON: a FeatureCollection, a Feature, a geometry, or several of them one after another, such as one a line (.ndjson, .geojsonl, .geojsons).
  Other JSON: a list of objects, alone or as a member of one ({"data":[…]}, FILE#MEMBER), or objects one after another; answers of Overpass (out center) and ArcGIS (outSR=4326). Members of objects are columns such as address.city.
  KML, KMZ and the waypoints of GPX; the stops of a GTFS feed and the occurrences of a Darwin Core archive, in their .zip.
  Data of OpenStreetMap (.osm.pbf) with --tags amenity=cafe: nodes, and a point within areas.
  A GeoPackage; FILE.gpkg#TABLE or --layer where there are several layers of points.
  A shapefile: .shp with what belongs to it beside it, or the .zip they came in.
  A workbook, .xlsx or .ods; FILE.xlsx#SHEET or --layer where there are several sheets with tables.
  GeoParquet 1.0 or 1.1, or Parquet with its own type GEOMETRY: a file, a folder of them, or a pattern in quotes, such as 'part-*.parquet'.

Tables and other files do not mix. A MultiPoint of one position is a point; other geometries are bad records.

Of a table or other JSON, latitude and longitude are the columns with such a name (lat, latitude, y, geo_lat, …; lon, lng,
long, longitude, x, …; location.lat and location.lon), or one column with positions, called wkt, geometry, geo_point_2d, location,
coordinates or so: POINT(lon lat), a geometry of GeoJSON or of PostGIS, "lat,lon" or "[lon, lat]", whose order
--axis-order changes. The first position read is printed. The id is the column id, _id, identifier, uuid,
guid, osm_id or stop_id, or key, code or ident if they tell the points apart. A column called name in other case or
in another language (Name, Nom, Bezeichnung, or Title if most differ) becomes the property name if there is none.
The columns taken are printed.
All other columns with a name become properties. An empty cell is no property, and neither is a word for that,
such as NULL, NA or -, which --empty changes. A column of whose texts all are numbers becomes numbers, unless
they look like codes (007, 10E2), and so it is with true and false and with times (2026-01-31T12:00:00Z or
2026-01-31). Times without a zone, dates such as 31/12/2024 and numbers with decimal commas are read so where the
whole column is written so, which is printed.

The id of a feature is its own, or else the property id, and of a row of a GeoPackage its primary key. Points
without an id, where no column is one, get the number of their record: 1, 2, 3 and so on over all files. Of
points with one id the first is taken; the others are bad records, unless --repeated says first or last.

With --into-live the points are put into a live collection of a running tileserver, in the order of the files,
in place of those of the same ids. Points that the files lack stay in it, unless --replace is given. A point
that the server refuses is a bad record.

  ingest points shops shops.csv --into-live http://127.0.0.1:8080 --key-file writer.key
  ingest points shops shops.csv --into-live http://127.0.0.1:8080 --key-file writer.key --replace --max-change 10%

--type declares a type, and values that do not have it are bad records. A list of texts in a table is separated by semicolons.`
}

// typeFlag is PROPERTY=TYPE.
type typeFlag struct{ field feature.Field }

var _ encoding.TextUnmarshaler = (*typeFlag)(nil)

func (f *typeFlag) UnmarshalText(text []byte) (err error) {
	i := strings.LastIndexByte(string(text), '=')
	if i < 1 {
		return fmt.Errorf("%q is not a type; give one as PROPERTY=TYPE, such as price=number", text)
	}
	f.field, err = feature.ParseField(string(text[:i]), string(text[i+1:]))
	return err
}

// MarshalText is the inverse of UnmarshalText.
func (f typeFlag) MarshalText() ([]byte, error) {
	return []byte(f.field.Name + "=" + f.field.Kind.String()), nil
}

// of returns the data set that the command publishes.
func (c *pointsCmd) of() ask.Dataset { return ask.CollectionOf(c.Collection).Dataset }

func (c *pointsCmd) left(s *session) string {
	if c.IntoLive != "" {
		return "points written so far stay in the live collection " + c.Collection
	}
	return s.unpublished(c.of().Name)
}

func (c *pointsCmd) Run(s *session) error {
	of, err := c.collection(c.of(), c.Collection)
	if err != nil {
		return err
	}
	of.Private, of.Search = c.Private, c.Search
	of.AllowEmpty, of.Replace, of.ValuesOf = c.AllowEmpty, c.Replace, c.ValuesOf
	if err := c.check(c); err != nil {
		return err
	}
	if c.MaxChange != nil && c.IntoLive != "" && !c.Replace {
		return &usageError{errors.New("--max-change is for collections that are published, and for --into-live with --replace: " +
			"leave out one of --max-change and --into-live, or add --replace")}
	}
	if c.Replace && c.IntoLive == "" {
		return &usageError{errors.New("--replace is for --into-live: without that, the files are the whole collection in any case; leave it out")}
	}
	if c.DryRun && c.IntoLive != "" {
		return &usageError{errors.New("--dry-run is for collections that are published, and --into-live writes into one " +
			"that is served: leave out one of them")}
	}
	if c.Search && (c.Private || c.IntoLive != "") {
		return &usageError{errors.New("--search is for published collections that everybody may read: leave out --private " +
			"and --into-live, or --search")}
	}
	if c.IntoLive != "" && c.Repeated != "" && c.Repeated != string(pointsjob.KeepLast) {
		return &usageError{errors.New("--into-live writes the records in their order, and the last one of an id stays: " +
			"leave out --repeated " + c.Repeated)}
	}
	if c.IntoLive == "" {
		if c.KeyFile != "" {
			return &usageError{errors.New("--key-file is for --into-live URL: give both or none")}
		}
		_, err = pointsjob.Ingest(s.ctx, s.catalog, of, c.Files, c.options(s))
		return err
	}
	to := liveclient.Target{Collection: c.Collection}
	if to.Server, to.Key, err = targetServer(s, "--into-live", c.IntoLive, c.KeyFile); err != nil {
		return &usageError{err}
	}
	return pointsjob.IntoLive(s.ctx, of, c.Files, to, c.options(s))
}

// targetServer reads the address of a tileserver that a flag gives, and the key in a file, if one is given.
func targetServer(s *session, flag, address, keyFile string) (server *url.URL, key string, err error) {
	server, err = url.Parse(address)
	if err != nil || server.Scheme != "http" && server.Scheme != "https" || server.Hostname() == "" || server.RawQuery != "" || server.Fragment != "" ||
		server.User != nil {
		return nil, "", fmt.Errorf("%s %q: give the address of a tileserver, such as http://127.0.0.1:8080, without "+
			"the collection or a key", flag, address)
	}
	if keyFile == "" {
		return server, "", nil
	}
	if key, err = readKey(keyFile); err == nil && server.Scheme == "http" && !isLoopback(server.Hostname()) {
		s.reporter.Note("warning: the key goes to " + server.Host + " unencrypted, where others may read it; name the server by https://")
	}
	return server, key, err
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// maxKeyLine bounds a key in bytes.
const maxKeyLine = 1024

// readKey reads the first line of a file.
func readKey(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("--key-file: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxKeyLine+1))
	if err != nil {
		return "", fmt.Errorf("--key-file: %w", err)
	}
	line, _, _ := strings.Cut(string(bom.Trim(text)), "\n")
	key := strings.TrimSpace(line)
	if key == "" || len(line) > maxKeyLine || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("--key-file %s: its first line is no key: write what tileserver keys new has printed into it", path)
	}
	return key, nil
}
