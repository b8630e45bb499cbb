package geocoder

import (
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"quadrille/places/names"
	"quadrille/quadkey"
)

// ParsePosition reads a text that is a position, as people and programs write them:
//
//	47.37, 8.54   47.37N 8.54E   N47°22'12" E8°32'   47 22 12 N, 8 32 24 E   47,37 8,54
//	47d22m12s N 8d32m24s E   472212N 0083224E   47:22:12 8:32:24   +47.37+008.54/
//	北緯47度22分 東経8度32分   geo:47.37,8.54;u=35   geo:0,0?q=47.37,8.54(Home)   POINT(8.54 47.37)   lat=47.37&lon=8.54
//	(47.37, 8.54)   LatLng(47.37, 8.54)   {"lng":8.54,"lat":47.37}   "coordinates":[8.54,47.37]
//	@47.37,8.54,15z   https://www.google.com/maps/…   https://www.openstreetmap.org/#map=12/47.37/8.54
//	8/134/89 (a tile: zoom, x, y)   12022001101200 (a quadkey)   8FVC9G8F+6W (a plus code)
//
// Latitude comes first, unless letters or the form say otherwise. If the first number cannot be a
// latitude and both have decimals, longitude comes first; the type of the result is then "swapped".
// Whole numbers are not swapped: "91,0" is no position. A tile, a quadkey and a plus code are the
// middle of their area, whose bounds are given.
//
// O is the east in German, Dutch and the languages of Scandinavia (Ost, oost, øst), and the
// west in the Romance languages (ouest, oeste, ovest) and without a language.
func ParsePosition(text, lang string) (Result, bool) {
	text = typed(text)
	if mapAddress.MatchString(text) && !strings.Contains(text, "yandex.") { // Yandex puts the longitude first
		for _, form := range inAddresses {
			if m := form.FindStringSubmatch(text); m != nil {
				return inDegrees(number(m[1]), number(m[2]))
			}
		}
	}
	if at, query, ok := geoAddress(text); ok {
		if m := labelled.FindStringSubmatch(query); m != nil {
			at = m[1:]
		} else if query != "" && number(at[0]) == 0 && number(at[1]) == 0 {
			return Result{}, false
		}
		return inDegrees(number(at[0]), number(at[1]))
	}
	if utf8.RuneCountInString(text) > maxPosition {
		return Result{}, false
	}
	if b, name, ok := parseArea(text); ok {
		return area(b, name), true
	}
	if !strings.ContainsAny(text, "0123456789") {
		return Result{}, false
	}
	for _, f := range forms {
		if m := f.text.FindStringSubmatch(text); m != nil {
			if r, ok := inDegrees(number(m[f.lat]), number(m[3-f.lat])); ok {
				return r, true
			}
		}
	}
	if m := bracketed.FindStringSubmatch(text); m != nil {
		text = m[1] + m[2] + m[3]
	}
	return parseDegrees(text, lang)
}

// geoAddress splits an address of the scheme geo (RFC 5870, or Android's intents) into its latitude
// and longitude, and its query: geo:0,0?q=Zurich.
func geoAddress(text string) (at []string, query string, ok bool) {
	rest, ok := cutFold(text, "geo:")
	if !ok {
		return nil, "", false
	}
	rest, parameters, _ := strings.Cut(rest, "?")
	for p := range strings.SplitSeq(parameters, "&") {
		if q, ok := cutFold(p, "q="); ok {
			query = q
			if plain, err := url.QueryUnescape(q); err == nil {
				query = plain
			}
		}
	}
	rest, _, _ = strings.Cut(rest, ";")
	lat, lon, _ := strings.Cut(rest, ",")
	lon, _, _ = strings.Cut(lon, ",") // drop the altitude
	return []string{lat, lon}, strings.TrimSpace(query), true
}

// labelled matches a position with an optional name behind it, as in intents: 47.37,8.54(Home).
var labelled = regexp.MustCompile(`^` + coordinate + `\s*,\s*` + coordinate + `\s*(?:\(.*\)?)?$`)

