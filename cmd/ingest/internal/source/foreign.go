package source

import (
	"archive/zip"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// foreigner is a kind of file that nothing here reads. It is recognised by its beginning or, if it
// is an archive, by a member.
type foreigner struct {
	is     string // "a KML file"
	begin  string // after white space, as for beginsLike
	within string // the first bytes, too
	looks  func(head []byte) bool
	member string // or the end of its name, from a point on
	packed bool   // by a program whose files must be unpacked first
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
	fromSQL      = "load it, and write its table to CSV, such as by psql -c '\\copy TABLE TO out.csv CSV HEADER'"
	saveSheet    = "save its sheet as CSV and name that file"
)

// contentXML is the member with the text of an OpenDocument, in addition to its manifest. Other
// archives may have a member of this name, too.
const contentXML = "content.xml"

// foreigners are the kinds of files that nothing here reads, for every command. If two kinds have a
// similar beginning, the more specific one comes first.
var foreigners = []foreigner{
	{is: "lz4", packed: true, begin: "\x04\x22\x4d\x18", advice: "lz4 -d"},
	{is: "7-Zip", packed: true, begin: "7z\xbc\xaf\x27\x1c", advice: "7z x"},
	{is: "RAR", packed: true, begin: "Rar!\x1a\x07", advice: "unrar x"},
	{is: "an Excel workbook", member: "xl/workbook.xml", advice: saveSheet},
	{is: "a file geodatabase", member: ".gdbtable", advice: ogr2ogrLayer},
	{is: "an Excel workbook", member: "xl/workbook.bin", advice: saveSheet},
	{is: "an OpenDocument spreadsheet or text", member: contentXML, advice: saveSheet},
	{is: "an old Excel workbook, or one with a password", begin: "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", shapes: "save it as .xlsx without a password", addresses: saveSheet, rows: saveSheet},
	{is: "a Numbers document", member: "Index/Document.iwa", advice: saveSheet},
	{
		is: "a table dump of a route collector (MRT, RFC 6396)", looks: isMRT,
		addresses: "make a table of networks and their systems of it, by pyasn_util_convert.py or bgpdump -m, or take CAIDA's pfx2as",
	},
	{
		is: "a GeoIP.dat, MaxMind's legacy format", looks: isLegacyGeoIP,
		addresses: "take the .mmdb or CSV edition, such as GeoLite2",
	},
	{
		is: "a MapInfo file (MIF)", begin: "Version ", within: "Columns ",
		shapes: ogr2ogr + ", with its .mid beside it",
	},
	{is: "a dump of a database (SQL)", begin: "SET ", within: "CREATE TABLE", advice: fromSQL},
	{is: "a dump of a database (SQL)", begin: "--", within: "PostgreSQL database dump", advice: fromSQL},
	{is: "a dump of a database (SQL)", begin: "-- ", within: "MySQL dump", advice: fromSQL},
	{is: "a dump of a database (SQL)", begin: "-- ", within: "MariaDB dump", advice: fromSQL},
	{is: "a BIN file of IP2Location, which nothing here reads", looks: isBIN, addresses: "take the CSV or the MMDB edition"},
	{is: "text in UTF-32", begin: utf32Mark, advice: "convert it by iconv -f UTF-32 -t UTF-8"},
	{
		is:        "a page in HTML or XML and no data",
		begin:     "<",
		shapes:    browser + ", or if it is GML, " + ogr2ogrLayer,
		addresses: browser,
		rows:      browser,
	},
	{
		is:    "a Parquet file",
		begin: "PAR1",
		rows:  toCSV,
	},
	{is: "a FlatGeobuf file of shapes", begin: "fgb", shapes: ogr2ogr, addresses: "name a source of addresses", rows: toCSV},
	{is: "an SQLite database or a GeoPackage", begin: "SQLite format 3", addresses: toCSV, rows: toCSV},
	{is: "JSON", begin: "[{", rows: toLines},
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
	return k.begin != "" && beginsLike(head, k.begin) && bytes.Contains(head, []byte(k.within))
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
	if want == WantRows && f.IsTar() {
		return fmt.Errorf("%s: is a tar archive; unpack it by tar xf, and name the file inside", f.Path)
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
		return slices.ContainsFunc(members, func(m *zip.File) bool {
			return m.Name == name || name[0] == '.' && strings.HasSuffix(m.Name, name)
		})
	}
	for i := range foreigners {
		if k := &foreigners[i]; k.member != "" && has(k.member) && (k.member != contentXML || has("META-INF/manifest.xml")) {
			return fmt.Errorf("%s: is %s; %s", path, k.is, k.advice)
		}
	}
	return nil
}

// isMRT reports whether a file begins with a record of RFC 6396: its time, its type and subtype, and its length.
func isMRT(head []byte) bool {
	if len(head) < 12 || head[4] != 0 || head[6] != 0 || head[7] > 20 {
		return false
	}
	length := uint32(head[8])<<24 | uint32(head[9])<<16 | uint32(head[10])<<8 | uint32(head[11])
	switch head[5] {
	case 12, 13, 16, 17:
		return 0 < length && length < 1<<20
	}
	return false
}

// isLegacyGeoIP reports whether a file begins with the first node of a tree of three-byte numbers that leads to the
// second one, the least significant byte first.
func isLegacyGeoIP(head []byte) bool { return len(head) > 12 && bytes.HasPrefix(head, []byte{1, 0, 0}) }

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
