package cql2

import (
	"cmp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"quadrille/internal/instant"
)

type kind uint8

const (
	kindText kind = iota
	kindNumber
	kindBoolean
	kindDate
	kindTimestamp
)

// value is a literal of a filter.
type value struct {
	kind   kind
	text   string // of text, folded if it stands in CASEI; of an instant, as it is written
	fold   bool   // it stands in CASEI
	number float64
	truth  bool
	time   time.Time
}

func (v *value) instant() bool { return v.kind == kindDate || v.kind == kindTimestamp }

// order compares a property with the value; fold is whether the property stands in CASEI.
// It is not ok if they do not have the same type. Of booleans 0 means equal, and anything
// else has no meaning.
func (v *value) order(property any, fold bool) (order int, ok bool) {
	switch p := property.(type) {
	case string:
		switch {
		case v.kind == kindText && fold:
			return compareFolded(p, v.text), true
		case v.kind == kindText:
			return strings.Compare(p, v.text), true
		case v.instant():
			t, ok := instant.Parse(p)
			return t.Compare(v.time), ok
		}
	case float64:
		// cmp.Compare orders NaN, but NaN has no order here.
		return cmp.Compare(p, v.number), v.kind == kindNumber && p == p
	case bool:
		if p != v.truth {
			order = 1
		}
		return order, v.kind == kindBoolean
	}
	return 0, false
}

// foldRune returns one rune for all runes that differ in case only. It is a lower-case
// one, so that text in lower case is its own fold.
func foldRune(r rune) rune {
	if r < utf8.RuneSelf {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}
	least := r
	for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
		least = min(least, other)
	}
	return unicode.ToLower(least)
}

func foldText(s string) string { return strings.Map(foldRune, s) }

// compareFolded compares the fold of s with a folded text, without storing the fold
// of s. It orders as [strings.Compare] does, because UTF-8 orders as code points do.
func compareFolded(s, folded string) int {
	for _, r := range s {
		if folded == "" {
			return 1
		}
		other, size := utf8.DecodeRuneInString(folded)
		if c := cmp.Compare(foldRune(r), other); c != 0 {
			return c
		}
		folded = folded[size:]
	}
	if folded != "" {
		return -1
	}
	return 0
}

// Wildcards of a pattern. They do not occur as runes of a text.
const (
	anyRunes rune = -1
	anyRune  rune = -2
)

// parsePattern makes runes of the text of a pattern. It is not ok if the last character
// is an escape of nothing.
func parsePattern(text string) (pattern []rune, ok bool) {
	escaped := false
	for _, r := range text {
		switch {
		case escaped:
			escaped = false
		case r == '\\':
			escaped = true
			continue
		case r == '%':
			if len(pattern) > 0 && pattern[len(pattern)-1] == anyRunes {
				continue // twice anything is anything
			}
			r = anyRunes
		case r == '_':
			r = anyRune
		}
		pattern = append(pattern, r)
	}
	return pattern, !escaped
}

// like reports whether the whole of s is of the pattern. After a mismatch it lets the
// last % take one rune more; those before it never need to, so the time is at most the
// product of the lengths.
func like(s string, pattern []rune, fold bool) bool {
	at, last, resume := 0, -1, 0
	for i := 0; i < len(s) || at < len(pattern); {
		if at < len(pattern) && pattern[at] == anyRunes {
			if at++; at == len(pattern) {
				return true
			}
			last, resume = at, i
			continue
		}
		if i < len(s) {
			r, size := utf8.DecodeRuneInString(s[i:])
			if fold {
				r = foldRune(r)
			}
			if at < len(pattern) && (pattern[at] == anyRune || pattern[at] == r) {
				at++
				i += size
				continue
			}
		} else {
			return false // if % takes one rune more, the rest has one less
		}
		if last < 0 {
			return false
		}
		_, size := utf8.DecodeRuneInString(s[resume:])
		resume += size
		at, i = last, resume
	}
	return true
}
