package feature

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// foldRune maps all runes that differ only in case to the same rune. That is a lower-case rune, so
// that a text in lower case is its own fold.
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

// Fold returns a text that is the same for all texts that differ only in case. It uses the simple
// folding of Unicode, which leaves ß as it is.
func Fold(s string) string { return strings.Map(foldRune, s) }

// compareFolded compares the fold of s with a folded text, without storing the fold
// of s. It orders as [strings.Compare] does, because UTF-8 orders as code points do.
func compareFolded(s []byte, folded string) int {
	for len(s) > 0 {
		r, length := utf8.DecodeRune(s)
		s = s[length:]
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

// Pattern is a pattern for texts: runes and wildcards.
type Pattern []rune

// Wildcards of a pattern. They do not occur as runes of a text.
const (
	anyRunes rune = -1
	anyRune  rune = -2
)

// ParsePattern reads a pattern in which % stands for any text, _ for one character, and a backslash
// makes the next character an ordinary one. ok is false if the last character is a backslash with
// nothing after it.
func ParsePattern(text string) (pattern Pattern, ok bool) {
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

// Match reports whether the whole of s matches the pattern or, with fold, whether the fold of s
// does. After a mismatch it lets the last % match one rune more; earlier ones never need to match
// more, so the time is at most the product of the lengths.
func (p Pattern) Match(s []byte, fold bool) bool {
	at, last, resume := 0, -1, 0
	for i := 0; i < len(s) || at < len(p); {
		if at < len(p) && p[at] == anyRunes {
			if at++; at == len(p) {
				return true
			}
			last, resume = at, i
			continue
		}
		if i < len(s) {
			r, size := utf8.DecodeRune(s[i:])
			if fold {
				r = foldRune(r)
			}
			if at < len(p) && (p[at] == anyRune || p[at] == r) {
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
		_, size := utf8.DecodeRune(s[resume:])
		resume += size
		at, i = last, resume
	}
	return true
}
