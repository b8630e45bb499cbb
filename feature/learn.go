package feature

import (
	"bytes"
	"math"
	"math/bits"
	"slices"
	"strings"

	"quadrille/internal/instant"
	"quadrille/internal/jsontext"
)

// Learner derives a schema from the properties of features.
type Learner struct {
	At       int64 // where the next object to be learned stands; OddColumns reports it
	columns  []column
	index    map[string]int // of columns, by their names
	expected int            // the column that the next member probably has
	unlisted int64
	changes  uint64 // how often there was another column, or other kinds of one
}

// column is the knowledge about one property.
type column struct {
	name     string // in compact form
	declared Kind   // or Null
	kinds    kinds  // kinds of its values, or of the last values if all have gone
	seen     bool   // whether a feature had it; for declared properties
	counts   [kindCount]int64
	// For a table: the first value of each kind, and how numbers are written.
	first [kindCount]sighting
	forms forms
}

// sighting is a value in a table with its position.
type sighting struct {
	at   int64
	text string
}

// forms has properties of texts that distinguish codes from numbers.
type forms uint8

const (
	formCode     forms = 1 << iota // a leading zero or plus, or a significant zero at the end, as in a version
	formExponent                   // digits, E and digits, as 10E2
	formReal                       // with a point or a minus, which codes do not have
)

// maxTexts is the number of values that decide a column's type: if the first values of a column,
// so many, are all plain text, the column is text, whatever follows.
const maxTexts = 1 << 10

// maxSighting bounds the stored bytes of a value.
const maxSighting = 100

// kinds is the set of the kinds of a column's values.
type kinds uint8

const (
	kindText kinds = 1 << iota
	kindNumber
	kindBoolean
	kindTime
	kindTexts
	kindOther
	kindCount = iota
)

const (
	kindComma kinds = 1 << (iota + kindCount) // text that would be a number with a decimal point
	fromTable                                 // not a kind: the values are the texts of a table
)

// NewLearner returns a learner that takes the declared types as certain.
// declared may be nil.
func NewLearner(declared Schema) *Learner {
	l := &Learner{index: make(map[string]int)}
	for _, f := range declared {
		l.add(string(jsontext.AppendString(nil, f.Name))).declared = f.Kind
	}
	return l
}

func (l *Learner) add(name string) *column {
	l.index[name] = len(l.columns)
	l.changes++
	l.columns = append(l.columns, column{name: name})
	return &l.columns[len(l.columns)-1]
}

// column returns the column of a name, or nil if there are too many.
func (l *Learner) column(name []byte) *column {
	i := l.expected
	if i >= len(l.columns) || l.columns[i].name != string(name) {
		var found bool
		if i, found = l.index[string(name)]; !found {
			if len(l.columns) >= MaxFields {
				l.unlisted++
				return nil
			}
			i = len(l.columns)
			l.add(string(name))
		}
	}
	l.expected = i + 1
	return &l.columns[i]
}

// Learn learns from the properties of a feature, which are compact. Null and empty lists do not
// affect a type.
func (l *Learner) Learn(object []byte) {
	l.expected = 0
	for name, value := range Members(object) {
		switch c := l.column(name); {
		case c == nil:
		case c.declared != Null:
			c.seen = true
		default:
			c.kinds |= kindOf(value, c.kinds)
		}
	}
}

// Count learns from the properties of a feature as Learn does, and counts its values: by is 1 for
// values that appear, and -1 for values that are gone. The type of a property then follows its
// present values.
func (l *Learner) Count(object []byte, by int64) {
	l.expected = 0
	for name, value := range Members(object) {
		c := l.column(name)
		kind := kindOf(value, 0)
		if c == nil || kind == 0 {
			continue
		}
		n := &c.counts[bits.TrailingZeros8(uint8(kind))]
		if *n += by; *n == max(by, 0) { // the first of its kind, or the last
			l.settle(c)
		}
	}
}

// settle sets the kinds of a column to those of its present values.
func (l *Learner) settle(c *column) {
	var now kinds
	for i, n := range c.counts {
		if n > 0 {
			now |= 1 << i
		}
	}
	if now != 0 && now != c.kinds {
		c.kinds = now
		l.changes++
	}
}

