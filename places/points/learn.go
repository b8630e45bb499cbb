package points

import (
	"bytes"
	"math/bits"
	"slices"

	"quadrille/internal/instant"
	"quadrille/internal/jsontext"
)

// Learner finds the schema of points from their properties.
type Learner struct {
	columns  []column
	index    map[string]int // of columns, by their names
	expected int            // the column that the next member probably has
	unlisted int64
	changes  uint64 // how often there was another column, or other kinds of one
}

// column is what is known of one property.
type column struct {
	name     string // in compact form
	declared Type   // or ""
	kinds    kinds  // of its values; once none is left, of the last ones
	seen     bool   // of what is declared: a point had it
	counts   [kindCount]int64
}

// kinds is the set of what the values of a column are.
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

// NewLearner returns a learner for which declared types are certain. Declared
// may be nil.
func NewLearner(declared Schema) *Learner {
	l := &Learner{index: make(map[string]int)}
	for _, f := range declared {
		l.add(string(jsontext.AppendString(nil, f.Name))).declared = f.Type
	}
	return l
}

func (l *Learner) add(name string) *column {
	l.index[name] = len(l.columns)
	l.changes++
	l.columns = append(l.columns, column{name: name})
	return &l.columns[len(l.columns)-1]
}

// column returns the column of that name, or nil where there are too many.
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

// Learn takes in the properties of a point, which are compact. Null and empty
// lists say nothing about a type.
func (l *Learner) Learn(object []byte) {
	l.expected = 0
	for w := (walker{object}); ; {
		name, value, ok := w.next()
		if !ok {
			return
		}
		switch c := l.column(name); {
		case c == nil:
		case c.declared != "":
			c.seen = true
		default:
			c.kinds |= kindOf(value, c.kinds)
		}
	}
}

// count takes in the properties of a point as Learn does, and counts its values: by 1, or by
// -1 once they are not there any more. So a type is that of the values that are there.
func (l *Learner) count(object []byte, by int64) {
	l.expected = 0
	for w := (walker{object}); ; {
		name, value, ok := w.next()
		if !ok {
			return
		}
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

// settle makes the kinds of a column those of which there are values.
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

// declare makes other types certain, all at once. undo takes that back.
func (l *Learner) declare(types Schema) (undo func()) {
	was := slices.Clone(l.columns)
	for i := range l.columns {
		l.columns[i].declared = ""
	}
	for _, f := range types {
		name := string(jsontext.AppendString(nil, f.Name))
		i, found := l.index[name]
		if !found {
			i = len(l.columns)
			l.add(name)
		}
		l.columns[i].declared = f.Type
	}
	for i := range was {
		// The kinds of values under a declaration are not stored. Without values, a
		// collection that is opened again would not know them.
		if c := &l.columns[i]; was[i].declared != "" && c.declared == "" && c.counts == [kindCount]int64{} {
			c.kinds = 0
		}
	}
	l.changes++
	return func() {
		for i := range l.columns {
			l.columns[i].declared = ""
			if i < len(was) {
				l.columns[i].declared, l.columns[i].kinds = was[i].declared, was[i].kinds
			}
		}
		l.changes++
	}
}

// others returns how many values have not the type that is declared, by their properties.
func (l *Learner) others() map[string]int64 {
	counts := map[string]int64{}
	for i := range l.columns {
		c := &l.columns[i]
		for kind, n := range c.counts {
			fits := c.declared == "" || c.declared == Any || c.declared == typeOfKinds(1<<kind) || c.declared == Text && 1<<kind == kindTime
			if n > 0 && !fits {
				counts[string(textOf([]byte(c.name)))] += n
			}
		}
	}
	return counts
}

// kindOf returns the kind of a value of a column that has some kinds already.
func kindOf(value []byte, have kinds) kinds {
	switch {
	case isText(value):
		if have&kindText != 0 {
			return kindText // whether this one is a time decides nothing
		}
		if _, ok := instant.Parse(value[1 : len(value)-1]); ok {
			return kindTime
		}
		return kindText
	case isNumber(value):
		return kindNumber
	case isBoolean(value):
		return kindBoolean
	case isList(value):
		var all kinds
		for elements := (lister{value}); ; {
			element, ok := elements.next()
			if !ok {
				return all
			}
			if !isText(element) {
				return kindOther
			}
			all = kindTexts
		}
	case string(value) == "null":
		return 0
	}
	return kindOther
}

// LearnText takes in a row of a table, whose values are all text. A column
// whose texts are all numbers has numbers, and so on for true and false and for
// times. Empty texts say nothing about a type.
func (l *Learner) LearnText(object []byte) {
	l.expected = 0
	for w := (walker{object}); ; {
		name, value, ok := w.next()
		if !ok {
			return
		}
		if c := l.column(name); c != nil && c.declared == "" {
			c.kinds |= fromTable
			if isText(value) && c.kinds&kindText == 0 {
				c.kinds |= kindOfText(bytes.TrimSpace(textOf(value)))
			}
		}
	}
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

// Schema returns what was learned, with the declared fields.
func (l *Learner) Schema() Schema {
	s := make(Schema, 0, len(l.columns))
	for i := range l.columns {
		c := &l.columns[i]
		s = append(s, Field{Name: string(textOf([]byte(c.name))), Type: c.typ()})
	}
	slices.SortFunc(s, byName)
	return s
}

func (c *column) typ() Type {
	if c.declared != "" {
		return c.declared
	}
	t := typeOfKinds(c.kinds &^ fromTable)
	if t == Any && c.kinds&fromTable != 0 {
		return Text
	}
	return t
}

func typeOfKinds(k kinds) Type {
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

// Commas reports whether the column of that name has decimal commas, and
// nothing but numbers otherwise: its type is text, which its owner may not
// expect.
func (l *Learner) Commas(name string) bool {
	i, ok := l.index[string(jsontext.AppendString(nil, name))]
	return ok && l.columns[i].kinds&kindComma != 0 && l.columns[i].kinds&^(kindComma|kindNumber|fromTable) == 0
}

// Unseen returns the declared fields that no point had which Learn took in.
func (l *Learner) Unseen() (names []string) {
	for i := range l.columns {
		if c := &l.columns[i]; c.declared != "" && !c.seen {
			names = append(names, string(textOf([]byte(c.name))))
		}
	}
	return names
}

// Unlisted returns how many members had names that the schema does not list,
// because it has MaxFields others.
func (l *Learner) Unlisted() int64 { return l.unlisted }

// Seed takes in what was learned before, which goes where values are counted.
func (l *Learner) Seed(found Schema) {
	for _, f := range found {
		c := l.column(jsontext.AppendString(nil, f.Name))
		if c == nil || c.declared != "" {
			continue
		}
		switch f.Type {
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
