package web

import (
	"iter"
	"net/http"
	"strings"
)

// Weight is the value of q among the parameters of an Accept item, 1 when it
// has none or one that is no number.
func Weight(params string) float64 {
	for len(params) > 0 {
		var p string
		p, params, _ = strings.Cut(params, ";")
		name, value, _ := strings.Cut(strings.TrimSpace(p), "=")
		if strings.EqualFold(strings.TrimSpace(name), "q") {
			if q, ok := Decimal(strings.TrimSpace(value)); ok {
				return q
			}
		}
	}
	return 1
}

// PrefersHTML reports whether the Accept header asks for a page to show, as that of
// a browser's address bar does. Wildcards do not: programs get JSON.
func PrefersHTML(r *http.Request) bool {
	html := weightOf(r, "text/html")
	return html > 0 && html > max(weightOf(r, "application/json"), weightOf(r, problemType))
}

// weightOf is the weight that the Accept header gives a media type by its name, 0
// where it does not name it.
func weightOf(r *http.Request, mediaType string) (weight float64) {
	for name, w := range accepted(r) {
		if strings.EqualFold(name, mediaType) {
			weight = max(weight, w)
		}
	}
	return weight
}

// accepted are the media types and ranges of them in the Accept header, with their weights.
func accepted(r *http.Request) iter.Seq2[string, float64] {
	return func(yield func(string, float64) bool) {
		for _, v := range r.Header["Accept"] {
			for len(v) > 0 {
				var item string
				item, v, _ = strings.Cut(v, ",")
				name, params, _ := strings.Cut(item, ";")
				if !yield(strings.TrimSpace(name), Weight(params)) {
					return
				}
			}
		}
	}
}
