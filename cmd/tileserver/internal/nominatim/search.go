package nominatim

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"quadrille/ask/geocoder"
	"quadrille/feature"
	"quadrille/places"
	"quadrille/places/names"
	"quadrille/quadkey"
)

const (
	defaultLimit = 10
	maxLimit     = 40
	maxLookup    = 50
	maxExcluded  = 100
	// candidates is the number of results that are examined to find those that pass the filters.
	candidates = 100
	// spare is the number of additional results that are examined if only duplicates are removed.
	spare    = 10
	maxNames = 20 // values of other lists

	excludedIDs = "exclude_place_ids"
)

// structured are the parameters of a structured query, the finest first. Streets, amenities and
// postal codes are ignored, because the data has none.
var structured = [...]struct {
	name     string
	held     bool
	min, max int // address ranks of what it may name
}{
	{"amenity", false, 0, 0}, {"street", false, 0, 0}, {"city", true, geocoder.RankCounty + 1, 25}, {"county", true, 10, geocoder.RankCounty},
	{"state", true, geocoder.RankCountry + 1, 9}, {"postalcode", false, 0, 0}, {"country", true, geocoder.RankCountry, geocoder.RankCountry},
}

// filter has the conditions on results in addition to the query.
type filter struct {
	min, max int // address ranks
	layers   []string
	excluded []string
	// countries are ISO 3166-1 alpha-2 codes in lower case. There may be more than a search
	// accepts.
	countries []string
	country   string // the country of a structured query
	// within are the regions with the name of the country, if no country has this name. A result is
	// one of them or lies in one of them.
	within []names.Feature
	dedupe bool
	limit  int
}

// search answers /search with the features that a text names.
func (q *request) search(ctx context.Context) error {
	f := filter{max: geocoder.RankMax, dedupe: q.flag("dedupe", true)}
	query, err := q.readSearch(&f)
	if err != nil || query.Text == "" && f.country == "" {
		return err
	}
	if f.country != "" {
		if known, err := q.inCountry(ctx, &query, &f); err != nil || !known {
			return err
		}
	}
	found, err := q.Search(ctx, query)
	if errors.Is(err, places.ErrQuery) {
		return nil // a text without letters and digits is no name
	}
	if err != nil {
		return err
	}
	for i := range found {
		r := &found[i]
		if r.Kind == geocoder.Position {
			at, ok, err := q.at(ctx, r.Lat, r.Lon, geocoder.RankMax)
			if err != nil || !ok {
				return err
			}
			r = &at
		}
		e := newEntry(r)
		if !f.passes(&e) {
			continue
		}
		double := slices.IndexFunc(q.found, func(b entry) bool { return f.dedupe && b.looksLike(&e) })
		if double < 0 && len(q.found) == f.limit || double >= 0 && (q.found[double].object != 'N' || e.object != 'R') {
			continue
		}
		if err := q.complete(ctx, &e); err != nil {
			return err
		}
		if double < 0 {
			q.found = append(q.found, e)
		} else {
			q.found[double] = e // a region knows its borders, while the gazetteer's record of the same thing does not
		}
	}
	return nil
}

// inCountry converts the country of a structured query to a condition, and reports whether a result
// can fulfil it. If the query has only a country, the country itself is the result. Sometimes the
// name is that of a region: for England the condition is the regions with this name.
func (q *request) inCountry(ctx context.Context, query *geocoder.Query, f *filter) (bool, error) {
	code, regions, err := q.CountryNamed(ctx, f.country)
	if err == nil && code == "" && len(regions) > 0 {
		f.within, query.Limit = regions, candidates
		if query.Text == "" {
			f.limit, f.max = 1, geocoder.RankCounty-1
		}
		query.Text = strings.TrimPrefix(query.Text+", "+f.country, ", ")
		return true, nil
	}
	if err != nil || code == "" || len(query.Countries) > 0 && !slices.Contains(query.Countries, code) {
		return false, err
	}
	query.Countries = []string{code}
	if query.Text == "" {
		query.Text, f.limit = f.country, 1
		if strings.EqualFold(code, f.country) { // other names begin with these letters
			name, err := q.CountryName(ctx, code, nil)
			if err != nil {
				return false, err
			}
			query.Text = cmp.Or(name, code)
		}
	}
	return true, nil
}

