// Package ourairports reads OurAirports' airports.csv: UTF-8, comma-separated, with a first line of
// column names and one airport per record.
//
//	id               "6523"          elevation_ft       "13"      iata_code   "SFO"
//	ident            "KSFO"          iso_country        "US"      gps_code    "KSFO"
//	type             "large_airport" iso_region         "US-CA"   local_code  "SFO"
//	name                             municipality                 home_link, wikipedia_link
//	latitude_deg, longitude_deg      scheduled_service  "yes"     keywords    "SF, Bay"
//
// Columns are found by their names, in any order; ident, type, name and the coordinates are
// required and the others may be missing. icao_code is a column of files from 2025 on; in older
// ones the ICAO code is the ident or gps_code that looks like one. A column tz with an IANA zone is
// read too, although OurAirports does not have it. A user's own file may omit id.
//
// Fields may be quoted, and may then have commas, doubled quotes and line ends. "NA" is North
// America as a continent and Namibia as a country.
package ourairports

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/delimited"
)

// Record is one airport as it is in the file. Unknown values are empty or nil. Codes are in capital
// letters.
type Record struct {
	ID          uint32 // 0 in files without the column
	Ident       string // never empty, unique in the file
	Type        string // one of Types
	Name        string // never empty
	Lat, Lon    float64
	ElevationFt *float64
	Country     string // two letters A to Z
	Region      string // ISO 3166-2, "US-CA"
	City        string // the column municipality
	Scheduled   bool
	ICAO        string // four letters or digits
	IATA        string // three letters or digits
	GPS, Local  string
	Home        string // http or https
	Wikipedia   string // http or https
	Keywords    []string
	TimeZone    string // as given
	// Ignored counts the fields of the record that are not valid codes or addresses. They are left
	// empty.
	Ignored int
	Line    int // 1-based, of the record's begin
}

// Types are the valid types of airports.
var Types = []string{"large_airport", "medium_airport", "small_airport", "heliport", "seaplane_base", "balloonport", "closed"}

// oldClosed is the word for "closed" in files before 2013.
const oldClosed = "closed_airport"

// These limit a record: its bytes with line ends, and its lines. The longest real record has about
// 1 KB.
const (
	MaxRecordBytes = 64 << 10
	maxLines       = 16

	maxName     = 500 // bytes
	maxText     = 1000
	maxKeywords = 50
	maxCode     = 16
)

// These are the reasons of bad records.
const (
	reasonID        = "id is not a number from 1 to 4294967295"
	reasonDuplicate = "id or ident occurred before in this file"
	reasonIdent     = "ident is not letters, digits and hyphens"
	reasonType      = "type is not one of OurAirports'"
	reasonName      = "no name"
	reasonText      = "a text is too long"
	reasonLat       = "latitude is not within ±90 degrees"
	reasonLon       = "longitude is not within ±180 degrees"
	reasonElevation = "elevation is not a number of feet"
	reasonCountry   = "country is not two letters A to Z"
	reasonScheduled = "scheduled_service is not yes or no"
)

// IsTableMember reports whether a file of a zip archive is a table of airports,
// judging by its name.
func IsTableMember(name string) bool {
	base := strings.ToLower(name[strings.LastIndexByte(name, '/')+1:])
	return strings.HasSuffix(base, ".csv") && strings.Contains(base, "airports") && !strings.HasPrefix(base, ".")
}

// Read yields the records of r in order. name is the source in bad records. The error is nil, a
// *source.BadRecord, after which reading continues, or an error that ends the sequence: one of r,
// or of an invalid header. source.OpenMember does the unpacking.
//
// An unclosed quote costs only its own line.
func Read(r io.Reader, name string) iter.Seq2[Record, error] {
	var cols columns
	f := format
	f.RequireUTF8 = true
	f.Header = func(names [][]byte, err error) error {
		if err = cols.find(names, err); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	}
	ids, idents := map[uint32]struct{}{}, map[string]struct{}{}
	in := delimited.New(r, name, f)
	return delimited.Records(in, func(rec *Record) error {
		fields, err := in.Fields()
		if err != nil {
			return err
		}
		reason, detail := cols.record(fields, rec)
		if reason == "" && !unused(rec, ids, idents) {
			reason, detail = reasonDuplicate, source.Excerpt(rec.Ident)
		}
		rec.Line = in.Line
		return in.Bad(reason, detail)
	})
}

