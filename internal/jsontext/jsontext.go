// Package jsontext appends the strings, coordinates and commas of JSON that other
// packages write by hand, without allocating.
//
// All answers follow one policy for strings:
//
//   - Each byte that is not part of valid UTF-8 becomes U+FFFD, as in
//     encoding/json, written as it is.
//   - The quotation mark and the backslash are escaped by a backslash, control
//     characters, DEL among them, by \u00 and two digits.
//   - The characters < > & and the line separators U+2028 and U+2029 are escaped
//     too. Names are other people's, and an answer may be pasted into a page or a
//     script.
//   - All other characters stand for themselves.
//
// Documents that encoding/json writes as a whole, such as problems and /status,
// escape some of these in another form; they decode to the same text.
package jsontext

import (
	"strconv"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// plain marks the ASCII characters that need no escaping.
var plain = func() (t [utf8.RuneSelf]bool) {
	for c := range t {
		t[c] = c >= 0x20 && c != 0x7f && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&'
	}
	return t
}()

// AppendString appends s as a JSON string, by the policy of the package.
func AppendString(dst []byte, s string) []byte {
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
					dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
				}
				done = i + 1
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '\u2028' || r == '\u2029':
			dst = append(append(dst, s[done:i]...), '\\', 'u', '2', '0', '2', hexDigits[r&15])
			done = i + n
		case r == utf8.RuneError && n == 1:
			dst = append(append(dst, s[done:i]...), "\ufffd"...)
			done = i + n
		}
		i += n
	}
	return append(append(dst, s[done:]...), '"')
}

// Next appends the comma before a member or an element, unless its object or list has just been
// opened, or dst is empty.
func Next(dst []byte) []byte {
	if n := len(dst); n == 0 || dst[n-1] == '{' || dst[n-1] == '[' {
		return dst
	}
	return append(dst, ',')
}

// AppendName begins a member behind others: a comma, the name, which needs no escapes, and a colon.
func AppendName(dst []byte, name string) []byte {
	return append(append(append(dst, ',', '"'), name...), '"', ':')
}

// AppendText appends a member behind others, unless its text is empty.
func AppendText(dst []byte, name, text string) []byte {
	if text == "" {
		return dst
	}
	return AppendString(AppendName(dst, name), text)
}

// unitsPerDegree is the number of units into which AppendDegrees divides a degree.
const unitsPerDegree = 1e7

// AppendDegrees appends a coordinate in units of 1e-7 degrees as the shortest number of degrees.
func AppendDegrees(dst []byte, units int32) []byte {
	v := int64(units)
	if v < 0 {
		dst, v = append(dst, '-'), -v
	}
	dst = strconv.AppendInt(dst, v/unitsPerDegree, 10)
	rest := v % unitsPerDegree
	if rest == 0 {
		return dst
	}
	dst = append(dst, '.')
	for unit := int64(unitsPerDegree) / 10; rest > 0; unit /= 10 {
		dst = append(dst, byte('0'+rest/unit))
		rest %= unit
	}
	return dst
}
