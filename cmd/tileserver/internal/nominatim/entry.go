package nominatim

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"quadrille/cmd/tileserver/internal/geocoder"
	"quadrille/places/names"
)

// Address ranks of Nominatim.
const (
	rankCountry      = 4
	rankState        = 8
	rankCounty       = 12
	rankMunicipality = 14
	rankCity         = 16
	rankHamlet       = 20
	rankMost         = 30
)

// entry is a result as Nominatim has it.
type entry struct {
	geocoder.Result
	object      byte // N, W or R
	id          uint64
	class, typ  string
	layer       string
	rank        int // in addresses
	searchRank  int
	adminLevel  int // of a region
	addressType string
	importance  float64
	country     string // code, in lower case
	display     string
	bounds      [4]float64 // south, north, west, east
	names       []tag
	outline     []byte
}

// tag is a name or property with its key.
type tag struct{ key, value string }

// objects are the words for kinds of objects.
var objects = map[byte]string{'N': "node", 'W': "way", 'R': "relation"}

// layerRanks are the address ranks of layers of regions by their usual names. Those of
// others follow from how many coarser layers there are.
var layerRanks = map[string]int{
	"country": rankCountry, "state": rankState, "admin1": rankState, "province": rankState, "region": rankState - 2, "county": rankCounty, "admin2": rankCounty,
	"district": rankCounty, "municipality": rankMunicipality, "commune": rankMunicipality, "admin3": rankMunicipality, "city": rankCity, "town": rankCity, "village": rankCity, "admin4": rankCity, "suburb": rankHamlet, "borough": 18,
}

// rankOf is the address rank of a layer.
func rankOf(layer string, level int) int {
	if rank := layerRanks[layer]; rank > 0 {
		return rank
	}
	return [...]int{rankCountry, rankState, rankCounty, rankMunicipality, rankCity, 18, rankHamlet}[min(max(level, 0), 6)]
}

// labelOf is the member of an address that a region is.
func labelOf(layer string, rank int) string {
	switch rank {
	case rankCountry:
		return "country"
	case rankState:
		return "state"
	case rankCounty:
		return "county"
	case rankMunicipality:
		return "municipality"
	}
	label := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, strings.ToLower(layer))
	if label == "" || label[0] < 'a' || label[0] > 'z' {
		return "region"
	}
	return label
}

// settlement is a kind of place where people live.
type settlement struct {
	typ              string
	rank, searchRank int
	degrees          float64 // from the middle to the edge of its box
}

var (
	city    = settlement{"city", rankCity, 16, 0.16}
	town    = settlement{"town", rankCity, 18, 0.04}
	village = settlement{"village", rankCity, 19, 0.02}
	hamlet  = settlement{"hamlet", rankHamlet, 20, 0.02}
	suburb  = settlement{"suburb", rankHamlet, 20, 0.02}
)

// settlementOf tells cities from towns and villages, by their people.
func settlementOf(code string, people uint64) settlement {
	switch {
	case code == "PPLX":
		return suburb
	case code == "PPLC" || people >= 100_000:
		return city
	case people >= 10_000:
		return town
	case people == 0 && code == "PPLL" || people > 0 && people < 100:
		return hamlet
	}
	return village
}

// features are the class, the type and the layer of places by the gazetteer's code, or
// by its class.
var features = map[string][3]string{
	"AIRP": {"aeroway", "aerodrome", "manmade"}, "AIRF": {"aeroway", "aerodrome", "manmade"}, "RSTN": {"railway", "station", "railway"}, "MT": {"natural", "peak", "natural"},
	"PK": {"natural", "peak", "natural"}, "ISL": {"place", "island", "natural"}, "LK": {"natural", "water", "natural"}, "STM": {"waterway", "river", "natural"},
	"A": {"boundary", "administrative", "address"}, "T": {"natural", "yes", "natural"}, "H": {"natural", "water", "natural"}, "V": {"natural", "wood", "natural"},
	"L": {"place", "locality", "natural"}, "R": {"highway", "road", "manmade"}, "S": {"building", "yes", "poi"}, "U": {"natural", "yes", "natural"},
}

// divisionRanks are the address ranks of countries and divisions of the gazetteer.
var divisionRanks = map[string]int{
	"PCLI": rankCountry, "PCLD": rankCountry, "PCLF": rankCountry, "PCLS": rankCountry, "PCLIX": rankCountry, "PCL": rankCountry, "TERR": rankCountry,
	"ADM1": rankState, "ADM2": rankCounty, "ADM3": rankMunicipality, "ADM4": rankCity, "ADM5": 18,
}

const (
	poiRank        = 30
	aerodromeRange = 0.02 // degrees
	pointRange     = 0.001
)

// newEntry describes a result in Nominatim's words.
func newEntry(r *geocoder.Result) entry {
	e := entry{Result: *r, id: geocoder.NumberOf(r), layer: "address", country: countryOf(r)}
	width := pointRange
	switch r.Kind {
	case names.Region:
		e.object, e.class, e.typ = 'R', "boundary", "administrative"
		e.rank = rankOf(r.Type, max(r.Level, len(r.Parents)))
		e.searchRank, e.adminLevel = e.rank, e.rank/2
		e.addressType = labelOf(r.Type, e.rank)
	case names.Airport:
		e.object, e.class, e.typ, e.layer = 'W', "aeroway", "aerodrome", "manmade"
		e.rank, e.searchRank, e.addressType, width = poiRank, poiRank, e.class, aerodromeRange
	default:
		e.object = 'N'
		if class := r.Place.Class; class == "P" || class == "" {
			s := settlementOf(r.Place.Code, r.Population)
			e.class, e.typ, e.addressType = "place", s.typ, s.typ
			e.rank, e.searchRank, width = s.rank, s.searchRank, s.degrees
			break
		}
		if rank := divisionRanks[r.Place.Code]; rank > 0 {
			e.class, e.typ, e.rank, e.searchRank, e.addressType = "boundary", "administrative", rank, rank, labelOf("city", rank)
			e.Parents = slices.DeleteFunc(slices.Clone(r.Parents), func(p names.Parent) bool {
				i := slices.Index(r.Parents, p)
				return rankOf(p.Type, len(r.Parents)-1-i) >= rank
			})
			break
		}
		f, known := features[r.Place.Code]
		if !known {
			f = features[r.Place.Class]
		}
		e.class, e.typ, e.layer = cmp.Or(f[0], "place"), cmp.Or(f[1], "locality"), cmp.Or(f[2], "natural")
		e.rank, e.searchRank, e.addressType = 22, 22, e.class
	}
	e.importance = importance(r)
	e.bounds = boundsOf(r, width)
	e.display = display(&e.Result)
	return e
}

