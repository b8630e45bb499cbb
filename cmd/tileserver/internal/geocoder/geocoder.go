// Package geocoder finds what a text names: a place, a region, an airport, a time zone,
// or a position that is written down. It merges what the data sets find, tells namesakes
// apart by the regions around them, and is what every endpoint that geocodes stands on.
package geocoder

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"quadrille/cellstore/dataset"
	"quadrille/cmd/tileserver/internal/datasets"
	"quadrille/cmd/tileserver/internal/hierarchy"
	"quadrille/places"
	"quadrille/places/names"
	"quadrille/places/search"
	"quadrille/quadkey"
	"quadrille/tiles"
)

// Kinds of results besides those of package names.
const (
	Place    names.Kind = "place"
	Position names.Kind = "position"
	Address  names.Kind = "ip"
)

// Kinds lists all kinds of results.
var Kinds = []names.Kind{Place, names.Region, names.Airport, names.Zone, names.Station, names.Point, Position, Address}

// ReverseKinds lists those of Reverse.
var ReverseKinds = []names.Kind{Place, names.Region}

// indexed are the kinds that the index of names has.
var indexed = []names.Kind{names.Region, names.Airport, names.Zone, names.Station, names.Point}

// Sources are the data sets that a geocoder asks. One that is nil is not published.
type Sources struct {
	Places     *dataset.Live[datasets.Places]
	Names      *dataset.Live[datasets.Names]
	Boundaries *dataset.Live[datasets.Boundaries]
	Addresses  *dataset.Live[datasets.Addresses]

	layers hierarchy.Layers
}

// Query is what a search asks for. Only Text is required.
type Query struct {
	Text  string
	Limit int // results; 0 is ten
	// Langs are languages of results, ISO 639 codes, the preferred first. Names in the first
	// rank like own names.
	Langs     []string
	Kinds     []names.Kind // of the results; none is all
	Countries []string     // ISO 3166-1 alpha-2
	Box       *quadkey.Box
	// With Bias, results near Lat, Lon (degrees) rank higher.
	Lat, Lon float64
	Bias     bool
	Exact    bool // no wrong letter is forgiven
}

// Result is one answer.
type Result struct {
	names.Feature
	// Label is the name with what tells it apart: "Portland, Oregon, United States".
	Label string
	Match *search.Match // nil for a position
	Score int32
	Place places.Hit // of a place
	// Apart says that a place is in another country, state or county than the point that was
	// asked about. No address of the point is made of it.
	Apart bool
}

const (
	defaultLimit = 10
	// candidates is how many namesakes are looked at for those within a region.
	candidates = 60
	// contextPenalty is what words cost that are read as a region around: as in package
	// search, one doubling of people.
	contextPenalty = 256
	// cityBonus is less than that of package search for a whole name, so that a region of
	// as many people comes first.
	cityBonus = 768
	// begunPenalty is what the beginning of another name than the own costs more than the
	// own's: "san fran" is San Francisco and not Quito, San Francisco de Quito.
	begunPenalty = 512
	// These bound what a text takes, whatever its readings: seeks in the stores, and names
	// that are looked at.
	maxSeeks = 4_000
	maxNames = 30_000
	// maxLabels bounds the part of the seeks that is kept for the labels of the results.
	maxLabels = maxSeeks / 2
	// wholeSeeks are the most for the reading of a text as one name, so that some are left for the
	// others that it may have.
	wholeSeeks = 2_000
	// readingSeeks are the most for one reading with regions around.
	readingSeeks = 600
	// codePenalty is what a place loses that has the code of an airport for a name.
	codePenalty = 1024
	// codeBonus puts what has a code before every name that only begins with it.
	codeBonus   = 8192
	iataLetters = 3
	// largeCity has so many people that the beginning of its name is meant rather than the
	// code of its airport.
	largeCity = 1_000_000
)

// Session asks one state of the data sets. Release it.
type Session struct {
	places    datasets.Pinned[datasets.Places]
	names     datasets.Pinned[datasets.Names]
	regions   datasets.Pinned[datasets.Boundaries]
	addresses datasets.Pinned[datasets.Addresses]
	layers    *hierarchy.Layers
}

// Begin pins what is published.
func (s *Sources) Begin() *Session {
	return &Session{datasets.Pin(s.Places), datasets.Pin(s.Names), datasets.Pin(s.Boundaries), datasets.Pin(s.Addresses), &s.layers}
}

// Release ends the session.
func (s *Session) Release() {
	s.places.Release()
	s.names.Release()
	s.regions.Release()
	s.addresses.Release()
}

