// Package jsontext appends what the packages of places write of JSON
// themselves.
package jsontext

import (
	"strconv"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string. Names are other people's: what means
// something in HTML or ends a line of JavaScript is escaped too, and what is not
// UTF-8 becomes U+FFFD.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c < 0x7f && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&' {
			i++
			continue
		}
		n := 1
		if c >= utf8.RuneSelf {
			var r rune
			r, n = utf8.DecodeRuneInString(s[i:])
			if r != '\u2028' && r != '\u2029' && (r != utf8.RuneError || n > 1) {
				i += n
				continue
			}
			dst = append(dst, s[from:i]...)
			dst = append(dst, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
		} else {
			dst = append(dst, s[from:i]...)
			if c == '"' || c == '\\' {
				dst = append(dst, '\\', c)
			} else {
				dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			}
		}
		i += n
		from = i
	}
	return append(append(dst, s[from:]...), '"')
}

// unitsPerDegree is how many units AppendDegrees divides a degree into.
const unitsPerDegree = 1e7

// AppendDegrees appends a coordinate given in 1e-7 degrees, in degrees and as
// short as it can be.
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
