package geocoder

import (
	"slices"
	"strings"
	"sync"

	"quadrille/ask/hierarchy"
	"quadrille/places/names"
	"quadrille/places/search"
)

// continents are names of areas larger than countries. A text with such a name never means
// something smaller, even if no area so large is published: a town may have Africa among its names.
var continents = sync.OnceValue(func() map[string]bool {
	folded := map[string]bool{}
	for name := range strings.SplitSeq("africa,afrika,afrique,europe,europa,asia,asien,asie,azie,"+
		"north america,nordamerika,noord-amerika,amerique du nord,america del norte,america do norte,nord america,nordamerica,"+
		"south america,sudamerika,suedamerika,zuid-amerika,amerique du sud,america del sur,america do sul,sud america,sudamerica,"+
		"central america,latin america,latinoamerica,lateinamerika,the americas,eurasia,oceania,ozeanien,oceanie,oceanien,"+
		"antarctica,antarktis,antarktika,antarctique,antartida,antartica,european union,europaische union,europaeische "+
		"union,union europeenne,union europea,europese unie", ",") {
		folded[string(search.Fold(nil, name))] = true
	}
	return folded
})

// union is the code of the European Union. In small letters it may begin any name.
const union = "EU"

// largest reports whether a text names something larger than countries.
func largest(text string) bool {
	return text == union || continents()[string(search.Fold(nil, text))]
}

// beyond drops results that are too small, for a text that names something larger than countries.
func (f *finding) beyond() {
	f.found = slices.DeleteFunc(f.found, func(r Result) bool {
		return r.Match.Kind != search.Exact || r.Kind != names.Region && r.Place.Class != "L" ||
			r.Kind == names.Region && r.Level > 0 && hierarchy.KindOf(r.Type) < hierarchy.Lakes
	})
}

// seaWords lists words that identify the name of a sea.
var seaWords = []string{"ocean", "sea", "gulf", "ozean", "oceano", "golfe", "golfo", "golf"}

// preferSeas puts seas with all the words of a text before towns whose names begin with some of
// them, if one of the words marks a sea: "Pacific Ocean" is no park in Pacific County.
func (f *finding) preferSeas() {
	words := strings.Fields(string(search.Fold(nil, f.q.Text)))
	if !slices.ContainsFunc(words, func(w string) bool { return slices.Contains(seaWords, w) }) {
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
