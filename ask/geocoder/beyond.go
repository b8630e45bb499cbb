package geocoder

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf16"

	"quadrille/ask/hierarchy"
	"quadrille/places/names"
	"quadrille/places/search"
)

// continent is an area larger than countries. One without an id, such as the European Union, only
// has names that stand for nothing smaller.
type continent struct {
	id, name string
	lat, lon float64 // degrees, in its middle
	names    string
}

// continents are named where no layer draws them. A text with such a name never means something
// smaller, even if no area so large is published: a town may have Africa among its names.
var continents = []continent{
	{"AF", "Africa", 3, 20, "africa,afrika,afrique"},
	{"EU", "Europe", 50, 15, "europe,europa"},
	{"AS", "Asia", 45, 90, "asia,asien,asie,azie"},
	{"NA", "North America", 45, -100,
		"north america,nordamerika,noord-amerika,amerique du nord,america del norte,america do norte,nord america,nordamerica"},
	{"SA", "South America", -15, -60,
		"south america,sudamerika,suedamerika,zuid-amerika,amerique du sud,america del sur,america do sul,sud america,sudamerica"},
	{"OC", "Oceania", -22, 140, "oceania,ozeanien,oceanie,oceanien"},
	{"AN", "Antarctica", -82, 20, "antarctica,antarktis,antarktika,antarctique,antartida,antartica"},
	{names: "central america,latin america,latinoamerica,lateinamerika,the americas,eurasia,european union,europaische union,europaeische " +
		"union,union europeenne,union europea,europese unie"},
}

// continentsByName has the continents by their folded names.
var continentsByName = sync.OnceValue(func() map[string]*continent {
	folded := map[string]*continent{}
	for i := range continents {
		for name := range strings.SplitSeq(continents[i].names, ",") {
			folded[string(search.Fold(nil, name))] = &continents[i]
		}
	}
	return folded
})

// union is the code of the European Union. In small letters it may begin any name.
const union = "EU"

// largest reports whether a text names something larger than countries.
func largest(text string) bool {
	return text == union || continentsByName()[string(search.Fold(nil, text))] != nil
}

// beyond drops results that are too small, for a text that names something larger than countries. A
// continent that nothing published has is a region without bounds and without a record.
func (f *finding) beyond() {
	f.found = slices.DeleteFunc(f.found, func(r Result) bool {
		return r.Match.Kind != search.Exact || r.Kind != names.Region && r.Place.Class != "L" ||
			r.Kind == names.Region && r.Level > 0 && hierarchy.KindOf(r.Type) < hierarchy.Lakes
	})
	if len(f.found) > 0 {
		return
	}
	if c := continentsByName()[string(search.Fold(nil, f.q.Text))]; c != nil && c.id != "" {
		m := &search.Match{Kind: search.Exact, End: len(c.name)}
		if !strings.EqualFold(f.q.Text, c.name) {
			m.Name, m.End = f.q.Text, len(utf16.Encode([]rune(f.q.Text)))
		}
		f.found = append(f.found, Result{Match: m, Feature: names.Feature{
			Kind: names.Region, Type: "continent", ID: c.id, Name: c.name, Lat: c.lat, Lon: c.lon,
		}})
	}
}

// seaWords lists words that identify the name of a sea.
var seaWords = []string{"ocean", "sea", "gulf", "ozean", "oceano", "golfe", "golfo", "golf"}

// preferSeas puts seas with all the words of a text before towns whose names begin with some of
// them, if one of the words marks a sea or the last of several begins such a word: "Pacific Oc" is no
// park in Pacific County.
func (f *finding) preferSeas() {
	words := strings.Fields(string(search.Fold(nil, f.q.Text)))
	marks := func(w string) bool { return slices.Contains(seaWords, w) }
	begun := func(sea string) bool {
		last := words[len(words)-1]
		return len(words) > 1 && len(last) >= begunLetters && strings.HasPrefix(sea, last)
	}
	if !slices.ContainsFunc(words, marks) && !slices.ContainsFunc(seaWords, begun) {
		return
	}
	for i := range f.found {
		r := &f.found[i]
		if r.Kind == names.Region && hierarchy.KindOf(r.Type) == hierarchy.Seas && r.Match.Kind != search.Typo {
			r.Score += 3 * codeBonus
		}
	}
}

// initials reports whether letters are the initials of a name: "L.A." is Los Angeles. Words that
// only join others may be left out.
func initials(letters, name string) bool {
	n := 0
	for word := range strings.FieldsSeq(string(search.Fold(nil, name))) {
		if n == len(letters) {
			break
		}
		if word[0] == letters[n] {
			n++
		} else if of, joins := genericWords[word]; !joins || of != "" {
			return false
		}
	}
	return n == len(letters) && n > 1
}

// initialled returns the letters of a text in the form of initials, or "" for other texts.
func initialled(text string) string {
	parts := strings.Split(strings.TrimSuffix(text, "."), ".")
	if len(parts) < 2 || slices.ContainsFunc(parts, func(p string) bool { return len(p) != 1 }) {
		return ""
	}
	return strings.ToLower(strings.Join(parts, ""))
}
