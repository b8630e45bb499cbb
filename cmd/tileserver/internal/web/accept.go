package web

import (
	"iter"
	"net/http"
	"strings"

	"quadrille/quadkey"
)

// QValue returns q of an item of an Accept header, or 1 if q is absent or not a number.
func QValue(params string) float64 {
	for len(params) > 0 {
		var p string
		p, params, _ = strings.Cut(params, ";")
		name, value, _ := strings.Cut(strings.TrimSpace(p), "=")
		if strings.EqualFold(strings.TrimSpace(name), "q") {
			if q, ok := quadkey.ParseNumber(strings.TrimSpace(value)); ok {
				return q
			}
		}
	}
	return 1
}

// PrefersHTML reports whether the Accept header prefers an HTML page, like that of a browser's
// address bar. Wildcards do not count, so that programs get JSON.
func PrefersHTML(r *http.Request) bool {
	html := weightOf(r, "text/html")
	return html > 0 && html > max(weightOf(r, "application/json"), weightOf(r, problemType))
}

// weightOf returns the weight that the Accept header gives a media type by its
// name, or 0 if it does not name it.
func weightOf(r *http.Request, mediaType string) (weight float64) {
	for name, w := range AcceptedTypes(r) {
		if strings.EqualFold(name, mediaType) {
			weight = max(weight, w)
		}
	}
	return weight
}

// AcceptedTypes yields the media types and ranges in the Accept header, with their weights.
func AcceptedTypes(r *http.Request) iter.Seq2[string, float64] {
	return func(yield func(string, float64) bool) {
		for _, v := range r.Header["Accept"] {
			for len(v) > 0 {
				var item string
				item, v, _ = strings.Cut(v, ",")
				name, params, _ := strings.Cut(item, ";")
				if !yield(strings.TrimSpace(name), QValue(params)) {
					return
				}
			}
		}
	}
}

// PreferredType returns the media type with the greatest weight in the Accept header, or the first of
// several with the same weight. The most specific range for a type applies: the type itself before
// image/* before */* (RFC 9110, section 12.5.1).
func PreferredType(r *http.Request, types ...string) string {
	best, most := types[0], -1.0
	for _, t := range types {
		major, _, _ := strings.Cut(t, "/")
		weight, narrow := 0.0, 0
		for name, w := range AcceptedTypes(r) {
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

// IsCallback reports whether a JSONP callback consists of one name, or of names joined by dots.
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