// IDs are the generations that answers are made from, for entity tags.
func (s *Session) IDs() []uint64 {
	return []uint64{s.places.ID, s.names.ID, s.regions.ID, s.addresses.ID}
}

// finding is one search.
type finding struct {
	ctx context.Context
	s   *Session
	q   *Query

	places    datasets.Places // nil if none are published
	names     datasets.Names
	regions   datasets.Boundaries
	addresses datasets.Addresses
	view      hierarchy.View // of these
	// noAddresses says why addresses cannot be asked. Only a text that is one needs them.
	noAddresses error

	// forgiving lets a letter be wrong in texts with regions.
	forgiving bool
	budget    search.Budget
	found     []Result
}

func (s *Session) begin(ctx context.Context, q *Query) (f *finding, err error) {
	f = &finding{ctx: ctx, s: s, q: q, budget: search.Budget{Seeks: maxSeeks, Names: maxNames}}
	var has [3]bool
	var errs [3]error
	f.places, has[0], errs[0] = optional(&s.places)
	f.names, has[1], errs[1] = optional(&s.names)
	f.regions, has[2], errs[2] = optional(&s.regions)
	f.addresses, _, f.noAddresses = optional(&s.addresses)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	f.view = hierarchy.View{Places: f.places, Names: f.names, Boundaries: f.regions, Generation: s.regions.ID, Layers: s.layers}
	if !has[0] && !has[1] {
		_, err = s.places.Get()
		return nil, err
	}
	return f, nil
}

// Search returns what a text names, best first. Its work is bounded: it takes at most
// 4,000 seeks in the stores and looks at 30,000 names, and then answers what it has
// found so far. Errors match places.ErrQuery where the
// text cannot be searched for, or are those of the data sets.
func (s *Session) Search(ctx context.Context, q Query) ([]Result, error) {
	q.Text = typed(q.Text)
	f, err := s.begin(ctx, &q)
	if err != nil {
		return nil, err
	}
	if err := f.search(); err != nil {
		return nil, err
	}
	return f.found, nil
}

// search finds what the text names, within the budget.
func (f *finding) search() error {
	f.q.Limit = cmp.Or(f.q.Limit, defaultLimit)
	if done, err := f.written(); done || err != nil {
		return errors.Join(err, f.label())
	}
	if !f.wants(Place) && !slices.ContainsFunc(indexed, f.wants) {
		return nil
	}
	if err := f.share(f.budget.Seeks-min(f.q.Limit*f.labelSeeks(), maxLabels), f.find); err != nil {
		return err
	}
	f.preferCodes()
	f.order()
	return f.label()
}

// find gathers what a text names.
func (f *finding) find() error {
	rest, ok := inCountry(f.q.Text)
	letters := unspacedLetters(f.q.Text)
	if !ok && len(letters) == 0 {
		return f.findText()
	}
	// What looks like two names may be one, so both are read, exactly at first.
	exact := f.q.Exact
	f.q.Exact = true
	err := f.findText()
	if err == nil && len(f.found) == 0 && f.names != nil {
		err = f.share(readingSeeks, func() error { return f.unspaced(letters, nil, 1) })
	}
	f.q.Exact = exact
	if err != nil || len(f.found) > 0 {
		return err
	}
	if ok {
		f.q.Text = rest
	}
	return f.findText()
}

// findText gathers what the readings of a text name.
func (f *finding) findText() error {
	seeks := wholeSeeks
	if f.names == nil || len(readings(f.q.Text)) == 0 {
		seeks = maxSeeks
	}
	if err := f.share(seeks, func() error { return f.match(f.q.Text, f.q.Limit, nil, 0) }); err != nil {
		return err
	}
	if err := f.inContext(); err != nil {
		return err
	}
	if err := f.airfield(); err != nil || len(f.found) > 0 {
		return err
	}
	if err := f.share(readingSeeks, f.apart); err != nil || len(f.found) > 0 || f.q.Exact {
		return err
	}
	// A letter may be wrong in the name, or in that of the region.
	f.forgiving = true
	if err := f.inContext(); err != nil || len(f.found) > 0 {
		return err
	}
	return f.leaveOut()
}

// share calls fn, which may take at most so many seeks of those that are left.
func (f *finding) share(seeks int, fn func() error) error {
	kept := max(f.budget.Seeks-seeks, 0)
	f.budget.Seeks -= kept
	err := fn()
	f.budget.Seeks += kept
	return err
}

