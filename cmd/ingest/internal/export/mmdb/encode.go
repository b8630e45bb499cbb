package mmdb

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// These are the types of values in the data section.
const (
	typePointer = 1
	typeString  = 2
	typeDouble  = 3
	typeUint16  = 5
	typeUint32  = 6
	typeMap     = 7
	typeInt32   = 8
	typeUint64  = 9
	typeArray   = 11
	typeBool    = 14
)

// numberTypes are the types of GeoIP2's numbers other than uint32, by the name
// of the field. All other integers take the first of uint32, int32 and uint64
// that holds them.
var numberTypes = map[string]byte{
	"accuracy_radius": typeUint16,
	"confidence":      typeUint16,
	"metro_code":      typeUint16,
	"latitude":        typeDouble,
	"longitude":       typeDouble,
	"static_ip_score": typeDouble,
}

// A TypeError is the error of a value that no type of the format fits.
type TypeError struct{ Field, Value string }

func (e *TypeError) Error() string {
	return fmt.Sprintf("field %s: no type of the MaxMind DB format holds %.60s; leave the field out by --fields, or "+
		"correct it in its source and ingest again", e.Field, e.Value)
}

// encoder writes values in the encoding of the data section, without pointers.
type encoder struct {
	json []byte // the rest of the input
	path []byte
	name string // of the current member
	// languages are the names of the members of every map called names.
	languages map[string]bool
}

// encode appends the encoding of a JSON value without white space, and adds the languages in it to
// languages.
func encode(dst, text []byte, languages map[string]bool) ([]byte, error) {
	e := encoder{json: text, languages: languages}
	dst, err := e.value(dst)
	if err == nil && len(e.json) > 0 {
		err = e.broken()
	}
	return dst, err
}

func (e *encoder) broken() error {
	return fmt.Errorf("record has %.40q where JSON has to go on", e.json)
}

func (e *encoder) value(dst []byte) ([]byte, error) {
	if len(e.json) == 0 {
		return nil, e.broken()
	}
	switch c := e.json[0]; {
	case c == '{':
		return e.list(dst, typeMap, '}')
	case c == '[':
		return e.list(dst, typeArray, ']')
	case c == '"':
		return e.string(dst)
	case c == '-' || '0' <= c && c <= '9':
		return e.number(dst)
	}
	for _, w := range literals {
		if !bytes.HasPrefix(e.json, w.text) {
			continue
		}
		e.json = e.json[len(w.text):]
		if w.size < 0 {
			return nil, &TypeError{string(e.path), string(w.text)}
		}
		return appendControl(dst, typeBool, w.size), nil
	}
	return nil, e.broken()
}

// literals are the words of JSON, with their type and size; the format has no null.
var literals = [...]struct {
	text []byte
	size int
}{{[]byte("true"), 1}, {[]byte("false"), 0}, {[]byte("null"), -1}}

// list encodes a map or an array. Its size comes first in the encoding, so the values are moved
// when they have been counted.
func (e *encoder) list(dst []byte, typ byte, end byte) ([]byte, error) {
	e.json = e.json[1:]
	start, before := len(dst), len(e.path)
	translated := typ == typeMap && e.name == "names"
	n := 0
	for first := true; ; first = false {
		if len(e.json) == 0 {
			return nil, e.broken()
		}
		if e.json[0] == end {
			break
		}
		if !first {
			if e.json[0] != ',' {
				return nil, e.broken()
			}
			e.json = e.json[1:]
		}
		var err error
		if typ == typeMap {
			name, err := e.text()
			if err != nil {
				return nil, err
			}
			if len(e.json) == 0 || e.json[0] != ':' {
				return nil, e.broken()
			}
			e.json = e.json[1:]
			dst = appendString(dst, name)
			if translated {
				e.languages[name] = true
			}
			if before > 0 {
				e.path = append(e.path, '.')
			}
			e.path = append(e.path, name...)
			e.name = name
		}
		if dst, err = e.value(dst); err != nil {
			return nil, err
		}
		e.path = e.path[:before]
		n++
	}
	e.json = e.json[1:]
	var head [8]byte
	control := appendControl(head[:0], typ, n)
	dst = append(dst, control...)
	copy(dst[start+len(control):], dst[start:len(dst)-len(control)])
	copy(dst[start:], control)
	return dst, nil
}

