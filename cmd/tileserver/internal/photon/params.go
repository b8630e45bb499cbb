package photon

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"quadrille/ask/geocoder"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/places/search"
	"quadrille/quadkey"
)

// These are the parameters in the order of Photon's error messages.
var (
	baseParameters   = []string{"lang", "limit", "debug", "dedupe", "geometry", "osm_tag", "layer", "include", "exclude"}
	searchParameters = append(slices.Clone(baseParameters), "q", "countrycode", "lat", "lon", "location_bias_scale", "zoom",
		"bbox", "suggest_addresses")
	reverseParameters = append(slices.Clone(baseParameters), "lat", "lon", "radius", "query_string_filter", "distance_sort")
)

const (
	searchLimit = 15 // results, if limit is not given
	maxLimit    = 50
	maxRepeated = 50 // values of one parameter
	// filtered is the number of results that are examined if a filter may drop some.
	filtered = 100
	// spare is the number of additional results that are examined if doubles are dropped.
	spare = 10
	// leastZoom is the zoom up to which a map shows so much that its centre means nothing.
	leastZoom = 4

	minRadius = 50   // km: see docs/geocoding.md
	maxRadius = 5000 // km
)

// params are the query parameters of a request. If one name has several values, the first counts,
// except for parameters that take all values.
type params struct {
	values url.Values
	accept []string // the languages of Accept-Language
	err    error    // the first refusal
}

// readParams refuses unknown parameters, as Photon does. Parameters that every endpoint
// here knows are accepted.
func readParams(r *http.Request, known []string) *params {
	values, _ := url.ParseQuery(r.URL.RawQuery) // unreadable parameters are ignored
	p := &params{values: values, accept: web.Languages(r)}
	for name := range values {
		if !slices.Contains(known, name) && name != "key" && !strings.HasPrefix(name, "_") {
			p.refuse("Unknown query parameter '" + clip(name) + "'.  Allowed parameters are: [" + strings.Join(known, ", ") + "]")
		}
	}
	return p
}

func (p *params) refuse(message string) {
	if p.err == nil {
		p.err = &refusal{message}
	}
}

// clip shortens a text that is repeated in a message.
func clip(s string) string {
	const most = 40
	return strings.ToValidUTF8(s[:min(len(s), most)], "")
}

func (p *params) has(name string) bool { return p.values.Has(name) }

// number returns a decimal number within ±most, or absent.
func (p *params) number(name string, most, absent float64) float64 {
	if !p.has(name) {
		return absent
	}
	v, ok := quadkey.ParseNumber(strings.TrimSpace(p.values.Get(name)))
	if !ok || !(v >= -most && v <= most) {
		p.refuse("Invalid value for '" + name + "' parameter.")
		return absent
	}
	return v + 0 // -0 is 0
}

// whole returns a whole number, brought within bounds, or absent.
func (p *params) whole(name string, least, most, absent int) int {
	if !p.has(name) {
		return absent
	}
	v, err := strconv.ParseInt(strings.TrimSpace(p.values.Get(name)), 10, 32)
	if err != nil {
		p.refuse("Invalid value for '" + name + "' parameter.")
		return absent
	}
	return max(least, min(int(v), most))
}

// flag returns a truth value. It is true only for Photon's words for true.
func (p *params) flag(name string, absent bool) bool {
	if !p.has(name) {
		return absent
	}
	v := strings.ToLower(p.values.Get(name))
	return v == "1" || v == "yes" || v == "true"
}

// list returns the values of a parameter that may be repeated.
func (p *params) list(name string) []string {
	values := p.values[name]
	if len(values) > maxRepeated {
		p.refuse("Too many values for '" + name + "' parameter, give at most " + strconv.Itoa(maxRepeated) + ".")
		return nil
	}
	return values
}

// common has the parameters of both endpoints.
type common struct {
	langs    []string // the preferred first; none for own names
	byHeader bool     // Accept-Language chose them, or would have
	limit    int
	dedupe   bool
	around   bool // the answer is around a point, so it has the city there
	filter
}

func (p *params) common(limit int) (q common) {
	q.langs, q.byHeader = p.languages()
	q.limit = p.whole("limit", 1, maxLimit, limit)
	q.dedupe = p.flag("dedupe", true)
	if p.flag("geometry", false) {
		p.refuse("Geometry output requested but not available in database.")
	}
	q.filter = p.filter()
	return q
}

