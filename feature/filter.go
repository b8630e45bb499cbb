package feature

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"quadrille/internal/instant"
	"quadrille/internal/jsontext"
)

// condition is a term in a form for matching compact objects.
type condition struct {
	key     string   // the memberKey
	path    []string // memberKeys of nested members, for a name with dots
	name    string
	op      string
	kind    Kind
	fold    bool // case does not matter
	region  bool // texts are ids of regions
	values  []operand
	pattern Pattern // of opLike
	folded  Pattern // the pattern for folds of ids of regions
}

// operand is a value to compare with. A condition's are sorted by their
// compact form.
type operand struct {
	is      kinds   // kinds of values that it is compared with
	text    []byte  // a string in compact form, true or false
	plain   string  // the string itself, folded if case does not matter
	number  decimal // for numbers, and values of any type that could be numbers
	time    time.Time
	compact []byte // distinguishes it from other operands of the condition
}

// ParseFilter makes a filter of terms that must all hold: an *Expression, or nil for no
// terms.
func ParseFilter(s Schema, terms []Term) (Filter, error) {
	if len(terms) == 0 {
		return nil, nil
	}
	f, err := newExpression(s, terms)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func newExpression(s Schema, terms []Term) (*Expression, error) {
	if len(terms) > MaxTerms {
		return nil, badFilter("%d terms: give at most %d", len(terms), MaxTerms)
	}
	var tests []Test
	for _, t := range terms {
		some, err := s.tests(t)
		if err != nil {
			return nil, err
		}
		tests = append(tests, some...)
	}
	f := &Expression{root: And(tests...), terms: terms, all: true}
	f.prepare()
	return f, nil
}

// tests returns the tests that are equivalent to a term.
func (s Schema) tests(t Term) (tests []Test, err error) {
	if len(t.Values) > MaxTermValues {
		return nil, badFilter("%d values of %.40s: give at most %d", len(t.Values), t.Name, MaxTermValues)
	}
	for _, v := range t.Values {
		if len(v) > MaxTermBytes {
			return nil, badFilter("a value of %d bytes for %.40s: give at most %d", len(v), t.Name, MaxTermBytes)
		}
		if !utf8.ValidString(v) {
			return nil, badFilter("the value %.40q of %.40s is not UTF-8: write it in UTF-8", v, t.Name)
		}
	}
	if t.Op == OpHas || t.Op == OpLacks {
		if len(t.Values) == 0 {
			return nil, badFilter("%s: name a property", t.Op)
		}
		for _, name := range t.Values {
			field, err := s.known(name)
			if err != nil {
				return nil, err
			}
			tests = append(tests, Test{condition: conditionOf(name, t.Op, field.Kind)})
		}
		return tests, nil
	}
	field, err := s.known(t.Name)
	if err != nil {
		return nil, err
	}
	c := conditionOf(t.Name, t.Op, field.Kind)
	if err := c.checkOp(len(t.Values)); err != nil {
		return nil, err
	}
	c.values = make([]operand, 0, len(t.Values))
	for _, v := range t.Values {
		o, err := c.operand(v)
		if err != nil {
			return nil, err
		}
		c.values = append(c.values, o)
	}
	slices.SortFunc(c.values, func(a, b operand) int { return bytes.Compare(a.compact, b.compact) })
	c.values = slices.CompactFunc(c.values, func(a, b operand) bool { return bytes.Equal(a.compact, b.compact) })
	return []Test{{condition: c}}, nil
}

// conditionOf returns a condition without values. A name with dots names a property, or else a
// member of nested objects: address.city is the city of the address.
func conditionOf(name, op string, kind Kind) condition {
	c := condition{key: memberKey(name), name: name, op: op, kind: kind.ordinary(), region: kind == RegionID}
	if parts := strings.SplitN(name, ".", MaxPropertyDepth); len(parts) > 1 {
		for _, part := range parts {
			c.path = append(c.path, memberKey(part))
		}
	}
	return c
}

// find returns the value that the condition is about, among the members of a compact object.
func (c *condition) find(members []byte) (value []byte, present bool) {
	value, present = lookupAmong(members, c.key)
	if !present && c.path != nil {
		for i, key := range c.path {
			if i > 0 {
				if len(value) == 0 || value[0] != '{' {
					return nil, false
				}
				members = value[1:]
			}
			if value, present = lookupAmong(members, key); !present {
				return nil, false
			}
		}
	}
	return value, present && string(value) != "null"
}

// namesInError is the number of known names that an error lists.
const namesInError = 10

// known returns the field with a name, or an error that lists the known names,
// similar ones first.
func (s Schema) known(name string) (Field, error) {
	if field, ok := s.LookupPath(name); ok {
		return field, nil
	}
	if len(s) == 0 {
		return Field{}, badFilter("there is no property %.40q: these points have none; ask without filters", name)
	}
	var similar, others []string
	lower := strings.ToLower(name)
	for _, f := range s {
		known := strings.ToLower(f.Name)
		if lower != "" && (strings.Contains(known, lower) || strings.Contains(lower, known)) {
			similar = append(similar, f.Name)
		} else if len(others) < namesInError {
			others = append(others, f.Name)
		}
	}
	names := append(similar, others...)
	end := ""
	if len(names) > namesInError || len(s) > namesInError {
		names, end = names[:min(len(names), namesInError)], ", …"
	}
	return Field{}, badFilter("there is no property %.40q: give one of %s%s", name, strings.Join(names, ", "), end)
}

// checkOp checks that the operator fits the type and the number of values.
func (c *condition) checkOp(values int) error {
	switch c.op {
	case OpFalsy:
		if values > 0 {
			return badFilter("-%s: give it no value", c.name)
		}
		return nil
	case OpEquals, OpDiffers:
	case OpPrefix:
		if c.kind != Text && c.kind != Texts && c.kind != Any {
			return badFilter("%s.prefix: %[1]s has the type %[2]s, and only text has a prefix: ask for its value", c.name, c.kind)
		}
	case OpLess, OpLessOrEqual, OpGreater, OpGreaterOrEqual:
		if c.kind != Number && c.kind != Time && c.kind != Any {
			return badFilter("%s.%s: %[1]s has the type %[3]s, and only numbers and times are less or greater: ask for its "+
				"value, or declare the type if most of its values are such", c.name, c.op, c.kind)
		}
		if values != 1 {
			return badFilter("%s.%s: %d values: give one", c.name, c.op, values)
		}
	default:
		return badFilter("there is no operator %.20q: give one of not, ne, lt, lte, gt, gte, prefix, has, lacks, or none", c.op)
	}
	if values == 0 {
		return badFilter("%s: give a value", c.name)
	}
	return nil
}

// operand makes a value ready.
func (c *condition) operand(v string) (o operand, err error) {
	o = textOperand(v)
	number, numeric := appendTextNumber(nil, []byte(v))
	ordered := c.op != OpEquals && c.op != OpDiffers && c.op != OpPrefix
	var ok bool
	switch {
	case c.kind == Number || c.kind == Any && ordered:
		if o.compact, ok = number, numeric; !ok {
			return o, badFilter("%s: %s", c.name, noValue(o.text, Number))
		}
		o.is = 0
	case c.kind == Boolean:
		var b bool
		if b, ok = textBoolean([]byte(v)); !ok {
			return o, badFilter("%s: %.40q: give true or false", c.name, v)
		}
		o = booleanOperand(b)
	case c.kind == Time:
		if o.time, ok = instant.Parse(v); !ok {
			return o, badFilter("%s: %.40q is no time: give one as in 2026-01-31T12:00:00Z, or a date as in 2026-01-31", c.name, v)
		}
		o.is, o.compact = kindTime, appendTime(nil, o.time)
	case c.kind == Any && (v == "true" || v == "false"):
		o.is |= kindBoolean
	}
	if numeric && (c.kind == Number || c.kind == Any) {
		o.number = parseDecimal(number)
		o.is |= kindNumber
	}
	return o, nil
}

func textOperand(v string) operand {
	text := jsontext.AppendString(nil, v)
	return operand{is: kindText, text: text, plain: v, compact: text}
}

func booleanOperand(v bool) operand {
	text := strconv.AppendBool(nil, v)
	return operand{is: kindBoolean, text: text, plain: string(text), compact: text}
}

// holds decides a condition, for a present value that is not null, or for none. No other code
// decides conditions.
func (c *condition) holds(value []byte, present bool) Truth {
	switch c.op {
	case OpHas:
		return truthOf(present)
	case OpLacks:
		return truthOf(!present)
	case OpFalsy:
		return truthOf(!present || string(value) == "false" || string(value) == `""` || string(value) == "[]")
	}
	if !present {
		return Unknown
	}
	switch c.op {
	case OpEquals, OpPrefix, opLike:
		return c.equals(value)
	case OpDiffers:
		return truthOf(c.equals(value) != Yes)
	case OpEach, OpOnly:
		return c.ofList(value)
	}
	return c.ordered(value)
}

// equals decides whether a value equals one of the operands, or begins with it, or matches the
// pattern. For a list, one element that does so suffices. The result for a list is never unknown.
func (c *condition) equals(value []byte) Truth {
	if IsList(value) && (c.kind == Texts || c.kind == Any) {
		for element := range Elements(value) {
			if c.equalsOne(element) == Yes {
				return Yes
			}
		}
		return No
	}
	if c.kind == Texts {
		return No
	}
	return c.equalsOne(value)
}

func (c *condition) equalsOne(value []byte) Truth {
	switch {
	case c.op == opLike && IsText(value):
		return truthOf(c.pattern.Match(TextOf(value), c.fold) || c.region && c.folded.matchFoldedID(TextOf(value)))
	case c.op == opLike:
		return Unknown
	}
	result := No
	for i := range c.values {
		switch o := &c.values[i]; {
		case c.op == OpPrefix:
			if IsText(value) && (bytes.HasPrefix(value, o.text[:len(o.text)-1]) || c.region && hasIDPrefix(TextOf(value), o.plain)) {
				return Yes
			}
		case o.is&kindText != 0 && c.region && IsText(value):
			if SameRegionID(TextOf(value), o.plain) {
				return Yes
			}
		case o.is&kindText != 0 && !c.fold && IsText(value):
			if bytes.Equal(value, o.text) {
				return Yes
			}
		default:
			order, ok := o.order(value, c.fold)
			if ok && order == 0 {
				return Yes
			}
			if !ok {
				result = Unknown
			}
		}
	}
	return result
}

// ofList reports whether a list has all the operands, or, for OpOnly, has no other elements. A
// value that is no list counts as a list of one element.
func (c *condition) ofList(value []byte) Truth {
	elements := Elements(value)
	if !IsList(value) {
		elements = func(yield func([]byte) bool) { yield(value) }
	}
	one := condition{kind: Any, fold: c.fold, region: c.region, values: c.values}
	if c.op == OpOnly {
		for element := range elements {
			if one.equalsOne(element) != Yes {
				return No
			}
		}
		return Yes
	}
	for i := range c.values {
		one.values = c.values[i : i+1]
		found := false
		for element := range elements {
			if found = one.equalsOne(element) == Yes; found {
				break
			}
		}
		if !found {
			return No
		}
	}
	return Yes
}

// order compares a value with the operand. ok is false if they have no type in common. For booleans
// only an order of 0 has a meaning.
func (o *operand) order(value []byte, fold bool) (order int, ok bool) {
	switch {
	case IsText(value) && o.is&kindText != 0 && fold:
		return compareFolded(TextOf(value), o.plain), true
	case IsText(value) && o.is&kindText != 0:
		return cmp.Compare(string(TextOf(value)), o.plain), true
	case IsText(value) && o.is&kindTime != 0:
		when, ok := instant.Parse(value[1 : len(value)-1])
		return when.Compare(o.time), ok
	case IsText(value) && o.is&(fromTable|kindNumber) == fromTable|kindNumber:
		text := TextOf(value)
		return parseDecimal(text).compare(o.number), isTextNumber(text)
	case IsText(value) && o.is&(fromTable|kindBoolean) == fromTable|kindBoolean:
		truth, ok := textBoolean(TextOf(value))
		return cmp.Compare(strconv.FormatBool(truth), o.plain), ok
	case IsNumber(value) && o.is&kindNumber != 0:
		return parseDecimal(value).compare(o.number), true
	case IsBoolean(value) && o.is&kindBoolean != 0:
		return cmp.Compare(string(value), o.plain), true
	}
	return 0, false
}

// ordered decides whether the value is less or greater than the operand, depending on the
// operator.
func (c *condition) ordered(value []byte) Truth {
	order, ok := c.values[0].order(value, c.fold)
	if !ok {
		return Unknown
	}
	switch c.op {
	case OpLess:
		return truthOf(order < 0)
	case OpLessOrEqual:
		return truthOf(order <= 0)
	case OpGreater:
		return truthOf(order > 0)
	default:
		return truthOf(order >= 0)
	}
}
