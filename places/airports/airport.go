package airports

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"quadrille/places"
)

// These are types of airports, with the names of OurAirports.
const (
	Large    = "large_airport"
	Medium   = "medium_airport"
	Small    = "small_airport"
	Heliport = "heliport"
	Seaplane = "seaplane_base"
	Balloon  = "balloonport"
	Closed   = "closed"
)

// withService is the suffix of places.Place.Kind for an airport with scheduled service.
const withService = "/scheduled"

// kinds are all types, the most important first. Each has two kinds for package places: one for
// airports of the type without scheduled service and one for those with it.
var kinds = []struct {
	typ    string
	names  [2]string
	weight uint64
}{
	{Large, [2]string{Large, Large + withService}, 100_000},  // of the high tier
	{Medium, [2]string{Medium, Medium + withService}, 5_000}, // of the medium tier
	{Small, [2]string{Small, Small + withService}, 1_000},
	{Seaplane, [2]string{Seaplane, Seaplane + withService}, 500},
	{Heliport, [2]string{Heliport, Heliport + withService}, 200},
	{Balloon, [2]string{Balloon, Balloon + withService}, 100},
	{Closed, [2]string{Closed, Closed + withService}, 1},
}

// Types returns the types, the most important first.
func Types() []string {
	list := make([]string, len(kinds))
	for i := range kinds {
		list[i] = kinds[i].typ
	}
	return list
}

// Airport describes an airport. Unknown values are empty or nil. Its JSON is
// the stored record.
type Airport struct {
	ID    uint32 `json:"id"`                                   // never 0
	Ident string `json:"ident" doc:"OurAirports' identifier."` // required
	IATA  string `json:"iata,omitempty"`
	ICAO  string `json:"icao,omitempty"`
	GPS   string `json:"gps,omitempty"`
	Local string `json:"local,omitempty"`
	// required
	Name string `json:"name"`
	// one of Types
	Type         string   `json:"type" schema:"example=large_airport|medium_airport|small_airport|heliport|seaplane_base|balloonport|closed"`
	Municipality string   `json:"municipality,omitempty"`
	Country      string   `json:"country,omitempty" doc:"ISO 3166-1 alpha-2."`
	Region       string   `json:"region,omitempty" doc:"ISO 3166-2."`
	Scheduled    bool     `json:"scheduled" doc:"Has scheduled flights."`
	Lat          float64  `json:"lat" schema:"ref=Latitude"` // degrees WGS84
	Lon          float64  `json:"lon" schema:"ref=Longitude"`
	ElevationM   *float64 `json:"elevation_m,omitempty"`
	TimeZone     string   `json:"timezone,omitempty" doc:"IANA."`
	// TimeZoneSource says how the time zone is known when the source does not
	// give it: "region", "country" or "nearest".
	TimeZoneSource string   `json:"timezone_source,omitempty"`
	Keywords       []string `json:"keywords,omitempty"`
	// Home and Wikipedia are addresses that begin with http:// or https://.
	Home      string `json:"home,omitempty" schema:"format=uri"`
	Wikipedia string `json:"wikipedia,omitempty" schema:"format=uri"`
}

// These lengths in bytes bound a stored airport.
const (
	maxName     = 500
	maxText     = 1000
	maxZone     = 64
	maxKeywords = 50
)

// Validate returns an error that matches ErrInvalidAirport and says what is
// wrong, or nil for an airport that Build takes.
func (a *Airport) Validate() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: airport %.20q: %s", ErrInvalidAirport, a.Ident, fmt.Sprintf(format, args...))
	}
	if a.Ident == "" {
		return bad("it has no ident")
	}
	if kindOf(a.Type) < 0 {
		return bad("type %.20q must be one of %s", a.Type, strings.Join(Types(), ", "))
	}
	for _, c := range [...]struct {
		what, code string
		length     int // 0: up to MaxCodeBytes
	}{{"ident", a.Ident, 0}, {"IATA code", a.IATA, 3}, {"ICAO code", a.ICAO, 4}, {"GPS code", a.GPS, 0}, {"local code", a.Local, 0}} {
		if c.code == "" {
			continue
		}
		key, err := appendCode(nil, c.code)
		if err != nil || string(key) != c.code || c.length != 0 && len(c.code) != c.length {
			return bad("%s %.20q must be capital letters, digits and hyphens", c.what, c.code)
		}
	}
	if a.ElevationM != nil && !(math.Abs(*a.ElevationM) <= 100_000) {
		return bad("elevation of %v metres", *a.ElevationM)
	}
	for _, f := range [...]struct {
		what, text string
		most       int
	}{
		{"name", a.Name, maxName}, {"municipality", a.Municipality, maxName}, {"region", a.Region, MaxCodeBytes},
		{"home link", a.Home, maxText}, {"Wikipedia link", a.Wikipedia, maxText},
		{"time zone", a.TimeZone, maxZone}, {"source of the time zone", a.TimeZoneSource, maxZone},
	} {
		if len(f.text) > f.most || !utf8.ValidString(f.text) {
			return bad("%s must be UTF-8 of at most %d bytes", f.what, f.most)
		}
	}
	for _, link := range []string{a.Home, a.Wikipedia} {
		if link != "" && !strings.HasPrefix(link, "http://") && !strings.HasPrefix(link, "https://") {
			return bad("link %.40q must begin with http:// or https://", link)
		}
	}
	if len(a.Keywords) > maxKeywords {
		return bad("%d keywords are over the limit of %d", len(a.Keywords), maxKeywords)
	}
	for _, k := range a.Keywords {
		if len(k) > maxText || !utf8.ValidString(k) {
			return bad("keywords must be UTF-8 of at most %d bytes", maxText)
		}
	}
	p, err := a.place()
	if err != nil {
		return bad("%v", err)
	}
	if err := p.Validate(); err != nil {
		return bad("%v", err)
	}
	return nil
}

