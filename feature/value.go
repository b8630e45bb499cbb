package feature

import (
	"bytes"
	"iter"
	"math"
	"slices"
	"strconv"

	"quadrille/internal/jsontext"
)

// Value is the value of a property. The zero Value is null. It points to the bytes of its source,
// and is valid as long as they are.
type Value struct {
	kind Kind
	raw  bool   // text is JSON
	bits uint64 // of an Integer, a Boolean, or a Number that is not raw
	text []byte // of a Text or Time that is not raw: itself
}

// TextValue returns a Text. It points to text, which must not change while the Value is used.
func TextValue(text []byte) Value { return Value{kind: Text, text: text} }

// NumberValue returns a Number.
func NumberValue(v float64) Value { return Value{kind: Number, bits: math.Float64bits(v)} }

// IntegerValue returns an Integer.
func IntegerValue(v int64) Value { return Value{kind: Integer, bits: uint64(v)} }

// BooleanValue returns a Boolean.
func BooleanValue(v bool) (b Value) {
	b.kind = Boolean
	if v {
		b.bits = 1
	}
	return b
}

// JSONValue returns the value of compact JSON. A Number keeps all its digits. Arrays and objects
// are of the kind Any.
func JSONValue(compact []byte) Value {
	switch {
	case IsText(compact):
		return Value{kind: Text, raw: true, text: compact}
	case IsNumber(compact):
		return Value{kind: Number, raw: true, text: compact}
	case IsBoolean(compact):
		return BooleanValue(compact[0] == 't')
	case len(compact) == 0 || string(compact) == "null":
		return Value{}
	}
	return Value{kind: Any, raw: true, text: compact}
}

// Kind returns the kind of the value by itself: a Time is a Text, and a list is Any. Only
// a schema knows more.
func (v Value) Kind() Kind { return v.kind }

// Text returns the text of a Text, and the JSON of any other value.
func (v Value) Text() string {
	switch {
	case v.kind != Text:
		return string(v.AppendJSON(nil))
	case v.raw:
		return string(TextOf(v.text))
	}
	return string(v.text)
}

// Number returns a Number or Integer to the nearest float64. ok is false for other kinds.
func (v Value) Number() (number float64, ok bool) {
	switch {
	case v.kind == Integer:
		return float64(int64(v.bits)), true
	case v.kind != Number:
		return 0, false
	case v.raw:
		number, err := strconv.ParseFloat(string(v.text), 64)
		return number, err == nil
	}
	return math.Float64frombits(v.bits), true
}

// Integer returns an Integer, or a Number that is spelled as one. ok is false for other
// kinds.
func (v Value) Integer() (number int64, ok bool) {
	switch {
	case v.kind == Integer:
		return int64(v.bits), true
	case v.kind == Number && v.raw:
		number, err := strconv.ParseInt(string(v.text), 10, 64)
		return number, err == nil
	}
	return 0, false
}

// Boolean returns a Boolean. ok is false for other kinds.
func (v Value) Boolean() (value, ok bool) { return v.bits == 1, v.kind == Boolean }

// AppendJSON appends the value as compact JSON.
func (v Value) AppendJSON(dst []byte) []byte {
	switch {
	case v.raw:
		return append(dst, v.text...)
	case v.kind == Text:
		return jsontext.AppendString(dst, string(v.text))
	case v.kind == Number:
		return strconv.AppendFloat(dst, math.Float64frombits(v.bits), 'f', -1, 64)
	case v.kind == Integer:
		return strconv.AppendInt(dst, int64(v.bits), 10)
	case v.kind == Boolean:
		return strconv.AppendBool(dst, v.bits == 1)
	}
	return append(dst, "null"...)
}

// decoded returns the value without bytes of JSON, as far as possible.
func (v Value) decoded() Value {
	if v.raw && v.kind == Text {
		return Value{kind: Text, text: bytes.Clone(TextOf(v.text))}
	}
	v.text = bytes.Clone(v.text)
	return v
}

// Property is a value with its name.
type Property struct {
	Name  string
	Value Value
}

// Properties are the properties of a feature, in their order. They are kept as values or as
// bytes of JSON; callers see no difference. The zero Properties are empty.
type Properties struct {
	compact []byte
	list    []Property
}

// PropertiesOf returns Properties that are kept as values. They own the list.
func PropertiesOf(list ...Property) Properties { return Properties{list: list} }

// CompactProperties returns Properties that are kept as the members of a compact object, without its braces.
func CompactProperties(members []byte) Properties { return Properties{compact: members} }

// Lookup returns the value of a property. ok is false if there is none.
func (p Properties) Lookup(name string) (v Value, ok bool) {
	if p.list == nil {
		var buf [192]byte
		text, ok := lookupAmong(p.compact, append(jsontext.AppendString(buf[:0], name), ':'))
		return JSONValue(text), ok
	}
	if i := slices.IndexFunc(p.list, func(o Property) bool { return o.Name == name }); i >= 0 {
		return p.list[i].Value, true
	}
	return Value{}, false
}

// Text returns the text of a property, or "" if there is none.
func (p Properties) Text(name string) string {
	if v, ok := p.Lookup(name); ok && v.Kind() == Text {
		return v.Text()
	}
	return ""
}

// All yields the properties in their order.
func (p Properties) All() iter.Seq2[string, Value] {
	return func(yield func(name string, v Value) bool) {
		for i := range p.list {
			if !yield(p.list[i].Name, p.list[i].Value) {
				return
			}
		}
		for name, value := range among(p.compact) {
			if !yield(string(TextOf(name)), JSONValue(value)) {
				return
			}
		}
	}
}

// AppendMembers appends the properties as members of a compact object, without its braces.
func (p Properties) AppendMembers(dst []byte) []byte {
	for i := range p.list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(jsontext.AppendString(dst, p.list[i].Name), ':')
		dst = p.list[i].Value.AppendJSON(dst)
	}
	return append(dst, p.compact...)
}

// AppendWith does the same as AppendMembers, with another value for an existing property.
func (p Properties) AppendWith(dst []byte, name string, v Value) []byte {
	start := len(dst)
	for n, was := range p.All() {
		if n == name {
			was = v
		}
		if len(dst) > start {
			dst = append(dst, ',')
		}
		dst = was.AppendJSON(append(jsontext.AppendString(dst, n), ':'))
	}
	return dst
}

// appendSome does the same as AppendMembers, for the properties with one of the names.
func (p Properties) appendSome(dst []byte, names []string) []byte {
	for name, v := range p.All() {
		if !slices.Contains(names, name) {
			continue
		}
		dst = v.AppendJSON(append(jsontext.AppendString(jsontext.Next(dst), name), ':'))
	}
	return dst
}

// clone returns a copy of the properties in new memory.
func (p Properties) clone() Properties {
	p.compact, p.list = bytes.Clone(p.compact), slices.Clone(p.list)
	for i := range p.list {
		p.list[i].Value.text = bytes.Clone(p.list[i].Value.text)
	}
	return p
}

// decoded returns the same properties as values.
func (p Properties) decoded() Properties {
	list := []Property{}
	for name, v := range p.All() {
		list = append(list, Property{name, v.decoded()})
	}
	return Properties{list: list}
}
