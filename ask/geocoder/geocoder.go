// Package geocoder finds the meaning of a text: a place, a region, an airport, a time zone, or a
// written position. It also finds what is at a point. It merges the results of the data sets, and
// distinguishes namesakes by the regions around them.
//
// Positions are degrees and distances metres. A data set that is not published has no results.
// Errors match ask.ErrMissing if neither places nor names are published, or come from the data
// sets.
package geocoder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"quadrille/ask"
	"quadrille/ask/hierarchy"
	"quadrille/feature"
	"quadrille/places"
	"quadrille/places/names"
	"quadrille/places/search"
	"quadrille/quadkey"
	"quadrille/tiles"
)

// These are kinds of results that package [names] does not have.
const (
	Place    names.Kind = "place"
	Position names.Kind = "position"
	Address  names.Kind = "ip"
)

// Kinds lists all kinds of results.
var Kinds = []names.Kind{Place, names.Region, names.Airport, names.Zone, names.Station, names.Point, Position, Address}

// ReverseKinds lists the kinds of results of Reverse.
var ReverseKinds = []names.Kind{Place, names.Region}

// indexed lists the kinds in the index of names.
var indexed = []names.Kind{names.Region, names.Airport, names.Zone, names.Station, names.Point}

// Query is a search for a text. Only Text is required.
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
	NoTypos  bool // forgives no wrong letter
}

// Result is one answer.
type Result struct {
	names.Feature
	// Label is the name with the regions that distinguish it: "Portland, Oregon, United States".
	Label string
	Match *search.Match // nil for a position
	Score int32
	Place places.Hit // of a place
	// AcrossBorder is set if a place is in another country, state or county than the queried point. An
	// address of the point must not use such a place.
	AcrossBorder bool
}

const (
	defaultLimit = 10
	// candidates is the number of namesakes among which a search looks for those within a region.
	candidates = 60
	// contextPenalty is deducted if words are read as a surrounding region. It equals one doubling
	// of the population, as in package search.
	contextPenalty = 256
	// cityBonus is less than the bonus of package search for a whole name, so that a region with
	// the same population comes first.
	cityBonus = 11 * 256
	// knownCity is the least importance of a city that gets cityBonus: that of 8,192 people.
	knownCity = 13 * 256
	// seatPeople is a ratio of populations. If a region has more than this many times the
	// population of the city with its name, the text means the region.
	seatPeople = 16
	// airportM is the greatest distance of an airport from its city, in metres. airportCity is the
	// least population of a city that comes before its airport while its name is typed.
	airportM    = 100_000
	airportCity = 100_000
	// foldPenalty is deducted from a name whose accents differ from the text's, if another name has
	// the text's accents: two doublings of people.
	foldPenalty = 2 * 256
	// These bound the work for a text over all its readings: seeks in the stores, and names to
	// compare.
	maxSeeks = 4_000
	maxNames = 30_000
	// maxLabels bounds the seeks that are reserved for the labels of the results.
	maxLabels = maxSeeks / 2
	// wholeSeeks bounds the seeks for the reading of a text as one name, to leave some for other
	// readings.
	wholeSeeks = 2_000
	// readingSeeks bounds the seeks for one interpretation of the text with surrounding regions.
	readingSeeks = 600
	// codePenalty is subtracted from the score of a match by a code, relative to a match by a whole
	// name.
	codePenalty = 1024
	// codeBonus puts a match of a code before every name that only begins with the text.
	codeBonus   = 8192
	iataLetters = 3
	// fewKnow is deducted from a code that few people know, unless it is in capitals: "tok" begins
	// Tokyo, and is also an airstrip in Papua New Guinea.
	fewKnow      = 9 * 256
	largeAirport = "large_airport"
	// largeCity is the population from which the beginning of a city's name wins over the code of
	// its airport.
	largeCity = 1_000_000
)

// Session searches the data sets of a view. Several goroutines may use it until the view is
// released.
type Session struct {
	View ask.View
	// NoAddresses makes texts that are IP addresses mean nothing special.
	NoAddresses bool
}

// ReverseGenerationIDs returns the generations on which an answer of Reverse depends, or nil if it must not
// be cached.
func (s *Session) ReverseGenerationIDs(q *ReverseQuery) []uint64 {
	if len(q.Kinds) > 0 && !slices.Contains(q.Kinds, names.Region) {
		return s.GenerationIDs()
	}
	return s.View.WithAreas(s.GenerationIDs())
}

