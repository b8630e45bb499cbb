// Package listing defines how layers of points are listed: a Spec for each layer, and the Formats of
// all lists. It also writes parts of answers that several packages of endpoints share, such as
// regions and the cursor of the next page.
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

// SearchHitPool has memory that is reused for the hits of one search.
var SearchHitPool = sync.Pool{New: func() any { return new([]search.Hit) }}

// AppendRegion writes the object of a region without the closing brace, so that members can follow.
func AppendRegion(dst []byte, r *tiles.Region) []byte {
	dst = jsontext.AppendString(append(dst, `{"type":`...), r.Type)
	dst = jsontext.AppendString(append(dst, `,"id":`...), r.ID)
	return jsontext.AppendText(dst, "name", r.Name)
}

// AppendTexts writes members whose values are texts, each with a comma before it. pairs are
// alternating names and values. Members with empty values are omitted.
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
