package place

import (
	"context"
	"errors"
	"slices"
	"strings"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/feature"
	"quadrille/internal/jsontext"
	"quadrille/places/airports"
	"quadrille/places/search"
	"quadrille/quadkey"
)

// airportWeights gives for each type of airport the population of an equally important city, for
// searches by code. A closed airport comes last.
var airportWeights = map[string]int64{
	airports.Large:  1_500_000,
	airports.Medium: 150_000,
	airports.Closed: 0,
}

const otherAirport = 5_000

// airportClass and airportCode are GeoNames' class and code of airports.
const (
	airportClass = "S"
	airportCode  = "AIRP"
)

// isAirportCode reports whether a text has the form of an airport's code.
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

// airportsFor returns the airports if a search may be for a code. Otherwise it returns none,
// because the answer does not depend on them.
func airportsFor(v ask.View, text string) *ask.Pinned[*airports.Finder] {
	if !isAirportCode(strings.TrimSpace(text)) {
		return &noAirports
	}
	return &v.Airports
}

var noAirports = ask.Pinned[*airports.Finder]{Err: ask.ErrMissing}

// foundAirport is the airport whose code was searched for. It is inserted before the first place
// that is less important. The last place of a stored answer is then removed, because the limit also
// applies to the answer with the airport.
type foundAirport struct {
	airports.Airport
	code   string // upper case
	weight int64  // inhabitants
}

// findAirport returns the airport whose code is searched for. It returns nil if
// there is none, or if it does not pass the filters of the search.
func findAirport(ctx context.Context, air *ask.Pinned[*airports.Finder], q *search.Query) (*foundAirport, error) {
	code := strings.ToUpper(strings.TrimSpace(q.Text))
	if !isAirportCode(code) {
		return nil, nil
	}
	reader, err := air.Get()
	switch {
	case errors.Is(err, ask.ErrMissing):
		return nil, nil
	case err != nil:
		return nil, err
	}
	var record airports.Record
	err = reader.Lookup(ctx, code, &record)
	switch {
	case errors.Is(err, airports.ErrNotFound), errors.Is(err, airports.ErrBadCode):
		return nil, nil
	case err != nil:
		return nil, err
	}
	airport, err := record.Airport()
	if err != nil || !airportPasses(&airport, q) {
		return nil, err
	}
	weight, ok := airportWeights[airport.Type]
	if !ok {
		weight = otherAirport
	}
	return &foundAirport{airport, code, weight}, nil
}

// airportPasses reports whether an airport meets the filters of a search.
func airportPasses(d *airports.Airport, q *search.Query) bool {
	has := func(list []string, v string) bool { return len(list) == 0 || slices.Contains(list, v) }
	return q.MinPopulation == 0 && has(q.Classes, airportClass) && has(q.Codes, airportCode) && has(q.Countries, d.Country) &&
		(q.Box == nil || q.Box.Contains(d.Lon, d.Lat))
}

// appendMembers appends the members of an airport in a list of places. It has no id, because the id
// in its source is not a GeoNames id.
func (d *foundAirport) appendMembers(dst []byte) []byte {
	dst = jsontext.AppendString(append(dst, `"kind":"airport","name":`...), d.Name)
	dst = listing.AppendTexts(dst,
		"country", d.Country, "region", d.Region, "municipality", d.Municipality, "class", airportClass, "code", airportCode,
		"type", d.Type, "iata", d.IATA, "icao", d.ICAO, "local", d.Local, "timezone", d.TimeZone)
	dst = feature.AppendLatLon(append(dst, ','), quadkey.Position{Lat: d.Lat, Lon: d.Lon})
	return search.AppendMatch(append(dst, ','), &search.Match{Name: d.code, End: len(d.code), Kind: search.Exact})
}
