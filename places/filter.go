package places

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
)

// filter is what a place must have. Lists are sorted and without repetition.
type filter struct {
	classes       classSet // empty: any
	codes         []string
	countries     []country
	minPopulation uint64
}

// classSet is a set of feature classes: bit 0 is A.
type classSet uint32

func (s classSet) has(class byte) bool { return class-'A' < 26 && s>>(class-'A')&1 != 0 }

// checkFilter takes the part that queries have in common.
func checkFilter(limit int, classes, codes, countries []string, minPopulation int64) (f filter, err error) {
	if limit < 0 || limit > MaxLimit {
		return f, badQuery("limit %d: give 1 to %d", limit, MaxLimit)
	}
	if minPopulation < 0 {
		return f, badQuery("minimum population %d: give 0 or more", minPopulation)
	}
	for _, list := range [...]struct {
		what string
		n    int
	}{{"feature classes", len(classes)}, {"feature codes", len(codes)}, {"countries", len(countries)}} {
		if list.n > MaxFilter {
			return f, badQuery("%d %s: give at most %d", list.n, list.what, MaxFilter)
		}
	}
	for _, s := range classes {
		class := strings.ToUpper(s)
		if class == "" || !validClass(class) {
			return f, badQuery("feature class %.20q: give one letter, such as P for populated places", s)
		}
		f.classes |= 1 << (class[0] - 'A')
	}
	for _, s := range codes {
		code := strings.ToUpper(s)
		if code == "" || !validCode(code) {
			return f, badQuery("feature code %.20q: give one such as PPLC, without its class", s)
		}
		f.codes = append(f.codes, code)
	}
	for _, s := range countries {
		c := strings.ToUpper(s)
		if c == "" || !validCountry(c) {
			return f, badQuery("country %.20q: give a two-letter ISO 3166-1 code such as CH", s)
		}
		f.countries = append(f.countries, country([]byte(c)))
	}
	slices.Sort(f.codes)
	f.codes = slices.Compact(f.codes)
	slices.SortFunc(f.countries, compareCountries)
	f.countries = slices.Compact(f.countries)
	f.minPopulation = uint64(minPopulation)
	return f, nil
}

func compareCountries(a, b country) int { return bytes.Compare(a[:], b[:]) }

// none reports whether every place passes.
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
		(len(f.countries) == 0 || slices.Contains(f.countries, p.country)) &&
		f.qualifier(p.qualifier)
}

// appendTo appends what tells the filter from others.
func (f *filter) appendTo(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(f.classes))
	b = binary.BigEndian.AppendUint64(b, f.minPopulation)
	b = append(b, byte(len(f.countries)))
	for _, c := range f.countries {
		b = append(b, c[:]...)
	}
	for _, c := range f.codes {
		b = append(append(b, c...), ',')
	}
	return b
}
