package columns

import (
	"cmp"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"
)

// Once counts the values that are missing or that an earlier record has. It keeps a hash of each value, so that its
// memory is 40 bytes each.
type Once struct {
	N, Wrong, First int // values, those that are wrong, and the number of the first of these from 0
	seen            map[uint64]struct{}
}

var seed = maphash.MakeSeed()

// Add counts one more value, "" if it is missing, and reports whether it is one of the wrong.
func (o *Once) Add(value string) (wrong bool) {
	if o.seen == nil {
		o.seen = map[uint64]struct{}{}
	}
	before := len(o.seen)
	if value != "" {
		o.seen[maphash.String(seed, value)] = struct{}{}
	}
	if wrong = len(o.seen) == before; wrong {
		if o.Wrong++; o.Wrong == 1 {
			o.First = o.N
		}
	}
	o.N++
	return wrong
}

// Code is a column that may have codes. It has one value for each record, or "" if there is none.
type Code struct {
	Column string
	Values []string
	rank   int
	guess  bool // its name tells nothing
}

// maxCodes bounds the columns of codes in memory, and maxGuesses those of them whose names tell nothing.
const (
	maxCodes   = 10
	maxGuesses = 3
)

// Codes finds the column of codes by which the regions of a file are known. Its memory is that of the values of maxCodes columns.
type Codes struct{ all []*Code }

// NewCodes returns the columns that may have codes, by their names, and if guess is set by the values that c has learned.
func NewCodes(c *Chooser, guess bool) *Codes {
	o := &Codes{}
	var guesses []*Code
	for _, column := range c.columns {
		if rank := rankOfID(column.name); rank >= 0 {
			o.all = append(o.all, &Code{Column: column.name, rank: rank})
		} else if guess && !IsSerial(column.name) && column.isCode() && len(guesses) < maxGuesses {
			guesses = append(guesses, &Code{Column: column.name, rank: len(idNames), guess: true})
		}
	}
	slices.SortFunc(o.all, byRank)
	o.all = append(o.all[:min(len(o.all), maxCodes-len(guesses))], guesses...)
	return o
}

// byRank orders columns. Columns whose codes are ids come first. Of the levels of GADM and OCHA,
// the deepest is that of the feature itself.
func byRank(a, b *Code) int {
	return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(len(a.Column), len(b.Column)), strings.Compare(b.Column, a.Column))
}

// Add adds the values of one more record.
func (o *Codes) Add(value func(column string) string) {
	for _, c := range o.all {
		v := value(c.Column)
		if len(v) > maxCode || strings.Contains(v, " ") {
			v = ""
		}
		c.Values = append(c.Values, v)
	}
}

// Wrong returns how many values are missing or those of an earlier record, and the index of the first.
func (c *Code) Wrong() (n, first int) {
	var once Once
	for _, v := range c.Values {
		once.Add(v)
	}
	return once.Wrong, once.First
}

// Best returns the best column, by rank and name, whose values can be ids, or nil if there is none. Numbers from 1 on come
// last, because rows may be numbered so. almost is a column that would come before it, or would be the best, but whose
// value a few records lack or repeat.
func (o *Codes) Best() (best, almost *Code) {
	var counting *Code
	for _, c := range o.all {
		const few = 10
		wrong, _ := c.Wrong()
		first, counted := RowNumbers(c.Values)
		switch {
		case counted && (first == 0 || c.rank == plainID || c.guess):
		case wrong == 0 && counted && len(c.Values) > 1:
			counting = cmp.Or(counting, c)
		case wrong == 0:
			return c, almost
		case almost == nil && !c.guess && wrong*few <= len(c.Values):
			almost = c
		}
	}
	return counting, almost
}

// RowNumbers reports whether texts are the whole numbers from 0 or from 1 on, each once, in any
// order.
func RowNumbers(texts []string) (first int, ok bool) {
	seen := make([]bool, len(texts)+1)
	for _, text := range texts {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > len(texts) || seen[n] || strconv.Itoa(n) != text {
			return 0, false
		}
		seen[n] = true
	}
	if len(texts) > 0 && !seen[0] {
		first = 1
	}
	return first, len(texts) > 0 && (first == 1 || !seen[len(texts)])
}
