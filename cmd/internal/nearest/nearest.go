// Package nearest finds the likely meaning of a misspelt name.
package nearest

import "strings"

// maxLength bounds the names that are compared, in bytes: a longer one is not a
// misspelt flag, command or parameter.
const maxLength = 64

// Name returns the known name that is the fewest edits from got. An edit inserts, removes or
// replaces a letter, or swaps neighbours. Letter case is ignored, and an underscore equals a
// hyphen. The longer name decides how many edits are allowed: none for one byte, one for up to 4
// bytes, otherwise two. Among equally near names it returns the first in alphabetical order. If
// none is near, it returns the longest name that is a prefix of got or has got as a prefix. The
// prefix must have at least three bytes. Otherwise it reports false.
func Name(got string, known []string) (string, bool) {
	plain := fold(got)
	best, fewest := "", 3
	begun := ""
	for _, name := range known {
		if len(plain) > maxLength || len(name) > maxLength {
			continue
		}
		known := fold(name)
		if begins(plain, known) && (len(name) > len(begun) || len(name) == len(begun) && name < begun) {
			begun = name
		}
		d := distance(plain, known)
		if d > allowed(max(len(plain), len(name))) {
			continue
		}
		if d < fewest || d == fewest && name < best {
			best, fewest = name, d
		}
	}
	if fewest == 3 {
		return begun, begun != ""
	}
	return best, true
}

// begins reports whether one of two names is a prefix of the other and long enough to be
// meaningful.
func begins(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	return len(a) >= 3 && strings.HasPrefix(b, a)
}

func allowed(length int) int {
	switch {
	case length <= 1:
		return 0
	case length <= 4:
		return 1
	}
	return 2
}

func fold(name string) string { return strings.ReplaceAll(strings.ToLower(name), "_", "-") }

// distance returns the restricted Damerau–Levenshtein distance of two names: no part of a name is
// edited twice.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replace := last[j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			row[j] = min(replace, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
