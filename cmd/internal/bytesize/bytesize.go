// Package bytesize parses sizes in the notation of command lines.
package bytesize

import (
	"encoding"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Size is a number of bytes. As text it has an optional unit: k, kib (1024) and
// kb (1000), and so on up to t, in either case.
type Size int64

var (
	_ encoding.TextUnmarshaler = (*Size)(nil)
	_ encoding.TextMarshaler   = Size(0)
)

var units = map[string]float64{
	"": 1, "b": 1,
	"k": 1 << 10, "kib": 1 << 10, "kb": 1e3,
	"m": 1 << 20, "mib": 1 << 20, "mb": 1e6,
	"g": 1 << 30, "gib": 1 << 30, "gb": 1e9,
	"t": 1 << 40, "tib": 1 << 40, "tb": 1e12,
}

// UnmarshalText reads a size.
func (b *Size) UnmarshalText(text []byte) error {
	s := strings.ToLower(strings.TrimSpace(string(text)))
	number := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyz ")
	unit, ok := units[strings.TrimSpace(s[len(number):])]
	v, err := strconv.ParseFloat(number, 64)
	if v *= unit; !ok || err != nil || !(v >= 0 && v < math.MaxInt64) {
		return fmt.Errorf("%q is not a size; give one like 2GiB, 500MB or a number of bytes", text)
	}
	*b = Size(v)
	return nil
}

// MarshalText writes the size in the largest unit that divides it.
func (b Size) MarshalText() ([]byte, error) {
	unit := 0
	n := int64(b)
	for n != 0 && n%1024 == 0 && unit < 4 {
		n /= 1024
		unit++
	}
	return fmt.Appendf(nil, "%d%s", n, [...]string{"", "KiB", "MiB", "GiB", "TiB"}[unit]), nil
}
