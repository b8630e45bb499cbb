package geocoder

import (
	"math"
	"regexp"
	"strings"

	"quadrille/quadkey"
)

// plusAlphabet are the digits of Open Location Code, base 20. Its specification is
// https://github.com/google/open-location-code/blob/main/Documentation/Specification/specification.md.
const plusAlphabet = "23456789CFGHJMPQRVWX"

// The first digits form pairs of latitude and longitude. A code has plusPairs of them before its
// sign.
const (
	plusPairs = 8
	plusBase  = 20
)

// plusCode reads a full Open Location Code.
func plusCode(text string) (b quadkey.Box, name string, ok bool) {
	code := strings.ToUpper(text)
	head, tail, found := strings.Cut(code, "+")
	if !found || len(head) != plusPairs || len(tail) == 1 || len(tail) > 7 {
		return b, "", false
	}
	padded := strings.TrimRight(head, "0")
	if len(padded)%2 != 0 || len(padded) < 2 || len(padded) < plusPairs && tail != "" {
		return b, "", false
	}
	all := padded + tail
	lat, lon := -90.0, -180.0
	height, width := 400.0, 400.0
	for i := range len(all) {
		d := strings.IndexByte(plusAlphabet, all[i])
		switch {
		case d < 0 || i == 0 && d > 8 || i == 1 && d > 17:
			return b, "", false
		case i < 10 && i%2 == 0:
			height /= plusBase
			lat += float64(d) * height
		case i < 10:
			width /= plusBase
			lon += float64(d) * width
		default:
			height, width = height/5, width/4
			lat += float64(d/4) * height
			lon += float64(d%4) * width
		}
	}
	return quadkey.Box{West: lon, South: lat, East: math.Min(lon+width, 180), North: math.Min(lat+height, 90)}, plusType, true
}

const plusType = "plus_code"

// shortCode is a code without its first digits.
const shortCode = `((?:[2-9CFGHJMPQRVWX]{2}){1,3}\+(?:[2-9CFGHJMPQRVWX]{2,7})?)`

// The place that supplies the missing digits is behind the code or before it.
var (
	codeFirst = regexp.MustCompile(`^(?i)` + shortCode + `(?:[\s,]+(\S.*))?$`)
	codeLast  = regexp.MustCompile(`^(?i)(\S.*?)[\s,]+` + shortCode + `$`)
)

// parseShort reads a short plus code and the name of the place near it, such as
// "9G8F+6W Zurich". There may be no name.
func parseShort(text string) (code, near string, ok bool) {
	text = strings.TrimSpace(text)
	if m := codeFirst.FindStringSubmatch(text); m != nil {
		return strings.ToUpper(m[1]), m[2], true
	}
	if m := codeLast.FindStringSubmatch(text); m != nil {
		return strings.ToUpper(m[2]), m[1], true
	}
	return "", "", false
}

// recoverPlus returns the area of a short code that is nearest to a position in degrees.
func recoverPlus(code string, lat, lon float64) (quadkey.Box, bool) {
	missing := plusPairs - strings.IndexByte(code, '+')
	prefix := make([]byte, 0, plusPairs)
	y, x := math.Min(lat+90, 180-1e-9), math.Mod(lon+540, 360) // from the south pole and 180° W
	step := 400.0
	for len(prefix) < missing {
		step /= plusBase
		prefix = append(prefix, plusAlphabet[int(y/step)], plusAlphabet[int(x/step)])
		y, x = math.Mod(y, step), math.Mod(x, step)
	}
	b, _, ok := plusCode(string(prefix) + code)
	if !ok {
		return b, false
	}
	// The neighbouring area with the same digits may be nearer.
	if d := lat - (b.South+b.North)/2; math.Abs(d) > step/2 {
		if d = math.Copysign(step, d); b.South+d >= -90 && b.North+d <= 90 {
			b.South, b.North = b.South+d, b.North+d
		}
	}
	if d := lon - (b.West+b.East)/2; math.Abs(d) > step/2 {
		d = math.Copysign(step, d)
		b.West, b.East = b.West+d, b.East+d
	}
	for b.West < -180 {
		b.West, b.East = b.West+360, b.East+360
	}
	for b.West >= 180 {
		b.West, b.East = b.West-360, b.East-360
	}
	return b, true
}
