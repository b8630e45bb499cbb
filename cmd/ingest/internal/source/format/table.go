package format

import (
	"bufio"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/geojson"
	"quadrille/cmd/ingest/internal/source/geonames"
	"quadrille/cmd/ingest/internal/source/geopackage"
	"quadrille/cmd/ingest/internal/source/geoparquet"
	"quadrille/cmd/ingest/internal/source/geoxml"
	"quadrille/cmd/ingest/internal/source/jsonrecords"
	"quadrille/cmd/ingest/internal/source/osm"
	"quadrille/cmd/ingest/internal/source/pointtable"
	"quadrille/cmd/ingest/internal/source/shapefile"
	"quadrille/cmd/ingest/internal/source/topojson"
	"quadrille/cmd/ingest/internal/source/workbook"
)

var (
	shapes         = []source.Want{source.WantPoints, source.WantPolygons}
	jsonExtensions = []string{".json", ".geojson", ".topojson", ".ndjson", ".jsonl", ".geojsonl", ".geojsons"}
)

// table has a row for each format. The order is only that in which messages list the formats.
var table = []*Format{
	{
		Name:       "a table",
		Contents:   shapes,
		Extensions: []string{".csv", ".tsv", ".tab", ".txt"},
		Untyped:    true,
		Read: func(f *File, text *bufio.Reader) *Layer {
			t := pointtable.New(text, f.Path, f.Want, f.Columns)
			names, headless := f.ColumnNames, f.Headless
			if head, _ := text.Peek(headBytes / 16); !headless && geonames.IsPostal(head) {
				names, headless = geonames.PostalColumns, true
				f.Said.Notes = append(f.Said.Notes, f.Path+": its columns are those of postal codes of GeoNames")
			}
			if headless {
				t.Headless(names)
			}
			return &Layer{Features: t.Features(), TakenColumns: &t.Columns,
				Properties: func() []string { return t.Properties }, Notes: t.Notes, Table: t}
		},
	},
	&geoJSON,
	&topoJSON,
	&records,
	xmlFormat("KML", ".kml", geoxml.IsKML),
	xmlFormat("GPX", ".gpx", geoxml.IsGPX),
	{
		Name:       "data of OpenStreetMap",
		Contents:   shapes,
		Extensions: []string{".pbf", ".osm"},
		Late:       true,
		Matches:    func(h *Head) bool { return osm.IsPBF(h.Bytes) || osm.IsXML(h.Bytes) },
		Layered:    true,
		Untyped:    true,
		Open: func(ctx context.Context, f *File) (*Layer, error) {
			tags := f.Tags
			if f.Layer != "" {
				var err error
				if tags, err = osm.ParseTags(f.Layer); err != nil {
					return nil, err
				}
			}
			in, err := osm.Open(f.OnDisk, osm.Options{Tags: tags, Want: f.Want, Dir: f.Dir})
			if err != nil {
				return nil, err
			}
			return &Layer{
				Features: in.Features(ctx), Progress: in.Progress, Size: in.Size(), Notes: in.Notes,
				Close: func() error { return nil },
			}, nil
		},
	},
	{
		Name:       "a GeoPackage",
		Contents:   shapes,
		Extensions: []string{".gpkg"},
		Named:      true,
		Matches:    begins(geopackage.Magic),
		Layered:    true,
		Open: func(ctx context.Context, f *File) (*Layer, error) {
			in, err := geopackage.Open(ctx, f.OnDisk, f.Layer, f.Want)
			if err != nil {
				return nil, err
			}
			return &Layer{
				Features: in.Features(ctx), Columns: in.Columns(), Key: in.Key,
				Progress: in.Progress, Size: in.Size, Unit: "records", Close: in.Close, Notes: func() []string { return []string{in.Note} },
			}, nil
		},
	},
	{
		Name:       "Parquet",
		Contents:   append(slices.Clip(shapes), source.WantAddresses),
		Extensions: []string{".parquet", ".geoparquet"},
		Late:       true,
		Matches:    begins(geoparquet.Magic),
		Joined:     true,
		Open: func(ctx context.Context, f *File) (*Layer, error) {
			paths := f.Names
			if paths == nil {
				paths = []string{f.OnDisk}
			}
			in, err := geoparquet.Open(paths, geoparquet.Options{Want: f.Want, Bounds: f.Bounds, MayPass: f.MayPass, Root: f.Root})
			if err != nil {
				return nil, err
			}
			return &Layer{
				Features: in.Features(ctx), Columns: in.Columns(), Records: in.Records, Times: in.Times, Property: in.Property,
				Progress: in.Progress, Size: in.Size, Unit: "records", Paths: paths, Close: in.Close, Notes: in.Notes,
				LeftOut: in.LeftOut,
			}, nil
		},
	},
	{
		Name:     "a shapefile",
		Contents: shapes,
		Matches:  begins(shapefile.Magic),
		Archives: func(members []string) bool {
			return slices.ContainsFunc(members, func(name string) bool { return strings.HasSuffix(strings.ToLower(name), ".shp") })
		},
		Parts:   ".shp, .shx, .dbf, .prj and .cpg",
		Layered: true,
		Open: func(_ context.Context, f *File) (*Layer, error) {
			in, err := shapefile.Open(f.OnDisk, f.Layer, f.Want)
			if err != nil {
				return nil, err
			}
			in.Unroll = f.Unroll
			return &Layer{
				Features: in.Features(), Columns: in.Columns(),
				Progress: in.Progress, Size: in.Size, Paths: in.Paths, Close: in.Close, Notes: func() []string { return []string{in.Note} },
			}, nil
		},
	},
	{
		Name:       "a workbook",
		Contents:   []source.Want{source.WantPoints, source.WantAddresses},
		Extensions: []string{".xlsx", ".xlsm", ".ods"},
		Late:       true,
		Matches:    begins("PK\x03\x04"),
		Archives:   workbook.Is,
		Layered:    true,
		Open: func(_ context.Context, f *File) (*Layer, error) {
			in, err := workbook.Open(f.OnDisk, f.Layer)
			if err != nil {
				return nil, err
			}
			in.Name = f.Path
			return &Layer{
				Features: in.Features(), Columns: in.Columns, Records: true, Cells: true,
				Progress: in.Progress, Size: in.Size(), Close: in.Close, Notes: in.Notes,
			}, nil
		},
	},
}