// GenerationIDs returns the generations on which all other answers depend.
func (s *Session) GenerationIDs() []uint64 {
	ids := hierarchy.GenerationIDs(s.View)
	if s.NoAddresses {
		return ids
	}
	return append(ids, s.View.Addresses.ID)
}

// finding is one search.
type finding struct {
	ctx context.Context
	s   *Session
	q   *Query

	places    *places.Finder // nil if none are published
	names     *names.Reader
	regions   *tiles.Reader
	addresses ask.AddressReader
	view      hierarchy.View // of places, names and boundaries
	countries []string       // codes that rows of the wanted countries may have
	// noAddresses is the error of the IP ranges. Only a text that is an address needs them.
	noAddresses error

	// forgiving is set if texts with regions may have a wrong letter.
	forgiving bool
	whole     bool // only whole names are found, spelled right
	budget    search.Budget
	found     []Result
}

func (s *Session) begin(ctx context.Context, q *Query) (f *finding, err error) {
	f = &finding{ctx: ctx, s: s, q: q, budget: search.Budget{Seeks: maxSeeks, Names: maxNames}}
	if f.view, err = hierarchy.ViewOf(s.View); err != nil {
		return nil, err
	}
	f.places, f.names, f.regions = f.view.Places, f.view.Names, f.view.Boundaries
	if !s.NoAddresses {
		f.addresses, _, f.noAddresses = s.View.Addresses.GetIfPublished()
	}
	f.countries = f.view.WidenCountries(q.Countries)
	if f.places == nil && f.names == nil {
		_, err = s.View.Places.Get()
		return nil, err
	}
	return f, nil
}

// Search returns the meanings of a text, best first. Its work is bounded: it takes at most 4,000
// seeks in the stores, compares 30,000 names, and then returns what it has found. Errors match
// places.ErrQuery if the text cannot be searched for, or come from the data sets.
func (s *Session) Search(ctx context.Context, q Query) ([]Result, error) {
	if q.Text = typed(q.Text); q.Text == "" {
		return nil, fmt.Errorf("geocoder: %w: the text is blank", places.ErrQuery)
	}
	if _, asked, _ := geoAddress(q.Text); asked != "" {
		if _, ok := ParsePosition(q.Text, ""); !ok {
			q.Text = typed(asked)
		}
	}
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
	f.q.Text = cmp.Or(otherNames[string(search.Fold(nil, f.q.Text))], f.q.Text)
	if done, err := f.written(); done || err != nil {
		return errors.Join(err, f.label())
	}
	if !f.wants(Place) && !slices.ContainsFunc(indexed, f.wants) {
		return nil
	}
	if err := f.share(f.budget.Seeks-min(f.q.Limit*f.labelSeeks(), maxLabels), f.find); err != nil {
		return err
	}
	if f.wants(names.Region) && len(f.q.Countries) == 0 && f.q.Box == nil && largest(f.q.Text) {
		f.beyond()
	}
	f.preferCodes()
	f.deferUnfinished()
	f.preferLetters()
	f.preferSeats()
	f.preferSeas()
	if f.exact() {
		// If one data set has the exact name, the text is no misspelling of a name in another.
		f.found = slices.DeleteFunc(f.found, func(r Result) bool { return r.Match.Kind == search.Typo })
	}
	f.order()
	return f.label()
}

// exact reports whether a result has the text as its whole name.
func (f *finding) exact() bool {
	return slices.ContainsFunc(f.found, func(r Result) bool { return r.Match.Kind == search.Exact })
}

// find gathers what a text names.
func (f *finding) find() error {
	rest, ok := inCountry(f.q.Text)
	letters := unspacedLetters(f.q.Text)
	if !ok && len(letters) == 0 {
		return f.findText()
	}
	// A text that looks like two names may be one. Both readings are tried, at first exactly.
	exact := f.q.NoTypos
	f.q.NoTypos = true
	err := f.findText()
	if err == nil && len(f.found) == 0 && f.names != nil {
		err = f.share(readingSeeks, func() error { return f.unspaced(letters, nil, 1) })
	}
	f.q.NoTypos = exact
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
	if done, err := f.generic(); done || err != nil {
		return err
	}
	if err := f.inContext(); err != nil {
		return err
	}
	if err := f.airfield(); err != nil || len(f.found) > 0 {
		return err
	}
	if err := f.share(readingSeeks, f.apart); err != nil || len(f.found) > 0 || f.q.NoTypos {
		return err
	}
	// The name, or the name of the region, may have a wrong letter. A text with digits is rather an
	// address, so its parts are tried first.
	steps := []func() error{f.forgive, f.part, f.known, f.addressed}
	if strings.ContainsFunc(f.q.Text, unicode.IsDigit) {
		steps = []func() error{f.part, f.addressed, f.forgive, f.known}
	}
	for _, step := range steps {
		if err := step(); err != nil || len(f.found) > 0 {
			return err
		}
	}
	return nil
}