// format is the format of RFC 4180.
var format = delimited.Format{Separator: ',', MaxBytes: MaxRecordBytes, MaxLines: maxLines}

// unused reserves a record's id and ident, and reports whether both were free.
func unused(rec *Record, ids map[uint32]struct{}, idents map[string]struct{}) bool {
	if _, used := idents[rec.Ident]; used {
		return false
	}
	if rec.ID != 0 {
		if _, used := ids[rec.ID]; used {
			return false
		}
		ids[rec.ID] = struct{}{}
	}
	idents[rec.Ident] = struct{}{}
	return true
}

// columns are the positions of the fields in a record, or -1 for a column that is missing.
type columns struct {
	id, ident, typ, name, lat, lon, elevation        int
	country, region, city, scheduled                 int
	icao, iata, gps, local, home, wiki, keywords, tz int
}

// find sets the columns from the names in the first row. err is the error of reading that row. The
// error of find says why the row is not a header.
func (c *columns) find(names [][]byte, err error) error {
	var bad *source.BadRecord
	switch {
	case errors.Is(err, io.EOF):
		return errors.New("the file is empty; it should be OurAirports' airports.csv")
	case errors.As(err, &bad):
		return fmt.Errorf("the first line is no header: %s; it should be that of OurAirports' airports.csv", bad.Reason)
	case err != nil:
		return err
	}
	for _, column := range []struct {
		name     string
		at       *int
		required bool
	}{
		{"id", &c.id, false}, {"ident", &c.ident, true}, {"type", &c.typ, true}, {"name", &c.name, true},
		{"latitude_deg", &c.lat, true}, {"longitude_deg", &c.lon, true}, {"elevation_ft", &c.elevation, false},
		{"iso_country", &c.country, false}, {"iso_region", &c.region, false}, {"municipality", &c.city, false},
		{"scheduled_service", &c.scheduled, false}, {"icao_code", &c.icao, false}, {"iata_code", &c.iata, false},
		{"gps_code", &c.gps, false}, {"local_code", &c.local, false}, {"home_link", &c.home, false},
		{"wikipedia_link", &c.wiki, false}, {"keywords", &c.keywords, false}, {"tz", &c.tz, false},
	} {
		*column.at = delimited.ColumnIndex(names, column.name)
		if column.required && *column.at < 0 {
			return fmt.Errorf("there is no column %q in the first line; it should be OurAirports' airports.csv with its header", column.name)
		}
	}
	return nil
}