// xmlFormat returns the row of a format of package geoxml.
func xmlFormat(name, extension string, is func(head []byte) bool) *Format {
	return &Format{
		Name:       name,
		Contents:   shapes,
		Extensions: []string{extension},
		Late:       true,
		Matches:    func(h *Head) bool { return is(h.Text) },
		Untyped:    true,
		Read: func(f *File, text *bufio.Reader) *Layer {
			r, features := geoxml.Read(text, f.Path, f.Want)
			return &Layer{Features: features, Notes: r.Notes}
		},
	}
}

var geoJSON = Format{
	Name:       "GeoJSON",
	Contents:   shapes,
	Extensions: jsonExtensions,
	Matches: func(h *Head) bool {
		typ, is := h.json()
		return is && typ != "Topology" && jsonrecords.Look(h.Text) != jsonrecords.Rows
	},
	Read: func(f *File, text *bufio.Reader) *Layer {
		l := &Layer{Features: geojson.Read(text, f.Path, f.Said)}
		if f.undecided {
			l.Features = unlessRecords(l.Features)
		}
		return l
	},
}

var records = Format{
	Name:       "JSON records",
	Contents:   shapes,
	Extensions: jsonExtensions,
	Matches: func(h *Head) bool {
		_, is := h.json()
		return is && jsonrecords.Look(h.Text) == jsonrecords.Rows
	},
	Layered: true,
	Read: func(f *File, text *bufio.Reader) *Layer {
		in := jsonrecords.New(text, f.Path, jsonrecords.Options{List: f.Layer, Single: f.single, Want: f.Want, Said: f.Said,
			Unroll: f.Unroll})
		return &Layer{Features: in.Features(), Records: true, Notes: in.Notes}
	},
}

// errRecords ends the reading of a file as GeoJSON whose first value turns out to be a record.
var errRecords = errors.New("is a list of records, not GeoJSON")

// unlessRecords yields the features of a file of which the beginning does not tell whether it is GeoJSON.
func unlessRecords(features iter.Seq2[source.Feature, error]) iter.Seq2[source.Feature, error] {
	return func(yield func(source.Feature, error) bool) {
		first := true
		for f, err := range features {
			bad := (*source.BadRecord)(nil)
			if first && errors.As(err, &bad) && bad.Reason == source.ReasonNotAFeature {
				f, err = source.Feature{}, errRecords
			}
			if first = false; !yield(f, err) || errors.Is(err, errRecords) {
				return
			}
		}
	}
}

var topoJSON = Format{
	Name:       "TopoJSON",
	Contents:   []source.Want{source.WantPolygons},
	Extensions: jsonExtensions,
	Matches: func(h *Head) bool {
		typ, is := h.json()
		return is && typ == "Topology"
	},
	Layered: true,
	Advice:  "is TopoJSON, not GeoJSON; convert it by: ogr2ogr out.geojson %s LAYER, where LAYER is one of its objects",
	Read: func(f *File, text *bufio.Reader) *Layer {
		objects := f.Objects
		if f.Layer != "" {
			objects = []string{f.Layer}
		}
		return &Layer{Features: topojson.Read(text, f.Path, objects...)}
	},
}
