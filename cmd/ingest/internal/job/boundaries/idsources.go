package boundaries

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/columns"
	"quadrille/cmd/internal/iso3166"
	"quadrille/tiles/build"
)

// isNumber reports whether a text is digits alone.
func isNumber(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// countryNumbers reports whether numeric ids of features are ISO 3166-1 numbers. A number alone
// proves nothing, because tools number rows. At least half of the names must match the countries of
// the numbers. Names in another language never match. So names are ignored if there are many
// numbers and all are numbers of countries. This is hardly chance, because only a quarter of the
// three-digit numbers belong to a country.
func countryNumbers(features []waiting) bool {
	const many = 20
	numbers, valid, named, agreed := 0, 0, 0, 0
	for i := range features {
		f := &features[i].Feature
		if !isNumber(f.ID) {
			continue
		}
		numbers++
		_, code := regionOf(f.ID)
		if code != "" {
			valid++
		}
		if name := countryName(newColumns(f)); name != "" {
			if named++; code != "" && sameCountry(name, code) {
				agreed++
			}
		}
	}
	if valid == numbers && numbers >= many {
		return true
	}
	return named > 0 && 2*agreed >= named
}

// sameCountry reports whether a name shares a word with the name of a code's country, such as
// "Dem. Rep. Congo" with "Congo - Kinshasa".
func sameCountry(name, code string) bool {
	c, ok := iso3166.Lookup(code)
	if !ok {
		return false
	}
	words := func(text string) []string {
		return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) })
	}
	own := words(c.Name)
	return slices.ContainsFunc(words(name), func(w string) bool {
		switch w {
		case "island", "islands", "republic", "south", "north", "saint", "united", "territory", "territories":
			return false
		}
		return len(w) > 3 && slices.Contains(own, w)
	})
}

// idCode returns the value of a column if it can be a code, which no fraction is.
func (c *properties) idCode(column string) string {
	key := strings.ToLower(column)
	text := c.text(key)
	if _, fraction := c.folded[key].(float64); fraction && strings.Contains(text, ".") {
		return ""
	}
	return text
}

// isSerial reports whether the feature's id is the value of a column in which a database numbers rows.
func (c *properties) isSerial() bool {
	for key := range c.folded {
		if c.id != "" && columns.IsSerial(key) && c.written(key) == c.id {
			return true
		}
	}
	return false
}

// These are the positions of the two candidates that settle decides, counted from the end of a
// feature's candidates.
const (
	ofCode = 1
	ofID   = 2
)

// addOwn adds placeholders for the candidates that settle decides after the whole file has been
// read.
func (d *described) addOwn(c *properties) {
	d.candidates = append(d.candidates, candidate{value: clean(c.id), shared: true}, candidate{})
}

// settle decides whether features' own ids can be ids, and which column has codes. Row numbers
// cannot be ids, because they change if a file is sorted, cut or exported again. The file's
// features are the layer's features from index from on.
func (file *layerFile) settle(l *layer, from int, rep job.Reporter) {
	claims := l.claims[from:]
	values := make([]string, len(claims))
	has, needed := false, false // needed: some feature has nothing better
	for i, c := range claims {
		better, own := c.candidates[:len(c.candidates)-ofID], c.candidates[len(c.candidates)-ofID]
		values[i] = own.value
		has = has || own.value != ""
		needed = needed || !slices.ContainsFunc(better, func(c candidate) bool { return c.value != "" })
	}
	named := file.toldID
	var code, almost *columns.Code
	if !named {
		code, almost = file.codes.Best()
	}
	first, counted := columns.RowNumbers(values)
	dropped := counted && first == 0 || !file.unserial && (code != nil || counted && uniqueNames(l.features[from:]))
	if dropped && !named && needed {
		rep.Note(fmt.Sprintf("%s: the ids of features number the rows (%s), and change with the next export: they are no "+
			"ids; if they are, name them by %s %s=FILE:id",
			file.in.Path, strings.Join(values[:min(3, len(values))], ", "), file.in.flag(), file.in.Type))
	}
	if almost != nil && needed && (!has || dropped) {
		wrong, at := almost.Wrong()
		rep.Note(fmt.Sprintf("%s: %s is no id: %d of %d regions lack one or repeat one, the first is number %d; if regions "+
			"of one code are one, name it by %s %s=FILE:%s",
			file.in.Path, source.Excerpt(almost.Column), wrong, len(almost.Values), at+1, file.in.flag(), file.in.Type, columns.Quoted(almost.Column)))
	}
	for i := range claims {
		c := claims[i].candidates
		if dropped {
			c[len(c)-ofID].value = ""
		}
		if code != nil {
			c[len(c)-ofCode] = candidate{value: code.Values[i], shared: true}
		}
	}
	if code != nil {
		file.from[len(file.from)-ofCode] = code.Column
		if file.preset.isCustom && (!has || dropped) {
			file.choice.ID, file.choice.IDBy = columns.Names{code.Column}, columns.ByCodes
		}
	}
}

// takesOwnID reports whether the name of a property means the feature's own id. It does unless the
// file has a property of that name.
func takesOwnID(property string) bool { return strings.EqualFold(property, "id") }

// uniqueNames reports whether all names of features differ.
func uniqueNames(features []build.Feature) bool {
	seen := make(map[string]bool, len(features))
	for i := range features {
		name := features[i].Name
		if name == "" || seen[name] {
			return false
		}
		seen[name] = true
	}
	return true
}

// withIDColumns puts the columns that the user named before all other candidates. has reports
// whether the feature has them.
func withIDColumns(d described, c *properties, names columns.Names) (out described, has bool) {
	var value strings.Builder
	for _, name := range names {
		part := c.text(strings.ToLower(name))
		if part == "" {
			value.Reset()
			break
		}
		value.WriteString(part)
	}
	id := candidate{value: value.String(), shared: true}
	if has = c.has(names); !has && len(names) == 1 && takesOwnID(names[0]) {
		id.value, has = clean(c.id), c.id != ""
	}
	d.candidates = append([]candidate{id}, d.candidates...)
	return d, has
}

// noteIDs reports the sources of the layer's ids, each with three examples, unless they all come
// from a column that the user named, or that has been reported.
func (l *layer) noteIDs(ids []string, rep job.Reporter) {
	type made struct {
		of       string
		n        int
		examples []string
	}
	var all []*made
	for i, c := range l.claims {
		of := namesAsIDs
		switch {
		case c.level > 0:
			of = c.from[c.level-1]
		case c.fallback == "":
			of = "the type and the place, for want of a name"
		}
		at := slices.IndexFunc(all, func(m *made) bool { return m.of == of })
		if at < 0 {
			at, all = len(all), append(all, &made{of: of})
		}
		m := all[at]
		if m.n++; len(m.examples) < 3 && !slices.Contains(m.examples, ids[i]) {
			m.examples = append(m.examples, ids[i])
		}
	}
	from := make([]string, len(all))
	for i, m := range all {
		from[i] = m.of
	}
	l.learnIDs(from)
	if len(all) == 0 || len(all) == 1 && (l.named || all[0].of == l.coded) {
		return
	}
	slices.SortStableFunc(all, func(a, b *made) int { return cmp.Compare(b.n, a.n) })
	parts := make([]string, len(all))
	for i, m := range all {
		parts[i] = fmt.Sprintf("%s (%d, such as %s)", m.of, m.n, strings.Join(m.examples, ", "))
	}
	rep.Note(l.typ + ": ids are made of " + strings.Join(parts, "; "))
}
