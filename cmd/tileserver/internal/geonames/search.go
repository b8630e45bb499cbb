package geonames

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"quadrille/ask"
	"quadrille/ask/hierarchy"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/feature"
	"quadrille/places"
	"quadrille/places/search"
	"quadrille/quadkey"
)

const (
	// searchRows is the number of places in an answer if maxRows is not given.
	searchRows = 100
	// maxCandidates bounds the number of best places that are examined if the search cannot check a
	// condition, or if the request requires another order.
	maxCandidates = 1000
	// maxExamined roughly bounds the places of a box that are tested for the conditions. This work
	// equals the limit of a search by name.
	maxExamined = 100_000
	// maxRecords bounds the records that are read for conditions on fields that only records have.
	// The most important places that meet all other conditions are read first.
	maxRecords = 3_000
)

// placeSearch is a GeoNames search.
type placeSearch struct {
	query      search.Query
	filter     places.Filter
	start, max int
	bias       string   // country to be listed first
	continent  string   // conditions on the places found
	divisions  []string // adminCode1 to 5
	order      string
	style      style
	lang       string
}

// search answers /searchJSON: places by name, or, without a name, the most important places that
// pass the filters. The parameters operator, tag, isNameRequired, searchlang and inclBbox are
// ignored: every word must match, in a name or as the country or division.
func (g *request) search(ctx context.Context) error {
	q, err := g.readSearch()
	if err != nil {
		return err
	}
	finder, err := g.view.Places.Get()
	if err != nil {
		return err
	}
	if len(q.filter.Countries) > 0 {
		v, err := hierarchy.ViewOf(g.view.View)
		if err != nil {
			return err
		}
		if q.filter.Countries, err = v.Territories(ctx, q.filter.Countries); err != nil {
			return err
		}
		q.query.Countries = q.filter.Countries
	}
	var found []places.Record
	var total int
	if q.query.Text != "" {
		found, total, err = g.findByName(ctx, finder, q)
	} else {
		found, total, err = g.findByFilter(ctx, finder, q)
	}
	if err != nil {
		return err
	}
	g.open()
	g.int("totalResultsCount", int64(total))
	list := toponymList{g: g, finder: finder, style: q.style, lang: q.lang}
	list.begin()
	for i := range found {
		if err := list.write(ctx, &found[i], -1); err != nil {
			return err
		}
	}
	list.end()
	g.close()
	return nil
}

func (g *request) readSearch() (q placeSearch, err error) {
	p := &g.params
	if err := q.readText(p); err != nil {
		return q, err
	}
	if q.max, err = p.rows(searchRows); err != nil {
		return q, err
	}
	if q.start, err = p.integer("startRow", 0); err != nil {
		return q, err
	}
	if q.start > maxStartRow {
		return q, refuse(badParameter, "startRow is too large; give at most "+strconv.Itoa(maxStartRow))
	}
	for _, list := range []struct {
		name     string
		min, max int
		digits   bool
		into     *[]string
	}{
		{"country", 2, 2, false, &q.filter.Countries},
		{"featureClass", 1, 1, false, &q.filter.Classes},
		{"featureCode", 1, 10, true, &q.filter.Codes},
	} {
		if *list.into, err = p.codes(list.name, list.min, list.max, list.digits); err != nil {
			return q, err
		}
	}
	if q.filter.MinPopulation, err = p.minPopulation(); err != nil {
		return q, err
	}
	if q.filter.MinPopulation > 0 && len(q.filter.Classes) == 0 {
		q.filter.Classes = []string{"P"} // cities
	}
	if q.query.Box, err = p.box(); err != nil {
		return q, err
	}
	q.bias, q.continent = strings.ToUpper(p.text("countryBias")), strings.ToUpper(p.text("continentCode"))
	if q.bias != "" && !endpoint.IsCode(q.bias, 2, 2, false) || q.continent != "" && !endpoint.IsCode(q.continent, 2, 2, false) {
		return q, refuse(badParameter, "invalid countryBias or continentCode; give two letters")
	}
	for i := range 5 {
		q.divisions = append(q.divisions, p.text("adminCode"+strconv.Itoa(i+1)))
	}
	switch q.order = strings.ToLower(p.text("orderby")); q.order {
	case "population", "elevation":
	default:
		q.order = ""
	}
	q.style, q.lang = p.style(), p.language("en")
	f := &q.filter
	q.query.Countries, q.query.Classes, q.query.Codes, q.query.MinPopulation = f.Countries, f.Classes, f.Codes, f.MinPopulation
	q.query.Lang = q.lang
	if q.query.Text == "" && !q.filtered() {
		return q, refuse(badParameter, "missing parameter; give q, name, name_equals, name_startsWith or a filter such as country")
	}
	return q, nil
}

