package nominatim

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"quadrille/ask/geocoder"
	"quadrille/feature"
	"quadrille/places/names"
)

// entry is a result with the properties of Nominatim's answers.
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
	links       []tag
	outline     []byte
}

// tag is a name or property with its key.
type tag struct{ key, value string }

// objects has the names of types of objects.
var objects = map[byte]string{'N': "node", 'W': "way", 'R': "relation"}

// labelOf returns the name of the member of an address for a region.
func labelOf(layer string, rank int) string {
	switch rank {
	case geocoder.RankCountry:
		return "country"
	case geocoder.RankState:
		return "state"
	case geocoder.RankCounty:
		return "county"
	case geocoder.RankMunicipality:
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

// shape is the rank and the size of a place in Nominatim's answers.
type shape struct {
	searchRank int
	degrees    float64 // from the middle to the edge of its box
}

// shapes are the shapes of settlements, aerodromes and continents, by the value of their tag. A continent has a box
// of its own only where a layer has continents.
var shapes = map[string]shape{
	"continent": {2, 25},
	"city":      {16, 0.16},
	"town":      {18, 0.04},
	"village":   {19, 0.02},
	"hamlet":    {20, 0.02},
	"suburb":    {20, 0.02},
	"aerodrome": {geocoder.RankMax, 0.02},
	"heliport":  {geocoder.RankMax, 0.02},
}

// pointDegrees is the distance in degrees from the middle of any other feature to the edge of its
// box.
const pointDegrees = 0.001

// layerOf returns Nominatim's layer for tags.
func layerOf(t geocoder.Tags) string {
	switch t.Key {
	case "aeroway", "highway":
		return "manmade"
	case "railway":
		return "railway"
	case "building":
		return "poi"
	case "boundary":
		return "address"
	}
	if t.Key == "place" && t.Rank < geocoder.RankLocality {
		return "address"
	}
	return "natural"
}

// newEntry describes a result in Nominatim's words.
func newEntry(r *geocoder.Result) entry {
	t := geocoder.TagsOf(r)
	e := entry{
		Result:  *r,
		id:      geocoder.NumberOf(r),
		class:   t.Key,
		typ:     t.Value,
		rank:    t.Rank,
		layer:   layerOf(t),
		country: strings.ToLower(geocoder.CountryOf(r)),
	}
	switch r.Kind {
	case names.Region:
		e.object = 'R'
		if t.Rank < geocoder.RankLocality {
			e.adminLevel = t.Rank / 2
		}
	case names.Airport:
		e.object = 'W'
	default:
		e.object, e.Parents = 'N', geocoder.EnclosingRegions(r)
	}
	switch {
	case t.Rank >= geocoder.RankLocality && r.Kind != names.Region:
		e.addressType = t.Key
	case t.Key != "boundary":
		e.addressType = t.Value
	default:
		layer := "city"
		if r.Kind == names.Region {
			layer = r.Type
		}
		e.addressType = labelOf(layer, t.Rank)
	}
	s, known := shapes[t.Value]
	if !known {
		s = shape{t.Rank, pointDegrees}
	}
	e.searchRank = s.searchRank
	e.importance = importance(r)
	e.bounds = boundsOf(r, s.degrees)
	e.display = display(&e.Result)
	return e
}

// importance returns a number from 0 to below 1 that grows with the population.
func importance(r *geocoder.Result) float64 {
	people := r.Weight()
	if r.Kind == names.Airport {
		people = map[string]uint64{"large_airport": 300_000, "medium_airport": 20_000}[r.Type]
	}
	return math.Round((0.1+0.085*math.Log10(1+float64(people)))*1e6) / 1e6
}

// boundsOf returns the box of a result with Nominatim's rule: a box that would cross ±180° extends
// around the whole world.
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

// display returns the name of a result and of all regions around it.
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

// division returns the ISO 3166-2 code of a state, or "" if it is unknown.
func division(codes ...string) string {
	for _, code := range codes {
		code = strings.ToUpper(code)
		country, part, ok := strings.Cut(code, "-")
		if ok && len(country) == 2 && len(part) >= 1 && len(part) <= 3 &&
			!strings.ContainsFunc(country+part, func(r rune) bool { return (r < 'A' || r > 'Z') && (r < '0' || r > '9') }) {
			return code
		}
	}
	return ""
}

// address returns the lines of the address, the finest first.
func (e *entry) address() (lines []tag) {
	add := func(key, value string) {
		if value != "" && !slices.ContainsFunc(lines, func(t tag) bool { return t.key == key }) {
			lines = append(lines, tag{key, value})
		}
	}
	add(e.addressType, e.Name)
	if e.Kind == names.Region && e.rank == geocoder.RankState {
		add("ISO3166-2-lvl4", division(e.Code, e.ID))
	}
	for i := range e.Parents {
		p := &e.Parents[i]
		rank := geocoder.RankOf(p.Type)
		add(labelOf(p.Type, rank), p.Name)
		if rank == geocoder.RankState {
			add("ISO3166-2-lvl4", division(p.Code, p.ID))
		}
	}
	add("country_code", e.country)
	return lines
}

// extra returns the additional properties of an entry.
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
	list = append(list, e.links...)
	return slices.DeleteFunc(list, func(t tag) bool { return t.key == "" || t.value == "" })
}

// complete reads the requested details.
func (q *request) complete(ctx context.Context, e *entry) error {
	if q.names {
		e.names = []tag{{"name", e.Name}}
		add := func(lang, name string) {
			if key := "name:" + lang; !slices.ContainsFunc(e.names, func(t tag) bool { return t.key == key }) {
				e.names = append(e.names, tag{key, name})
			}
		}
		var err error
		switch e.Kind {
		case geocoder.Place:
			e.names[0].value = e.Place.Name
			err = q.PlaceNames(ctx, e.Place.ID, add)
		case names.Region:
			e.names[0].value, err = q.RegionNames(ctx, &e.Result, add)
		}
		if err != nil {
			return err
		}
	}
	if q.extra && e.Kind == geocoder.Place {
		wikidata, wikipedia, err := q.PlaceLinks(ctx, e.Place.ID)
		if err != nil {
			return err
		}
		e.links = []tag{{"wikidata", wikidata}, {"wikipedia", wikipedia}}
	}
	if !q.outlines || e.Kind != names.Region {
		return nil
	}
	// Reading the outline of a large country takes tens of milliseconds.
	return q.kit.InTurn(ctx, func(ctx context.Context) error {
		var region feature.Feature
		found, err := q.Region(ctx, e.Type, e.ID, &region)
		if err != nil || !found {
			return err
		}
		text, err := region.AppendGeometry(nil, nil)
		if err != nil || string(text) == "null" {
			return err
		}
		if q.budget -= len(text); q.budget < 0 {
			return refuse("The outlines are too large for one answer: set limit or polygon_geojson=0.")
		}
		if e.outline = text; q.threshold > 0 {
			e.outline, err = simplified(&region, q.threshold)
		}
		return err
	})
}