// forms match positions as programs print them; lat is the group with the latitude. The forms are
// points of WKT, in which a leading reference system determines the order; points of GeoJSON and
// MapLibre, with the longitude first; numbers with names; numbers with the zoom or height of a map;
// and positions of ISO 6709.
var forms = []struct {
	text *regexp.Regexp
	lat  int
}{
	{
		regexp.MustCompile(`^(?i:(?:SRID=4326;|<(?:https?://www\.opengis\.net/def/crs/OGC/[^/>]*/CRS84|https?://www\.wikidata\.org/entity/Q2)>)?\s*POINT(?:\s*Z)?|LngLat)` + inBrackets),
		2,
	},
	{regexp.MustCompile(`^(?i:<https?://www\.opengis\.net/def/crs/EPSG/[^/>]*/4326>\s*POINT)` + inBrackets), 1},
	{regexp.MustCompile(`"coordinates"\s*:\s*\[\s*([^\s,\]]+)\s*,\s*([^\s,\]]+)[^\[\]]*\][^\[\]]*$`), 2},
	{regexp.MustCompile(`^` + latName + of + lonName + of + `\W*$`), 1},
	{regexp.MustCompile(`^` + lonName + of + latName + of + `\W*$`), 2},
	{regexp.MustCompile(`^` + coordinate + `\s*,\s*` + coordinate + `(?:,\s*[\d.]+[zmayhtr])+$`), 1},
	{regexp.MustCompile(`^([+-]\d\d(?:\.\d+)?)([+-]\d{3}(?:\.\d+)?)(?:[+-][\d.]+)?(?:CRS\w+)?/?$`), 1},
}

const (
	// inBrackets matches two numbers, or three with a height.
	inBrackets = `\s*\(\s*([^\s,()]+)[\s,]+([^\s,()]+)(?:\s+[^\s,()]+)?\s*\)$`

	latName = `\W*(?i:lat(?:itude)?)["']?`
	lonName = `\W*(?i:lon(?:gitude)?|lng|long)["']?`
	of      = `\s*[:=]?\s*["']?([^\s,;&}"']+)`
)

// bracketed matches numbers in brackets, also with the name that Leaflet prints.
var bracketed = regexp.MustCompile(`^(?:(?i:LatLng)?\(([^()]+)\)|\[([^][]+)\]|(?i:gps|coord(?:inate)?s|position|loc(?:ation)?)\s*[:= ]\s*(.+))$`)

// mapAddress matches the beginning of the address of a page with a map, or its end.
var mapAddress = regexp.MustCompile(`^(?i:[a-z]+://|(?:[a-z0-9-]+\.)+[a-z]{2,}/|[@#?])`)

const coordinate = `([+-]?\d{1,3}(?:\.\d{0,20})?)`

// inAddresses match the positions in the addresses of map pages. The position of a place comes
// before the middle of the map. They cover Google Maps, OpenStreetMap, and the parameters that many
// maps share.
var inAddresses = []*regexp.Regexp{
	regexp.MustCompile(`!3d` + coordinate + `!4d` + coordinate),
	regexp.MustCompile(`[?&#]mlat=` + coordinate + `&mlon=` + coordinate),
	regexp.MustCompile(`[?&#/](?:q|ll|sll|query|daddr|destination|center|coordinate|cp|at|place|search|dir)[=/](?:loc:)?` +
		coordinate + `(?:,|~|\+|%2C|%20)+` + coordinate + `(?:(?:[&#/,?( ]|\+|%2[08]).*)?$`),
	regexp.MustCompile(`[?&#]lat=` + coordinate + `&(?:lon|lng)=` + coordinate),
	regexp.MustCompile(`@` + coordinate + `,` + coordinate),
	regexp.MustCompile(`#(?:map=)?\d{1,2}(?:\.\d+)?/` + coordinate + `/` + coordinate),
}

// area returns the middle of an area as a position.
func area(b quadkey.Box, typ string) Result {
	r := position(round((b.South+b.North)/2), round((b.West+b.East)/2))
	r.Bounds, r.Type = [4]float64{b.West, b.South, b.East, b.North}, typ
	return r
}

// maxPosition bounds the characters of a position.
const maxPosition = 120

func cutFold(text, prefix string) (string, bool) {
	if len(text) < len(prefix) || !strings.EqualFold(text[:len(prefix)], prefix) {
		return text, false
	}
	return text[len(prefix):], true
}

// number reads a decimal number. It returns NaN for anything else.
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

func inDegrees(lat, lon float64) (Result, bool) {
	if !(quadkey.Position{Lat: lat, Lon: lon}).Valid() {
		return Result{}, false
	}
	return position(round(lat), round(lon)), true
}

// inOrder reads two numbers in an unknown order. If the first cannot be a latitude but the second
// can, they are swapped, provided that both have decimals.
func inOrder(first, second string) (Result, bool) {
	a, b := number(first), number(second)
	if math.Abs(a) > 90 && strings.Contains(first, ".") && strings.Contains(second, ".") {
		r, ok := inDegrees(b, a)
		r.Type = "swapped"
		return r, ok
	}
	return inDegrees(a, b)
}

// round rounds to a tenth of a millimetre.
func round(v float64) float64 { return math.Round(v*1e9)/1e9 + 0 } // -0 is 0

