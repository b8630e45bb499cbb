package places

import (
	"encoding/binary"
	"slices"
	"strconv"

	"quadrille/feature"
	"quadrille/places/internal/near"
)

// OnlyPopulated is the filter for populated places.
var OnlyPopulated = populated()

func populated() feature.Filter {
	f, err := Filter{Classes: []string{"P"}}.FeatureFilter()
	if err != nil {
		panic(err)
	}
	return Kinds(nil).PrepareFilter(f)
}

// Kinds says what the kinds of a data set (Place.Kind) tell of its places: which kinds they have
// that fulfil a term, in a list for the caller. known is false if kinds do not tell.
type Kinds func(t *feature.Term) (kinds []string, known bool)

// PrepareFilter prepares a filter that is used again and again for the index of a data set with these
// kinds, nil for none. It returns the same filter, and never nil.
func (k Kinds) PrepareFilter(of feature.Filter) feature.Filter {
	p := &prepared{Filter: of}
	p.filter, p.rest, p.possible = filterOf(of, k)
	p.filter.key = string(p.filter.appendTo(nil))
	return p
}

// prepared is a filter with the result of filterOf.
type prepared struct {
	feature.Filter
	filter   filter
	rest     feature.Filter
	possible bool
}

// filter is the condition on a place. Lists are sorted and without repetition.
type filter struct {
	classes       classSet // empty: any
	codes         []string // or kinds
	countries     near.Countries
	minPopulation uint64
	key           string // the result of appendTo, "" until it is first needed
}

// classSet is a set of feature classes: bit 0 is A.
type classSet uint32

func (s classSet) has(class byte) bool { return class-'A' < 26 && s>>(class-'A')&1 != 0 }

// filterOf returns the part of a filter that the index can use, and the rest, as near.UseTerms
// does.
func filterOf(of feature.Filter, kinds Kinds) (f filter, rest feature.Filter, possible bool) {
	if p, ok := of.(*prepared); ok {
		return p.filter, p.rest, p.possible
	}
	rest, possible = near.UseTerms(of, func(t *feature.Term) (used, possible bool) {
		if kinds == nil || t.Name == "country" {
			return f.use(t)
		}
		passing, known := kinds(t)
		if known {
			f.keep(passing)
		}
		return known, !known || len(f.codes) > 0
	})
	return f, rest, possible
}

// keep lets only kinds pass.
func (f *filter) keep(kinds []string) {
	before := f.codes
	f.codes = slices.DeleteFunc(kinds, func(k string) bool {
		return !validKind(k) || before != nil && !slices.Contains(before, k)
	})
	slices.Sort(f.codes)
	f.codes = slices.Compact(f.codes)
}

// use adds a term to the filter, if the index has its property and the filter has no other term of
// that kind. possible is false if no place fulfils it.
func (f *filter) use(t *feature.Term) (used, possible bool) {
	switch {
	case t.Name == "population" && t.Op == feature.OpGreaterOrEqual && len(t.Values) == 1:
		least, err := strconv.ParseInt(t.Values[0], 10, 64)
		if err != nil {
			return false, true // such as 1e6, or no number at all
		}
		// A place of unknown population does not fulfil even "0 or more".
		f.minPopulation = max(f.minPopulation, uint64(max(least, 1)))
		return true, true
	case t.Op != feature.OpEquals:
	case t.Name == "class" && f.classes == 0:
		for _, s := range t.Values {
			if s != "" && validClass(s) {
				f.classes |= 1 << (s[0] - 'A')
			}
		}
		return true, f.classes != 0
	case t.Name == "code" && f.codes == nil:
		f.codes = make([]string, 0, len(t.Values))
		for _, s := range t.Values {
			if s != "" && validCode(s) {
				f.codes = append(f.codes, s)
			}
		}
		slices.Sort(f.codes)
		f.codes = slices.Compact(f.codes)
		return true, len(f.codes) > 0
	case t.Name == "country" && f.countries == nil:
		f.countries = near.CountriesOf(t.Values)
		return true, f.countries != nil
	}
	return false, true
}

// none reports whether the filter has no conditions, so that every place passes.
func (f *filter) none() bool {
	return f.classes == 0 && len(f.codes) == 0 && len(f.countries) == 0 && f.minPopulation == 0
}

// qualifier reports whether a qualifier, class.code, passes.
func (f *filter) qualifier(q []byte) bool {
	if f.classes != 0 && (len(q) == 0 || !f.classes.has(q[0])) {
		return false
	}
	if len(f.codes) == 0 {
		return true
	}
	code := codeOf(q)
	for _, c := range f.codes {
		if string(code) == c {
			return true
		}
	}
	return false
}

// passes reports whether a place passes.
func (f *filter) passes(p *place) bool {
	return p.population >= f.minPopulation &&
		f.countries.Has(p.country) &&
		f.qualifier(p.qualifier)
}

// appendTo appends bytes that distinguish the filter from others.
func (f *filter) appendTo(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(f.classes))
	b = binary.BigEndian.AppendUint64(b, f.minPopulation)
	b = f.countries.AppendTo(b)
	for _, c := range f.codes {
		b = append(append(b, c...), ',')
	}
	return b
}
