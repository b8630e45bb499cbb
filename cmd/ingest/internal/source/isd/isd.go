// Package isd reads two formats of the Integrated Surface Database of NOAA's
// National Centers for Environmental Information: its list of stations and its
// observations in the "lite" form.
package isd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/textline"
)

// MaxLine is the longest line taken, in bytes with its end. Those of both
// formats stay below 200.
const MaxLine = 4 << 10

// Station is a row of isd-history.csv as the file gives it; what is unknown is
// empty, zero or nil.
type Station struct {
	USAF, WBAN string // six and five letters A to Z or digits
	Name       string
	Country    string // FIPS 10-4, not ISO 3166
	State      string
	ICAO       string
	Lat, Lon   float64  // degrees, within ±90 and ±180
	ElevationM *float64 // metres
	// Begin and End are the first and last day of its record, UTC.
	Begin, End time.Time
	Line       int // 1-based
}

// The reasons of bad rows of stations.
const (
	reasonLine       = "line is too long"
	reasonUTF8       = "not UTF-8"
	reasonQuotes     = "quotes are not closed or not alone in their field"
	reasonColumns    = "not as many columns as the header has"
	reasonID         = "USAF and WBAN are not six and five letters and digits"
	reasonNoPosition = "no coordinates"
	reasonLatOnly    = "only one of two coordinates"
	reasonOrigin     = "coordinates are exactly 0,0"
	reasonLat        = "latitude is not within ±90 degrees"
	reasonLon        = "longitude is not within ±180 degrees"
	reasonElevation  = "elevation is not a number of metres"
	reasonDate       = "date is not one like 20240131"
)

// Unplaced reports whether a row was refused for want of a position. NOAA's own
// list has 5 % of them, so they say nothing against a file.
func Unplaced(b *source.BadRecord) bool {
	switch b.Reason {
	case reasonNoPosition, reasonLatOnly, reasonOrigin:
		return true
	}
	return false
}

// ErrHeader is matched by the error for a file that does not begin with the
// names of the columns.
var ErrHeader = errors.New("not a list of stations of the Integrated Surface Database")

// Columns of a list of stations.
const (
	colUSAF = iota
	colWBAN
	colName
	colCountry
	colState
	colICAO
	colLat
	colLon
	colElevation
	colBegin
	colEnd
	columnCount
)

var columnNames = [columnCount][]string{
	colUSAF: {"USAF"}, colWBAN: {"WBAN"}, colName: {"STATION NAME", "STATION_NAME"}, colCountry: {"CTRY", "COUNTRY"},
	colState: {"STATE", "ST"}, colICAO: {"ICAO", "CALL"}, colLat: {"LAT", "LATITUDE"}, colLon: {"LON", "LONGITUDE"},
	colElevation: {"ELEV(M)", "ELEV", "ELEVATION"}, colBegin: {"BEGIN"}, colEnd: {"END"},
}

// optional columns may be absent.
var optional = [columnCount]bool{colName: true, colCountry: true, colState: true, colICAO: true, colElevation: true, colBegin: true, colEnd: true}

// ReadStations yields the rows of a list of stations, comma-separated with
// quotes and a header whose names say which column is which:
//
//	"USAF","WBAN","STATION NAME","CTRY","STATE","ICAO","LAT","LON","ELEV(M)","BEGIN","END"
//	"066600","99999","ZUERICH-FLUNTERN","SZ","","","+47.383","+008.567","+0569.0","19490101","20250525"
//
// name is what bad rows are reported under. The second value is nil, a
// *source.BadRecord, after which reading goes on, or the last thing yielded: the
// error of r, or one that matches ErrHeader. An elevation of -999 is unknown.
func ReadStations(r io.Reader, name string) iter.Seq2[Station, error] {
	return func(yield func(Station, error) bool) {
		var cols []int // the column of each field, -1 for others
		var fields [][]byte
		each(r, name, func(n int, line []byte, bad func(reason, detail string) error, err error) bool {
			if err != nil {
				return yield(Station{}, err)
			}
			var ok bool
			if fields, ok = textline.Split(line, fields[:0]); !ok {
				return yield(Station{}, bad(reasonQuotes, source.Excerpt(line)))
			}
			if cols == nil {
				if cols, ok = header(fields); !ok {
					yield(Station{}, fmt.Errorf("%s: line %d: %w: it begins %s; its first line names the columns, such as USAF, WBAN, LAT and LON",
						name, n, ErrHeader, source.Excerpt(line)))
				}
				return ok
			}
			if len(fields) != len(cols) {
				return yield(Station{}, bad(reasonColumns, source.Excerpt(line)))
			}
			var row [columnCount][]byte
			for i, c := range cols {
				if c >= 0 {
					row[c] = fields[i]
				}
			}
			s := Station{Line: n}
			if reason, detail := s.parse(&row); reason != "" {
				return yield(Station{}, bad(reason, source.Excerpt(detail)))
			}
			return yield(s, nil)
		})
	}
}