// angle is one coordinate: degrees, minutes, seconds.
const angle = `([+-]?\d{1,3}(?:[.]\d{0,20})?)(?:\s*[°º˚D]\s*|\s+|)(?:(\d{1,2}(?:[.]\d{0,20})?)(?:\s*['′’]\s*|\s+|)(?:(\d{1,2}(?:[.]\d{0,20})?)\s*(?:["″”]|''|)\s*)?)?`

// Letters stand before both angles, or behind both, or nowhere.
const letter, between = `\s*([NSEWO])\s*`, `\s*[,;/ ]\s*`

var (
	lettersBefore = regexp.MustCompile(`^` + letter + angle + `\s*[,;/]?\s*` + letter + angle + `$`)
	lettersBehind = regexp.MustCompile(`^` + angle + letter + `[,;/]?\s*` + angle + letter + `$`)
	noLetters     = regexp.MustCompile(`^` + angle + between + angle + `$`)
	// commas matches two numbers with decimal commas.
	commas = regexp.MustCompile(`^([+-]?\d{1,3}),(\d+)(?:[;,]?\s+|;)([+-]?\d{1,3}),(\d+)$`)
)

var (
	// parts matches degrees, minutes and seconds with only blanks between them.
	parts = regexp.MustCompile(`^([+-]?\d{1,3}(?: +\d{1,2}(?:\.\d{0,20})?){1,2}) *[,;/ ] *([+-]?\d{1,3}(?: +\d{1,2}(?:\.\d{0,20})?){1,2})$`)
	// units matches letters for degrees, minutes and seconds. A capital S is the south.
	units  = regexp.MustCompile(`(\d)\s*[dD]\s*(\d{1,2}(?:\.\d*)?)\s*[mM](?:\s*(\d{1,2}(?:\.\d*)?)\s*s)?`)
	colons = regexp.MustCompile(`(\d):(\d{1,2}(?:\.\d*)?):(\d{1,2}(?:\.\d*)?)`)
	// compact matches numbers in the notation of aviation: degrees, then minutes and seconds of two
	// digits each.
	compact = regexp.MustCompile(`^([NS]?)(\d\d)(\d\d)(\d\d(?:\.\d+)?)?([NS]?)[\s,/]*([EW]?)(\d{3})(\d\d)(\d\d(?:\.\d+)?)?([EW]?)$`)
	// comma matches a decimal comma, in texts where letters or signs separate the angles.
	comma = regexp.MustCompile(`(\d),(\d)`)
)

// words replaces spelled-out letters and signs, in capitals.
var words = strings.NewReplacer("NORTH", "N", "SOUTH", "S", "EAST", "E", "WEST", "W", "&DEG;", "°", "DEG", "°", "LATITUDE", "",
	"LONGITUDE", "", "LAT", "", "LONG", "", "LON", "", "LNG", "",
	"北緯", "N", "北纬", "N", "南緯", "S", "南纬", "S", "東経", "E", "东经", "E", "東經", "E", "西経", "W", "西经", "W", "西經", "W", "度", "°", "分",
	"′", "秒", "″", ":", "")

// parseDegrees reads two angles with a language's letters for the directions.
func parseDegrees(text, lang string) (Result, bool) {
	text = strings.TrimRight(text, " ,;.")
	if m := commas.FindStringSubmatch(text); m != nil {
		text = m[1] + "." + m[2] + " " + m[3] + "." + m[4]
	}
	if !strings.ContainsFunc(text, func(r rune) bool { return !strings.ContainsRune("+-.,;/|~ 0123456789", r) }) {
		plain := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" ,;/|~", r) })
		// Whole numbers without a point or a comma may be a house number or a date.
		if len(plain) == 2 && strings.ContainsAny(text, ".,;") {
			return inOrder(plain[0], plain[1])
		}
		m := parts.FindStringSubmatch(text)
		if m == nil || len(plain)%2 == 1 || !strings.Contains(text, ".") {
			return Result{}, false
		}
		lat, ok := degreesOf(append(strings.Fields(m[1]), ""), "")
		lon, ok2 := degreesOf(append(strings.Fields(m[2]), ""), "")
		if !ok || !ok2 {
			return Result{}, false
		}
		return inDegrees(lat, lon)
	}
	text = units.ReplaceAllString(colons.ReplaceAllString(text, "$1°$2′$3"), "$1°$2′$3")
	if text = words.Replace(strings.ToUpper(text)); eastIsO(lang) {
		text = strings.ReplaceAll(text, "O", "E")
	}
	text = compact.ReplaceAllString(text, "$1 $2 $3 $4 $5, $6 $7 $8 $9 $10")
	text = strings.TrimSpace(comma.ReplaceAllString(text, "$1.$2"))
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
