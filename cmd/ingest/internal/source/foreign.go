package source

import (
	"archive/zip"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
)

// foreigner is a kind of file that nothing here reads. It is recognised by its beginning or, if it
// is an archive, by a member.
type foreigner struct {
	is     string // "a KML file"
	begin  string // after white space; ? is any byte
	within string // the first bytes, too
	looks  func(head []byte) bool
	member string
	packed bool // by a program whose files must be unpacked first
	// advice is the advice for every command. If it is empty, each command has its own advice:
	// shapes if it reads polygons or points, addresses if it reads addresses, and rows if it reads
	// rows. If this advice is also empty, the file may have the wanted content.
	advice, shapes, addresses, rows string
}

// These are pieces of advice that several kinds share.
const (
	ogr2ogr = "convert it by ogr2ogr out.geojson FILE"
	// GDAL writes one layer into a file of GeoJSON, and fails at the second.
	ogr2ogrLayer = ogr2ogr + " LAYER, where ogrinfo FILE names the layers"
	browser      = "open the address that it was fetched from in a browser"
	toLines      = "make it a list with a line of column names, such as by jq -r '… | @csv'"
	toCSV        = "write its table to a CSV file with a line of column names"
	saveSheet    = "save its sheet as CSV and name that file"
)

// contentXML is the member with the text of an OpenDocument, in addition to its manifest. Other
// archives may have a member of this name, too.
const contentXML = "content.xml"

// foreigners are the kinds of files that nothing here reads, for every command. If two kinds have a
// similar beginning, the more specific one comes first.
var foreigners = []foreigner{
	{is: "zstd", packed: true, begin: "\x28\xb5\x2f\xfd", advice: "zstd -d"},
	{is: "bzip2", packed: true, begin: "BZh?1AY&SY", advice: "bunzip2 -k"}, // the question mark is a digit
	{is: "xz", packed: true, begin: "\xfd7zXZ\x00", advice: "unxz -k"},
	{is: "lz4", packed: true, begin: "\x04\x22\x4d\x18", advice: "lz4 -d"},
	{is: "7-Zip", packed: true, begin: "7z\xbc\xaf\x27\x1c", advice: "7z x"},
	{is: "RAR", packed: true, begin: "Rar!\x1a\x07", advice: "unrar x"},
	{is: "an Excel workbook", member: "xl/workbook.xml", advice: saveSheet},
	{is: "an Excel workbook", member: "xl/workbook.bin", advice: saveSheet},
	{is: "an OpenDocument spreadsheet or text", member: contentXML, advice: saveSheet},
	{is: "a Numbers document", member: "Index/Document.iwa", advice: saveSheet},
	{is: "a BIN file of IP2Location, which nothing here reads", looks: isBIN, addresses: "take the CSV or the MMDB edition"},
	{is: "text in UTF-16", looks: isUTF16, advice: "convert it by iconv -f UTF-16 -t UTF-8"},
	{
		is:     "a GPX file",
		begin:  "<",
		within: "<gpx",
		shapes: ogr2ogr + " waypoints, or name another of its layers: tracks, track_points, routes, route_points",
	},
	{
		is:     "data of OpenStreetMap in XML",
		begin:  "<",
		within: "<osm",
		shapes: ogr2ogr + " points, or name another of its layers: lines, multilinestrings, multipolygons",
	},
	{is: "a KML file", begin: "<", within: "<kml", shapes: ogr2ogrLayer},
	{
		is:        "a page in HTML or XML and no data",
		begin:     "<",
		shapes:    browser + ", or if it is GML, " + ogr2ogrLayer,
		addresses: browser,
		rows:      browser,
	},
	{
		is:        "a Parquet file",
		begin:     "PAR1",
		addresses: "fetch the CSV or MMDB edition",
		rows:      toCSV,
	},
	{is: "a FlatGeobuf file of shapes", begin: "fgb", shapes: ogr2ogr, addresses: "name a source of addresses", rows: toCSV},
	{is: "an SQLite database or a GeoPackage", begin: "SQLite format 3", addresses: toCSV, rows: toCSV},
	{is: "JSON", begin: "[{", addresses: toLines, rows: toLines},
}

// advise returns the advice for a command that wants something.
func (k *foreigner) advise(want Want) string {
	return cmp.Or(k.advice, map[Want]string{WantPolygons: k.shapes, WantPoints: k.shapes, WantAddresses: k.addresses, WantRows: k.rows}[want])
}

// begins reports whether a file with this beginning is of the kind.
func (k *foreigner) begins(head []byte) bool {
	if k.looks != nil {
		return k.looks(head)
	}
	head = bytes.TrimSpace(head)
	if k.begin == "" || len(head) < len(k.begin) {
		return false
	}
	for i := range len(k.begin) {
		if head[i] != k.begin[i] && k.begin[i] != '?' {
			return false
		}
	}
	return bytes.Contains(head, []byte(k.within))
}

// headBytes is the number of bytes that are enough to recognise a text.
const headBytes = 512

// Refuse returns an error if the file is of a kind that no reader here reads, or that cannot hold
// the wanted content.
func (f *File) Refuse(want Want) error {
	head, err := f.text.Peek(headBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if len(head) == 0 && want == WantAddresses { // other readers report what they expect
		return fmt.Errorf("%s: the file is empty; fetch it again", f.Path)
	}
	for i := range foreigners {
		k := &foreigners[i]
		switch advice := k.advise(want); {
		case k.packed || advice == "" || !k.begins(head):
		case k.advice == "" && k.looks != nil:
			return fmt.Errorf("%s: is %s; %s", f.Path, k.is, advice)
		default:
			return fmt.Errorf("%s: begins with %s: it is %s; %s", f.Path, Excerpt(head[:min(len(head), 40)]), k.is, advice)
		}
	}
	return nil
}

// refusePacked refuses a file by its first bytes if it must be unpacked first.
func refusePacked(path string, head []byte) error {
	for i := range foreigners {
		if k := &foreigners[i]; k.packed && k.begins(head) {
			return fmt.Errorf("%s: is compressed by %s, which is not read; unpack it by %s FILE, and name what comes out", path, k.is, k.advice)
		}
	}
	return nil
}

// refuseMembers refuses an archive that is a file of another kind by its members.
func refuseMembers(path string, members []*zip.File) error {
	has := func(name string) bool {
		return slices.ContainsFunc(members, func(m *zip.File) bool { return m.Name == name })
	}
	for i := range foreigners {
		if k := &foreigners[i]; k.member != "" && has(k.member) && (k.member != contentXML || has("META-INF/manifest.xml")) {
			return fmt.Errorf("%s: is %s; %s", path, k.is, k.advice)
		}
	}
	return nil
}

// isUTF16 reports whether bytes are text in UTF-16: they begin with its byte order mark, or in all
// pairs the first or in all pairs the second byte is 0, as for letters and digits. A search tree
// begins with two zeros, so it is different.
func isUTF16(head []byte) bool {
	const pairs = 8
	if bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")) {
		return true
	}
	if len(head) < 4 { // one pair is not enough
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

// isBIN reports whether a file begins as the databases of IP2Location and IP2Proxy do: with the
// number of the product, the number of its columns, and the date in three bytes.
func isBIN(head []byte) bool {
	const products, columns = 30, 30 // there are fewer
	if len(head) < 64 {
		return false
	}
	date := head[2:5]
	dated := date[0] < 100 && 0 < date[1] && date[1] <= 12 && 0 < date[2] && date[2] <= 31
	return dated && 0 < head[0] && head[0] <= products && 1 < head[1] && head[1] <= columns && bytes.IndexByte(head[5:64], 0) >= 0
}
