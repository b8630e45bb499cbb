package boundaries

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/source"
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
func countryNumbers(features []source.Feature) bool {
	const many = 20
	numbers, valid, named, agreed := 0, 0, 0, 0
	for i := range features {
		f := &features[i]
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

// ownIDs collects the sources of ids in the file itself: features' own ids, and columns whose names
// suggest codes. They are for features for which the preset has nothing better.
type ownIDs struct {
	features int
	columns  []*codeColumn // by rank
	// serial is set as long as every id is the value of a column in which a database numbers rows.
	serial bool
}

// codeColumn is a column that may have codes. It has one value for each feature, or "" if there is
// none.
type codeColumn struct {
	key    string // the name, folded
	name   string
	rank   int // of its name; the lowest comes first
	values []string
}

// maxCodeColumns bounds the columns of codes in memory.
const maxCodeColumns = 10

// byRank orders columns. Columns whose codes are ids come first. Of the levels of GADM and OCHA,
// the deepest is that of the feature itself.
func byRank(a, b *codeColumn) int {
	return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(len(a.name), len(b.name)), strings.Compare(b.name, a.name))
}

// serialColumns are folded names of columns in which databases and other tools number rows.
var serialColumns = []string{"objectid", "objectid_1", "fid", "ogc_fid", "gid", "oid"}

// codeNames match names of columns of codes, by rank: id itself; codes, such as WARD_CODE,
// LAD23CD, ADM2_PCODE, CD_MUN, GID_2 and ref:INSEE; and other ids.
var codeNames = []*regexp.Regexp{
	regexp.MustCompile(`^id$`),
	regexp.MustCompile(`^(?:geoid|fips|insee|ags|ars|pcode|nuts_id|statcode|iso[_-]?3166[_-]2|ref:.*)$`),
	regexp.MustCompile(`(?:code|kode|codigo|codice|(?:^|[_ .:0-9])(?:cd|cod|kod|nr|no|ref))(?:_?[0-9]{1,4})?$`),
	regexp.MustCompile(`^(?:cd|cod|code|gid|pro_com)(?:_[a-z0-9]+)?$`),
	regexp.MustCompile(`(?:[_ .:-]id|shapeid|uid)(?:_?[0-9]{1,4})?$`),
}

// codeRank returns the rank of a column by its name. ok is false if the column cannot hold codes.
func codeRank(name string) (rank int, ok bool) {
	if slices.Contains(serialColumns, name) {
		return 0, false
	}
	rank = slices.IndexFunc(codeNames, func(re *regexp.Regexp) bool { return re.MatchString(name) })
	return rank, rank >= 0
}

// add counts the columns of one more feature.
func (o *ownIDs) add(c *columns) {
	if o.features == 0 {
		o.serial = true
		for key, name := range c.names {
			if rank, ok := codeRank(key); ok {
				o.columns = append(o.columns, &codeColumn{key: key, name: name, rank: rank})
			}
		}
		slices.SortFunc(o.columns, byRank)
		o.columns = o.columns[:min(len(o.columns), maxCodeColumns)]
	}
	o.features++
	for _, column := range o.columns {
		column.values = append(column.values, codeOf(c, column.key))
	}
	o.serial = o.serial && c.id != "" && slices.ContainsFunc(serialColumns, func(key string) bool { return c.written(key) == c.id })
}

// codeOf returns the value of a column if it can be a code: short, of one word, and no fraction.
func codeOf(c *columns, key string) string {
	const most = 60
	text := c.text(key)
	if _, fraction := c.folded[key].(float64); fraction && strings.Contains(text, ".") || len(text) > most || strings.Contains(text, " ") {
		return ""
	}
	return text
}

// wrong returns how many features lack a value or repeat an earlier one, and the index of the
// first.
func (c *codeColumn) wrong() (n, first int) {
	seen := make(map[string]bool, len(c.values))
	for i, v := range c.values {
		if v == "" || seen[v] {
			if n++; n == 1 {
				first = i
			}
		}
		seen[v] = true
	}
	return n, first
}

// code returns the best column, by rank and name, whose values can be ids, or nil if there is none.
// almost is a column that would come before it, or would be the best, but whose value a few
// features lack or repeat.
func (o *ownIDs) code() (best, almost *codeColumn) {
	for _, c := range o.columns {
		const few = 10
		wrong, _ := c.wrong()
		first, counted := rowNumbers(c.values)
		switch {
		case counted && (first == 0 || c.rank == 0):
		case wrong == 0:
			return c, almost
		case almost == nil && wrong*few <= len(c.values):
			almost = c
		}
	}
	return nil, almost
}

// rowNumbers reports whether texts are the whole numbers from 0 or from 1 on, each once, in any
// order.
func rowNumbers(texts []string) (first int, ok bool) {
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

// These are the positions of the two candidates that ownIDs settles, counted from the end of a
// feature's candidates.
const (
	ofCode = 1
	ofID   = 2
)

// addOwn adds placeholders for the candidates that ownIDs settles after the whole file has been
// read.
func (d *described) addOwn(c *columns) {
	d.candidates = append(d.candidates, candidate{value: clean(c.id), shared: true}, candidate{})
}

// settle decides whether features' own ids can be ids, and which column has codes. Row numbers
// cannot be ids, because they change if a file is sorted, cut or exported again. The file's
// features are the layer's features from index from on.
func (file *layerFile) settle(l *layer, from int, rep job.Reporter) {
	claims, o := l.claims[from:], &file.own
	values := make([]string, len(claims))
	has, needed := false, false // needed: some feature has nothing better
	for i, c := range claims {
		better, own := c.candidates[:len(c.candidates)-ofID], c.candidates[len(c.candidates)-ofID]
		values[i] = own.value
		has = has || own.value != ""
		needed = needed || !slices.ContainsFunc(better, func(c candidate) bool { return c.value != "" })
	}
	named := file.in.IDProperty != ""
	var code, almost *codeColumn
	if !named {
		code, almost = o.code()
	}
	first, counted := rowNumbers(values)
	dropped := counted && first == 0 || o.serial && (code != nil || counted && uniqueNames(l.features[from:]))
	if dropped && !named && needed {
		rep.Note(fmt.Sprintf("%s: the ids of features number the rows (%s), and change with the next export: they are no "+
			"ids; if they are, name them by --layer %s=FILE:id",
			file.in.Path, strings.Join(values[:min(3, len(values))], ", "), file.in.Type))
	}
	if almost != nil && needed && (!has || dropped) {
		wrong, at := almost.wrong()
		rep.Note(fmt.Sprintf("%s: %s is no id: %d of %d regions lack one or repeat one, the first is number %d; if regions "+
			"of one code are one, name it by --layer %s=FILE:%s",
			file.in.Path, source.Excerpt(almost.name), wrong, len(almost.values), at+1, file.in.Type, almost.name))
	}
	for i := range claims {
		c := claims[i].candidates
		if dropped {
			c[len(c)-ofID].value = ""
		}
		if code != nil {
			c[len(c)-ofCode] = candidate{value: code.values[i], shared: true}
		}
	}
	if code != nil {
		file.from[len(file.from)-ofCode] = code.name
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

// withIDProperty puts the property that the user named before all other candidates. has reports
// whether the feature has that property.
func withIDProperty(d described, c *columns, property string) (out described, has bool) {
	key := strings.ToLower(property)
	value := c.text(key)
	if _, has = c.folded[key]; !has && takesOwnID(property) {
		value, has = clean(c.id), c.id != ""
	}
	d.candidates = append([]candidate{{value: value, shared: true}}, d.candidates...)
	return d, has
}

// noteIDs reports the sources of the layer's ids, each with three examples, unless the user named a
// property for all of them.
func (l *layer) noteIDs(ids []string, rep job.Reporter) {
	type made struct {
		of       string
		n        int
		examples []string
	}
	var all []*made
	for i, c := range l.claims {
		of := "names"
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
	if len(all) == 0 || len(all) == 1 && l.named {
		return
	}
	slices.SortStableFunc(all, func(a, b *made) int { return cmp.Compare(b.n, a.n) })
	parts := make([]string, len(all))
	for i, m := range all {
		parts[i] = fmt.Sprintf("%s (%d, such as %s)", m.of, m.n, strings.Join(m.examples, ", "))
	}
	rep.Note(l.typ + ": ids are made of " + strings.Join(parts, "; "))
}
