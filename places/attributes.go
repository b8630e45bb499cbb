package places

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"quadrille/internal/jsontext"
)

// Bounds of the stored names of one place, so that its record stays below the limit of a cell. The
// largest countries have about a thousand names.
const (
	maxAlternatesOf   = 5_000
	maxAlternateBytes = 256 << 10
	maxParentsOf      = 1_000
)

// attributes are one place's attributes from the other sequences of a Source. The memory is
// reused for the next place.
type attributes struct {
	admin5  string
	parents []uint32
	names   []alternate // in the order given
	bytes   int         // of names

	shown []shownName // by language: see chooseNames
}

// shownName is the name to display in a language.
type shownName struct {
	lang, name string
	rank       int
}

func (a *attributes) clear() {
	a.admin5, a.bytes = "", 0
	a.parents, a.names, a.shown = a.parents[:0], a.names[:0], a.shown[:0]
}

// addName adds a name, and reports whether there was room for it.
func (a *attributes) addName(n alternate) bool {
	if len(a.names) == maxAlternatesOf || a.bytes+len(n.name) > maxAlternateBytes {
		return false
	}
	a.names, a.bytes = append(a.names, n), a.bytes+len(n.name)
	return true
}

// notNames are the kinds of alternate names that are not names in a language.
var notNames = map[string]bool{
	"": true, "iata": true, "icao": true, "faac": true, "unlc": true, "tcid": true,
	"post": true, "link": true, "wkdt": true, "abbr": true, "phon": true, "piny": true,
}

// IsName reports whether a is a name in a language, rather than a code, a link or the like.
func (a *AlternateName) IsName() bool { return !notNames[a.Lang] }

// codeKinds lists the kinds of codes in the member "codes".
var codeKinds = [...]string{"faac", "iata", "icao", "unlc"}

// chooseNames chooses the name to display in each language: the preferred name, or else the first
// one, but never a historic or colloquial one. For areas it prefers the short name, such as
// "Germany". For everything else it avoids short names, which are abbreviations such as "NYC",
// unless they are preferred.
func (a *attributes) chooseNames(class string) {
	a.shown = a.shown[:0]
	for i := range a.names {
		n := &a.names[i]
		if notNames[n.lang] || n.flags&(isHistoric|isColloquial) != 0 {
			continue
		}
		rank, short := 0, n.flags&isShort != 0
		if n.flags&isPreferred != 0 {
			rank = 2
			if short {
				rank = 3
			}
		} else if short == (class == "A") {
			rank = 1
		}
		a.shown = append(a.shown, shownName{n.lang, n.name, rank})
	}
	slices.SortStableFunc(a.shown, func(x, y shownName) int {
		return cmp.Or(strings.Compare(x.lang, y.lang), cmp.Compare(y.rank, x.rank))
	})
	a.shown = slices.CompactFunc(a.shown, func(x, y shownName) bool { return x.lang == y.lang })
}

// code returns the first code of a kind that is in use, or "".
func (a *attributes) code(kind string) string {
	best, found := "", false
	for i := range a.names {
		n := &a.names[i]
		if n.lang != kind || n.flags&isHistoric != 0 {
			continue
		}
		if n.flags&isPreferred != 0 {
			return n.name
		}
		if !found {
			best, found = n.name, true
		}
	}
	return best
}

// appendTo appends the members parents, names, codes, wikidata and alternates,
// each with a comma before it. chooseNames must have been called.
func (a *attributes) appendTo(dst []byte) []byte {
	if len(a.parents) > 0 {
		dst = append(jsontext.AppendName(dst, "parents"), '[')
		for _, id := range a.parents {
			dst = strconv.AppendUint(jsontext.Next(dst), uint64(id), 10)
		}
		dst = append(dst, ']')
	}
	if len(a.names) == 0 {
		return dst
	}
	if len(a.shown) > 0 {
		dst = append(jsontext.AppendName(dst, "names"), '{')
		for i := range a.shown {
			dst = append(jsontext.AppendString(jsontext.Next(dst), a.shown[i].lang), ':')
			dst = jsontext.AppendString(dst, a.shown[i].name)
		}
		dst = append(dst, '}')
	}
	open := byte('{')
	for _, kind := range codeKinds {
		code := a.code(kind)
		if code == "" {
			continue
		}
		if open == '{' {
			dst = jsontext.AppendName(dst, "codes")
		}
		dst = append(jsontext.AppendString(append(dst, open), kind), ':')
		dst = jsontext.AppendString(dst, code)
		open = ','
	}
	if open == ',' {
		dst = append(dst, '}')
	}
	dst = jsontext.AppendText(dst, "wikidata", a.code("wkdt"))
	dst = append(jsontext.AppendName(dst, "alternates"), '[')
	for i := range a.names {
		dst = appendAlternateJSON(jsontext.Next(dst), &a.names[i])
	}
	return append(dst, ']')
}

func appendAlternateJSON(dst []byte, n *alternate) []byte {
	dst = jsontext.AppendString(append(dst, `{"name":`...), n.name)
	dst = jsontext.AppendText(dst, "lang", n.lang)
	for bit, flag := range [...]string{"preferred", "short", "colloquial", "historic"} {
		if n.flags>>bit&1 != 0 {
			dst = append(jsontext.AppendName(dst, flag), "true"...)
		}
	}
	return append(dst, '}')
}