// readText reads the name to search for. q and name find names that begin with the text or contain
// it as words. name_startsWith finds only names that begin with it. name_equals finds only names
// that equal it. With fuzzy below 1 a letter may be wrong.
func (q *placeSearch) readText(p *params) error {
	for _, name := range []string{"q", "name", "name_equals", "name_startsWith"} {
		given := p.text(name)
		text := strings.TrimSpace(strings.Map(func(r rune) rune {
			if unicode.IsControl(r) {
				return ' '
			}
			return r
		}, given))
		if text == "" {
			continue
		}
		if !utf8.ValidString(given) || !listing.IsSearchText(text) {
			return refuse(badInput, "invalid "+name+"; give at most "+strconv.Itoa(search.MaxQueryChars)+" characters of UTF-8")
		}
		q.query.Text, q.query.WholeNames = text, name == "name_equals"
		break
	}
	fuzzy, given, err := p.number("fuzzy", 1)
	q.query.NoTypos = !given || fuzzy >= 1
	return err
}

// filtered reports whether the search has any filter.
func (q *placeSearch) filtered() bool {
	f := &q.filter
	return len(f.Countries)+len(f.Classes)+len(f.Codes) > 0 || f.MinPopulation > 0 || q.query.Box != nil || q.conditional()
}

// conditional reports whether places from a search must also be checked for conditions.
func (q *placeSearch) conditional() bool {
	return q.continent != "" || slices.ContainsFunc(q.divisions, func(d string) bool { return d != "" })
}

// detailed reports whether the answer needs records.
func (q *placeSearch) detailed() bool {
	return q.style >= styleLong || q.order == "elevation" || q.recorded()
}

// recorded reports whether some condition can only be checked with records.
func (q *placeSearch) recorded() bool {
	return slices.ContainsFunc(q.divisions[1:], func(d string) bool { return d != "" })
}

// box reads east, west, north and south.
func (p params) box() (*quadkey.Box, error) {
	var b quadkey.Box
	n := 0
	for _, edge := range []struct {
		name string
		most float64
		into *float64
	}{{"west", 180, &b.West}, {"south", 90, &b.South}, {"east", 180, &b.East}, {"north", 90, &b.North}} {
		v, given, err := p.number(edge.name, edge.most)
		if err != nil {
			return nil, err
		}
		if *edge.into = v; given {
			n++
		}
	}
	switch {
	case n == 0:
		return nil, nil
	case n < 4 || !b.Valid():
		return nil, refuse(badParameter, "invalid box; give east, west, north and south in degrees")
	}
	return &b, nil
}

// findByName returns the requested rows, and the least number of matching places.
func (g *request) findByName(ctx context.Context, finder *places.Finder, q placeSearch) ([]places.Record, int, error) {
	query := q.query
	if q.bias == "" && q.order == "" && !q.conditional() {
		query.Offset = min(q.start, search.MaxResults-1)
		query.Limit = min(max(q.max, 1), search.MaxResults-query.Offset)
		docs, total, err := g.candidates(ctx, finder, query, &q)
		if q.start > query.Offset {
			docs = nil
		}
		return docs[:min(len(docs), q.max)], total, err
	}
	query.Limit = maxCandidates
	var docs []places.Record
	if q.bias != "" && (len(query.Countries) == 0 || slices.Contains(query.Countries, q.bias)) {
		query.Countries = []string{q.bias}
		var err error
		if docs, _, err = g.candidates(ctx, finder, query, &q); err != nil {
			return nil, 0, err
		}
		query.Countries = q.query.Countries
	}
	rest, total, err := g.candidates(ctx, finder, query, &q)
	if err != nil {
		return nil, 0, err
	}
	docs = appendForeign(docs, rest, q.bias)
	docs, total = q.choose(docs, max(total, len(docs)))
	return docs, total, nil
}