func (e *encoder) string(dst []byte) ([]byte, error) {
	s, err := e.text()
	if err != nil {
		return nil, err
	}
	if len(s) > maxSize {
		return nil, &TypeError{string(e.path), fmt.Sprintf("text of %d bytes", len(s))}
	}
	return appendString(dst, s), nil
}

// text reads a string.
func (e *encoder) text() (string, error) {
	if len(e.json) == 0 || e.json[0] != '"' {
		return "", e.broken()
	}
	escaped := false
	for i := 1; i < len(e.json); i++ {
		switch e.json[i] {
		case '\\':
			escaped = true
			i++
		case '"':
			token := e.json[:i+1]
			e.json = e.json[i+1:]
			if !escaped {
				return string(token[1:i]), nil
			}
			var s string
			err := json.Unmarshal(token, &s)
			return s, err
		}
	}
	return "", e.broken()
}

func (e *encoder) number(dst []byte) ([]byte, error) {
	n := 0
	whole := true
	for n < len(e.json) {
		c := e.json[n]
		if c == '.' || c == 'e' || c == 'E' {
			whole = false
		} else if c != '-' && c != '+' && (c < '0' || c > '9') {
			break
		}
		n++
	}
	text := string(e.json[:n])
	e.json = e.json[n:]
	typ := numberTypes[e.name]
	if whole && typ != typeDouble {
		if v, err := strconv.ParseUint(text, 10, 64); err == nil {
			switch {
			case typ == typeUint16 && v <= math.MaxUint16:
				return appendUint(dst, typeUint16, v), nil
			case v <= math.MaxUint32:
				return appendUint(dst, typeUint32, v), nil
			}
			return appendUint(dst, typeUint64, v), nil
		}
		if v, err := strconv.ParseInt(text, 10, 64); err == nil {
			if v < math.MinInt32 {
				return nil, &TypeError{string(e.path), text}
			}
			return binary.BigEndian.AppendUint32(appendControl(dst, typeInt32, 4), uint32(int32(v))), nil
		}
		// No integer type of MMDB holds this, so it becomes a float without a fraction.
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, &TypeError{string(e.path), text}
	}
	return binary.BigEndian.AppendUint64(appendControl(dst, typeDouble, 8), math.Float64bits(v)), nil
}

// maxSize is the largest size that a control byte and three more bytes can hold.
const maxSize = 65821 + 1<<24 - 1

func appendControl(dst []byte, typ byte, size int) []byte {
	first := typ << 5
	if typ > 7 {
		first = 0
	}
	var more [3]byte
	rest := more[:0]
	switch {
	case size < 29:
		first |= byte(size)
	case size < 285:
		first |= 29
		rest = append(rest, byte(size-29))
	case size < 65821:
		first |= 30
		rest = binary.BigEndian.AppendUint16(rest, uint16(size-285))
	default:
		first |= 31
		size -= 65821
		rest = append(rest, byte(size>>16), byte(size>>8), byte(size))
	}
	dst = append(dst, first)
	if typ > 7 {
		dst = append(dst, typ-7)
	}
	return append(dst, rest...)
}

func appendString(dst []byte, s string) []byte {
	return append(appendControl(dst, typeString, len(s)), s...)
}

// appendUint appends a number without leading zero bytes, as the format allows.
func appendUint(dst []byte, typ byte, v uint64) []byte {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], v)
	i := 0
	for i < 8 && b[i] == 0 {
		i++
	}
	return append(appendControl(dst, typ, 8-i), b[i:]...)
}

// control reads the control bytes of a value that encode wrote.
func control(b []byte) (typ byte, size, head int) {
	typ, size, head = b[0]>>5, int(b[0]&31), 1
	if typ == 0 {
		typ, head = 7+b[1], 2
	}
	switch size {
	case 29:
		size, head = 29+int(b[head]), head+1
	case 30:
		size, head = 285+int(binary.BigEndian.Uint16(b[head:])), head+2
	case 31:
		size, head = 65821+int(b[head])<<16+int(b[head+1])<<8+int(b[head+2]), head+3
	}
	return typ, size, head
}

// length returns the size in bytes of a value that encode wrote.
func length(b []byte) int {
	typ, size, n := control(b)
	switch typ {
	case typeBool:
		return n
	case typeMap:
		size *= 2
		fallthrough
	case typeArray:
		for range size {
			n += length(b[n:])
		}
		return n
	}
	return n + size
}
