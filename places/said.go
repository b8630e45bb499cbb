package places

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"quadrille/internal/jsontext"
)

// What is kept of one place at most, so that its record stays below the limit
// of a cell. The largest countries have about a thousand names.
const (
	maxAlternatesOf   = 5_000
	maxAlternateBytes = 256 << 10
	maxParentsOf      = 1_000
)

// said is what the other sequences say of one place. Its memory is used again
// for the next.
type said struct {
	admin5  string
	parents []uint32
	names   []alternate // in the order given
	bytes   int         // of names

	shown []shownName // by language: see choose
}

// shownName is the name to display in a language.
type shownName struct {
	lang, name string
	rank       int
}

func (s *said) clear() {
	s.admin5, s.bytes = "", 0
	s.parents, s.names, s.shown = s.parents[:0], s.names[:0], s.shown[:0]
}

// addName takes a name and reports whether there was room for it.
func (s *said) addName(n alternate) bool {
	if len(s.names) == maxAlternatesOf || s.bytes+len(n.name) > maxAlternateBytes {
		return false
	}
	s.names, s.bytes = append(s.names, n), s.bytes+len(n.name)
	return true
}

// notNames are the kinds of alternate names that are no names in a language.
var notNames = map[string]bool{
	"": true, "iata": true, "icao": true, "faac": true, "unlc": true, "tcid": true,
	"post": true, "link": true, "wkdt": true, "abbr": true, "phon": true, "piny": true,
}

// codeKinds are those that make the member codes.
var codeKinds = [...]string{"faac", "iata", "icao", "unlc"}

// choose picks the names to display: of each language the preferred one, never
// one that is historic or colloquial, else the first given. Of areas the short
// name is the better one, "Germany"; of all else it is an abbreviation, "NYC",
// unless it is preferred.
func (s *said) choose(class string) {
	s.shown = s.shown[:0]
	for i := range s.names {
		n := &s.names[i]
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
		s.shown = append(s.shown, shownName{n.lang, n.name, rank})
	}
	slices.SortStableFunc(s.shown, func(a, b shownName) int {
		return cmp.Or(strings.Compare(a.lang, b.lang), cmp.Compare(b.rank, a.rank))
	})
	s.shown = slices.CompactFunc(s.shown, func(a, b shownName) bool { return a.lang == b.lang })
}

// code returns the first code of a kind that is in use, or "".
func (s *said) code(kind string) string {
	best, found := "", false
	for i := range s.names {
		n := &s.names[i]
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
// each with a comma before it. choose must have been called.
func (s *said) appendTo(dst []byte) []byte {
	if len(s.parents) > 0 {
		dst = appendName(dst, "parents")
		open := byte('[')
		for _, id := range s.parents {
			dst = strconv.AppendUint(append(dst, open), uint64(id), 10)
			open = ','
		}
		dst = append(dst, ']')
	}
	if len(s.names) == 0 {
		return dst
	}
	if len(s.shown) > 0 {
		dst = append(appendName(dst, "names"), '{')
		for i := range s.shown {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(jsontext.AppendString(dst, s.shown[i].lang), ':')
			dst = jsontext.AppendString(dst, s.shown[i].name)
		}
		dst = append(dst, '}')
	}
	open := byte('{')
	for _, kind := range codeKinds {
		code := s.code(kind)
		if code == "" {
			continue
		}
		if open == '{' {
			dst = appendName(dst, "codes")
		}
		dst = append(jsontext.AppendString(append(dst, open), kind), ':')
		dst = jsontext.AppendString(dst, code)
		open = ','
	}
	if open == ',' {
		dst = append(dst, '}')
	}
	dst = appendText(dst, "wikidata", s.code("wkdt"))
	dst = appendName(dst, "alternates")
	open = '['
	for i := range s.names {
		dst = appendAlternateJSON(append(dst, open), &s.names[i])
		open = ','
	}
	return append(dst, ']')
}

func appendAlternateJSON(dst []byte, n *alternate) []byte {
	dst = jsontext.AppendString(append(dst, `{"name":`...), n.name)
	dst = appendText(dst, "lang", n.lang)
	for bit, flag := range [...]string{"preferred", "short", "colloquial", "historic"} {
		if n.flags>>bit&1 != 0 {
			dst = append(appendName(dst, flag), "true"...)
		}
	}
	return append(dst, '}')
}
