package feature

import (
	"bytes"

	"quadrille/internal/jsontext"
)

// Columns finds the values of some properties of one feature after the other, each in one pass.
// One goroutine uses it.
type Columns struct {
	at     map[string]int
	values []Value
}

// NewColumns returns a Columns for the properties with the given names, which must differ.
func NewColumns(names []string) *Columns {
	c := &Columns{at: make(map[string]int, len(names)), values: make([]Value, len(names))}
	for i, name := range names {
		c.at[name] = i
	}
	return c
}

// ValuesOf returns the values of the properties in the order of the names, with the zero Value for a
// property that is absent. The result is valid until the next call.
func (c *Columns) ValuesOf(p Properties) []Value {
	clear(c.values)
	for i := range p.list {
		if at, ok := c.at[p.list[i].Name]; ok {
			c.values[at] = p.list[i].Value
		}
	}
	for name, value := range among(p.compact) {
		if at, ok := c.at[string(TextOf(name))]; ok {
			c.values[at] = JSONValue(value)
		}
	}
	return c.values
}

// AppendRest appends the properties with other names as a JSON object, and nothing if there are
// none.
func (c *Columns) AppendRest(dst []byte, p Properties) []byte {
	from := len(dst)
	for name, value := range p.All() {
		if _, ok := c.at[name]; ok || value.kind == Null {
			continue
		}
		dst = append(jsontext.AppendString(append(dst, ','), name), ':')
		dst = value.AppendJSON(dst)
	}
	if len(dst) > from {
		dst[from] = '{'
		dst = append(dst, '}')
	}
	return dst
}

// AppendText appends the text of a Text, nothing for null, and the JSON of any other value.
func (v Value) AppendText(dst []byte) []byte {
	switch {
	case v.kind == Null:
		return dst
	case v.kind != Text:
		return v.AppendJSON(dst)
	case v.raw && bytes.IndexByte(v.text, '\\') >= 0:
		dst, _ = unescape(dst, v.text[1:len(v.text)-1])
		return dst
	case v.raw:
		return append(dst, v.text[1:len(v.text)-1]...)
	}
	return append(dst, v.text...)
}