// candidates reads the places that a search finds and that meet the conditions. It also returns a
// lower bound of the number of places that the search finds, including those that do not meet the
// conditions.
func (g *request) candidates(ctx context.Context, finder *places.Finder, query search.Query, q *placeSearch) ([]places.Record, int, error) {
	memory := listing.SearchHitPool.Get().(*[]search.Hit)
	defer listing.SearchHitPool.Put(memory)
	hits, total, err := finder.Search(ctx, query, (*memory)[:0])
	if errors.Is(err, places.ErrQuery) && !strings.ContainsFunc(query.Text, isWordRune) {
		return nil, 0, nil // no place has such a name; that is not an error
	}
	if err != nil {
		return nil, 0, err
	}
	*memory = hits
	var docs []places.Record
	for i := range hits {
		var doc places.Record
		if q.detailed() {
			err = finder.Record(ctx, hits[i].ID, &doc)
		} else {
			err = finder.Hit(ctx, hits[i].ID, &doc.Hit)
		}
		if err != nil {
			return nil, 0, ask.NotFoundAsDamage(err)
		}
		ok, err := q.passes(ctx, finder, &doc)
		if err != nil {
			return nil, 0, err
		}
		if ok {
			docs = append(docs, doc)
		}
	}
	return docs, max(total, query.Offset+len(hits)), nil
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

// ask returns the query for the most important places that pass a filter and meet the
// conditions on continent and first-level division.
func (q *placeSearch) ask(finder *places.Finder, f places.Filter) (query feature.Query, err error) {
	query = feature.Query{Order: feature.Order{Importance: true}, MaxExamined: maxExamined}
	if q.query.Box != nil {
		query.In = feature.Box(*q.query.Box)
	}
	if query.Filter, err = f.FeatureFilter(); err == nil && (q.continent != "" || q.divisions[0] != "") {
		query.Filter = &conditions{of: query.Filter, finder: finder, continent: q.continent, admin1: q.divisions[0], onIt: map[string]bool{}}
	}
	return query, err
}

// conditions combines a filter by continent and first-level division with another filter. "" passes
// all places. A value is for one search.
type conditions struct {
	of                feature.Filter // nil lets all pass
	finder            *places.Finder
	continent, admin1 string
	onIt              map[string]bool // by country
}

// Match implements feature.Filter.
func (c *conditions) Match(ctx context.Context, f *feature.Feature) (bool, error) {
	if c.admin1 != "" && !strings.EqualFold(c.admin1, f.Properties.Text("admin1")) {
		return false, nil
	}
	if c.continent != "" {
		code := f.Properties.Text("country")
		ok, known := c.onIt[code]
		if !known {
			country, err := countryInfo(ctx, c.finder, code)
			if err != nil {
				return false, err
			}
			ok = country.Continent == c.continent
			c.onIt[code] = ok
		}
		if !ok {
			return false, nil
		}
	}
	if c.of == nil {
		return true, nil
	}
	return c.of.Match(ctx, f)
}

// Terms implements feature.Filter.
func (c *conditions) Terms() (terms []feature.Term, all bool) {
	if c.of != nil {
		terms, _ = c.of.Terms()
	}
	return terms, false
}

// String implements feature.Filter.
func (c *conditions) String() string {
	of := ""
	if c.of != nil {
		of = c.of.String()
	}
	return fmt.Sprintf("%q %q %s", c.continent, c.admin1, of)
}

// findByFilter answers a search without a name. It lists the most important places first.
func (g *request) findByFilter(ctx context.Context, finder *places.Finder, q placeSearch) ([]places.Record, int, error) {
	f := q.filter
	if q.bias == "" && q.order == "" {
		return g.within(ctx, finder, f, q.start, q.start+q.max, &q)
	}
	var docs []places.Record
	if q.bias != "" && (len(f.Countries) == 0 || slices.Contains(f.Countries, q.bias)) {
		f.Countries = []string{q.bias}
		var err error
		if docs, _, err = g.within(ctx, finder, f, 0, maxCandidates, &q); err != nil && !errors.Is(err, errTooWide) {
			return nil, 0, err
		}
	}
	rest, _, err := g.within(ctx, finder, q.filter, 0, maxCandidates, &q)
	if err != nil {
		return nil, 0, err
	}
	docs = appendForeign(docs, rest, q.bias)
	docs, total := q.choose(docs, len(docs))
	return docs, total, nil
}

// appendForeign appends the places outside a country; "" means no country.
func appendForeign(docs, rest []places.Record, country string) []places.Record {
	for i := range rest {
		if country == "" || rest[i].Country != country {
			docs = append(docs, rest[i])
		}
	}
	return docs
}

// within reads the places that pass a filter and meet the conditions of q. It returns those with
// the indexes `from` to `to`-1, counted from 0. It also returns a lower bound of the number of all:
// `to`, or one more if there are more places, so that a client which pages by the count continues.
// Its work has the same limit as a search by name. The most important places are examined first.
// When the limit is reached, it returns the places found so far. If it has found none by then, it
// returns errTooWide, because such places may still exist.
func (g *request) within(ctx context.Context, finder *places.Finder, f places.Filter, from, to int,
	q *placeSearch) ([]places.Record, int, error) {
	if to == 0 {
		return nil, 0, nil
	}
	memory := hitsMemory.Get().(*[]places.Hit)
	defer hitsMemory.Put(memory)
	query, err := q.ask(finder, f)
	if err != nil {
		return nil, 0, err
	}
	recorded := q.recorded()
	var docs []places.Record
	seen := 0
	for looked := 0; seen < to && (!recorded || looked < maxRecords); {
		limit := min(to-seen, places.MaxLimit)
		if q.conditional() {
			limit = places.MaxLimit // a count that is exact if few places meet them
		}
		hits, more, err := page(ctx, finder, &query, limit, (*memory)[:0])
		if err != nil {
			return nil, 0, err
		}
		*memory = hits
		looked += len(hits)
		for i := range hits {
			if !recorded && (seen < from || seen >= to) {
				seen++
				continue
			}
			doc := places.Record{Hit: hits[i]}
			if q.detailed() {
				if err := finder.Record(ctx, doc.ID, &doc); err != nil {
					return nil, 0, ask.NotFoundAsDamage(err)
				}
			}
			ok, err := q.passes(ctx, finder, &doc)
			if err != nil {
				return nil, 0, err
			}
			if !ok {
				continue
			}
			if seen++; seen > from && seen <= to {
				docs = append(docs, doc)
			}
		}
		if !more {
			return docs, seen, nil
		}
	}
	switch {
	case seen == 0:
		return nil, 0, errTooWide
	case seen < to:
		return docs, seen, nil // enough was looked at
	}
	return docs, seen + 1, nil
}

// page appends the next page of a query to dst, and reports whether another one follows. If the
// limit of work is reached, it returns the places found so far.
func page(ctx context.Context, l feature.Layer, q *feature.Query, limit int, dst []places.Hit) (hits []places.Hit, more bool, err error) {
	q.Limit = limit + 1
	var last feature.Mark
	for f, err := range l.Features(ctx, q) {
		switch done := (*feature.TooMuchWork)(nil); {
		case errors.As(err, &done):
			return dst, false, nil
		case err != nil:
			return dst, false, err
		case len(dst) == limit:
			q.After = last
			return dst, true, nil
		}
		dst = slices.Grow(dst, 1)[:len(dst)+1]
		if err := dst[len(dst)-1].FromFeature(f); err != nil {
			return dst, false, err
		}
		last = append(last[:0], f.Mark...)
	}
	return dst, false, nil
}

// errTooWide refuses a search that reached the limit of work before it found a place.
var errTooWide = &refusal{
	value:   14,
	message: "too many places to look at for these conditions: add country and adminCode1, or a smaller box.",
}

// choose sorts the found places, which all meet the conditions, and returns the requested rows.
func (q *placeSearch) choose(docs []places.Record, total int) ([]places.Record, int) {
	if q.conditional() {
		total = len(docs)
	}
	switch q.order {
	case "population":
		slices.SortStableFunc(docs, func(a, b places.Record) int { return cmp.Compare(b.Population, a.Population) })
	case "elevation":
		slices.SortStableFunc(docs, func(a, b places.Record) int { return cmp.Compare(height(&b), height(&a)) })
	}
	docs = docs[min(q.start, len(docs)):]
	return docs[:min(q.max, len(docs))], total
}

// height returns a place's elevation in metres. Places whose elevation is unknown come last.
func height(d *places.Record) int64 {
	switch {
	case d.Elevation != nil:
		return *d.Elevation
	case d.DEM != nil:
		return *d.DEM
	}
	return unknownDEM
}

// passes reports whether a place meets the conditions.
func (q *placeSearch) passes(ctx context.Context, finder *places.Finder, d *places.Record) (bool, error) {
	if q.continent != "" {
		country, err := countryInfo(ctx, finder, d.Country)
		if err != nil || country.Continent != q.continent {
			return false, err
		}
	}
	for i, have := range [...]string{d.Admin1, d.Admin2, d.Admin3, d.Admin4, d.Admin5} {
		if want := q.divisions[i]; want != "" && !strings.EqualFold(want, have) {
			return false, nil
		}
	}
	return true, nil
}