func (q *request) readSearch(f *filter) (query geocoder.Query, err error) {
	query = geocoder.Query{Langs: q.langs, Kinds: []names.Kind{geocoder.Place, names.Region, names.Airport, geocoder.Position}}
	if f.limit, err = q.integer("limit", defaultLimit); err != nil {
		return query, err
	}
	f.limit = min(max(f.limit, 1), maxLimit)
	if query.Text, err = q.readText(f); err != nil {
		return query, err
	}
	if q.text = query.Text; f.country != "" {
		if q.text, err = readSearchText("q", strings.TrimPrefix(query.Text+", "+f.country, ", ")); err != nil {
			return query, err
		}
	}
	if f.layers, err = q.layers(); err != nil {
		return query, err
	}
	if err := f.feature(q.get("featureType")); err != nil {
		return query, err
	}
	if f.min > 0 && f.layers == nil {
		f.layers = []string{"address"} // which a structured query means
	}
	if f.excluded, err = q.list(excludedIDs, maxExcluded); err != nil {
		return query, err
	}
	for _, id := range f.excluded {
		if _, err := strconv.ParseUint(strings.TrimLeft(id, "NWRnwr"), 10, 64); err != nil {
			return query, refuse("Parameter '" + excludedIDs + "' must be numbers with commas between them.")
		}
	}
	countries, err := q.list("countrycodes", 300)
	if err != nil {
		return query, err
	}
	for _, code := range countries {
		if code = strings.ToLower(code); len(code) == 2 && !slices.Contains(f.countries, code) {
			f.countries = append(f.countries, code)
			query.Countries = append(query.Countries, strings.ToUpper(code))
		}
	}
	if len(query.Countries) <= maxNames {
		f.countries = nil
	} else {
		query.Countries = nil
	}
	box, err := q.viewbox()
	if err != nil {
		return query, err
	}
	switch {
	case box != nil && q.flag("bounded", false):
		query.Box = box
	case box != nil:
		query.Lat, query.Lon, query.Bias = (box.South+box.North)/2, (box.West+box.East)/2, true
	}
	query.Limit = f.limit
	switch {
	case f.narrow():
		query.Limit = candidates
	case f.dedupe:
		query.Limit += spare
	}
	return query, nil
}

// readText reads q, or the parts of a structured query.
func (q *request) readText(f *filter) (string, error) {
	text, err := q.searchText("q")
	if err != nil {
		return "", err
	}
	var parts []string
	some := false
	for _, s := range structured {
		part, err := q.searchText(s.name)
		if err != nil {
			return "", err
		}
		some = some || part != ""
		if part == "" || !s.held {
			continue
		}
		if f.max == geocoder.RankMax { // the finest
			f.min, f.max = s.min, s.max
		}
		if s.name == "country" {
			f.country = part
		} else {
			parts = append(parts, part)
		}
	}
	switch _, given := q.values["q"]; {
	case given && some:
		return "", refuse("Structured query parameters (amenity, street, city, county, state, postalcode, country) cannot " +
			"be used together with 'q' parameter.")
	case !given && !some:
		return "", refuse("Nothing to search for.")
	case given:
		return text, nil
	}
	return readSearchText("q", strings.Join(parts, ", "))
}

// layers reads the layers of results, or nil for all.
func (q *request) layers() ([]string, error) {
	list, err := q.list("layer", maxNames)
	for _, layer := range list {
		if !slices.Contains([]string{"address", "poi", "railway", "natural", "manmade"}, layer) {
			return nil, refuse("Parameter 'layer' must be one or more of: address, poi, railway, natural, manmade.")
		}
	}
	return list, err
}

// feature reads featureType.
func (f *filter) feature(name string) error {
	switch name {
	case "":
	case "country":
		f.min, f.max = geocoder.RankCountry, geocoder.RankCountry
	case "state":
		f.min, f.max = geocoder.RankCountry+1, geocoder.RankCounty-1
	case "city":
		f.min, f.max = geocoder.RankMunicipality-1, geocoder.RankCity
	case "settlement":
		f.min, f.max = geocoder.RankCountry+1, geocoder.RankHamlet
	default:
		return refuse("Parameter 'featureType' must be one of: country, state, city, settlement.")
	}
	if name != "" {
		f.layers = []string{"address"}
	}
	return nil
}

// narrow reports whether results other than duplicates may be removed.
func (f *filter) narrow() bool {
	return f.min > 0 || f.max < geocoder.RankMax || len(f.layers)+len(f.excluded)+len(f.countries) > 0
}

// passes reports whether a result meets the conditions.
func (f *filter) passes(e *entry) bool {
	if e.rank < f.min || e.rank > f.max || len(f.layers) > 0 && !slices.Contains(f.layers, e.layer) {
		return false
	}
	if len(f.countries) > 0 && !slices.Contains(f.countries, strings.ToLower(e.country)) {
		return false
	}
	if len(f.within) > 0 && !slices.ContainsFunc(f.within, e.isWithin) {
		return false
	}
	id := strconv.FormatUint(e.id, 10)
	return !slices.ContainsFunc(f.excluded, func(x string) bool { return x == id || strings.EqualFold(x, string(e.object)+id) })
}

// isWithin reports whether a result is a region or lies in it. The region in the row of a place may
// have another id than in the boundaries.
func (e *entry) isWithin(region names.Feature) bool {
	if e.Type == region.Type && feature.SameRegionID(e.ID, region.ID) {
		return true
	}
	return slices.ContainsFunc(e.Parents, func(p names.Parent) bool {
		return p.Type == region.Type && feature.SameRegionID(p.ID, region.ID) || strings.EqualFold(p.Name, region.Name)
	})
}

// namesakesM is the least distance in metres at which two places with the same name are different
// places.
const namesakesM = 20_000

// looksLike reports whether two results are the same to a reader. Two regions are the same even if
// the points that their data sets give are far apart.
func (e *entry) looksLike(o *entry) bool {
	if e.object == o.object && e.id == o.id {
		return true
	}
	if e.class != o.class || e.typ != o.typ || e.display != o.display {
		return false
	}
	return e.object != 'N' || o.object != 'N' || quadkey.Distance(e.Lon, e.Lat, o.Lon, o.Lat) < namesakesM
}