// importance grows with people, from 0 to below 1.
func importance(r *geocoder.Result) float64 {
	people := r.Population
	if r.Kind == names.Airport {
		people = map[string]uint64{"large_airport": 300_000, "medium_airport": 20_000}[r.Type]
	}
	return math.Round((0.1+0.085*math.Log10(1+float64(people)))*1e6) / 1e6
}

// boundsOf is the box of a result as Nominatim has it: it does not go around the back of
// the world, but all around it.
func boundsOf(r *geocoder.Result, width float64) [4]float64 {
	b := r.Bounds
	if b == [4]float64{} {
		return [4]float64{max(r.Lat-width, -90), min(r.Lat+width, 90), max(r.Lon-width, -180), min(r.Lon+width, 180)}
	}
	if b[0] > b[2] {
		b[0], b[2] = -180, 180
	}
	return [4]float64{b[1], b[3], b[0], b[2]}
}

// display is the name and all regions around it.
func display(r *geocoder.Result) string {
	text, last := r.Name, r.Name
	for i := range r.Parents {
		if name := r.Parents[i].Name; name != "" && name != last {
			if text != "" {
				text += ", "
			}
			text += name
			last = name
		}
	}
	return text
}

// countryOf is the code of the country of a result in lower case, "" if it is unknown.
func countryOf(r *geocoder.Result) string {
	if len(r.Country) == 2 {
		return strings.ToLower(r.Country)
	}
	if r.Kind == names.Region && r.Type == "country" && len(r.ID) == 2 {
		return strings.ToLower(r.ID)
	}
	return regionCountry(r.Parents)
}

// regionCountry is the code of the country among the regions around.
func regionCountry(parents []names.Parent) string {
	for i := range parents {
		p := &parents[i]
		if p.Type != "country" {
			continue
		}
		for _, code := range [...]string{p.Code, p.ID} {
			if len(code) == 2 {
				return strings.ToLower(code)
			}
		}
	}
	return ""
}

// division is the ISO 3166-2 code of a state, "" if it is unknown.
func division(codes ...string) string {
	for _, code := range codes {
		code = strings.ToUpper(code)
		country, part, ok := strings.Cut(code, "-")
		if ok && len(country) == 2 && len(part) >= 1 && len(part) <= 3 && !strings.ContainsFunc(country+part, func(r rune) bool { return (r < 'A' || r > 'Z') && (r < '0' || r > '9') }) {
			return code
		}
	}
	return ""
}

// address are the lines of the address, the finest first.
func (e *entry) address() (lines []tag) {
	add := func(key, value string) {
		if value != "" && !slices.ContainsFunc(lines, func(t tag) bool { return t.key == key }) {
			lines = append(lines, tag{key, value})
		}
	}
	add(e.addressType, e.Name)
	if e.Kind == names.Region && e.rank == rankState {
		add("ISO3166-2-lvl4", division(e.Code, e.ID))
	}
	for i := range e.Parents {
		p := &e.Parents[i]
		rank := rankOf(p.Type, len(e.Parents)-1-i)
		add(labelOf(p.Type, rank), p.Name)
		if rank == rankState {
			add("ISO3166-2-lvl4", division(p.Code, p.ID))
		}
	}
	add("country_code", e.country)
	return lines
}

// extra are the properties of an entry.
func (e *entry) extra() (list []tag) {
	if e.adminLevel > 0 {
		list = append(list, tag{"admin_level", strconv.Itoa(e.adminLevel)})
	}
	if e.Population > 0 {
		list = append(list, tag{"population", strconv.FormatUint(e.Population, 10)})
	}
	if e.Kind == names.Airport && e.Code != "" {
		list = append(list, tag{map[int]string{3: "iata", 4: "icao"}[len(e.Code)], e.Code})
	}
	return slices.DeleteFunc(list, func(t tag) bool { return t.key == "" })
}

// complete reads what is asked for besides.
func (q *request) complete(ctx context.Context, e *entry) error {
	if q.names {
		e.names = []tag{{"name", e.Name}}
		if e.Kind == geocoder.Place {
			e.names[0].value = e.Place.Name
			err := q.PlaceNames(ctx, e.Place.ID, func(lang, name string) {
				if key := "name:" + lang; !slices.ContainsFunc(e.names, func(t tag) bool { return t.key == key }) {
					e.names = append(e.names, tag{key, name})
				}
			})
			if err != nil {
				return err
			}
		}
	}
	if !q.outlines || e.Kind != names.Region {
		return nil
	}
	record, err := q.Region(ctx, e.Type, e.ID)
	if err != nil || record == nil {
		return err
	}
	if q.budget -= len(record); q.budget < 0 {
		return refuse("The outlines are too large for one answer: set limit or polygon_geojson=0.")
	}
	e.outline, err = outline(record, q.threshold)
	return err
}
