package source

import "strconv"

// Decimal parses a number in decimal notation, with an exponent or without.
// ParseFloat alone would also take hexadecimal, underscores, "nan" and
// "infinity", which no table means.
func Decimal(s string) (float64, bool) {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9', c == '.', c == '-', c == '+', c == 'e', c == 'E':
		default:
			return 0, false
		}
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil
}
