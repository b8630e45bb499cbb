package columns

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/internal/columnname"
)

// These bound the memory of a Chooser: 40 bytes for each value of the first columns and records.
const (
	maxColumns = 256
	// Sample is the number of records that are enough to tell what columns mean.
	Sample = 4096
	// maxCode is the greatest length in bytes of a code, and maxName that of a name.
	maxCode = 60
	maxName = 200
)

// Chooser learns what the columns of a file hold from its first records. It belongs to one goroutine.
type Chooser struct {
	word    string
	columns []*column
	index   map[string]*column
	more    bool // columns beyond maxColumns
	records int
}

// column is what is known of a column.
type column struct {
	name        string
	rank, depth int
	filled      int  // values
	texts       int  // values that are texts with letters
	plain       int  // texts that are neither codes nor addresses
	once        Once // of the values
	coded       int  // values that are of letters and digits, with a digit
	length      int  // of all values; -1 if they differ
	lettered    bool // a coded value that is no plain number
	example     string
}

// NewChooser returns a Chooser for a layer that is called word, such as "ward", or "".
func NewChooser(word string) *Chooser { return &Chooser{word: word, index: map[string]*column{}} }

// Begin counts one more record, and reports whether its values are to be learned.
func (c *Chooser) Begin() bool {
	c.records++
	return c.records <= Sample
}

// Learn counts a value of a column in the record: a text, or a number as text if isText is not set. An empty one only
// tells that there is such a column.
func (c *Chooser) Learn(name, value string, isText bool) {
	of := c.index[name]
	if of == nil {
		if len(c.columns) == maxColumns {
			c.more = true
			return
		}
		of = &column{name: name}
		of.rank, of.depth = nameRank(name, c.word)
		c.columns, c.index[name] = append(c.columns, of), of
	}
	if value = strings.TrimSpace(value); value != "" {
		of.learn(value, isText)
	}
}

func (c *column) learn(value string, isText bool) {
	if c.example == "" {
		c.example = value
	}
	c.filled++
	c.once.Add(value)
	letters, digits, capitals, others := 0, 0, 0, 0
	const most = 100
	n := 0
	for _, r := range value[:min(len(value), maxName)] {
		switch {
		case unicode.IsDigit(r):
			digits++
		case unicode.IsLetter(r):
			if letters++; unicode.IsUpper(r) && r < utf8.RuneSelf {
				capitals++
			}
		default:
			others++
		}
		n++
	}
	if isText && letters > 0 {
		c.texts++
		few := capitals == letters && letters <= 4 // an abbreviation
		if digits == 0 && n <= most && !strings.Contains(value, "://") && !strings.Contains(value, "@") && !few {
			c.plain++
		}
	}
	if c.filled == 1 {
		c.length = len(value)
	} else if c.length != len(value) {
		c.length = -1
	}
	if digits > 0 && others == 0 && isText && len(value) <= maxCode {
		c.coded++
		c.lettered = c.lettered || letters > 0 || value[0] == '0'
	}
}

// isCode reports whether all values are codes of one length that no number would be.
func (c *column) isCode() bool {
	const least = 3
	return c.rank >= unknown && c.length >= least && c.coded == c.filled && c.lettered && c.filled > 1 && c.once.Wrong == 0
}

func (c *column) distinct() int { return c.once.N - c.once.Wrong }

// Columns returns the names of all columns, sorted.
func (c *Chooser) Columns() []string {
	names := make([]string, len(c.columns))
	for i, of := range c.columns {
		names[i] = of.name
	}
	slices.Sort(names)
	return names
}

// These are reasons for the choice of a column.
const (
	ByName   = "by its name"
	ByKey    = "the primary key"
	byValues = "by its values"
	asTold   = "as told"
	// ByCodes is that of a column that Codes finds.
	ByCodes = "its values are codes, each once"
)

// Choice is what the columns of a file mean.
type Choice struct {
	ID, Name Names // none if there is no such column
	// Languages are other columns that have the name in a language, such as ADM2_FR beside ADM2_EN, by column.
	Languages map[string]string
	// IDBy and NameBy are the reasons in words.
	IDBy, NameBy string
}

// Tell takes over what the user said, by the columns there are.
func (c *Choice) Tell(told *Told, columns []string) (err error) {
	c.ID, c.Name, err = told.Find(columns)
	if c.ID != nil {
		c.IDBy = asTold
	}
	if c.Name != nil {
		c.NameBy = asTold
	}
	return err
}

// Properties returns the names that columns have as properties of points: a single column of ids is none, and that of the
// name is called name.
func (c *Choice) Properties(names []string) (all []string) {
	for _, name := range names {
		if len(c.ID) == 1 && name == c.ID[0] || name == "name" && c.Name != nil {
			continue
		}
		if len(c.Name) != 1 || name != c.Name[0] {
			all = append(all, name)
		}
	}
	if c.Name != nil {
		all = append(all, "name")
	}
	return all
}

// Sentence says which columns mean what, and why, as every command prints it. It is "" if nothing is chosen.
func (c *Choice) Sentence() string {
	var parts []string
	if c.Name != nil {
		parts = append(parts, fmt.Sprintf("name from %q (%s)", c.Name, c.NameBy))
	}
	var languages []string
	for column, lang := range c.Languages {
		languages = append(languages, fmt.Sprintf("%s from %q", lang, column))
	}
	if slices.Sort(languages); languages != nil {
		parts = append(parts, "names in "+strings.Join(languages, ", "))
	}
	if c.ID != nil {
		parts = append(parts, fmt.Sprintf("id from %q (%s)", c.ID, c.IDBy))
	}
	return strings.Join(parts, ", ")
}

