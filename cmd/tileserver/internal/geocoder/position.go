package geocoder

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"quadrille/places/names"
	"quadrille/quadkey"
)

// ParsePosition reads a text that is a position, as people and programs write them:
//
//	47.37, 8.54   47.37N 8.54E   N47°22'12" E8°32'   47 22 12 N, 8 32 24 E   47,37 8,54
//	geo:47.37,8.54;u=35   POINT(8.54 47.37)   lat=47.37&lon=8.54   (47.37, 8.54)
//	8/134/89 (a tile: zoom, x, y)   12022001101200 (a quadkey)   8FVC9G8F+6W (a plus code)
//
// Latitude comes first, unless letters tell otherwise, or the first number cannot be one.
// A tile, a quadkey and a plus code are the middle of their area, whose bounds are given.
//
// O is the east in German, Dutch and the languages of Scandinavia (Ost, oost, øst), and the
// west in the Romance languages (ouest, oeste, ovest) and without a language.
func ParsePosition(text, lang string) (Result, bool) {
	text = strings.TrimSpace(text)
	if len(text) > maxPosition {
		return Result{}, false
	}
	if b, name, ok := parseArea(text); ok {
		return area(b, name), true
	}
	if rest, ok := cutFold(text, "geo:"); ok {
		rest, _, _ = strings.Cut(rest, ";")
		rest, _, _ = strings.Cut(rest, "?")
		lat, lon, _ := strings.Cut(rest, ",")
		lon, _, _ = strings.Cut(lon, ",") // an altitude
		if y := number(lat); math.Abs(y) <= 90 {
			return inDegrees(y, number(lon))
		}
		return Result{}, false
	}
	if m := wellKnown.FindStringSubmatch(text); m != nil {
		return exactly(number(m[2]), number(m[1]))
	}
	if m := named.FindStringSubmatch(text); m != nil {
		return exactly(number(m[1]), number(m[2]))
	}
	if m := bracketed.FindStringSubmatch(text); m != nil {
		text = m[1] + m[2]
	}
	return parseDegrees(text, lang)
}

// Positions as programs print them: a point of WKT, which has the longitude first,
// numbers with names, numbers in brackets.
var (
	wellKnown = regexp.MustCompile(`^(?i:POINT)\s*\(\s*(\S+)\s+(\S+)\s*\)$`)
	named     = regexp.MustCompile(`^(?i:lat(?:itude)?)\s*[:=]?\s*([^\s,;&]+)\s*[,;&]?\s*(?i:lon(?:gitude)?|lng|long)\s*[:=]?\s*([^\s,;&]+)$`)
	bracketed = regexp.MustCompile(`^(?:\(([^()]+)\)|\[([^][]+)\])$`)
)

// area is the middle of an area.
func area(b quadkey.Box, typ string) Result {
	r := position(round((b.South+b.North)/2), round((b.West+b.East)/2))
	r.Bounds, r.Type = [4]float64{b.West, b.South, b.East, b.North}, typ
	return r
}

// maxPosition bounds the bytes of a position.
const maxPosition = 80

func cutFold(text, prefix string) (string, bool) {
	if len(text) < len(prefix) || !strings.EqualFold(text[:len(prefix)], prefix) {
		return text, false
	}
	return text[len(prefix):], true
}

// number reads a decimal number; NaN if it is none.
func number(text string) float64 {
	if !decimal.MatchString(text) {
		return math.NaN()
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return math.NaN()
	}
	return v
}

var decimal = regexp.MustCompile(`^[+-]?\d{1,3}(\.\d{0,20})?$`)

func position(lat, lon float64) Result {
	name := strconv.FormatFloat(lat, 'f', -1, 64) + ", " + strconv.FormatFloat(lon, 'f', -1, 64)
	return Result{Feature: names.Feature{Kind: Position, ID: name, Name: name, Lat: lat, Lon: lon}}
}

// exactly is a position whose coordinates are told apart.
func exactly(lat, lon float64) (Result, bool) {
	if !(math.Abs(lat) <= 90) {
		return Result{}, false
	}
	return inDegrees(lat, lon)
}

func inDegrees(lat, lon float64) (Result, bool) {
	if math.Abs(lat) > 90 && math.Abs(lon) <= 90 { // a likely swap
		lat, lon = lon, lat
	}
	if !(math.Abs(lat) <= 90) || !(math.Abs(lon) <= 180) {
		return Result{}, false
	}
	return position(round(lat), round(lon)), true
}

// round leaves a tenth of a millimetre.
func round(v float64) float64 { return math.Round(v*1e9) / 1e9 }

// angle is one coordinate: degrees, minutes, seconds.
const angle = `([+-]?\d{1,3}(?:[.]\d{0,20})?)(?:\s*[°º˚D]\s*|\s+|)(?:(\d{1,2}(?:[.]\d{0,20})?)(?:\s*['′’]\s*|\s+|)(?:(\d{1,2}(?:[.]\d{0,20})?)\s*(?:["″”]|''|)\s*)?)?`

