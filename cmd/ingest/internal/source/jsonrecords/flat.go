package jsonrecords

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/internal/jsontext"
)

// These bound the columns of a record.
const (
	maxDepth   = 6         // objects around a value; deeper ones stay JSON
	maxMembers = 1000      // of a record
	maxName    = 1 << 10   // bytes
	maxValue   = 256 << 10 // bytes of a value as written, unless it is a shape
	maxColumns = 1 << 14   // whose names are remembered
)

// These are the reasons why a value is lost.
var (
	tooMany  = fmt.Sprintf("it is behind the first %d of the record", maxMembers)
	tooLong  = fmt.Sprintf("it is longer than %d bytes", maxValue)
	longName = fmt.Sprintf("its name is longer than %d bytes", maxName)
)

// flattener makes columns of nested objects. Its zero value is ready.
type flattener struct {
	members []source.Member
	lost    source.Lost
	record  int // number of the record, to find columns that it has twice
	columns map[string]*column
	name    []byte // path of the current value
	made    []byte // values that are not in the text; never overwritten within a record
}

// column is a column that some record has.
type column struct {
	name   string
	record int // the last that has it
	at     int // its index in the members
}

func (f *flattener) begin() {
	f.members, f.made, f.lost = f.members[:0], f.made[:0], source.Lost{}
	f.record++
}

// object adds the members of an object, each as a column. prefix is how much of the current name is the path to
// the object, with a period.
func (f *flattener) object(prefix int, object []byte, depth int) {
	each(object, func(name, value []byte) { f.value(prefix, name, value, depth) })
}

// value adds a member. prefix is how much of the current name is the path to its object.
func (f *flattener) value(prefix int, name, value []byte, depth int) {
	f.name = append(f.name[:prefix], source.TextOf(name)...)
	if value[0] == '{' {
		switch what := kindOf(value); {
		case what.empty:
			return
		case what.operator != nil:
			value = f.extended(what.operator, what.operand, value)
		case what.geometry != nil:
			f.add(what.geometry, true)
			return
		case depth < maxDepth:
			f.name = append(f.name, '.')
			f.object(len(f.name), value, depth+1)
			return
		}
	}
	f.add(value, false)
}

// add adds a value under the current name. The last value of a name counts.
func (f *flattener) add(value []byte, shape bool) {
	switch {
	case len(f.name) > maxName:
		f.lost.Add(string(f.name[:80])+"…", longName)
		return
	case len(value) > maxValue && !shape:
		f.lost.Add(string(f.name), tooLong)
		return
	}
	c := f.columns[string(f.name)]
	if c == nil {
		c = &column{name: string(f.name)}
		if f.columns == nil {
			f.columns = map[string]*column{}
		}
		if len(f.columns) < maxColumns {
			f.columns[c.name] = c
		}
	}
	switch {
	case c.record == f.record:
		f.members[c.at].Value = value
	case len(f.members) == maxMembers:
		f.lost.Add(c.name, tooMany)
	default:
		c.record, c.at = f.record, len(f.members)
		f.members = append(f.members, source.Member{Name: c.name, Value: value})
	}
}

// inner adds the members of an object as columns without its name, unless the record has a column of that name.
func (f *flattener) inner(outer string, object []byte) {
	beside := len(f.members)
	each(object, func(name, value []byte) {
		prefix := 0
		if c := f.columns[string(source.TextOf(name))]; c != nil && c.record == f.record && c.at < beside {
			f.name = append(append(f.name[:0], outer...), '.')
			prefix = len(f.name)
		}
		f.value(prefix, name, value, 1)
	})
}

// text adds a text under a name.
func (f *flattener) text(name, value string) {
	from := len(f.made)
	f.made = jsontext.AppendString(f.made, value)
	f.name = append(f.name[:0], name...)
	f.add(f.made[from:], false)
}

// extended returns the value of an operator of MongoDB's extended JSON as plain JSON, or the object as it is.
func (f *flattener) extended(operator, operand, object []byte) []byte {
	switch string(operator) {
	case `"$oid"`, `"$uuid"`, `"$symbol"`:
		return operand
	case `"$numberInt"`, `"$numberLong"`, `"$numberDouble"`, `"$numberDecimal"`:
		if text := source.TextOf(operand); operand[0] == '"' && json.Valid(text) {
			return text
		}
		return operand
	case `"$date"`:
		if operand[0] == '{' {
			what := kindOf(operand)
			operand = f.extended(what.operator, what.operand, operand)
		}
		if ms, err := strconv.ParseInt(string(operand), 10, 64); err == nil {
			return f.time(ms)
		}
		if operand[0] == '"' {
			return operand
		}
	}
	return object
}

// time returns a text of a time in milliseconds since 1970.
func (f *flattener) time(ms int64) []byte {
	from := len(f.made)
	t := time.UnixMilli(ms).UTC()
	if t.Year() < 0 || t.Year() > 9999 {
		f.made = strconv.AppendInt(f.made, ms, 10)
		return f.made[from:]
	}
	f.made = append(t.AppendFormat(append(f.made, '"'), time.RFC3339Nano), '"')
	return f.made[from:]
}

// what is what an object stands for.
type what struct {
	empty             bool
	geometry          []byte // it is one of GeoJSON, or a Feature with one
	operator, operand []byte // its only member, if the name begins with $
}

func kindOf(object []byte) (w what) {
	n := 0
	var typ, inner []byte
	located := false
	each(object, func(name, value []byte) {
		n++
		switch string(name) {
		case `"type"`:
			typ = value
		case `"coordinates"`, `"geometries"`:
			located = located || value[0] == '['
		case `"geometry"`:
			inner = value
		}
		if n == 1 && name[1] == '$' {
			w.operator, w.operand = name, value
		}
	})
	w.empty = n == 0
	if n > 1 {
		w.operator = nil
	}
	switch {
	case located && geometries[string(source.TextOf(typ))]:
		w.geometry = object
	case string(typ) == `"Feature"` && inner != nil:
		w.geometry = inner
	}
	return w
}

// each calls f with the names, in quotes, and the values of an object. It is valid JSON.
func each(object []byte, f func(name, value []byte)) {
	for i := 1; i < len(object); {
		switch object[i] {
		case ',', ' ', '\t', '\r', '\n':
			i++
			continue
		case '}':
			return
		}
		end := valueEnd(object, i)
		name := object[i:end]
		for i = end; isSpace(object[i]) || object[i] == ':'; i++ {
		}
		end = valueEnd(object, i)
		f(name, object[i:end])
		i = end
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// valueEnd returns the end of the value that begins at i.
func valueEnd(text []byte, i int) int {
	switch text[i] {
	case '"':
		return stringEnd(text, i)
	case '{', '[':
		depth := 0
		for ; ; i++ {
			switch text[i] {
			case '"':
				i = stringEnd(text, i) - 1
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
		}
	}
	for i < len(text) && text[i] != ',' && text[i] != '}' && text[i] != ']' && !isSpace(text[i]) {
		i++
	}
	return i
}

func stringEnd(text []byte, i int) int {
	i++
	if end := bytes.IndexByte(text[i:], '"') + i; bytes.IndexByte(text[i:end], '\\') < 0 {
		return end + 1
	}
	for ; text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i + 1
}
