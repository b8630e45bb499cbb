package nominatim

import (
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/places/search"
	"quadrille/quadkey"
)

// format is the form of an answer.
type format uint8

const (
	formatJSON format = iota
	formatJSONV2
	formatGeoJSON
	formatGeocodeJSON
	formatXML
	formatText // of /status alone
)

// formats has the names of formats.
var formats = [...]string{
	formatJSON:        "json",
	formatJSONV2:      "jsonv2",
	formatGeoJSON:     "geojson",
	formatGeocodeJSON: "geocodejson",
	formatXML:         "xml",
	formatText:        "text",
}

// params are query parameters with the rules of Nominatim: of a repeated parameter only the first
// value counts, and unknown parameters are ignored.
type params struct{ values url.Values }

func readParams(r *http.Request) params {
	// Unreadable parameters are also ignored; the rest is returned.
	values, _ := url.ParseQuery(r.URL.RawQuery)
	return params{values}
}

func (p params) get(name string) string { return p.values.Get(name) }

// flag reads 0 as false and everything else as true.
func (p params) flag(name string, absent bool) bool {
	switch p.get(name) {
	case "":
		return absent
	case "0":
		return false
	}
	return true
}

func (p params) integer(name string, absent int) (int, error) {
	v := p.get(name)
	if v == "" {
		return absent, nil
	}
	n, ok := endpoint.ParseWhole(v)
	if !ok {
		return 0, refuse("Parameter '" + name + "' must be a number.")
	}
	return n, nil
}

func (p params) number(name string) (float64, error) {
	v := p.get(name)
	if v == "" {
		return 0, refuse("Parameter '" + name + "' missing.")
	}
	n, ok := quadkey.ParseNumber(strings.TrimSpace(v))
	if !ok {
		return 0, refuse("Parameter '" + name + "' must be a number.")
	}
	return n, nil
}

// searchText returns a text to search for.
func (p params) searchText(name string) (string, error) { return readSearchText(name, p.get(name)) }

// readSearchText reads a text. Control characters count as spaces.
func readSearchText(name, given string) (string, error) {
	text := strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, given))
	if !utf8.ValidString(given) || search.TooLong(text) {
		return "", refuse("Parameter '" + name + "' must be UTF-8 of at most " + strconv.Itoa(search.MaxQueryChars) + " characters.")
	}
	return text, nil
}

// list returns the parts of a parameter between commas.
func (p params) list(name string, most int) (parts []string, err error) {
	for part := range strings.SplitSeq(p.get(name), ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		if parts = append(parts, part); len(parts) > most {
			return nil, refuse("Parameter '" + name + "' has too many values; give at most " + strconv.Itoa(most) + ".")
		}
	}
	return parts, nil
}

// viewbox returns the box between two corners in any order, or nil if none is given.
func (p params) viewbox() (*quadkey.Box, error) {
	text := p.get("viewbox")
	if text == "" {
		text = p.get("viewboxlbrt")
	}
	if text == "" {
		return nil, nil
	}
	var edges [4]float64
	ok := quadkey.ParseNumbers(text, edges[:], quadkey.ParseNumber)
	for i, v := range edges {
		ok = ok && math.Abs(v) <= 1e6
		most := [...]float64{180, 90}[i%2]
		edges[i] = min(max(v, -most), most)
	}
	if !ok {
		return nil, refuse("Parameter 'viewbox' must be four numbers: x1,y1,x2,y2.")
	}
	box := quadkey.Box{
		West: min(edges[0], edges[2]), South: min(edges[1], edges[3]), East: max(edges[0], edges[2]), North: max(edges[1], edges[3]),
	}
	if box.Check() != nil {
		return nil, refuse("Parameter 'viewbox' must be two corners of a box in degrees: x1,y1,x2,y2.")
	}
	return &box, nil
}

// readFormat reads format and json_callback.
func (q *request) readFormat() error {
	if name := q.get("format"); name != "" {
		f := slices.Index(formats[:], name)
		offered := formats[:formatText]
		if q.question.format == formatText {
			offered = []string{"text", "json"}
		}
		if f < 0 || !slices.Contains(offered, name) {
			return refuse("Parameter 'format' must be one of: " + strings.Join(offered, ", ") + ".")
		}
		q.format = format(f)
	}
	callback := q.get("json_callback")
	if callback == "" || q.format >= formatXML {
		return nil
	}
	if !web.IsCallback(callback) {
		return refuse("Invalid json_callback value")
	}
	q.callback = callback
	return nil
}

// form returns the content type of the answer.
func (q *request) form() web.Format {
	switch {
	case q.callback != "":
		return web.FormatScript
	case q.format == formatXML:
		return formXML
	case q.format == formatText:
		return web.FormatText
	}
	return web.FormatJSON
}

// maxOutlines bounds the bytes of outlines that are read for an answer.
const maxOutlines = 32 << 20

// readDetails reads which members results have.
func (q *request) readDetails() (err error) {
	if q.flag("debug", false) {
		return refuse("Parameter 'debug' is not offered: leave it out.")
	}
	q.address, q.extra, q.names = q.flag("addressdetails", q.question.details), q.flag("extratags", false), q.flag("namedetails", false)
	q.outlines, q.budget = q.flag("polygon_geojson", false), maxOutlines
	if q.format != formatGeoJSON && q.format != formatGeocodeJSON {
		for _, name := range [...]string{"polygon_kml", "polygon_svg", "polygon_text"} {
			if q.flag(name, false) {
				return refuse("Parameter '" + name + "' is not offered: use polygon_geojson.")
			}
		}
	}
	if q.get("polygon_threshold") != "" {
		q.threshold, err = q.number("polygon_threshold")
		q.threshold = max(q.threshold, 0)
	}
	return err
}

// formXML is Nominatim's default form.
var formXML = web.NewFormat(web.Media{Name: "xml", Type: "text/xml; charset=utf-8"})
