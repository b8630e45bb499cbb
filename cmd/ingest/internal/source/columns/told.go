// Package columns decides what the columns of a file mean: which is the id, which the name, and which are names in
// other languages. It decides by what the user says, by the columns' own names, and by their values, the same for
// every format and every layer.
package columns

import (
	"fmt"
	"slices"
	"strings"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/internal/columnname"
)

// Told is what the user says of the columns. A column is named as in the file, or in other case. A + joins the values
// of several, and a name between double quotes is one column whatever it has, with each of its quotes written twice.
type Told struct {
	ID, Name string // of --id and --name
	// Both is ID:NAME, the columns behind a file. Its parts count before ID and Name. A colon that belongs to the name
	// of a column separates nothing, so that ref:INSEE is one column if the file has it.
	Both string
	// Nameless is set if a layer may lack names.
	Nameless bool
}

// Names are columns whose values are joined: those of ids as they stand, those of names by a blank.
type Names []string

func (n Names) String() string { return strings.Join(n, "+") }

// Find returns the columns for the id and the name. A name that is no column is returned as it is, because the
// first records of a file may lack it.
func (t *Told) Find(columns []string) (id, name Names, err error) {
	find := newFinder(columns)
	if both := find.groups(t.Both); len(both) > 2 || len(both) == 1 && both[0] == nil {
		return nil, nil, fmt.Errorf("%s behind the file has %d parts; give ID or ID:NAME, and a column with a colon between double quotes",
			source.Excerpt(t.Both), len(both))
	} else if len(both) > 0 {
		id = both[0]
		if len(both) > 1 {
			name = both[1]
		}
	}
	if id == nil && t.ID != "" {
		id = find.joined(t.ID)
	}
	if name == nil && t.Name != "" {
		name = find.joined(t.Name)
	}
	return id, name, nil
}

// HasID reports whether a column is the id, or one of those that are joined to it.
func (t *Told) HasID(column string) bool {
	id, _, err := t.Find([]string{column})
	return err == nil && slices.Contains(id, column)
}

// Missing returns the error for names that are no columns, or nil. file begins the error.
func Missing(file string, columns []string, id, name Names) error {
	if len(columns) == 0 {
		return nil // there is no record, which others tell
	}
	for _, told := range []struct {
		what  string
		names Names
	}{{"id", id}, {"name", name}} {
		for _, column := range told.names {
			if !slices.Contains(columns, column) {
				return fmt.Errorf("%s: there is no column %s for the %s; there are %s", file, source.Excerpt(column), told.what,
					columnname.List(columns))
			}
		}
	}
	return nil
}

// finder finds columns by their names, or by their names in another case.
type finder struct{ exact, folded map[string]string }

func newFinder(columns []string) finder {
	f := finder{map[string]string{}, map[string]string{}}
	for _, column := range slices.Backward(columns) { // the first of a name counts
		f.exact[column], f.folded[strings.ToLower(column)] = column, column
	}
	return f
}

func (f finder) column(name string) (string, bool) {
	if column, ok := f.exact[name]; ok {
		return column, true
	}
	column, ok := f.folded[strings.ToLower(name)]
	return column, ok
}

// joined returns the columns of --id or --name, in which a colon is a part of the name.
func (f finder) joined(text string) (all Names) {
	if column, ok := f.column(text); ok {
		return Names{column}
	}
	for _, group := range f.split(text, "+") {
		all = append(all, group...)
	}
	return all
}

// groups returns the columns of ID:NAME.
func (f finder) groups(text string) []Names {
	if text == "" {
		return nil
	}
	return f.split(text, ":+")
}

// maxParts bounds the separators in one name.
const maxParts = 50

// split takes the longest names that are columns one after another. Where none is a column it takes a name up to the
// next separator. A + joins the next name to the group, and a colon begins a group.
func (f finder) split(text, separators string) (groups []Names) {
	groups = append(groups, nil)
	for {
		name, rest := f.next(text, separators)
		if name != "" {
			groups[len(groups)-1] = append(groups[len(groups)-1], name)
		}
		if rest == "" {
			return groups
		}
		if rest[0] == ':' {
			groups = append(groups, nil)
		}
		text = rest[1:]
	}
}

// next returns the first name of a text, and the rest from the separator behind it.
func (f finder) next(text, separators string) (name, rest string) {
	if quoted, rest, ok := unquote(text); ok && (rest == "" || strings.IndexByte(separators, rest[0]) >= 0) {
		if column, ok := f.column(quoted); ok {
			quoted = column
		}
		return quoted, rest
	}
	first := -1
	for i, parts := 0, 0; parts < maxParts; i, parts = i+1, parts+1 {
		at := strings.IndexAny(text[i:], separators)
		if at < 0 {
			i = len(text)
		} else {
			i += at
		}
		if column, ok := f.column(text[:i]); ok {
			name, rest = column, text[i:]
		}
		if first < 0 {
			first = i
		}
		if i == len(text) {
			break
		}
	}
	if name == "" {
		name, rest = text[:first], text[first:]
	}
	return name, rest
}

// unquote returns the text between the double quotes at the beginning, and what follows them.
func unquote(text string) (inner, rest string, ok bool) {
	if text == "" || text[0] != '"' {
		return "", "", false
	}
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		if text[i] != '"' {
			b.WriteByte(text[i])
		} else if i+1 < len(text) && text[i+1] == '"' {
			b.WriteByte('"')
			i++
		} else {
			return b.String(), text[i+1:], true
		}
	}
	return "", "", false
}

// Quoted returns the name of a column as it is written in ID:NAME.
func Quoted(column string) string {
	if !strings.ContainsAny(column, `:+"`) {
		return column
	}
	return `"` + strings.ReplaceAll(column, `"`, `""`) + `"`
}