// Declare makes other types certain, all at once. undo takes that back.
func (l *Learner) Declare(types Schema) (undo func()) {
	was := slices.Clone(l.columns)
	for i := range l.columns {
		l.columns[i].declared = Null
	}
	for _, f := range types {
		name := string(jsontext.AppendString(nil, f.Name))
		i, found := l.index[name]
		if !found {
			i = len(l.columns)
			l.add(name)
		}
		l.columns[i].declared = f.Kind
	}
	for i := range was {
		// The kinds of values of a declared property are not stored. Without values, a
		// collection that is opened again would not know them.
		if c := &l.columns[i]; was[i].declared != Null && c.declared == Null && c.counts == [kindCount]int64{} {
			c.kinds = 0
		}
	}
	l.changes++
	return func() {
		for i := range l.columns {
			l.columns[i].declared = Null
			if i < len(was) {
				l.columns[i].declared, l.columns[i].kinds = was[i].declared, was[i].kinds
			}
		}
		l.changes++
	}
}

// OtherTypes returns, by property, the number of values that are not of the declared type.
func (l *Learner) OtherTypes() map[string]int64 {
	counts := map[string]int64{}
	for i := range l.columns {
		c := &l.columns[i]
		for kind, n := range c.counts {
			fits := c.declared == Null || c.declared == Any || c.declared == typeOfKinds(1<<kind) || c.declared == Text && 1<<kind == kindTime
			if n > 0 && !fits {
				counts[string(TextOf([]byte(c.name)))] += n
			}
		}
	}
	return counts
}

// kindOf returns the kind of a value in a column that already has the kinds in have.
func kindOf(value []byte, have kinds) kinds {
	switch {
	case IsText(value):
		if have&kindText != 0 {
			return kindText // being a time decides nothing here
		}
		if _, ok := instant.Parse(value[1 : len(value)-1]); ok {
			return kindTime
		}
		return kindText
	case IsNumber(value):
		return kindNumber
	case IsBoolean(value):
		return kindBoolean
	case IsList(value):
		var all kinds
		for element := range Elements(value) {
			if !IsText(element) {
				return kindOther
			}
			all = kindTexts
		}
		return all
	case string(value) == "null":
		return 0
	}
	return kindOther
}

// LearnText learns from a row of a table, whose values are all text. If all texts of a column are
// numbers, its type is number; the same holds for true and false and for times. A column of codes
// made of digits is text. Empty texts do not affect a type.
func (l *Learner) LearnText(object []byte) {
	l.expected = 0
	for name, value := range Members(object) {
		c := l.column(name)
		if c == nil || c.declared != Null {
			continue
		}
		if c.kinds |= fromTable; !IsText(value) || c.counts[0] >= maxTexts && c.kinds == kindText|fromTable {
			continue
		}
		text := bytes.TrimSpace(TextOf(value))
		kind := kindOfText(text)
		if kind == 0 {
			continue
		}
		c.kinds |= kind
		c.forms |= formsOf(c.name, text, kind)
		i := bits.TrailingZeros8(uint8(kind))
		if kind == kindComma {
			i = 0 // a text
		}
		if c.counts[i]++; c.counts[i] == 1 {
			c.first[i] = sighting{l.At, string(text[:min(len(text), maxSighting)])}
		}
	}
}

func formsOf(column string, text []byte, kind kinds) forms {
	exponent := bytes.IndexAny(text, "eE")
	switch {
	case kind == kindText && len(bytes.TrimLeft(text, "+0123456789")) == 0:
		return formCode
	case kind != kindNumber:
	case bytes.ContainsAny(text, ".-"):
		if column = strings.ToLower(column); text[len(text)-1] == '0' &&
			(strings.HasSuffix(column, `code"`) || strings.HasSuffix(column, `version"`)) {
			return formCode
		}
		return formReal
	case exponent > 0 && text[exponent+1] != '+':
		return formExponent
	}
	return 0
}

// OddColumn reports a property of a table that is text because of a few values, although nine of ten
// values have one other type.
type OddColumn struct {
	Field              // its Kind is the type of most
	Count, Total int64 // number of the other values, and of all
	At           int64 // position of the first other value
	Text         string
}

