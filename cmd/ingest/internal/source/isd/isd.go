// Package isd reads two formats of the Integrated Surface Database of NOAA's
// National Centers for Environmental Information: its list of stations and its
// observations in the "lite" form. It also reads the list of stations of the
// database's successor, GHCN hourly.
package isd

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"
	"time"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/delimited"
	"quadrille/internal/bom"
)

// MaxLineBytes bounds the length of a line, in bytes with its end. The lines of both formats are shorter
// than 200 bytes.
const MaxLineBytes = 4 << 10

// Station is a row of a list as it is in the file. Unknown values are empty, zero or nil.
type Station struct {
	USAF, WBAN string // six and five letters A to Z or digits, or both empty
	GHCN       string // eleven letters A to Z or digits, if there are no USAF and WBAN
	Name       string
	Country    string // FIPS 10-4, not ISO 3166
	ISO        string // the country in ISO 3166, where the list says it as well
	State      string
	ICAO       string
	WMO        string   // only in lists of GHCN hourly
	Lat, Lon   float64  // degrees, within ±90 and ±180
	ElevationM *float64 // metres
	// Begin and End are the first and last day of its record, UTC.
	Begin, End time.Time
	Line       int // 1-based
}

// ID returns the GHCN id, or the USAF and WBAN numbers with a hyphen between them.
func (s *Station) ID() string { return cmp.Or(s.GHCN, s.USAF+"-"+s.WBAN) }

// These are the reasons of bad rows of stations.
const (
	reasonID         = "USAF and WBAN are not six and five letters and digits"
	reasonGHCN       = "GHCN_ID is not eleven letters and digits that begin with a country"
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

// ErrHeader is matched by the error for a file that does not begin as a list of stations does.
var ErrHeader = errors.New("not a list of stations of the Integrated Surface Database or of GHCN hourly")

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
	colGHCN
	colWMO
	colISO
	columnCount
)

var columnNames = [columnCount][]string{
	colUSAF: {"USAF"}, colWBAN: {"WBAN"}, colName: {"STATION NAME", "STATION_NAME", "NAME"}, colCountry: {"CTRY", "COUNTRY"},
	colState: {"STATE", "ST"}, colICAO: {"ICAO", "CALL"}, colLat: {"LAT", "LATITUDE"}, colLon: {"LON", "LONGITUDE"},
	colElevation: {"ELEV(M)", "ELEV", "ELEVATION"}, colBegin: {"BEGIN"}, colEnd: {"END"},
	colGHCN: {"GHCN_ID"}, colWMO: {"WMO_ID"}, colISO: {"ISO_CODE"},
}

// ghcnNames are the names of the columns of GHCN hourly's list, some copies of which have no line of them.
var ghcnNames = [...]string{"GHCN_ID", "LATITUDE", "LONGITUDE", "ELEVATION", "STATE", "NAME", "GSN", "HCN_CRN", "WMO_ID", "ICAO", "ISO_CODE"}

// ghcnRow matches the beginning of a row of GHCN hourly's list: an id, a separator and a latitude.
var ghcnRow = regexp.MustCompile(`^"?[A-Z]{2}[0-9A-Z]{9}"?([ ,;\t|])["\s]*[-+]?[0-9]`)

// ghcnColumns returns the names of the columns of a list that begins with the row first.
func ghcnColumns(first []byte, f delimited.Format) [][]byte {
	f.Header = nil
	row := delimited.New(bytes.NewReader(first), "", f)
	var fields [][]byte
	if _, err := row.Next(); err == nil {
		fields, _ = row.Fields() // a bad row has no columns, which Header refuses
	}
	names := make([][]byte, len(fields))
	for i := range min(len(names), len(ghcnNames)) {
		names[i] = []byte(ghcnNames[i])
	}
	return names
}

