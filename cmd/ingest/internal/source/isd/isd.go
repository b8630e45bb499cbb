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
	"slices"
	"time"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/delimited"
)

// MaxLineBytes bounds the length of a line, in bytes with its end. The lines of both formats are shorter
// than 200 bytes.
const MaxLineBytes = 4 << 10

// Station is a row of isd-history.csv as it is in the file. Unknown values are empty, zero or nil.
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

// These are the reasons of bad rows of stations.
const (
	reasonID         = "USAF and WBAN are not six and five letters and digits"
	reasonNoPosition = "no coordinates"
	reasonLatOnly    = "only one of two coordinates"
	reasonOrigin     = "coordinates are exactly 0,0"
	reasonLat        = "latitude is not within ±90 degrees"
	reasonLon        = "longitude is not within ±180 degrees"
	reasonElevation  = "elevation is not a number of metres"
	reasonDate       = "date is not one like 20240131"
)

// IsUnplaced reports whether a row was refused because it has no position. In NOAA's own list 5 % of
// the rows have none, so such rows are not a sign of a bad file.
func IsUnplaced(b *source.BadRecord) bool {
	switch b.Reason {
	case reasonNoPosition, reasonLatOnly, reasonOrigin:
		return true
	}
	return false
}

// ErrHeader is matched by the error for a file that does not begin with the
// names of the columns.
var ErrHeader = errors.New("not a list of stations of the Integrated Surface Database")

// These are the columns of a list of stations.
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

// required are the columns that must be present.
var required = [...]int{colUSAF, colWBAN, colLat, colLon}

// ReadStations yields the rows of a list of stations, comma-separated with quotes and a header
// that names the columns:
//
//	"USAF","WBAN","STATION NAME","CTRY","STATE","ICAO","LAT","LON","ELEV(M)","BEGIN","END"
//	"066600","99999","ZUERICH-FLUNTERN","SZ","","","+47.383","+008.567","+0569.0","19490101","20250525"
//
// name is the source in bad rows. The second value is nil, a *source.BadRecord, after which reading
// continues, or an error that ends the sequence: the error of r, or one that matches ErrHeader. An
// elevation of -999 is unknown.
func ReadStations(r io.Reader, name string) iter.Seq2[Station, error] {
	var at [columnCount]int // of each column in a row, -1 where absent
	f := format
	f.Separator = ','
	f.Header = func(names [][]byte, err error) error {
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && !delimited.IsBad(err):
			return err
		case err != nil:
			return fmt.Errorf("%w: %w; the first line names the columns, such as USAF, WBAN, LAT and LON", ErrHeader, err)
		}
		for c, known := range columnNames {
			at[c] = delimited.ColumnIndex(names, known...)
		}
		if slices.ContainsFunc(required[:], func(c int) bool { return at[c] < 0 }) {
			return fmt.Errorf("%s: %w: it begins %s; its first line names the columns, such as USAF, WBAN, LAT and LON",
				name, ErrHeader, source.Excerpt(bytes.Join(names, []byte{','})))
		}
		return nil
	}
	in := delimited.New(r, name, f)
	return delimited.Records(in, func(s *Station) error {
		fields, err := in.Fields()
		if err != nil {
			return err
		}
		var row [columnCount][]byte
		for c, i := range at {
			if i >= 0 {
				row[c] = fields[i]
			}
		}
		s.Line = in.Line
		if reason, detail := s.parse(&row); reason != "" {
			return in.Bad(reason, source.Excerpt(detail))
		}
		return nil
	})
}

// format is the common format of both kinds of lines.
var format = delimited.Format{MaxBytes: MaxLineBytes, AllowBlanks: true, RequireUTF8: true}

// parse reads a row, or returns which field is wrong, and why.
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
	if s.Lat, ok = source.ParseDecimal(lat, 90); !ok {
		return reasonLat, lat
	}
	if s.Lon, ok = source.ParseDecimal(lon, 180); !ok {
		return reasonLon, lon
	}
	if s.Lat == 0 && s.Lon == 0 {
		return reasonOrigin, []byte(s.USAF + "-" + s.WBAN)
	}
	if text := row[colElevation]; len(text) > 0 {
		v, ok := source.ParseDecimal(text, 100_000)
		if !ok {
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