// languages returns the languages of the parameter lang, or of Accept-Language, the
// preferred first, and whether the header chose.
func (p *params) languages() (langs []string, byHeader bool) {
	if !p.has("lang") {
		return p.accept, true
	}
	v := p.values.Get("lang")
	if v == "default" {
		return nil, false
	}
	for lang := range strings.SplitSeq(v, ",") {
		if !web.IsLanguage(lang) {
			p.refuse("Language is not supported. Supported are: default, and the codes of ISO 639 such as en, de and zh")
			return nil, false
		}
	}
	return web.PreferredLanguages(v), false
}

// searchRequest is a request to /api.
type searchRequest struct {
	common
	query geocoder.Query
	// nowhere is set if none of the countries asked for has a code.
	nowhere bool
}

func (p *params) search() (q searchRequest) {
	q.common = p.common(searchLimit)
	q.query = geocoder.Query{Text: p.text(), Langs: q.langs, Kinds: q.kindsOf(), Limit: q.limit, Box: p.box()}
	switch {
	case !q.filter.empty():
		q.query.Limit = filtered
	case q.dedupe:
		q.query.Limit += spare
	}
	for _, code := range p.list("countrycode") {
		if code = strings.ToUpper(code); endpoint.IsCode(code, 2, 2, false) {
			q.query.Countries = append(q.query.Countries, code)
		}
	}
	q.nowhere = p.has("countrycode") && len(q.query.Countries) == 0
	lat, lon := p.number("lat", 90, 0), p.number("lon", 180, 0)
	switch {
	case p.has("lat") && !p.has("lon"):
		p.refuse("Missing parameter 'lon'.")
	case p.has("lon") && !p.has("lat"):
		p.refuse("Missing parameter 'lat'.")
	}
	zoom := p.whole("zoom", 0, 18, leastZoom+1)
	scale := p.number("location_bias_scale", 1e9, 0)
	if p.has("lat") && zoom > leastZoom && scale < 1 {
		q.query.Lat, q.query.Lon, q.query.Bias = lat, lon, true
	}
	return q
}

// text returns q in a form that can be searched for.
func (p *params) text() string {
	text := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(p.values.Get("q"), " "))
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		p.refuse("q parameter is required when no include categories are specified")
	case search.TooLong(text):
		p.refuse("The q parameter is too long, give at most " + strconv.Itoa(search.MaxQueryChars) + " characters.")
	}
	return text
}

// box returns bbox, or nil if it is absent. Photon takes the corners in any order.
func (p *params) box() *quadkey.Box {
	if !p.has("bbox") {
		return nil
	}
	var v [4]float64
	if !quadkey.ParseNumbers(p.values.Get("bbox"), v[:], quadkey.ParseNumber) {
		p.refuse("Invalid number of supplied coordinates for parameter 'bbox', expected format is: minLon,minLat,maxLon,maxLat")
		return nil
	}
	box := quadkey.Box{West: min(v[0], v[2]), South: min(v[1], v[3]), East: max(v[0], v[2]), North: max(v[1], v[3])}
	if !box.Valid() {
		p.refuse("Invalid bounds for parameter 'bbox', expected values minLat, maxLat element [-90,90], minLon, maxLon element [-180,180]")
		return nil
	}
	return &box
}

// reverseRequest is a request to /reverse.
type reverseRequest struct {
	common
	query geocoder.ReverseQuery
}

func (p *params) reverse() (q reverseRequest) {
	for _, name := range []string{"lat", "lon"} {
		if !p.has(name) {
			p.refuse("Missing parameter '" + name + "'.")
		}
	}
	q.common = p.common(1)
	q.around = true
	q.query = geocoder.ReverseQuery{Lat: p.number("lat", 90, 0), Lon: p.number("lon", 180, 0), Langs: q.langs, Limit: q.limit}
	if !q.filter.empty() {
		q.query.Limit = maxLimit
	}
	radius := p.number("radius", 1e9, minRadius)
	if radius <= 0 {
		p.refuse("Invalid value for 'radius' parameter.")
	}
	q.query.RadiusM = 1000 * max(minRadius, min(radius, maxRadius))
	return q
}
