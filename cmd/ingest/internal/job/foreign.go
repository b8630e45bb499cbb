package job

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"quadrille/cmd/ingest/internal/source"
)

// Content is what a job wants from a file.
type Content int

const (
	OfAddresses Content = iota // ranges of IP addresses
	OfShapes                   // polygons or points
)

// foreigners are kinds of files that nothing here reads, by their beginnings. Each has
// advice for jobs of addresses and of shapes; "" means that such a file may have what the
// job wants.
var foreigners = []struct {
	begin, is string
	advice    [2]string
}{
	{"\xff\xfe", "text in UTF-16", [2]string{iconv, iconv}},
	{"\xfe\xff", "text in UTF-16", [2]string{iconv, iconv}},
	{"PAR1", "a Parquet file", [2]string{"fetch the CSV or MMDB edition", ogr2ogr + ", if your GDAL has the driver for it"}},
	{"fgb", "a FlatGeobuf file of shapes", [2]string{"name a source of addresses", ogr2ogr}},
	{"SQLite format 3", "an SQLite database or a GeoPackage", [2]string{"write its table to a CSV file with a line of column names", "unpack it and name the file inside"}},
	{"<", "a page in HTML or XML and no data", [2]string{browser, browser + ", or if it is GML, " + ogr2ogrLayer}},
	{"[{", "JSON", [2]string{"make it a list with a line of column names, such as by jq -r '… | @csv'"}},
}

const (
	iconv   = "convert it by iconv -f UTF-16 -t UTF-8"
	ogr2ogr = "convert it by ogr2ogr out.geojson FILE"
	// GDAL writes one layer into a file of GeoJSON, and fails at the second.
	ogr2ogrLayer = "convert it by ogr2ogr out.geojson FILE LAYER, where ogrinfo FILE names the layers"
	browser      = "open the address that it was fetched from in a browser"
)

// markup are kinds of XML that have shapes, by their outermost elements, with advice.
var markup = []struct{ element, is, advice string }{
	{"<gpx", "a GPX file", "convert it by ogr2ogr out.geojson FILE waypoints, or name another of its layers: tracks, track_points, routes, route_points"},
	{"<osm", "data of OpenStreetMap in XML", "convert it by ogr2ogr out.geojson FILE points, or name another of its layers: lines, multilinestrings, multipolygons"},
	{"<kml", "a KML file", ogr2ogrLayer},
}

// RefuseForeign refuses a file that has nothing that is wanted, or cannot be read.
func RefuseForeign(f *source.File, want Content) error {
	head, err := f.Reader().Peek(512)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if is := foreigner(head, want); is != "" {
		return fmt.Errorf("%s: %s", f.Path, is)
	}
	return nil
}

// foreigner returns what a file with this beginning is if it has nothing that is wanted, and
// "" if it may.
func foreigner(head []byte, want Content) string {
	if len(head) == 0 && want == OfAddresses { // readers of shapes say what they expect
		return "the file is empty; fetch it again"
	}
	if want == OfAddresses && isBIN(head) {
		return "is a BIN file of IP2Location, which nothing here reads; take the CSV or the MMDB edition"
	}
	text := bytes.TrimSpace(head)
	if isUTF16(head) {
		text = []byte(foreigners[0].begin)
	}
	begins := func(is, advice string) string {
		return fmt.Sprintf("begins with %s: it is %s; %s", source.Excerpt(head[:min(len(head), 40)]), is, advice)
	}
	for _, kind := range markup {
		if want == OfShapes && bytes.HasPrefix(text, []byte("<")) && bytes.Contains(text, []byte(kind.element)) {
			return begins(kind.is, kind.advice)
		}
	}
	for _, kind := range foreigners {
		if bytes.HasPrefix(text, []byte(kind.begin)) && kind.advice[want] != "" {
			return begins(kind.is, kind.advice[want])
		}
	}
	return ""
}

// isUTF16 reports whether bytes are text in UTF-16 without a mark: in each pair the
// same one is 0, as for letters and digits. A search tree begins with two zeros.
func isUTF16(head []byte) bool {
	const pairs = 8
	if len(head) < 4 { // one pair tells nothing
		return false
	}
	zero := 0
	if head[0] != 0 {
		zero = 1
	}
	for i := 0; i+1 < min(len(head), 2*pairs); i += 2 {
		if head[i+zero] != 0 || head[i+1-zero] == 0 {
			return false
		}
	}
	return true
}

// isBIN reports whether a file begins as the databases of IP2Location and IP2Proxy do: by the
// number of the product, that of its columns, and the date in three bytes.
func isBIN(head []byte) bool {
	const products, columns = 30, 30 // there are fewer
	if len(head) < 64 {
		return false
	}
	date := head[2:5]
	return 0 < head[0] && head[0] <= products && 1 < head[1] && head[1] <= columns && date[0] < 100 && 0 < date[1] && date[1] <= 12 && 0 < date[2] && date[2] <= 31 && bytes.IndexByte(head[5:64], 0) >= 0
}

// FirstBytes are enough of a file to tell its format.
func FirstBytes(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var head [16]byte
	n, err := io.ReadFull(f, head[:])
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return string(head[:n]), nil
}

// JSONExtensions are those of GeoJSON and TopoJSON.
var JSONExtensions = []string{".json", ".geojson", ".topojson", ".ndjson", ".jsonl", ".geojsonl", ".geojsons"}