// forgive reads a text as a misspelled name with regions.
func (f *finding) forgive() error {
	f.forgiving = true
	defer func() { f.forgiving = false }()
	return f.inContext()
}

// share calls fn with at most the given number of the remaining seeks.
func (f *finding) share(seeks int, fn func() error) error {
	kept := max(f.budget.Seeks-seeks, 0)
	f.budget.Seeks -= kept
	err := fn()
	f.budget.Seeks += kept
	return err
}

// preferCodes puts a code match, if people know the code, before features whose names only begin
// with the text. It puts airports before the cities that have their codes among their names, and
// drops misspellings. If the text is also the whole name of something and is not in capitals, the
// name wins: "oss" is a town. If a large city's own name begins with the text, the city wins: "ist"
// is Istanbul. Otherwise the airport wins: "maa". A code in small letters may be the beginning of a
// name: "mun" is Munich, see [finding.codesAreBeginnings].
func (f *finding) preferCodes() {
	isCode := func(r Result) bool { return r.Match.IsCode }
	if !slices.ContainsFunc(f.found, isCode) {
		return
	}
	f.found = slices.DeleteFunc(f.found, func(r Result) bool { return r.Match.Kind == search.Typo })
	text := strings.TrimSpace(f.q.Text)
	folded := string(search.Fold(nil, text))
	capitals := text == strings.ToUpper(text)
	named := slices.ContainsFunc(f.found, func(r Result) bool {
		return r.Match.Kind == search.Exact &&
			!r.Match.IsCode && r.Match.Name == ""
	})
	isAirport := func(r Result) bool { // not if the code is that of a city with several airports
		return r.Kind == names.Airport && (strings.EqualFold(r.Code, text) || strings.EqualFold(r.ID, text))
	}
	airport := slices.ContainsFunc(f.found, isAirport)
	letters := initialled(text)
	begun := !capitals && f.codesAreBeginnings(folded)
	for i := range f.found {
		r := &f.found[i]
		if letters != "" && r.Match.Kind == search.Exact && initials(letters, r.Name) {
			r.Score += 6 * codeBonus
			continue
		}
		large := r.Kind == Place && r.Place.Population >= largeCity && strings.HasPrefix(string(search.Fold(nil, r.Name)), folded)
		switch {
		case begun && r.Match.Kind == search.Exact && r.Match.Name != "" && !r.Match.IsCode && !beginsWith(r.Name, folded):
			r.Score -= search.CodeBonus // "sin" is no China
		case !r.Match.IsCode:
		case begun && !isCountryCode(r):
			r.Score = asBeginning(r, folded)
		case r.Kind == names.Region && (r.Level == 0 || len(text) < iataLetters && slices.Contains(stateLetters, r.Country)):
			r.Score += 3 * codeBonus
		case r.Kind == names.Region && capitals:
			r.Score += codeBonus
		case r.Kind == names.Region || r.Kind == names.Airport && r.Type != largeAirport && !capitals:
			r.Score -= fewKnow
		case named && !capitals:
			r.Score -= codePenalty
		case r.Kind == Place && airport && (capitals || !large), r.Kind == names.Airport && !isAirport(*r):
			r.Score += codeBonus
		case large && !capitals:
			r.Score += 3 * codeBonus
		default:
			r.Score += 2 * codeBonus
		}
	}
}

// stateLetters are the countries where people write the codes of states behind the names of towns.
var stateLetters = []string{"AU", "BR", "CA", "US"}

// preferLetters puts names with the text's accents before names that match only without regard to
// accents: Bali before Bāli.
func (f *finding) preferLetters() {
	exact := func(r Result) bool { return r.Match.Kind == search.Exact && !r.Match.IsCode }
	equal := func(r Result) bool { return strings.EqualFold(cmp.Or(r.Match.Name, r.Name), f.q.Text) }
	if !slices.ContainsFunc(f.found, func(r Result) bool { return exact(r) && equal(r) }) {
		return
	}
	for i := range f.found {
		// If other names of a place differ in accents, the text may match any of them.
		if r := &f.found[i]; exact(*r) && r.Match.Name == "" && !r.Match.Historic && !equal(*r) {
			r.Score -= foldPenalty
		}
	}
}

