// Package nearname finds the name that a misspelt one was meant for.
package nearname

import (
	"iter"
	"strings"
)

// maxEdits is how many letters may differ.
const maxEdits = 2

// Of returns the known name nearest to one that is not known, or "" when none is
// near: up to two letters differ, but not all of them, or one name begins with
// the other. Known names are in lower case; the case of name does not matter.
// Where two are equally near, the one of the same length is returned, then the
// first in the alphabet.
func Of(name string, known iter.Seq[string]) string {
	if len(name) > 64 {
		return ""
	}
	name = strings.ToLower(name)
	best, distance := "", min(maxEdits+1, len(name))
	begun := "" // the longest name that one is the beginning of the other with
	for k := range known {
		d := edits(name, k)
		if d < distance || best != "" && d == distance && closer(name, k, best) {
			best, distance = k, d
		}
		if begins(name, k) && (len(k) > len(begun) || len(k) == len(begun) && k < begun) {
			begun = k
		}
	}
	if best == "" {
		return begun
	}
	return best
}

// closer decides between two names with as many edits.
func closer(name, a, b string) bool {
	if same := len(a) == len(name); same != (len(b) == len(name)) {
		return same
	}
	return a < b
}

// begins reports whether one of two names is the beginning of the other, and long
// enough to mean something.
func begins(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	return len(a) >= 3 && strings.HasPrefix(b, a)
}

// edits is the number of letters to insert, remove or replace to turn a into b.
func edits(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return max(len(a), len(b))
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
