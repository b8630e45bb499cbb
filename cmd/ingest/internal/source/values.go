package source

import (
	"bytes"
	"encoding/json"
	"math"
	"net/netip"
	"strconv"
)

// ParseDecimal parses a number of at most ±most in decimal notation, with or without an exponent.
// ParseFloat alone would also take hexadecimal, underscores, "nan" and "infinity", which no table
// uses.
func ParseDecimal[T ~string | ~[]byte](s T, most float64) (float64, bool) {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9', c == '.', c == '-', c == '+', c == 'e', c == 'E':
		default:
			return 0, false
		}
	}
	v, err := strconv.ParseFloat(string(s), 64)
	return v + 0, err == nil && math.Abs(v) <= most // -0 is 0
}

// IsDigits reports whether s consists of digits, at least one.
func IsDigits[T ~string | ~[]byte](s T) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return len(s) > 0
}

// IsCode reports whether s is n letters A to Z, like a country code.
func IsCode(s string, n int) bool {
	for i := range len(s) {
		if s[i] < 'A' || s[i] > 'Z' {
			return false
		}
	}
	return len(s) == n
}

// LastAddr returns the last address of a network.
func LastAddr(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for i := range b {
		if n := p.Bits() - 8*i; n < 8 {
			b[i] |= 0xff >> max(n, 0)
		}
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}

// TextOf returns the text of a string of valid JSON, and any other value as it is written. If nothing in the string is
// escaped, the result is a part of it.
func TextOf(value []byte) []byte {
	if len(value) < 2 || value[0] != '"' {
		return value
	}
	if inner := value[1 : len(value)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return inner
	}
	var text string
	_ = json.Unmarshal(value, &text) // it is valid
	return []byte(text)
}
