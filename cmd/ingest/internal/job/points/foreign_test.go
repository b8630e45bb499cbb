package points

import (
	"strings"
	"testing"

	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/boundaries"
	"quadrille/cmd/ingest/internal/job/jobtest"
	"quadrille/cmd/internal/testfile"
)

// A file of another kind is refused by what it is, whoever is to read it.
func TestForeignFiles(t *testing.T) {
	for text, want := range map[string]string{
		"PAR1\x15\x04\x15":                           "it is a Parquet file; convert it by ogr2ogr",
		"fgb\x03fgb\x00aaaa":                         "it is a FlatGeobuf file of shapes; convert it by ogr2ogr",
		"<!DOCTYPE html><html>404</html>":            "it is a page in HTML or XML and no data; open the address",
		"\n<?xml version=\"1.0\"?><kml></kml>":       "or if it is KML or GML, convert it by ogr2ogr",
		"\xff\xfe{\x00\"\x00":                        "it is text in UTF-16; convert it by iconv",
		"{\x00\"\x00t\x00y\x00p\x00e\x00\"\x00:\x00": "it is text in UTF-16; convert it by iconv",
		"": "is empty",
	} {
		path := testfile.Temp(t, "in.geojson", text)
		_, polygons := boundaries.Ingest(t.Context(), jobtest.Catalog(t), []boundaries.Input{{Type: "zone", Input: jobtest.Input(path)}}, job.Options{})
		_, points := Ingest(t.Context(), jobtest.Catalog(t), Collection{Name: "mine"}, []string{path}, job.Options{})
		for by, err := range map[string]error{"polygons": polygons, "points": points} {
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
				t.Errorf("%q as %s: %v, want %q", text, by, err, want)
			}
		}
	}
}