// preferSeats puts a city before the region around it with the same name: "geneva", "quebec". It
// also puts the city before the airport that has the city's name among its names.
func (f *finding) preferSeats() {
	for i := range f.found {
		city := &f.found[i]
		if city.Kind == Place && city.Match.Kind == search.Prefix && city.Place.Population >= airportCity {
			f.beforeAirports(city)
		}
		if city.Kind != Place || !wholeName(city) {
			continue
		}
		for k := range f.found {
			region := &f.found[k]
			if region.Kind == names.Airport && region.Match.Name != "" && wholeName(region) && nearby(region, city) {
				city.Score = max(city.Score, region.Score+1)
				continue
			}
			if region.Kind != names.Region || region.Level == 0 || !wholeName(region) ||
				region.Score < city.Score || uint64(max(city.Place.Population, 0))*seatPeople < region.Weight() {
				continue
			}
			box := boxOf(region.Bounds)
			if box != nil && box.Contains(city.Lon, city.Lat) || box == nil && hierarchy.Holds(&region.Feature, &city.Place) {
				city.Score = region.Score + 1
			}
		}
	}
}

// wholeName reports whether the text, or the part of it that was read, is the whole name of a
// result.
func wholeName(r *Result) bool {
	return (r.Match.Kind == search.Exact || r.Match.Kind == PartMatch) && !r.Match.IsCode
}

// airportWords are words that one source puts into names of airports and another leaves out.
var airportWords = []string{"airport", "aerodrome", "airfield", "airstrip", "heliport", "international", "intl", "regional",
	"municipal", "domestic", "air", "force", "base", "field"}

// airfield finds airports for a text without results. It leaves out the words on which sources
// disagree: "Reus Air Base" is Reus Airport in other sources.
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

// order sorts the results, keeps the best result for each feature, and drops those beyond the
// limit.
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

// query returns the search for a text in a data set, within the given regions, if any.
func (f *finding) query(text string, limit int, within []names.Feature) search.Query {
	q := search.Query{
		Text: text, Limit: limit, Lang: f.searchLang(), Countries: f.countries, Box: f.q.Box,
		Lat: f.q.Lat, Lon: f.q.Lon, Bias: f.q.Bias, NoTypos: f.q.NoTypos, WholeNames: f.whole, Budget: &f.budget,
		// Misspellings would be dropped at the end, and are most of the work.
		IsName: f.budget.FilterDropped || f.exact(),
	}
	if len(within) > 0 {
		q.Limit, q.NoTypos = candidates, q.NoTypos || !f.forgiving
		if q.Box == nil && len(within) == 1 {
			q.Box = boxOf(within[0].Bounds)
		}
		if q.Countries == nil && len(within) == 1 && !outlined(&within[0]) {
			q.Countries = []string{within[0].Country}
		}
	}
	return q
}

// boxOf returns a box around bounds, or nil without bounds.
func boxOf(b [4]float64) *quadkey.Box {
	box := quadkey.Box{West: b[0], South: b[1], East: b[2], North: b[3]}
	if box.Check() != nil || b == [4]float64{} {
		return nil
	}
	return &box
}

