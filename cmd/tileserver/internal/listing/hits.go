// Package listing says how layers of points are listed: a Set for each, and the Forms of all lists.
// It also writes what several faces share in their answers, such as regions and the cursor of the
// next page.
package listing

import (
	"slices"
	"sync"
	"unicode"
	"unicode/utf8"

	"quadrille/internal/jsontext"
	"quadrille/places/search"
	"quadrille/tiles"
)

// SearchHits is reused memory for the hits of one search.
var SearchHits = sync.Pool{New: func() any { return new([]search.Hit) }}

// AppendRegion writes the object of a region without its end, so that members can follow.
func AppendRegion(dst []byte, r *tiles.Region) []byte {
	dst = jsontext.AppendString(append(dst, `{"type":`...), r.Type)
	dst = jsontext.AppendString(append(dst, `,"id":`...), r.ID)
	return jsontext.AppendText(dst, "name", r.Name)
}

// AppendTexts writes members whose values are texts, each with a comma before it. pairs are names and
// values in turn; a value that is empty is left out.
func AppendTexts(dst []byte, pairs ...string) []byte {
	for pair := range slices.Chunk(pairs, 2) {
		dst = jsontext.AppendText(dst, pair[0], pair[1])
	}
	return dst
}

// IsSearchText reports whether a text can be searched for.
func IsSearchText(s string) bool {
	blank := true
	for _, r := range s {
		if unicode.IsControl(r) {
			return false
		}
		blank = blank && unicode.IsSpace(r)
	}
	return !blank && !search.TooLong(s) && utf8.ValidString(s)
}
