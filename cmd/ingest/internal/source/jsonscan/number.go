package jsonscan

import (
	"errors"
	"math"
	"strconv"
)

// Float reads a number. A number too large for a float64 is ±Inf. The literals NaN, Infinity and
// -Infinity have their usual values.
func (s *Scanner) Float() (float64, error) {
	if err := s.want(Number); err != nil {
		return 0, err
	}
	i := s.pos
	for i < s.end && numeric(s.buf[i]) {
		i++
	}
	lit := append(s.number[:0], s.buf[s.pos:i]...)
	s.pos = i
	for i == s.end { // the number may go on in unread input
		if s.pos == s.end && !s.fill() || len(lit) > maxDigits {
			break
		}
		for i = s.pos; i < s.end && numeric(s.buf[i]); i++ {
		}
		lit = append(lit, s.buf[s.pos:i]...)
		s.pos = i
	}
	if len(lit) > maxDigits {
		return 0, s.fail("number of more than %d characters", maxDigits)
	}
	s.number = lit
	if f, ok := short(lit); ok {
		return f, nil
	}
	switch string(lit) {
	case "NaN":
		return math.NaN(), nil
	case "Infinity":
		return math.Inf(1), nil
	case "-Infinity":
		return math.Inf(-1), nil
	}
	if !wellFormed(lit) {
		return 0, s.fail("%q is not a number", string(lit))
	}
	f, err := strconv.ParseFloat(string(lit), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, s.fail("%q is not a number", string(lit))
	}
	return f, nil
}

// short parses a whole number of up to fifteen digits, such as a quantised coordinate.
func short(b []byte) (float64, bool) {
	digits := b
	if len(b) > 0 && b[0] == '-' {
		digits = b[1:]
	}
	if len(digits) == 0 || len(digits) > 15 || digits[0] == '0' {
		return 0, false
	}
	var n int64
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if len(digits) < len(b) {
		n = -n
	}
	return float64(n), true
}

func numeric(c byte) bool {
	return '0' <= c && c <= '9' || c == '-' || c == '+' || c == '.' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// wellFormed checks RFC 8259's grammar, which is narrower than ParseFloat's.
func wellFormed(b []byte) bool {
	i := 0
	digits := func() bool {
		from := i
		for i < len(b) && '0' <= b[i] && b[i] <= '9' {
			i++
		}
		return i > from
	}
	if i < len(b) && b[i] == '-' {
		i++
	}
	if i+1 < len(b) && b[i] == '0' && '0' <= b[i+1] && b[i+1] <= '9' {
		return false
	}
	if !digits() {
		return false
	}
	if i < len(b) && b[i] == '.' {
		i++
		if !digits() {
			return false
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if !digits() {
			return false
		}
	}
	return i == len(b)
}