// match finds the features that a text names, inside one of the given regions, if any.
func (f *finding) match(text string, limit int, within []names.Feature, penalty int32) error {
	f.budget.FilterDropped = false
	before := len(f.found)
	if f.places != nil && f.wants(Place) {
		q := f.query(text, limit, within)
		if len(within) == 1 && within[0].Type == hierarchy.Country && within[0].Country != "" && len(f.countries) == 0 {
			// The country's bounds may leave out distant parts.
			q.Box, q.Countries = f.q.Box, f.view.WidenCountries([]string{within[0].Country})
		}
		var hits []search.Hit
		err := f.share(f.budget.Seeks/2, func() (err error) {
			hits, _, err = f.places.Search(f.ctx, q, nil)
			return err
		})
		if err != nil {
			return err
		}
		for i := range hits {
			h := &hits[i]
			if len(within) > 0 && !slices.ContainsFunc(within, func(r names.Feature) bool { return hierarchy.MayHold(&r, h) }) {
				continue
			}
			if !f.budget.Take(2) {
				break
			}
			r := Result{Match: &h.Match, Score: h.Score - penalty}
			if err := f.places.Hit(f.ctx, h.ID, &r.Place); err != nil {
				return ask.NotFoundAsDamage(err)
			}
			in, err := f.within(&r.Place, within)
			if err != nil {
				return err
			}
			if !in {
				continue
			}
			if h.Match.Kind == search.Prefix && h.Importance >= knownCity && isCity(text, r.Place.Name) {
				r.Score += cityBonus
			}
			f.found = append(f.found, placeResult(r))
		}
	}
	if f.names == nil || !slices.ContainsFunc(indexed, f.wants) {
		return nil
	}
	q := f.query(text, limit, within)
	if len(f.q.Kinds) > 0 { // several kinds share a class
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
		if !f.wants(h.Kind) || !f.ofCountries(&h.Feature) ||
			len(within) > 0 && !slices.ContainsFunc(within, func(r names.Feature) bool { return inside(&h.Feature, &r) }) {
			continue
		}
		f.found = append(f.found, Result{Feature: h.Feature, Match: &h.Match, Score: h.Score - penalty})
	}
	if f.budget.FilterDropped { // the meaning is elsewhere
		f.found = append(f.found[:before], slices.DeleteFunc(f.found[before:], func(r Result) bool { return r.Match.Kind == search.Typo })...)
	}
	return nil
}

// ofCountries reports whether a feature is in one of the wanted countries, by its own code or by
// the regions around it.
func (f *finding) ofCountries(of *names.Feature) bool {
	return hierarchy.CodeInCountries(of.Country, f.q.Countries) || slices.ContainsFunc(of.Parents, func(p names.Parent) bool {
		return p.Type == hierarchy.Country && slices.Contains(f.q.Countries, strings.ToUpper(p.ID))
	})
}

// isCity reports whether a name is the text followed by words that distinguish a city from the
// region around it, or from its namesakes: "New York City", "Washington, D.C.", "Frankfurt am
// Main".
func isCity(text, name string) bool {
	head, _, comma := strings.Cut(name, ",")
	if !comma {
		head = strings.TrimSuffix(name, " City")
	}
	if words := strings.Fields(head); len(words) > 2 {
		if i := slices.IndexFunc(words, func(w string) bool { return slices.Contains(particles, w) }); i > 0 {
			head = strings.Join(words[:i], " ")
		}
	}
	fold := func(s string) string { return strings.ReplaceAll(string(search.Fold(nil, s)), " ", "") } // "newyork" is one word
	return len(head) < len(name) && len(head) > iataLetters && fold(head) == fold(text)
}

// particles lists words that begin the part of a name that distinguishes a town from its namesakes.
var particles = []string{"am", "an", "bei", "im", "in", "ob", "de", "del", "do", "da", "di", "en", "la", "sur", "sous", "upon",
	"on", "aan", "nad"}

// placeResult fills the feature of a place.
func placeResult(r Result) Result {
	p := &r.Place
	r.Feature = names.Feature{
		Kind: Place, Type: strings.Trim(p.Class+"."+p.Code, "."), ID: itoa(p.ID), Name: p.Name, Country: p.Country,
		Lat: p.Lat, Lon: p.Lon, Population: uint64(max(p.Population, 0)),
	}
	return r
}

// inside reports whether a feature lies in a region, by its parents. If no layer has the outline of
// a country, the country code of the feature counts.
func inside(f, region *names.Feature) bool {
	if region.Type == hierarchy.Country && !outlined(region) && f.Country == region.Country {
		return true
	}
	return slices.ContainsFunc(f.Parents, func(p names.Parent) bool {
		return p.Type == region.Type &&
			feature.SameRegionID(p.ID, region.ID)
	})
}

// outlined reports whether a layer has the outline of a region.
func outlined(region *names.Feature) bool { return region.Bounds != [4]float64{} }

// within reports whether a place is in the wanted countries, and in one of regions if there are
// any. A region without an outline holds the places whose rows name it.
func (f *finding) within(p *places.Hit, regions []names.Feature) (bool, error) {
	in, err := f.view.InCountries(f.ctx, p, f.q.Countries)
	if err != nil || !in || len(regions) == 0 {
		return in, err
	}
	var list []names.Parent
	for i := range regions {
		region := &regions[i]
		if !outlined(region) && hierarchy.Holds(region, p) {
			return true, nil
		}
		list = append(list, names.Parent{Type: region.Type, ID: region.ID, Name: region.Name})
	}
	return f.view.InRegions(f.ctx, p, list)
}
