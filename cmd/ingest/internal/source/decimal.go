package source

import (
	"math"
	"strconv"
)

// Decimal parses a number of at most ±most in decimal notation, with an exponent or
// without. ParseFloat alone would also take hexadecimal, underscores, "nan" and
// "infinity", which no table means.
func Decimal[T ~string | ~[]byte](s T, most float64) (float64, bool) {
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
