package source

import (
	"fmt"
	"slices"
	"strings"
)

// Words is a set of words that mean an empty value in a table.
type Words struct {
	exact, folded map[string]bool
	first         [256]bool // bytes that they begin with, in any case
	longest       int
}

// These are the words that sources write for an empty or unknown value.
var (
	// EmptyWords are the words for an empty value in databases, statistics and spreadsheets. A
	// table of text has no null of its own. In files that have one, such as GeoJSON, these words
	// are ordinary values.
	EmptyWords = NewWords(`\N`, "NULL", "null", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "None", "-")
	// UnknownWords are the words for an unknown value in lists of addresses. They include codes
	// that no country has.
	UnknownWords = NewWords("-", "--", "ZZ", "XX", "zz", "xx", "None", "none", "Unknown", "unknown", "NULL", "N/A", `\N`)
	// UnknownCodes are Natural Earth's codes for an unknown value.
	UnknownCodes = NewWords("-", "-1", "-99", "-099", "-9999")
)

// NewWords makes a list of words.
func NewWords(words ...string) *Words {
	w := &Words{exact: map[string]bool{}, folded: map[string]bool{}}
	for _, word := range words {
		if word = strings.TrimSpace(word); word == "" {
			continue // is empty anyway
		}
		w.exact[word], w.folded[strings.ToLower(word)] = true, true
		w.longest = max(w.longest, len(word))
		for _, text := range []string{word, strings.ToLower(word), strings.ToUpper(word)} {
			w.first[text[0]] = true
		}
	}
	return w
}

// Has reports whether a value is one of the words, in exactly this case: Nan is a town, and NaN
// is not.
func (w *Words) Has(value []byte) bool {
	return len(value) > 0 && len(value) <= w.longest && w.first[value[0]] && w.exact[string(value)]
}

// HasFold does the same as Has without regard to case, for values that cannot be names, such as
// coordinates.
func (w *Words) HasFold(value []byte) bool {
	return len(value) > 0 && len(value) <= w.longest && w.first[value[0]] && w.folded[strings.ToLower(string(value))]
}

// WordTally counts words and stores the line of the first.
type WordTally struct {
	counts map[string]*int64
	line   int
}

// Add counts a word.
func (t *WordTally) Add(word []byte, line int) {
	if n := t.counts[string(word)]; n != nil { // allocates nothing
		*n++
		return
	}
	if t.counts == nil {
		t.counts, t.line = map[string]*int64{}, line
	}
	one := int64(1)
	t.counts[string(word)] = &one
}

// Note formats the number of occurrences, the words, and the first line. If there are none, it
// returns "".
func (t *WordTally) Note(format string) string {
	var all int64
	var words []string
	for word, n := range t.counts {
		all += *n
		words = append(words, fmt.Sprintf("%s %d", Excerpt(word), *n))
	}
	if all == 0 {
		return ""
	}
	slices.Sort(words)
	const most = 10
	if more := len(words) - most; more > 0 {
		words = append(words[:most], fmt.Sprintf("and %d more words", more))
	}
	return fmt.Sprintf(format, all, strings.Join(words, ", "), t.line)
}

// NoteEmptied is the format of a note about values that are words for an empty value.
const NoteEmptied = "%d values are a word for an empty one and are left out (%s), the first in line %d; --empty says which words are"