// NameOfRegions sets the column that has the names of regions, and those with names in other languages. The columns that mean a name by
// their own names come first, and of these the one in which most values differ, because regions have more names than
// what they are parts of. Next come columns called for kinds of regions, postal codes, and if guess is set those whose
// values look like names.
func (c *Chooser) NameOfRegions(choice *Choice, guess bool) {
	words := func(of *column) bool { return 2*of.texts >= of.filled && of.filled > 0 }
	best := c.best(func(of *column) bool { return of.rank <= level && words(of) })
	reason := ByName
	if guess {
		kinds := c.best(func(of *column) bool { return of.rank == kind && words(of) })
		if kinds != nil && (best == nil || kinds.distinct() >= 2*best.distinct()) {
			best = kinds
		}
	}
	if best == nil {
		best = c.best(func(of *column) bool { return of.rank <= likely && of.filled > 0 })
	}
	if best == nil && guess {
		best = c.best(func(of *column) bool { return of.rank == post && of.once.Wrong == 0 && of.filled == c.learned() })
	}
	if best == nil && guess {
		reason = byValues
		best = c.best(func(of *column) bool {
			return of.rank == unknown && of.filled > 1 && 10*of.plain >= 9*of.filled && 2*of.filled >= c.learned() && 2*of.distinct() > of.filled
		})
	}
	if best != nil {
		choice.Name, choice.NameBy = Names{best.name}, reason
		choice.Languages = c.languages(best)
	}
}

func (c *Chooser) learned() int { return min(c.records, Sample) }

// best returns the best of some columns, or nil.
func (c *Chooser) best(is func(*column) bool) (best *column) {
	most := 0
	var some []*column
	for _, of := range c.columns {
		if is(of) {
			some, most = append(some, of), max(most, of.distinct())
		}
	}
	english := func(of *column) int {
		if strings.HasSuffix(strings.ToLower(of.name), "_en") {
			return 0
		}
		return 1
	}
	for _, of := range some {
		if 20*of.distinct() < 19*most {
			continue
		}
		if best == nil || cmp.Or(cmp.Compare(of.rank, best.rank), cmp.Compare(best.depth, of.depth), cmp.Compare(english(of), english(best)),
			cmp.Compare(len(of.name), len(best.name)), strings.Compare(of.name, best.name)) < 0 {
			best = of
		}
	}
	return best
}

// languages returns the columns that have the same name as a column in a language: that name with a language at its
// end, in place of one there.
func (c *Chooser) languages(name *column) map[string]string {
	stem := words(name.name)
	last := len(stem) - 1
	inOne := last > 0 && languageOf(stem[last]) != ""
	if inOne {
		stem = stem[:last]
	}
	var found map[string]string
	for _, of := range c.columns {
		all := words(of.name)
		last := len(all) - 1
		if of == name || last != len(stem) || !slices.Equal(all[:last], stem) || of.texts == 0 {
			continue
		}
		// Many endings are codes of languages, too: county_id, ward_no, name_nr.
		if !inOne && (rankOfID(of.name) > 0 || slices.Contains([]string{"id", "no", "nr", "co", "st", "is", "or", "as", "to", "cd"}, all[last])) {
			continue
		}
		if lang := languageOf(all[last]); lang != "" {
			if found == nil {
				found = map[string]string{}
			}
			found[of.name] = lang
		}
	}
	return found
}

// NameOfPoints sets the column that has the names of points, by its own name. There is none if a column is called name
// already. Titles and labels count if most of them differ.
func (c *Chooser) NameOfPoints(choice *Choice) {
	if c.index["name"] != nil || c.more {
		return
	}
	best := c.best(func(of *column) bool {
		return 2*of.texts > of.filled && (of.rank == certain || slices.Contains(pointNames, columnname.Key(of.name)) || of.rank == titled && 2*of.distinct() > of.filled)
	})
	if best != nil {
		choice.Name, choice.NameBy = Names{best.name}, ByName
	}
}

// LikeName returns the column that most probably has names by its own name, or "".
func LikeName(columns []string) (best string) {
	rank := kind
	for _, column := range columns {
		if r, _ := nameRank(column, ""); r < rank || r == rank && rank < kind && len(column) < len(best) {
			best, rank = column, r
		}
	}
	return best
}

// Nameless returns the error for a layer of regions without names. flag names a file of it, such as --layer.
func (c *Chooser) Nameless(file, flag string) error {
	if len(c.columns) == 0 {
		return fmt.Errorf("%s: no region has a name: its features have no properties; give --nameless if that is meant "+
			"(nameless: true in a file of settings)", file)
	}
	const most = 30
	var list []string
	for _, of := range c.columns[:min(len(c.columns), most)] {
		list = append(list, fmt.Sprintf("%s, such as %s", source.Excerpt(of.name), source.Excerpt(of.example)))
	}
	if more := len(c.columns) - len(list); more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	return fmt.Errorf("%s: no region has a name; say which columns have the ids and names by %s %s=FILE:ID:NAME, or give "+
		"--nameless if there are none (nameless: true in a file of settings); its columns are %s", file, flag, c.word, strings.Join(list, "; "))
}