// kindOf returns the index of a type in kinds, or -1.
func kindOf(typ string) int {
	for i := range kinds {
		if kinds[i].typ == typ {
			return i
		}
	}
	return -1
}

// weight returns a number that orders airports by importance.
func (a *Airport) weight() uint64 { return weightOf(a.Type, a.Scheduled, a.IATA != "") }

func weightOf(typ string, scheduled, hasIATA bool) uint64 {
	w := kinds[kindOf(typ)].weight
	if typ == Closed {
		return w
	}
	if scheduled {
		w *= 6 // small ones with service enter the medium tier
	}
	if hasIATA {
		w += w / 2
	}
	return w
}

// Rank returns 0 for a large airport with scheduled service and an IATA code, and a higher number
// for a less important one. The number is roughly the position of the airport in a list of all
// airports ordered by importance. iata is "" if the airport has no IATA code.
func Rank(typ string, scheduled bool, iata string) int {
	if kindOf(typ) < 0 {
		return math.MaxInt32
	}
	return int(weightOf(Large, true, true)/weightOf(typ, scheduled, iata != "")) - 1
}

// shownMembers are the members of an airport that searches and tiles show in addition to those of
// package places.
type shownMembers struct {
	Type         string   `json:"type"`
	Scheduled    bool     `json:"scheduled"`
	Ident        string   `json:"ident"`
	IATA         string   `json:"iata,omitempty"`
	ICAO         string   `json:"icao,omitempty"`
	Local        string   `json:"local,omitempty"`
	Municipality string   `json:"municipality,omitempty"`
	Region       string   `json:"region,omitempty"`
	ElevationM   *float64 `json:"elevation_m,omitempty"`
}

// place returns the airport as a place of package places.
func (a *Airport) place() (places.Place, error) {
	kind := kinds[kindOf(a.Type)].names[0]
	if a.Scheduled {
		kind = kinds[kindOf(a.Type)].names[1]
	}
	extra, err := json.Marshal(shownMembers{
		Type: a.Type, Scheduled: a.Scheduled, Ident: a.Ident, IATA: a.IATA, ICAO: a.ICAO, Local: a.Local,
		Municipality: a.Municipality, Region: a.Region, ElevationM: decimetres(a.ElevationM),
	})
	if err != nil {
		return places.Place{}, err
	}
	extra[0] = ','
	return places.Place{
		ID: a.ID, Name: a.Name, Lat: a.Lat, Lon: a.Lon, Kind: kind,
		Country: a.Country, TimeZone: a.TimeZone, Weight: a.weight(), Extra: extra[:len(extra)-1],
	}, nil
}

// value returns the content of the rows of the airport's codes.
func (a *Airport) value() ([]byte, error) {
	lat, lon := roundUnits(a.Lat), roundUnits(a.Lon)
	record := *a
	record.Lat, record.Lon, record.ElevationM = lat/unitsPerDegree, lon/unitsPerDegree, decimetres(a.ElevationM)
	text, err := json.Marshal(&record)
	if err != nil {
		return nil, err
	}
	v := binary.BigEndian.AppendUint32(make([]byte, 0, valueHead+len(a.TimeZone)+len(text)), a.ID)
	v = binary.BigEndian.AppendUint32(v, uint32(int32(lat)))
	v = binary.BigEndian.AppendUint32(v, uint32(int32(lon)))
	v = append(append(v, byte(len(a.TimeZone))), a.TimeZone...)
	return append(v, text...), nil
}

func decimetres(m *float64) *float64 {
	if m == nil {
		return nil
	}
	v := math.Round(*m*10)/10 + 0 // -0 is 0
	return &v
}

// appendCode appends a code in capital letters, or ErrBadCode.
func appendCode(dst []byte, code string) ([]byte, error) {
	if code == "" || len(code) > MaxCodeBytes {
		return dst, fmt.Errorf("%w: %.20q: give 1 to %d characters, such as SFO, KSFO or US-0003", ErrBadCode, code, MaxCodeBytes)
	}
	for i := range len(code) {
		c := code[i]
		switch {
		case c >= 'a' && c <= 'z':
			c -= 'a' - 'A'
		case c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-':
		default:
			return dst, fmt.Errorf("%w: %.20q: give letters, digits and hyphens, such as SFO, KSFO or US-0003", ErrBadCode, code)
		}
		dst = append(dst, c)
	}
	return dst, nil
}

// roundUnits rounds a coordinate to the stored units.
func roundUnits(degrees float64) float64 { return math.Round(degrees * unitsPerDegree) }