// each calls fn for every line that is not blank, without its end, and stops
// when that is false. Lines that are too long and the failure of r come as
// errors.
func each(r io.Reader, name string, fn func(n int, line []byte, bad func(reason, detail string) error, err error) bool) {
	lines := textline.New(r, MaxLine)
	for n := 1; ; n++ {
		bad := func(reason, detail string) error {
			return &source.BadRecord{Source: name, Line: n, Reason: reason, Detail: detail}
		}
		line, last, err := lines.Next()
		long := errors.Is(err, textline.ErrLong)
		if err != nil && !long {
			fn(n, nil, bad, fmt.Errorf("%s: line %d: %w", name, n, err))
			return
		}
		switch text := bytes.TrimSpace(line); {
		case long:
			if !fn(n, nil, bad, bad(reasonLine, fmt.Sprintf("over %d bytes", MaxLine))) {
				return
			}
		case len(text) == 0:
		case !utf8.Valid(text):
			if !fn(n, nil, bad, bad(reasonUTF8, source.Excerpt(text))) {
				return
			}
		case !fn(n, text, bad, nil):
			return
		}
		if last {
			return
		}
	}
}

// header finds the columns by their names.
func header(fields [][]byte) ([]int, bool) {
	cols := make([]int, len(fields))
	var found [columnCount]bool
	for i, f := range fields {
		cols[i] = -1
		for c, names := range columnNames {
			for _, name := range names {
				if strings.EqualFold(string(f), name) && !found[c] {
					cols[i], found[c] = c, true
				}
			}
		}
	}
	for c := range found {
		if !found[c] && !optional[c] {
			return nil, false
		}
	}
	return cols, true
}

// parse reads a row, or says what is wrong with which field.
func (s *Station) parse(row *[columnCount][]byte) (reason string, detail []byte) {
	if !isID(row[colUSAF], 6) || !isID(row[colWBAN], 5) {
		return reasonID, bytes.Join([][]byte{row[colUSAF], row[colWBAN]}, []byte{'-'})
	}
	s.USAF, s.WBAN = string(row[colUSAF]), string(row[colWBAN])
	s.Name, s.State, s.ICAO = string(row[colName]), string(row[colState]), string(row[colICAO])
	s.Country = string(row[colCountry])
	lat, lon := row[colLat], row[colLon]
	switch {
	case len(lat) == 0 && len(lon) == 0:
		return reasonNoPosition, []byte(s.USAF + "-" + s.WBAN)
	case len(lat) == 0 || len(lon) == 0:
		return reasonLatOnly, []byte(s.USAF + "-" + s.WBAN)
	}
	var ok bool
	if s.Lat, ok = number(lat); !ok || math.Abs(s.Lat) > 90 {
		return reasonLat, lat
	}
	if s.Lon, ok = number(lon); !ok || math.Abs(s.Lon) > 180 {
		return reasonLon, lon
	}
	if s.Lat == 0 && s.Lon == 0 {
		return reasonOrigin, []byte(s.USAF + "-" + s.WBAN)
	}
	if text := row[colElevation]; len(text) > 0 {
		v, ok := number(text)
		if !ok || math.Abs(v) > 100_000 {
			return reasonElevation, text
		}
		if v > -999 { // -999.0 and -999.9 are unknown
			s.ElevationM = &v
		}
	}
	for _, d := range [...]struct {
		text []byte
		into *time.Time
	}{{row[colBegin], &s.Begin}, {row[colEnd], &s.End}} {
		if len(d.text) == 0 {
			continue
		}
		day, err := time.Parse("20060102", string(d.text))
		if err != nil || day.Year() < 1 {
			return reasonDate, d.text
		}
		*d.into = day
	}
	return "", nil
}

func isID(text []byte, n int) bool {
	if len(text) != n {
		return false
	}
	for i, c := range text {
		if c >= 'a' && c <= 'z' {
			text[i] = c - 'a' + 'A'
		} else if (c < '0' || c > '9') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}

// number reads a decimal number; ParseFloat alone would also take hexadecimal,
// "nan" and "infinity".
func number(text []byte) (float64, bool) {
	for _, c := range text {
		if (c < '0' || c > '9') && c != '.' && c != '+' && c != '-' {
			return 0, false
		}
	}
	v, err := strconv.ParseFloat(string(text), 64)
	return v + 0, err == nil // -0 is 0
}