// ReadStations yields the rows of a list of stations, separated by commas, semicolons, tabs or bars, with
// quotes and a header that names the columns:
//
//	"USAF","WBAN","STATION NAME","CTRY","STATE","ICAO","LAT","LON","ELEV(M)","BEGIN","END"
//	"066600","99999","ZUERICH-FLUNTERN","SZ","","","+47.383","+008.567","+0569.0","19490101","20250525"
//
// or, for the list of GHCN hourly, whose header may be absent:
//
//	GHCN_ID,LATITUDE,LONGITUDE,ELEVATION,STATE,NAME,GSN,(US)HCN_(US)CRN,WMO_ID,ICAO
//	SZM00006660,47.3769,8.5670,556.0,,ZURICH/FLUNTERN,GSN,,06660,
//
// The country of its rows is the first two letters of the id. name is the source in bad rows. The
// second value is nil, a *source.BadRecord, after which reading continues, or an error that ends the
// sequence: the error of r, or one that matches ErrHeader. An elevation of -999 is unknown.
func ReadStations(r io.Reader, name string) iter.Seq2[Station, error] {
	var at [columnCount]int // of each column in a row, -1 where absent
	text := bom.Skip(bufio.NewReaderSize(r, MaxLineBytes))
	head, _ := text.Peek(MaxLineBytes) // reading returns the error
	f := format
	f.Separator, f.Quoted = cmp.Or(delimited.DetectSeparator(head, true, ",;\t|"), ','), true
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
		if at[colUSAF] >= 0 && at[colWBAN] >= 0 {
			at[colGHCN] = -1
		}
		if at[colLat] < 0 || at[colLon] < 0 || at[colGHCN] < 0 && (at[colUSAF] < 0 || at[colWBAN] < 0) {
			return fmt.Errorf("%s: %w: it begins %s; its first line names the columns, such as USAF, WBAN, LAT and LON, or GHCN_ID, "+
				"LATITUDE and LONGITUDE", name, ErrHeader, source.Excerpt(bytes.Join(names, []byte{','})))
		}
		return nil
	}
	in := delimited.New(text, name, f)
	if m := ghcnRow.FindSubmatch(head); m != nil {
		first, _, _ := bytes.Cut(head, []byte{'\n'})
		if m[1][0] == ' ' {
			err := fmt.Errorf("%s: %w: it begins %s, which are columns of fixed width; take ghcnh-station-list.csv, which "+
				"NOAA has in the same folder", name, ErrHeader, source.Excerpt(first))
			return func(yield func(Station, error) bool) { yield(Station{}, err) }
		}
		in.Headless(ghcnColumns(first, f))
	}
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
	switch {
	case row[colGHCN] != nil && !isGHCN(row[colGHCN]):
		return reasonGHCN, row[colGHCN]
	case row[colGHCN] != nil:
		s.GHCN = string(row[colGHCN])
	case !isID(row[colUSAF], 6) || !isID(row[colWBAN], 5):
		return reasonID, bytes.Join([][]byte{row[colUSAF], row[colWBAN]}, []byte{'-'})
	default:
		s.USAF, s.WBAN = string(row[colUSAF]), string(row[colWBAN])
	}
	s.Name, s.State, s.ICAO = string(row[colName]), string(row[colState]), string(row[colICAO])
	s.Country, s.WMO, s.ISO = string(row[colCountry]), string(row[colWMO]), string(row[colISO])
	if s.GHCN != "" {
		s.Country = s.GHCN[:2]
	}
	lat, lon := row[colLat], row[colLon]
	switch {
	case len(lat) == 0 && len(lon) == 0:
		return reasonNoPosition, []byte(s.ID())
	case len(lat) == 0 || len(lon) == 0:
		return reasonLatOnly, []byte(s.ID())
	}
	var ok bool
	if s.Lat, ok = source.ParseDecimal(lat, 90); !ok {
		return reasonLat, lat
	}
	if s.Lon, ok = source.ParseDecimal(lon, 180); !ok {
		return reasonLon, lon
	}
	if s.Lat == 0 && s.Lon == 0 {
		return reasonOrigin, []byte(s.ID())
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

// isGHCN reports whether a text is the id of a station of the Global Historical Climatology Network.
func isGHCN(text []byte) bool { return isID(text, 11) && text[0] >= 'A' && text[1] >= 'A' }

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