// OddColumns returns the properties of tables that are text because of a few values.
func (l *Learner) OddColumns() (odd []OddColumn) {
	for i := range l.columns {
		c := &l.columns[i]
		if c.declared != Null || c.kinds&fromTable == 0 || c.codes() {
			continue
		}
		most, all := 0, int64(0)
		for kind, n := range c.counts {
			if all += n; n > c.counts[most] {
				most = kind
			}
		}
		o := OddColumn{
			Field: Field{Name: string(TextOf([]byte(c.name))), Kind: typeOfKinds(1 << most)},
			Count: all - c.counts[most],
			Total: all,
			At:    math.MaxInt64,
		}
		if o.Kind == Text || o.Count == 0 || 10*o.Count > all {
			continue
		}
		for kind, n := range c.counts {
			if first := c.first[kind]; n > 0 && kind != most && first.at < o.At {
				o.At, o.Text = first.at, first.text
			}
		}
		odd = append(odd, o)
	}
	return odd
}

func kindOfText(text []byte) kinds {
	if len(text) == 0 {
		return 0
	}
	if isTextNumber(text) {
		return kindNumber
	}
	if _, ok := textBoolean(text); ok {
		return kindBoolean
	}
	if _, ok := instant.Parse(text); ok {
		return kindTime
	}
	if hasDecimalComma(text) {
		return kindComma
	}
	return kindText
}

// textBoolean reads true or false, in any case.
func textBoolean(text []byte) (value, ok bool) {
	if bytes.EqualFold(text, []byte("true")) {
		return true, true
	}
	return false, bytes.EqualFold(text, []byte("false"))
}

// Schema returns the learned schema, with the declared fields.
func (l *Learner) Schema() Schema {
	s := make(Schema, 0, len(l.columns))
	for i := range l.columns {
		c := &l.columns[i]
		s = append(s, Field{Name: string(TextOf([]byte(c.name))), Kind: c.kind()})
	}
	slices.SortFunc(s, byName)
	return s
}

func (c *column) kind() Kind {
	if c.declared != Null {
		return c.declared
	}
	if c.kinds&fromTable == 0 {
		return typeOfKinds(c.kinds)
	}
	if found := typeOfKinds(c.kinds &^ fromTable); found != Any && !c.codes() {
		return found
	}
	return Text
}

// codes reports whether the numbers of a table's column are codes made of digits.
func (c *column) codes() bool {
	return c.forms&formCode != 0 || c.forms&(formExponent|formReal) == formExponent
}

func typeOfKinds(k kinds) Kind {
	switch k {
	case kindText, kindText | kindTime:
		return Text
	case kindNumber:
		return Number
	case kindBoolean:
		return Boolean
	case kindTime:
		return Time
	case kindTexts:
		return Texts
	}
	return Any
}

// HasDecimalCommas reports whether all values of a column are numbers and some have a
// decimal comma. The type of such a column is text, which its owner may not
// expect.
func (l *Learner) HasDecimalCommas(name string) bool {
	i, ok := l.index[string(jsontext.AppendString(nil, name))]
	return ok && l.columns[i].kinds&kindComma != 0 && l.columns[i].kinds&^(kindComma|kindNumber|fromTable) == 0
}

// UnseenFields returns the declared fields that occurred in no feature.
func (l *Learner) UnseenFields() (names []string) {
	for i := range l.columns {
		if c := &l.columns[i]; c.declared != Null && !c.seen {
			names = append(names, string(TextOf([]byte(c.name))))
		}
	}
	return names
}

// UnlistedMembers returns how many members were left out of the schema, because it already had
// MaxFields fields.
func (l *Learner) UnlistedMembers() int64 { return l.unlisted }

// Changes counts new properties and new kinds of their values. While Changes stays the same, Schema
// stays the same.
func (l *Learner) Changes() uint64 { return l.changes }

// Len returns the number of properties, including declared ones.
func (l *Learner) Len() int { return len(l.columns) }

// AddSchema adds a schema that was found earlier. Where values are counted, it is forgotten.
func (l *Learner) AddSchema(found Schema) {
	for _, f := range found {
		c := l.column(jsontext.AppendString(nil, f.Name))
		if c == nil || c.declared != Null {
			continue
		}
		switch f.Kind {
		case Text:
			c.kinds = kindText
		case Number:
			c.kinds = kindNumber
		case Boolean:
			c.kinds = kindBoolean
		case Time:
			c.kinds = kindTime
		case Texts:
			c.kinds = kindTexts
		default:
			c.kinds = kindOther
		}
	}
}
