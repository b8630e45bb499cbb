package web

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"quadrille/cmd/tileserver/internal/endpoint"
)

const (
	// maxLanguages bounds the languages of a request that are tried. Each language costs seeks for
	// every name of an answer.
	maxLanguages = 4
	// maxPreferences bounds the items of a list of languages that are examined.
	maxPreferences = 32
)

// Languages returns the languages of the Accept-Language header, best first: see
// PreferredLanguages.
func Languages(r *http.Request) []string {
	return PreferredLanguages(strings.Join(r.Header["Accept-Language"], ","))
}

// PreferredLanguages reads a list such as "fr-CH, fr;q=0.9, de;q=0.5" and returns at most
// maxLanguages codes in lower case, best first. Items with equal weights keep their order. Items
// that are not a code or have weight 0 are omitted. "fr" is also omitted after "fr-CH", because a
// region without its own names has those of the language.
func PreferredLanguages(list string) (langs []string) {
	type item struct {
		lang   string
		weight float64
	}
	var items []item
	for text := range strings.SplitSeq(list[:min(len(list), endpoint.MaxListBytes)], ",") {
		lang, params, _ := strings.Cut(text, ";")
		lang = strings.ToLower(strings.ReplaceAll(strings.TrimSpace(lang), "_", "-"))
		if w := QValue(params); w > 0 && IsLanguage(lang) {
			if items = append(items, item{lang, w}); len(items) == maxPreferences {
				break
			}
		}
	}
	slices.SortStableFunc(items, func(a, b item) int { return cmp.Compare(b.weight, a.weight) })
	for _, i := range items {
		known := slices.ContainsFunc(langs, func(l string) bool { return l == i.lang || strings.HasPrefix(l, i.lang+"-") })
		if !known && len(langs) < maxLanguages {
			langs = append(langs, i.lang)
		}
	}
	return langs
}

// IsLanguage reports whether a text has the form of a code of ISO 639, with or without subtags.
func IsLanguage(v string) bool {
	first, rest, tagged := strings.Cut(v, "-")
	if len(first) < 2 || len(first) > 3 || len(v) > endpoint.MaxLanguageBytes || tagged && (rest == "" || strings.HasSuffix(rest, "-")) {
		return false
	}
	for i := range len(v) {
		c := v[i] | 0x20
		letter, other := c >= 'a' && c <= 'z', v[i] >= '0' && v[i] <= '9' || v[i] == '-'
		if !letter && (i < len(first) || !other) {
			return false
		}
	}
	return true
}
