package place

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"quadrille/cmd/tileserver/internal/datasets"
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/internal/jsontext"
	"quadrille/places/airports"
	"quadrille/places/search"
)

// airportWeights says how many inhabitants a city would have that counts as
// much as an airport of the type when its code is searched for. A closed one
// comes last.
var airportWeights = map[string]int64{
	airports.Large:  1_500_000,
	airports.Medium: 150_000,
	airports.Closed: 0,
}

const otherAirport = 5_000

// airportClass and airportCode are what GeoNames calls airports.
const (
	airportClass = "S"
	airportCode  = "AIRP"
)

// isAirportCode reports whether a text may be the code of an airport.
func isAirportCode(text string) bool {
	if len(text) != 3 && len(text) != 4 {
		return false
	}
	letters := 0
	for i := range len(text) {
		switch c := text[i] | 0x20; {
		case c >= 'a' && c <= 'z':
			letters++
		case text[i] < '0' || text[i] > '9':
			return false
		}
	}
	return letters > 0
}

// pinAirports pins the airports for a search that may be for a code, and
// nothing for another one, whose answer does not depend on them.
func (s *Room) pinAirports(text string) datasets.Pinned[datasets.Airports] {
	if !isAirportCode(strings.TrimSpace(text)) {
		return datasets.Pinned[datasets.Airports]{Err: datasets.ErrMissing}
	}
	return datasets.Pin(s.Airports)
}

// addAirport puts the airport whose code was searched for before the first
// place that is less important. Airports have no part in the limit of the
// stored answers, so the last place gives way.
func (l *placeList) addAirport(ctx context.Context, air *datasets.Pinned[datasets.Airports], q search.Query) error {
	code := strings.ToUpper(strings.TrimSpace(q.Text))
	if !isAirportCode(code) {
		return nil
	}
	reader, err := air.Get()
	switch {
	case errors.Is(err, datasets.ErrMissing):
		return nil
	case err != nil:
		return err
	}
	var record airports.Record
	err = reader.Lookup(ctx, code, &record)
	switch {
	case errors.Is(err, airports.ErrNotFound), errors.Is(err, airports.ErrBadCode):
		return nil
	case err != nil:
		return err
	}
	airport, err := record.Airport()
	if err != nil || !airportPasses(&airport, &q) {
		return err
	}
	weight, ok := airportWeights[airport.Type]
	if !ok {
		weight = otherAirport
	}
	l.insert(appendAirport(nil, &airport, l.form, code), weight)
	return nil
}

// airportPasses reports whether the filters of a search let an airport through.
func airportPasses(d *airports.Airport, q *search.Query) bool {
	has := func(list []string, v string) bool { return len(list) == 0 || slices.Contains(list, v) }
	return q.MinPopulation == 0 && has(q.Classes, airportClass) && has(q.Codes, airportCode) && has(q.Countries, d.Country) &&
		(q.Box == nil || q.Box.Contains(d.Lon, d.Lat))
}

// appendAirport writes an airport as an item of a list of places. It has no id: that
// of its own source is no GeoNames id.
func appendAirport(dst []byte, d *airports.Airport, f web.Form, code string) []byte {
	if f == web.FormGeoJSON {
		dst = append(dst, `{"type":"Feature",`...)
		dst = append(listing.AppendPoint(dst, d.Lon, d.Lat), `,"properties":`...)
	}
	dst = jsontext.AppendString(append(dst, `{"kind":"airport","name":`...), d.Name)
	for _, m := range [...]struct{ name, value string }{
		{"country", d.Country}, {"region", d.Region}, {"municipality", d.Municipality}, {"class", airportClass}, {"code", airportCode},
		{"type", d.Type}, {"iata", d.IATA}, {"icao", d.ICAO}, {"local", d.Local}, {"timezone", d.TimeZone},
	} {
		if m.value != "" {
			dst = append(append(append(dst, ',', '"'), m.name...), '"', ':')
			dst = jsontext.AppendString(dst, m.value)
		}
	}
	dst = strconv.AppendFloat(append(dst, `,"lat":`...), d.Lat, 'f', -1, 64)
	dst = strconv.AppendFloat(append(dst, `,"lon":`...), d.Lon, 'f', -1, 64)
	dst = search.AppendMatch(append(dst, ','), &search.Match{Name: code, End: len(code), Kind: search.Exact})
	dst = append(dst, '}')
	if f == web.FormGeoJSON {
		dst = append(dst, '}')
	}
	return dst
}

// insert puts an item before the first one of fewer inhabitants than weight,
// and drops what the limit then cuts off.
func (l *placeList) insert(item []byte, weight int64) {
	at, end, n := -1, len(l.dst), 0
	for from := l.start; from < len(l.dst); n++ {
		to := from + objectEnd(l.dst[from:])
		if at < 0 && population(l.dst[from:to]) < weight {
			at = from
		}
		if n+1 == l.limit {
			if at < 0 {
				return // no room
			}
			// The last place gives way.
			end = max(from-1, l.start)
		}
		from = to + 1 // the comma
	}
	rest := []byte(nil)
	if at >= 0 && at < end {
		rest = append([]byte{','}, l.dst[at:end]...)
	}
	if at >= 0 {
		l.dst = l.dst[:at]
	} else if n > 0 {
		l.dst = append(l.dst, ',')
	}
	l.dst = append(append(l.dst, item...), rest...)
}

// objectEnd is the length of the JSON object that b begins with.
func objectEnd(b []byte) int {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			i += listing.StringEnd(b[i:]) - 1
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(b)
}

const populationMember = `,"population":`

// population returns that of a place among its members, 0 when it is unknown.
func population(members []byte) (n int64) {
	at := bytes.Index(members, []byte(populationMember))
	if at < 0 {
		return 0
	}
	for _, c := range members[at+len(populationMember):] {
		if c < '0' || c > '9' || n > 1<<53 {
			break
		}
		n = n*10 + int64(c-'0')
	}
	return n
}
