package web

import (
	"net/http"
	"strings"
)

// FormOf is the form of a list: what the parameter format says, or else what the client
// prefers.
func FormOf(r *http.Request, format string) Form {
	switch format {
	case "ndjson":
		return FormNDJSON
	case "json":
		return FormJSON
	case "geojson":
		return FormGeoJSON
	}
	if PrefersGeoJSON(r) {
		return FormGeoJSON
	}
	return FormJSON
}

// PrefersGeoJSON reports whether the Accept header gives GeoJSON more weight
// than plain JSON. Wildcards mean neither: who wants GeoJSON says so.
func PrefersGeoJSON(r *http.Request) bool {
	geo, plain := weightOf(r, "application/geo+json"), weightOf(r, "application/json")
	return geo > 0 && geo >= plain
}

// Preferred returns the media type to which the Accept header gives the most weight, the
// first of those with the same. The most specific range that a type is in counts: the type
// itself before image/* before */* (RFC 9110, section 12.5.1).
func Preferred(r *http.Request, types ...string) string {
	best, most := types[0], -1.0
	for _, t := range types {
		major, _, _ := strings.Cut(t, "/")
		weight, narrow := 0.0, 0
		for name, w := range accepted(r) {
			is := 0
			switch of, all := strings.CutSuffix(name, "/*"); {
			case strings.EqualFold(name, t):
				is = 3
			case all && strings.EqualFold(of, major):
				is = 2
			case name == "*/*":
				is = 1
			}
			if is > narrow || is > 0 && is == narrow && w > weight {
				weight, narrow = w, is
			}
		}
		if weight > most {
			best, most = t, weight
		}
	}
	return best
}

// IsCallback reports whether a JSONP callback is a name, or names joined by
// dots, and nothing else.
func IsCallback(s string) bool {
	if len(s) > 80 {
		return false
	}
	for _, part := range strings.Split(s, ".") {
		for i := range len(part) {
			c := part[i]
			if letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c == '$'; !letter && (i == 0 || c < '0' || c > '9') {
				return false
			}
		}
		if part == "" {
			return false
		}
	}
	return true
}
