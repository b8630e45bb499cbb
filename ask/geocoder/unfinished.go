package geocoder

import (
	"slices"
	"strings"

	"quadrille/places/names"
	"quadrille/places/search"
	"quadrille/quadkey"
)

// Short texts in small letters are rather beginnings of names than codes, since people type them
// letter by letter.

const (
	// agreed is added to the code of a city whose name begins so: "dub" is Dublin. unlike is deducted
	// from the code of a place with another name: three doublings of people. A large airport gains as
	// much, since travellers know its code.
	agreed = 8 * 256
	unlike = 3 * 256
	// fewLetters bounds the texts whose other names may be as short as codes.
	fewLetters = 4
	// unfinishedWords is the least number of missing words in another name that few type in full:
	// "Santa María del Buen Ayre". longName is deducted from it.
	unfinishedWords = 3
	longName        = 4 * 256
)

// isCountryCode reports whether a result is a country that matches by its code.
func isCountryCode(r *Result) bool {
	return r.Match.IsCode && r.Kind == names.Region && r.Level == 0
}

// asBeginning returns the score of a match by a code as if the code began a name.
func asBeginning(r *Result, folded string) int32 {
	switch score := r.Score - search.CodeBonus; {
	case r.Kind == Place && beginsWith(r.Name, folded):
		if r.Place.Population >= airportCity {
			score += agreed
		}
		return score
	case r.Type == largeAirport:
		return score + unlike
	default:
		return score - unlike
	}
}

// codesAreBeginnings reports whether a text in small letters is rather the beginning of a name than
// a code: of the results, weighed by people, the best one has a name of its own that begins so.
func (f *finding) codesAreBeginnings(folded string) bool {
	if len(folded) < iataLetters {
		return false
	}
	var code, name int32
	for i := range f.found {
		switch r := &f.found[i]; {
		case isCountryCode(r):
		case r.Match.IsCode && !(r.Kind == Place && beginsWith(r.Name, folded)):
			code = max(code, asBeginning(r, folded))
		case r.Match.IsCode:
			name = max(name, asBeginning(r, folded))
		case r.Match.Name == "" || r.Match.Kind == search.Prefix && beginsWith(r.Name, folded):
			name = max(name, r.Score)
		}
	}
	return name > code
}

// deferCountry puts a country that matches by its code in small letters second, behind a city that
// is so much larger that its name is rather meant: "st" is Saint Petersburg, then São Tomé. If the
// text is the code of a state too, it is no beginning.
func (f *finding) deferCountry(folded string) {
	is := func(r Result) bool { return isCountryCode(&r) }
	i := slices.IndexFunc(f.found, is)
	if i < 0 || !f.outgrown(f.found[i].Weight(), folded) || slices.ContainsFunc(f.found, func(r Result) bool {
		return r.Match.IsCode && r.Kind == names.Region && r.Level > 0 && slices.Contains(stateLetters, r.Country)
	}) {
		return
	}
	var best int32
	for k := range f.found {
		if k != i {
			best = max(best, f.found[k].Score)
		}
	}
	f.found[i].Score = best - 1
}

// outgrown reports whether a place has a name that begins with the text, and so many more people
// than something that is called so in full that the text is rather the beginning.
func (f *finding) outgrown(people uint64, folded string) bool {
	for i := range f.found {
		r := &f.found[i]
		if r.Kind == Place && r.Match.Kind == search.Prefix && r.Population > people*seatPeople &&
			(r.Match.Name == "" || beginsWith(r.Name, folded)) {
			return true
		}
	}
	return false
}

// deferUnfinished puts great cities before small towns that have a text of a few letters as another
// name: "port" is Porto Alegre rather than Le Port. It defers places of whose other names the text
// is a small part, and words inside names that begin with one letter or two.
func (f *finding) deferUnfinished() {
	folded := string(search.Fold(nil, f.q.Text))
	words := strings.Count(folded, " ")
	for i := range f.found {
		r := &f.found[i]
		switch m := r.Match; {
		case m.Kind == search.Word && len(folded) < iataLetters: // "st" begins a word of the United States
			r.Score -= longName
		case m.Name == "" || m.IsCode || r.Kind != Place:
		case m.Kind == search.Exact && len(folded) <= fewLetters && f.q.Text == strings.ToLower(f.q.Text) && f.outgrown(r.Population, folded):
			r.Score -= search.CodeBonus
		case m.Kind == search.Prefix && !beginsWith(r.Name, folded) &&
			strings.Count(string(search.Fold(nil, m.Name)), " ")-words >= unfinishedWords:
			r.Score -= longName
		}
	}
	if f.q.Text != strings.ToUpper(f.q.Text) {
		f.deferCountry(folded)
	}
}

// beforeAirports puts a city, whose name is being typed, before its airport: "genev".
func (f *finding) beforeAirports(city *Result) {
	for i := range f.found {
		airport := &f.found[i]
		if airport.Kind == names.Airport && airport.Match.Kind == search.Prefix && nearby(airport, city) {
			city.Score = max(city.Score, airport.Score+1)
		}
	}
}

// nearby reports whether a city is so near to an airport that the airport may be its own.
func nearby(airport, city *Result) bool {
	return quadkey.Distance(airport.Lon, airport.Lat, city.Lon, city.Lat) < airportM
}

// beginsWith reports whether a name begins with a folded text.
func beginsWith(name, folded string) bool {
	return strings.HasPrefix(string(search.Fold(nil, name)), folded)
}
