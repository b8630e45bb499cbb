package ipgeo

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// objectWriter appends the members of JSON objects, leaving out zero values.
// Its output has no white space, and equal values have equal bytes: the
// scanner of scan.go relies on the one, joining rows on the other.
type objectWriter struct{ b []byte }

func (w *objectWriter) key(name string) {
	if n := len(w.b); n > 0 && w.b[n-1] != '{' {
		w.b = append(w.b, ',')
	}
	w.b = append(w.b, '"')
	w.b = append(w.b, name...) // our own names, nothing to escape
	w.b = append(w.b, '"', ':')
}

// open begins an object and returns where, for close.
func (w *objectWriter) open(name string) (at int) {
	at = len(w.b)
	w.key(name)
	w.b = append(w.b, '{')
	return at
}

// close ends the object begun at at, and takes it back if it has no members.
func (w *objectWriter) close(at int) {
	if w.b[len(w.b)-1] == '{' {
		w.b = w.b[:at]
		return
	}
	w.b = append(w.b, '}')
}

func (w *objectWriter) string(name, v string) {
	if v != "" {
		w.key(name)
		w.b = appendString(w.b, v)
	}
}

func (w *objectWriter) number(name string, v uint32) {
	if v != 0 {
		w.key(name)
		w.b = strconv.AppendUint(w.b, uint64(v), 10)
	}
}

func (w *objectWriter) flag(name string, v bool) {
	if v {
		w.key(name)
		w.b = append(w.b, "true"...)
	}
}

// names writes the languages sorted, so that equal records have equal bytes.
func (w *objectWriter) names(names Names) {
	type entry struct{ lang, name string }
	var array [16]entry
	list := array[:0]
	for lang, name := range names {
		if lang == "" || name == "" {
			continue
		}
		list = append(list, entry{lang, name})
		if len(list) > len(array) {
			continue // sorted below
		}
		// There mostly are eight, so insertion is quickest.
		for i := len(list) - 1; i > 0 && list[i].lang < list[i-1].lang; i-- {
			list[i], list[i-1] = list[i-1], list[i]
		}
	}
	if len(list) == 0 {
		return
	}
	if len(list) > len(array) {
		slices.SortFunc(list, func(a, b entry) int { return strings.Compare(a.lang, b.lang) })
	}
	w.key("names")
	for i := range list {
		c := byte(',')
		if i == 0 {
			c = '{'
		}
		w.b = append(appendString(append(w.b, c), list[i].lang), ':')
		w.b = appendString(w.b, list[i].name)
	}
	w.b = append(w.b, '}')
}

// appendNumber appends a finite float in the fewest digits that read back as
// the same float, as ECMAScript and encoding/json write it.
func appendNumber(dst []byte, v float64) []byte {
	if v == 0 {
		return append(dst, '0') // -0 too
	}
	if abs := math.Abs(v); abs < 1e-6 || abs >= 1e21 {
		dst = strconv.AppendFloat(dst, v, 'e', -1, 64)
		if n := len(dst); dst[n-4] == 'e' && dst[n-2] == '0' { // e-09 is e-9
			dst = append(dst[:n-2], dst[n-1])
		}
		return dst
	}
	return strconv.AppendFloat(dst, v, 'f', -1, 64)
}

const hex = "0123456789abcdef"

// plain marks the ASCII characters that stand for themselves in a string of
// ours. Those that mean something in HTML do not.
var plain = func() (t [utf8.RuneSelf]bool) {
	for c := range t {
		t[c] = c >= 0x20 && c != 0x7f && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&'
	}
	return t
}()

// appendString appends s as a JSON string (RFC 8259). Bytes that are not UTF-8
// become U+FFFD. Names are other people's: what means something in HTML, and the
// two line separators that JavaScript long refused inside strings, are escaped,
// so that an answer may be put into a script.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	done := 0 // s[:done] is written
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if !plain[c] {
				dst = append(dst, s[done:i]...)
				if c == '"' || c == '\\' {
					dst = append(dst, '\\', c)
				} else {
					dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
				}
				done = i + 1
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '\u2028' || r == '\u2029':
			dst = append(append(dst, s[done:i]...), '\\', 'u', '2', '0', '2', hex[r&15])
			done = i + n
		case r == utf8.RuneError && n == 1:
			dst = append(append(dst, s[done:i]...), "\ufffd"...)
			done = i + n
		}
		i += n
	}
	return append(append(dst, s[done:]...), '"')
}