// Letters stand before both angles, or behind both, or nowhere.
const letter, between = `\s*([NSEWO])\s*`, `\s*[,;/ ]\s*`

var (
	lettersBefore = regexp.MustCompile(`^` + letter + angle + `\s*[,;/]?\s*` + letter + angle + `$`)
	lettersBehind = regexp.MustCompile(`^` + angle + letter + `[,;/]?\s*` + angle + letter + `$`)
	noLetters     = regexp.MustCompile(`^` + angle + between + angle + `$`)
	// commas are decimal ones.
	commas = regexp.MustCompile(`^([+-]?\d{1,3}),(\d+)[;,]?\s+([+-]?\d{1,3}),(\d+)$`)
)

// parseDegrees reads two angles, whose letters are those of a language.
func parseDegrees(text, lang string) (Result, bool) {
	text = strings.Map(func(r rune) rune {
		switch r {
		case '−', '–': // signs that are copied from texts
			return '-'
		case '\u00a0', '\u202f':
			return ' '
		}
		return r
	}, text)
	if m := commas.FindStringSubmatch(text); m != nil {
		text = m[1] + "." + m[2] + " " + m[3] + "." + m[4]
	}
	plain := strings.Fields(strings.NewReplacer(",", " ", ";", " ").Replace(text))
	if len(plain) == 2 {
		if a, b := number(plain[0]), number(plain[1]); !math.IsNaN(a) && !math.IsNaN(b) {
			if !strings.ContainsAny(text, ".,;") {
				return Result{}, false // two whole numbers may be a street or a date
			}
			return inDegrees(a, b)
		}
	}
	if text = strings.ToUpper(text); eastIsO(lang) {
		text = strings.ReplaceAll(text, "O", "E")
	}
	var first, second float64
	var ok, ok2 bool
	switch {
	case strings.ContainsAny(text, "NSEWO"):
		var axes string
		if m := lettersBefore.FindStringSubmatch(text); m != nil {
			first, ok = degreesOf(m[2:5], m[1])
			second, ok2 = degreesOf(m[6:9], m[5])
			axes = m[1] + m[5]
		} else if m := lettersBehind.FindStringSubmatch(text); m != nil {
			first, ok = degreesOf(m[1:4], m[4])
			second, ok2 = degreesOf(m[5:8], m[8])
			axes = m[4] + m[8]
		}
		switch north := "NS"; {
		case !ok || !ok2 || strings.Contains(north, axes[:1]) == strings.Contains(north, axes[1:]):
			return Result{}, false
		case !strings.Contains(north, axes[:1]):
			first, second = second, first
		}
		if math.Abs(first) > 90 {
			return Result{}, false
		}
	case strings.ContainsAny(text, "°º˚"):
		if m := noLetters.FindStringSubmatch(text); m != nil {
			first, ok = degreesOf(m[1:4], "")
			second, ok2 = degreesOf(m[4:7], "")
		}
	}
	if !ok || !ok2 {
		return Result{}, false
	}
	return inDegrees(first, second)
}

// eastIsO reports whether the word for the east begins with O in a language.
func eastIsO(lang string) bool {
	lang, _, _ = strings.Cut(strings.ToLower(lang), "-")
	return slices.Contains([]string{"de", "nl", "da", "nb", "nn", "no", "sv", "lb", "gsw", "af", "fy"}, lang)
}

// degreesOf returns the degrees of an angle, negative in the south and the west.
func degreesOf(m []string, letter string) (v float64, ok bool) {
	v, err := strconv.ParseFloat(m[0], 64)
	if err != nil {
		return 0, false
	}
	sign := 1.0
	if strings.HasPrefix(m[0], "-") {
		sign, v = -1, -v
	}
	for i, unit := range []float64{60, 3600} {
		if part := m[1+i]; part != "" {
			p, err := strconv.ParseFloat(part, 64)
			if err != nil || p >= 60 || strings.Contains(m[i], ".") {
				return 0, false
			}
			v += p / unit
		}
	}
	if letter != "" && strings.Contains("SWO", letter) {
		sign = -sign
	}
	return sign * v, true
}

var (
	tilePath = regexp.MustCompile(`^(\d{1,2})/(\d{1,9})/(\d{1,9})$`)
	digits   = regexp.MustCompile(`^[0-3]{6,32}$`)
)

// parseArea reads a tile, a quadkey or a plus code.
func parseArea(text string) (b quadkey.Box, name string, ok bool) {
	if m := tilePath.FindStringSubmatch(text); m != nil {
		z, _ := strconv.Atoi(m[1])
		x, _ := strconv.ParseUint(m[2], 10, 32)
		y, _ := strconv.ParseUint(m[3], 10, 32)
		t := quadkey.Tile{X: uint32(x), Y: uint32(y), Z: uint8(z)}
		if z > quadkey.MaxZoom || x>>z != 0 || y>>z != 0 {
			return b, "", false
		}
		return t.Bound(), "tile", true
	}
	if digits.MatchString(text) {
		t, err := quadkey.ParseQuadkey(text)
		if err == nil {
			return t.Bound(), "quadkey", true
		}
	}
	return plusCode(text)
}
