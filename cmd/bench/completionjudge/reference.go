package main

import (
	"cmp"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"quadrille/cmd/bench/judged"
)

// These are the kinds of targets.
const (
	city    = "city"
	country = "country"
	state   = "state"
	airport = "airport"
)

// target is a feature whose name a person types.
type target struct {
	kind, name string
	typed      []rune // the letters of the name
	weight     int64
	id         string // a city's in GeoNames, a country's letters
	region     *judged.Region
	lat, lon   float64
	namesake   bool // a heavier target has the same name, so this one cannot be first
}

// airportWeight is the population with which a large airport counts.
const airportWeight = 100_000

// list is a list of judged targets.
type list struct {
	name    string
	targets []*target
}

// reference is the target that a person expects.
type reference struct {
	all   []*target // by name
	lists []list
	five  map[string][]*target // the first five by letters
}

// nobodyLives are the codes of populated places that are parts of a city, or do not exist any more.
var nobodyLives = map[string]bool{"PPLX": true, "PPLH": true, "PPLQ": true, "PPLW": true, "PPLCH": true}

// expect makes the reference from the publishers' files.
func expect(w *judged.World, cities int) *reference {
	r := &reference{five: map[string][]*target{}}
	add := func(t target) *target {
		t.typed = []rune(judged.AsTyped(t.name))
		r.all = append(r.all, &t)
		return &t
	}
	var towns, countries, states, airports []*target
	for i := range w.Places {
		if p := &w.Places[i]; p.Population > 0 && !nobodyLives[p.Code] {
			towns = append(towns, add(target{kind: city, name: p.Name, weight: p.Population, id: strconv.Itoa(p.ID), lat: p.Lat, lon: p.Lon}))
		}
	}
	byWeight := func(a, b *target) int { return cmp.Or(-cmp.Compare(a.weight, b.weight), strings.Compare(a.id, b.id)) }
	slices.SortFunc(towns, byWeight)
	for _, c := range w.Countries {
		countries = append(countries, add(target{kind: country, name: c.Name, weight: c.Population, id: c.ISO}))
	}
	for _, region := range w.Layers[judged.State].Regions {
		if region.Kind != "State" && region.Country != "CA" && region.Country != "US" || len(region.Names) == 0 {
			continue
		}
		t := target{kind: state, name: region.Names[0], region: region}
		for _, town := range towns {
			if region.Holds(town.lon, town.lat) {
				t.weight = town.weight - 1
				break
			}
		}
		states = append(states, add(t))
	}
	for _, a := range w.Airports {
		airports = append(airports, add(target{kind: airport, name: a.Name, weight: airportWeight, id: a.IATA, lat: a.Lat, lon: a.Lon}))
	}
	slices.SortStableFunc(r.all, func(a, b *target) int { return slices.Compare(a.typed, b.typed) })
	for i, t := range r.all {
		for k := i + 1; k < len(r.all) && slices.Equal(t.typed, r.all[k].typed); k++ {
			if o := r.all[k]; before(t, o) {
				o.namesake = true
			} else {
				t.namesake = true
			}
		}
	}
	for _, n := range []int{200, 1000, 2000} {
		if n = min(n, cities, len(towns)); len(r.lists) == 0 || n > len(r.lists[len(r.lists)-1].targets) {
			r.lists = append(r.lists, list{strconv.Itoa(n) + " largest cities", towns[:n]})
		}
	}
	r.lists = append(r.lists, list{"countries", countries}, list{"states", states}, list{"large airports", airports})
	return r
}

// before reports whether a person expects one target before another that begins with the
// same letters.
func before(a, b *target) bool {
	rank := func(t *target) int { return slices.Index([]string{country, city, state, airport}, t.kind) }
	return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(rank(a), rank(b)), strings.Compare(a.id, b.id)) < 0
}

// rank returns the place of a target by the reference when its first n letters are typed: 1 to 5,
// or 0.
func (r *reference) rank(t *target, n int) int {
	letters := t.typed[:n]
	key := string(letters)
	five, known := r.five[key]
	if !known {
		from, _ := slices.BinarySearchFunc(r.all, letters, func(o *target, l []rune) int { return slices.Compare(o.typed, l) })
		for _, o := range r.all[from:] {
			if len(o.typed) < n || !slices.Equal(o.typed[:n], letters) {
				break
			}
			at := len(five)
			for at > 0 && before(o, five[at-1]) {
				at--
			}
			if five = slices.Insert(five, at, o); len(five) > 5 {
				five = five[:5]
			}
		}
		r.five[key] = five
	}
	return 1 + slices.Index(five, t)
}

// ownScript makes lists of cities and countries in the script of the country's first language, from
// a file of alternate names in the form of GeoNames. Without the file there is no list.
func (r *reference) ownScript(w *judged.World, sample string) error {
	rows, err := judged.Rows(filepath.Join(sample, "build", "alternateNames.txt"))
	if err != nil {
		return err
	}
	language, byID := map[string]string{}, map[string]*target{}
	for _, c := range w.Countries {
		language[c.ISO] = c.Language
	}
	wanted := map[string]string{} // language by GeoNames' id
	for _, l := range r.lists {
		for _, t := range l.targets {
			if t.kind == city {
				id, _ := strconv.Atoi(t.id)
				wanted[t.id], byID[t.id] = language[w.Place(id).Country], t
			}
		}
	}
	for _, c := range w.Countries {
		for _, t := range r.all {
			if t.kind == country && t.id == c.ISO {
				wanted[c.ID], byID[c.ID] = c.Language, t
			}
		}
	}
	cities, countries := list{name: "cities in their own script"}, list{name: "countries in their own script"}
	for _, c := range rows {
		if len(c) < 5 || c[4] != "1" || c[2] == "" || wanted[c[1]] != c[2] || !strings.ContainsFunc(c[3], foreignLetter) {
			continue
		}
		t := *byID[c[1]]
		t.name, t.typed, t.namesake = c[3], []rune(judged.AsTyped(c[3])), false
		to := &cities
		if t.kind == country {
			to = &countries
		}
		to.targets = append(to.targets, &t)
	}
	r.lists = append(r.lists, cities, countries)
	return nil
}

func foreignLetter(r rune) bool { return unicode.IsLetter(r) && !unicode.Is(unicode.Latin, r) }
