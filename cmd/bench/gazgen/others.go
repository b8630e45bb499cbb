package gazgen

import (
	"iter"
	"strings"
	"unicode/utf8"

	"quadrille/places"
)

// Source returns n places with their data in the other tables of GeoNames.
func Source(n int, seed uint64) places.Source {
	return places.Source{
		Places: Seq(n, seed), Names: Names(n, seed), Parents: Parents(n, seed), Admin5: Admin5(n, seed),
		Gazetteer: places.Gazetteer{Admin1: Admin1(), Admin2: Admin2()},
	}
}

// languages are the languages of the alternate names, with the script of each: an index of scripts.
var languages = []struct {
	code   string
	script int
}{
	{"en", 0}, {"", 0}, {"de", 0}, {"fr", 0}, {"es", 0}, {"ceb", 0}, {"sv", 0}, {"nl", 0},
	{"ru", 1}, {"uk", 1}, {"bg", 1}, {"zh", 2}, {"zh-Hant", 2}, {"ar", 3}, {"fa", 3}, {"ja", 4}, {"hi", 5}, {"ne", 5},
}

// These are the percentages of places with one, a few and many rows in the table of alternate
// names. There are 1.3 rows for each place.
const (
	oneName  = 40
	someName = 24
	manyName = 1
)

// Names yields the alternate names of n places, not in the order of their ids.
func Names(n int, seed uint64) iter.Seq2[places.AlternateName, error] {
	return func(yield func(places.AlternateName, error) bool) {
		g := newGenerator(n, seed)
		// There are two rounds, so that the names of a place are not all adjacent.
		for round := range 2 {
			for i := range n {
				h := mix(seed+11, uint64(i))
				for k := round; k < nameCount(h); k += 2 {
					if !yield(g.alternateName(i, mix(h, uint64(k))), nil) {
						return
					}
				}
			}
		}
	}
}

func nameCount(h uint64) int {
	switch share, more := int(h%100), int(h>>32); {
	case share < manyName:
		return 8 + more%16
	case share < manyName+someName:
		return 2 + more%3
	case share < manyName+someName+oneName:
		return 1
	}
	return 0
}

func (g *generator) alternateName(i int, h uint64) places.AlternateName {
	a := places.AlternateName{PlaceID: g.id(i)}
	b := g.text[:0]
	switch h % 16 {
	case 0:
		a.Lang, b = "link", append(b, "https://example.org/wiki/"...)
	case 1:
		a.Lang, b = "wkdt", append(b, 'Q')
		for v := h >> 8; v > 1<<36; v /= 10 {
			b = append(b, '1'+byte(v%9))
		}
	case 2:
		a.Lang = "post"
		b = append(append(b, twoDigits[h>>8%100]...), twoDigits[h>>16%100]...)
	}
	if a.Lang != "wkdt" && a.Lang != "post" {
		l := languages[h>>8%uint64(len(languages))]
		if a.Lang == "" {
			a.Lang = l.code
		}
		script := scripts[l.script]
		for v := h >> 16; v > 1<<24; v >>= 5 {
			b = append(b, script[v%uint64(len(script))]...)
		}
	}
	a.Preferred, a.Short, a.Historic = h>>56%8 == 0, h>>59%16 == 1, h>>60%16 == 2
	g.text = b
	a.Name = string(b)
	return a
}

// Parents yields parents of one in twenty-five of n places.
func Parents(n int, seed uint64) iter.Seq2[places.Parent, error] {
	return func(yield func(places.Parent, error) bool) {
		g := newGenerator(n, seed)
		for i := 1; i < n; i++ {
			h := mix(seed+12, uint64(i))
			if h%25 > 0 {
				continue
			}
			p := places.Parent{Parent: g.id(int(h >> 8 % uint64(i))), Child: g.id(i)}
			if h>>4%3 > 0 {
				p.Kind = "ADM"
			}
			if !yield(p, nil) {
				return
			}
		}
	}
}

// Admin5 yields the codes of the fifth-level divisions of one in thirty of n
// places.
func Admin5(n int, seed uint64) iter.Seq2[places.Admin5, error] {
	return func(yield func(places.Admin5, error) bool) {
		g := newGenerator(n, seed)
		for i := range n {
			if h := mix(seed+13, uint64(i)); h%30 == 0 && !yield(places.Admin5{
				PlaceID: g.id(i),
				Code:    twoDigits[h>>8%100] + twoDigits[h>>16%100],
			}, nil) {
				return
			}
		}
	}
}

// divisionsOf is the number of first-level divisions in each country.
const divisionsOf = 36

// Admin1 returns the first-level divisions of all countries.
func Admin1() (list []places.Division) {
	for i := range landTable {
		list = appendAdmin1(list, landTable[i].code)
	}
	for _, code := range strings.Fields(smallLands) {
		list = appendAdmin1(list, code)
	}
	return list
}

func appendAdmin1(list []places.Division, country string) []places.Division {
	for d := range divisionsOf {
		name := division(mix(uint64(country[0])<<8|uint64(country[1]), uint64(d)))
		list = append(list, places.Division{Code: country + "." + twoDigits[d], Name: name, ASCIIName: toASCII(name)})
	}
	return list
}

// Admin2 returns second-level divisions of the largest countries, about as many
// as the real table has.
func Admin2() (list []places.Division) {
	const countries = 13
	for i := range landTable[:countries] {
		c := landTable[i].code
		for d := range divisionsOf {
			for k := range 97 {
				name := division(mix(uint64(i)<<16|uint64(d), uint64(k)))
				list = append(list, places.Division{
					Code: c + "." + twoDigits[d] + "." + twoDigits[d] + twoDigits[k], Name: name, ASCIIName: toASCII(name),
				})
			}
		}
	}
	return list
}

// division makes the name of a division.
func division(h uint64) string {
	word := syllables[h%uint64(len(syllables))] + syllables[h>>8%uint64(len(syllables))] + endings[h>>16%uint64(len(endings))]
	_, size := utf8.DecodeRuneInString(word)
	return strings.ToUpper(word[:size]) + word[size:] + " " + kinds['A'][h>>24%uint64(len(kinds['A']))]
}