// preferCodes puts airports before the cities that have their codes among their names,
// unless the text also begins the city's own name: "maa" is an airport, "ist" is Istanbul.
// A text of three letters that is nothing's own name is a code rather than the beginning of
// another name.
func (f *finding) preferCodes() {
	code := strings.ToUpper(strings.TrimSpace(f.q.Text))
	folded := string(search.Fold(nil, code))
	isCode := func(r *Result) bool {
		return r.Kind == names.Airport && r.Code == code || r.Match.Kind == search.Exact && r.Match.Name == code
	}
	begins := func(r *Result) bool {
		return r.Kind == Place && r.Place.Population >= largeCity && strings.HasPrefix(string(search.Fold(nil, r.Name)), folded)
	}
	if len(code) == iataLetters && !slices.ContainsFunc(f.found, func(r Result) bool { return r.Match.Kind == search.Exact && !isCode(&r) }) {
		for i := range f.found {
			switch r := &f.found[i]; {
			case !isCode(r):
			case r.Kind == names.Airport:
				r.Score += 2 * codeBonus
			case begins(r):
				r.Score += 3 * codeBonus
			default:
				r.Score += codeBonus
			}
		}
	}
	if !slices.ContainsFunc(f.found, func(r Result) bool { return r.Kind == names.Airport && r.Code == code }) {
		return
	}
	for i := range f.found {
		if r := &f.found[i]; r.Kind == Place && strings.EqualFold(r.Match.Name, code) && !begins(r) {
			r.Score -= codePenalty
		}
	}
}

// airportWords are those that airports have in one source and lack in another.
var airportWords = []string{"airport", "aerodrome", "airfield", "airstrip", "heliport", "international", "intl", "regional", "municipal", "domestic", "air", "force", "base", "field"}

// airfield finds airports by what is left of a text that found nothing without the words
// that sources disagree on: "Reus Air Base" is called Reus Airport in others.
func (f *finding) airfield() error {
	if len(f.found) > 0 || !f.wants(names.Airport) {
		return nil
	}
	words := strings.Fields(string(search.Fold(nil, f.q.Text)))
	rest := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return slices.Contains(airportWords, w) })
	if len(rest) == 0 || len(rest) == len(words) {
		return nil
	}
	all := f.q.Kinds
	f.q.Kinds = []names.Kind{names.Airport}
	defer func() { f.q.Kinds = all }()
	err := f.match(strings.Join(rest, " "), f.q.Limit, nil, contextPenalty)
	if errors.Is(err, places.ErrQuery) {
		return nil
	}
	return err
}

func (f *finding) wants(kind names.Kind) bool {
	return len(f.q.Kinds) == 0 || slices.Contains(f.q.Kinds, kind)
}

// order sorts the results, keeps the best of each, and cuts what is too much.
func (f *finding) order() {
	slices.SortStableFunc(f.found, func(a, b Result) int { return cmp.Compare(b.Score, a.Score) })
	type identity struct {
		kind    names.Kind
		typ, id string
	}
	seen := map[identity]bool{}
	f.found = slices.DeleteFunc(f.found, func(r Result) bool {
		is := identity{r.Kind, r.Type, r.ID}
		double := seen[is]
		seen[is] = true
		return double
	})
	f.found = f.found[:min(len(f.found), f.q.Limit)]
}

// query is the search for a text in a data set, within regions if there are any.
func (f *finding) query(text string, limit int, within []names.Feature) search.Query {
	q := search.Query{
		Text: text, Limit: limit, Lang: f.searchLang(), Countries: f.q.Countries, Box: f.q.Box,
		Lat: f.q.Lat, Lon: f.q.Lon, Bias: f.q.Bias, Exact: f.q.Exact, Budget: &f.budget,
	}
	if len(within) > 0 {
		q.Limit, q.Exact = candidates, !f.forgiving
		if q.Box == nil && len(within) == 1 {
			q.Box = boxOf(within[0].Bounds)
		}
		if q.Countries == nil && len(within) == 1 && !outlined(&within[0]) {
			q.Countries = []string{within[0].Country}
		}
	}
	return q
}

// boxOf is a box around bounds, nil where they are none.
func boxOf(b [4]float64) *quadkey.Box {
	box := quadkey.Box{West: b[0], South: b[1], East: b[2], North: b[3]}
	if box.Check() != nil || b == [4]float64{} {
		return nil
	}
	return &box
}

