package collection

import (
	"encoding/json"
	"strconv"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/places/points"
)

// objectReader reads the members of a JSON object one after the other, each in one pass
// over its bytes. encoding/json would read most members twice, accept names in any case,
// and keep the last of two members with one name.
type objectReader struct {
	in     []byte
	i      int
	inside bool // at least one member has been read
}

func syntaxError(what string, at int) error {
	return refusePoint("Correct the JSON: " + what + " must be at byte " + strconv.Itoa(at) + ".")
}

func refusePoint(detail string) error { return endpoint.Refuse(points.ErrInvalidPoint, "", detail) }

func (o *objectReader) space() byte {
	for ; o.i < len(o.in); o.i++ {
		switch c := o.in[o.i]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// next returns the next member; more is false at the end of the text. It finds the end of the
// value, but does not validate the value.
func (o *objectReader) next() (name, value []byte, more bool, err error) {
	c := o.space()
	switch {
	case !o.inside && c != '{':
		return nil, nil, false, syntaxError("an object", o.i)
	case o.inside && c != ',' && c != '}':
		return nil, nil, false, syntaxError("a comma or }", o.i)
	}
	if o.i++; c == '{' && o.space() == '}' {
		c = '}'
		o.i++
	}
	if c == '}' {
		if o.space(); o.i < len(o.in) {
			return nil, nil, false, syntaxError("the end", o.i)
		}
		return nil, nil, false, nil
	}
	o.inside = true
	if o.space() != '"' {
		return nil, nil, false, syntaxError("a name in quotation marks", o.i)
	}
	if name = o.value(); name == nil {
		return nil, nil, false, syntaxError("the end of a name", len(o.in))
	}
	if o.space() != ':' {
		return nil, nil, false, syntaxError("a colon", o.i)
	}
	o.i++
	o.space()
	if value = o.value(); len(value) == 0 {
		return nil, nil, false, syntaxError("a value", o.i)
	}
	text, ok := textOf(name)
	if !ok {
		return nil, nil, false, syntaxError("a name", o.i)
	}
	return text, value, true, nil
}

// value skips a value and returns it, or nil if the value is incomplete.
func (o *objectReader) value() []byte {
	from := o.i
	for depth := 0; o.i < len(o.in); o.i++ {
		switch o.in[o.i] {
		case '"':
			for o.i++; o.i < len(o.in) && o.in[o.i] != '"'; o.i++ {
				if o.in[o.i] == '\\' {
					o.i++
				}
			}
			if o.i >= len(o.in) {
				return nil
			}
		case '{', '[':
			depth++
			continue
		case '}', ']':
			if depth--; depth < 0 {
				return o.in[from:o.i]
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return o.in[from:o.i]
			}
			continue
		default:
			continue
		}
		if depth == 0 {
			o.i++
			return o.in[from:o.i]
		}
	}
	return nil
}

// textOf returns the text of a JSON string. ok is false if the value is not a string of
// valid UTF-8.
func textOf(value []byte) (text []byte, ok bool) {
	n := len(value) - 1
	if n < 1 || value[0] != '"' || value[n] != '"' {
		return nil, false
	}
	for _, c := range value[1:n] {
		if c == '\\' || c < ' ' {
			var s string
			err := json.Unmarshal(value, &s)
			return []byte(s), err == nil
		}
	}
	return value[1:n], true
}

// numberOf returns the value of a JSON number; ok is false for anything else, and for a number
// outside the range of float64.
func numberOf(value []byte) (v float64, ok bool) {
	if len(value) == 0 || value[0] != '-' && (value[0] < '0' || value[0] > '9') || !json.Valid(value) {
		return 0, false
	}
	v, err := strconv.ParseFloat(string(value), 64)
	return v, err == nil
}
