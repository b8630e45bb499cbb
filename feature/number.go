package feature

import (
	"bytes"
	"cmp"
	"strconv"
)

// decimal is a number as it is written, which is exact: identifiers of 64 bits
// have more digits than a float64. Its value is ±0.digits × 10^exp.
type decimal struct {
	negative bool
	digits   []byte // from the first digit that is not 0 to the last; may contain the point; empty for zero
	exp      int
}

// maxExponent is the greatest exponent, positive or negative. A larger one is read as maxExponent.
// The range of float64 ends long before.
const maxExponent = 1 << 28

// parseDecimal parses a number that scanNumber accepts.
func parseDecimal(b []byte) decimal {
	var d decimal
	if len(b) > 0 && b[0] == '-' {
		d.negative, b = true, b[1:]
	}
	if e := bytes.IndexAny(b, "eE"); e >= 0 {
		d.exp = exponent(b[e+1:])
		b = b[:e]
	}
	point := bytes.IndexByte(b, '.')
	if point < 0 {
		point = len(b)
	}
	first := 0
	for first < len(b) && (b[first] == '0' || b[first] == '.') {
		first++
	}
	if first == len(b) {
		return decimal{}
	}
	last := len(b)
	for b[last-1] == '0' || b[last-1] == '.' {
		last--
	}
	d.digits = b[first:last]
	d.exp += point - first
	if first > point {
		d.exp++
	}
	return d
}

// exponent returns the value of a sign and digits.
func exponent(b []byte) int {
	negative := len(b) > 0 && b[0] == '-'
	n := 0
	for _, c := range b {
		if c >= '0' && c <= '9' {
			n = min(n*10+int(c-'0'), maxExponent)
		}
	}
	if negative {
		return -n
	}
	return n
}

// compare returns which of two numbers is less.
func (d decimal) compare(other decimal) int {
	s, o := d.sign(), other.sign()
	switch {
	case s != o:
		return cmp.Compare(s, o)
	case s == 0:
		return 0
	case d.exp != other.exp:
		return s * cmp.Compare(d.exp, other.exp)
	}
	a, b := d.digits, other.digits
	for {
		if len(a) > 0 && a[0] == '.' {
			a = a[1:]
		}
		if len(b) > 0 && b[0] == '.' {
			b = b[1:]
		}
		switch {
		case len(a) == 0 && len(b) == 0:
			return 0
		case len(a) == 0 || len(b) > 0 && a[0] < b[0]:
			return -s
		case len(b) == 0 || a[0] > b[0]:
			return s
		}
		a, b = a[1:], b[1:]
	}
}

func (d decimal) sign() int {
	switch {
	case len(d.digits) == 0:
		return 0
	case d.negative:
		return -1
	}
	return 1
}

// appendTo writes the number in one form for all spellings: as plain digits from 1e-7 up to 1e21,
// else with an exponent.
func (d decimal) appendTo(dst []byte) []byte {
	if len(d.digits) == 0 {
		return append(dst, '0')
	}
	if d.negative {
		dst = append(dst, '-')
	}
	n := len(d.digits)
	if bytes.IndexByte(d.digits, '.') >= 0 {
		n--
	}
	point := d.exp // the number of digits before the point
	scientific := point <= -7 || point > 21
	switch {
	case scientific:
		point = 1
	case point <= 0:
		dst = append(dst, "0.0000000"[:2-point]...)
	}
	for _, c := range d.digits {
		if c == '.' {
			continue
		}
		dst = append(dst, c)
		if point--; point == 0 && n > 1 {
			dst = append(dst, '.')
		}
		n--
	}
	if scientific {
		return strconv.AppendInt(append(dst, 'e'), int64(d.exp)-1, 10)
	}
	for ; point > 0; point-- {
		dst = append(dst, '0')
	}
	return dst
}

// finite reports whether a float64 can be near the number in literal. For any other number, readers
// of JSON return infinity, zero or an error.
func (d decimal) finite(literal []byte) bool {
	if len(d.digits) == 0 || d.exp > -300 && d.exp < 300 {
		return true
	}
	if d.exp < -400 || d.exp > 400 {
		return false
	}
	v, err := strconv.ParseFloat(string(literal), 64)
	return err == nil && v != 0
}

// scanNumber returns the length of the number at the start of b, or 0. Unlike
// JSON, text of tables may lack the digits on one side of the point.
func scanNumber(b []byte, table bool) int {
	i := 0
	if i < len(b) && b[i] == '-' {
		i++
	}
	whole := digits(b[i:])
	if whole > 1 && b[i] == '0' || whole == 0 && !table {
		return 0
	}
	i += whole
	if i < len(b) && b[i] == '.' {
		fraction := digits(b[i+1:])
		if fraction == 0 && (whole == 0 || !table) {
			return 0
		}
		i += 1 + fraction
	} else if whole == 0 {
		return 0
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '-' || b[i] == '+') {
			i++
		}
		n := digits(b[i:])
		if n == 0 {
			return 0
		}
		i += n
	}
	return i
}

// digits returns the number of digits at the start of b.
func digits(b []byte) int {
	for i, c := range b {
		if c < '0' || c > '9' {
			return i
		}
	}
	return len(b)
}

// appendTextNumber writes the number that text spells, if it spells a finite
// one. Leading zeros, which post codes have, and a plus, which telephone
// numbers have, make it no number.
func appendTextNumber(dst, text []byte) (out []byte, ok bool) {
	if len(text) == 0 || scanNumber(text, true) != len(text) {
		return dst, false
	}
	d := parseDecimal(text)
	if !d.finite(text) {
		return dst, false
	}
	return d.appendTo(dst), true
}

// isTextNumber does the same as appendTextNumber, but returns only ok.
func isTextNumber(text []byte) bool {
	return len(text) > 0 && scanNumber(text, true) == len(text) && parseDecimal(text).finite(text)
}

// hasDecimalComma reports whether text would be a number if its one comma were
// a point.
func hasDecimalComma(text []byte) bool {
	if len(text) > 0 && text[0] == '-' {
		text = text[1:]
	}
	whole, fraction, ok := bytes.Cut(text, []byte{','})
	return ok && len(whole) > 0 && len(fraction) > 0 && digits(whole) == len(whole) && digits(fraction) == len(fraction)
}