// match finds what a text names, inside one of the regions if there are any.
func (f *finding) match(text string, limit int, within []names.Feature, penalty int32) error {
	if f.places != nil && f.wants(Place) {
		byRow := slices.ContainsFunc(within, func(region names.Feature) bool { return !outlined(&region) })
		var hits []search.Hit
		err := f.share(f.budget.Seeks/2, func() (err error) {
			hits, _, err = f.places.Search(f.ctx, f.query(text, limit, within), nil)
			return err
		})
		if err != nil {
			return err
		}
		for i := range hits {
			h := &hits[i]
			in := byRow
			if !byRow {
				if in, err = f.within(h, within); err != nil {
					return err
				}
			}
			if !in {
				continue
			}
			if !f.budget.Take(1) {
				break
			}
			r := Result{Match: &h.Match, Score: h.Score - penalty}
			if err := f.places.Hit(f.ctx, h.ID, &r.Place); err != nil {
				return datasets.Inside(err)
			}
			if byRow && !slices.ContainsFunc(within, func(region names.Feature) bool { return !outlined(&region) && hierarchy.Holds(&region, &r.Place) }) {
				if in, err = f.within(h, within); err != nil {
					return err
				}
				if !in {
					continue
				}
			}
			switch {
			case h.Match.Kind != search.Prefix:
			case isCity(text, r.Place.Name):
				r.Score += cityBonus
			case h.Match.Name != "":
				r.Score -= begunPenalty
			}
			f.found = append(f.found, placeResult(r))
		}
	}
	if f.names == nil || !slices.ContainsFunc(indexed, f.wants) {
		return nil
	}
	q := f.query(text, limit, within)
	if len(f.q.Kinds) > 0 { // of which some share a class
		q.Limit = candidates
		for _, kind := range indexed {
			if class := names.Class(kind); f.wants(kind) && !slices.Contains(q.Classes, class) {
				q.Classes = append(q.Classes, class)
			}
		}
	}
	hits, err := f.names.Search(f.ctx, q, nil)
	if err != nil {
		return err
	}
	for i := range hits {
		h := &hits[i]
		if !f.wants(h.Kind) || len(within) > 0 && !slices.ContainsFunc(within, func(r names.Feature) bool { return inside(&h.Feature, &r) }) {
			continue
		}
		f.found = append(f.found, Result{Feature: h.Feature, Match: &h.Match, Score: h.Score - penalty})
	}
	return nil
}

// isCity reports whether a name is a text and then what tells a city from the region
// around it: "New York City", "Washington, D.C.".
func isCity(text, name string) bool {
	head, _, comma := strings.Cut(name, ",")
	if !comma {
		head = strings.TrimSuffix(name, " City")
	}
	fold := func(s string) string { return strings.ReplaceAll(string(search.Fold(nil, s)), " ", "") } // "newyork" is one word
	return len(head) < len(name) && fold(head) == fold(text)
}

// placeResult fills the feature of a place.
func placeResult(r Result) Result {
	p := &r.Place
	r.Feature = names.Feature{
		Kind: Place, Type: strings.Trim(p.Class+"."+p.Code, "."), ID: itoa(p.ID), Name: p.Name, Country: p.Country,
		Lat: p.Lat, Lon: p.Lon, Population: uint64(max(p.Population, 0)),
	}
	return r
}

// inside reports whether a feature lies in a region, by its parents, or by its country where no
// layer draws that.
func inside(f, region *names.Feature) bool {
	if region.Type == hierarchy.Country && !outlined(region) && f.Country == region.Country {
		return true
	}
	return slices.ContainsFunc(f.Parents, func(p names.Parent) bool { return p.Type == region.Type && p.ID == region.ID })
}

// outlined reports whether a layer draws a region.
func outlined(region *names.Feature) bool { return region.Bounds != [4]float64{} }

// within reports whether a place is where one of the regions is drawn, or there are none.
func (f *finding) within(h *search.Hit, regions []names.Feature) (bool, error) {
	if len(regions) == 0 {
		return true, nil
	}
	if f.regions == nil {
		return false, nil
	}
	var types []string
	for i := range regions {
		if outlined(&regions[i]) && !slices.Contains(types, regions[i].Type) {
			types = append(types, regions[i].Type)
		}
	}
	if len(types) == 0 || !f.budget.Take(len(types)) {
		return false, nil
	}
	at, err := f.regions.At(f.ctx, degrees(h.Lat), degrees(h.Lon), types...)
	if errors.Is(err, tiles.ErrUnknownType) {
		return false, nil // the names are of another generation
	}
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(at, func(r tiles.Region) bool {
		return slices.ContainsFunc(regions, func(o names.Feature) bool { return o.Type == r.Type && o.ID == r.ID })
	}), nil
}

func degrees(units int32) float64 { return float64(units) / 1e7 }
