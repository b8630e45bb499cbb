package search

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"quadrille/internal/jsontext"
)

// Kind is the kind of a match.
type Kind string

const (
	Exact  Kind = "exact"  // the whole name
	Prefix Kind = "prefix" // its beginning
	Word   Kind = "word"   // a word inside the name, or its words in another order
	Typo   Kind = "typo"   // the name with wrong letters
)

// Match is the matched part of a place's names.
type Match struct {
	// Name is the spelling that matched, in composed form (NFC). It is empty if
	// that is the place's own name or a historic name.
	Name string
	// Lang is the language of Name, if known. If the name has several, Lang is the one in the
	// query.
	Lang string
	// Start and End bound the part that matched, in Name or else in the place's
	// own name. They count UTF-16 code units, like JavaScript.
	Start, End int
	Kind       Kind
	// IsCode is set if the text is a code of the place, even if a name matched too.
	IsCode bool
	// Historic is set if the name that matched is not to be displayed.
	Historic bool
}

// AppendMatch appends a match as a JSON member, without a comma:
//
//	"match":{"kind":"prefix","name":"Breslau","lang":"de","highlight":[0,4]}
//
// name, and lang if known, are present if another than the place's own name
// matched. highlight bounds the part that matched, in UTF-16 code units of that
// name. A historic name has only the kind and "historic":true.
func AppendMatch(dst []byte, m *Match) []byte {
	dst = append(dst, `"match":{"kind":"`...)
	dst = append(append(dst, m.Kind...), '"')
	if m.Historic {
		return append(dst, `,"historic":true}`...)
	}
	if m.Name != "" {
		dst = jsontext.AppendString(append(dst, `,"name":`...), m.Name)
		if m.Lang != "" {
			dst = jsontext.AppendString(append(dst, `,"lang":`...), m.Lang)
		}
	}
	dst = strconv.AppendInt(append(dst, `,"highlight":[`...), int64(m.Start), 10)
	dst = strconv.AppendInt(append(dst, ','), int64(m.End), 10)
	return append(dst, "]}"...)
}

// match describes how a record matched the first n bytes of a fold.
func (r *record) match(n int, kind Kind) Match {
	if r.flags&flagSuffix != 0 && kind != Typo {
		kind = Word
	}
	if r.level() == levelHistoric {
		return Match{Kind: kind, Historic: true}
	}
	if r.flags&flagPlain != 0 {
		return Match{Kind: kind, Start: len(r.head), End: len(r.head) + n}
	}
	name := string(r.name)
	m := Match{Kind: kind, Start: units(name[:r.start])}
	m.End = m.Start + units(name[r.start:matchedEnd(name, r.start, r.folded(), n)])
	if r.level() != levelOwn {
		lang, _, _ := bytes.Cut(r.lang, []byte(","))
		m.Name, m.Lang = name, string(lang)
	}
	return m
}

// units returns the length of a text in UTF-16 code units.
func units(s string) (n int) {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 0xf0:
			n += 2
		case utf8.RuneStart(c):
			n++
		}
	}
	return n
}