// record fills rec from the fields of a record, or returns the reason why that is impossible.
func (c *columns) record(fields [][]byte, rec *Record) (reason, detail string) {
	field := func(at int) string {
		if at < 0 {
			return ""
		}
		return string(bytes.TrimSpace(fields[at]))
	}
	if c.id >= 0 {
		id, err := strconv.ParseUint(field(c.id), 10, 32)
		if err != nil || id == 0 {
			return reasonID, source.Excerpt(field(c.id))
		}
		rec.ID = uint32(id)
	}
	var ok bool
	if rec.Ident, ok = code(field(c.ident), 1, maxCode); !ok || rec.Ident == "" {
		return reasonIdent, source.Excerpt(field(c.ident))
	}
	if rec.Type = strings.ToLower(field(c.typ)); rec.Type == oldClosed {
		rec.Type = "closed"
	}
	if !slices.Contains(Types, rec.Type) {
		return reasonType, source.Excerpt(rec.Type)
	}
	if rec.Name = field(c.name); rec.Name == "" {
		return reasonName, source.Excerpt(rec.Ident)
	}
	rec.City, rec.TimeZone = field(c.city), field(c.tz)
	if len(rec.Name) > maxName || len(rec.City) > maxName || len(rec.TimeZone) > maxName {
		return reasonText, source.Excerpt(rec.Ident)
	}
	if rec.Lat, ok = source.ParseDecimal(field(c.lat), 90); !ok {
		return reasonLat, source.Excerpt(field(c.lat))
	}
	if rec.Lon, ok = source.ParseDecimal(field(c.lon), 180); !ok {
		return reasonLon, source.Excerpt(field(c.lon))
	}
	if s := field(c.elevation); s != "" {
		const highest = 100_000 // thrice the highest mountain
		feet, ok := source.ParseDecimal(s, highest)
		if !ok {
			return reasonElevation, source.Excerpt(s)
		}
		rec.ElevationFt = &feet
	}
	if rec.Country = field(c.country); rec.Country != "" && !source.IsCode(rec.Country, 2) {
		return reasonCountry, source.Excerpt(rec.Country)
	}
	switch s := strings.ToLower(field(c.scheduled)); s {
	case "yes", "1", "true":
		rec.Scheduled = true
	case "no", "0", "false", "":
	default:
		return reasonScheduled, source.Excerpt(s)
	}
	rec.optional(c, field)
	return "", ""
}

// optional fills the optional fields. It ignores invalid values.
func (rec *Record) optional(c *columns, field func(int) string) {
	codeIn := func(at, shortest, longest int) string {
		s, ok := code(field(at), shortest, longest)
		if !ok {
			rec.Ignored++
		}
		return s
	}
	rec.ICAO = codeIn(c.icao, 4, 4)
	rec.IATA = codeIn(c.iata, 3, 3)
	rec.GPS, rec.Local = codeIn(c.gps, 1, maxCode), codeIn(c.local, 1, maxCode)
	if c.icao < 0 {
		for _, s := range []string{rec.Ident, rec.GPS} {
			if rec.ICAO == "" && source.IsCode(s, 4) {
				rec.ICAO = s
			}
		}
	}
	link := func(at int) string {
		s := field(at)
		if s == "" || isLink(s) {
			return s
		}
		rec.Ignored++
		return ""
	}
	rec.Home, rec.Wikipedia = link(c.home), link(c.wiki)
	if rec.Region = field(c.region); !isRegion(rec.Region) {
		// "US-U-A" is OurAirports' own code for a region that is not known yet.
		if rec.Region != "" && !strings.HasSuffix(rec.Region, "-U-A") {
			rec.Ignored++
		}
		rec.Region = ""
	}
	for word := range strings.SplitSeq(field(c.keywords), ",") {
		if word = strings.TrimSpace(word); word == "" || slices.Contains(rec.Keywords, word) {
			continue
		}
		if len(rec.Keywords) == maxKeywords || len(word) > maxText {
			rec.Ignored++
			continue
		}
		rec.Keywords = append(rec.Keywords, word)
	}
}

// code parses a code of letters, digits and inner hyphens, in either case. An empty text is valid
// too.
func code(s string, shortest, longest int) (string, bool) {
	if s == "" {
		return "", true
	}
	s = strings.ToUpper(s)
	if len(s) < shortest || len(s) > longest || s[0] == '-' || s[len(s)-1] == '-' {
		return "", false
	}
	for i := range len(s) {
		if c := s[i]; (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' {
			return "", false
		}
	}
	return s, true
}

// isRegion reports whether s is a code of ISO 3166-2: a country's two letters,
// a hyphen, and one to three letters or digits.
func isRegion(s string) bool {
	country, part, ok := strings.Cut(s, "-")
	part, valid := code(part, 1, 3)
	return ok && source.IsCode(country, 2) && valid && part != "" && !strings.Contains(part, "-")
}

// isLink reports whether s is a web address that a page may link to.
func isLink(s string) bool {
	if len(s) > maxText {
		return false
	}
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}
