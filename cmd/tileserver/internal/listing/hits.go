// Package listing writes what several rooms answer with in one form: regions, pages of
// places, airports and stations as JSON or GeoJSON, and the cursor of the next page.
package listing

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"quadrille/cellstore/dataset"
	"quadrille/cmd/tileserver/internal/datasets"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/internal/jsontext"
	"quadrille/places"
	"quadrille/places/search"
	"quadrille/tiles"
)

// NearbyHits is reused memory for the hits of one answer.
var NearbyHits = sync.Pool{New: func() any { return new([]places.Hit) }}

// SendHits answers with a page of places or airports of a data set: ask finds
// them and write appends them to the body, both in one generation.
func SendHits[F any](s *web.Kit, c echo.Context, live *dataset.Live[F], form web.Form,
	ask func(ctx context.Context, f F, dst []places.Hit) (hits []places.Hit, next string, err error),
	write func(ctx context.Context, f F, dst []byte, hits []places.Hit, next string) ([]byte, error)) error {
	p := datasets.Pin(live)
	defer p.Release()
	finder, err := p.Get()
	if err != nil {
		return err
	}
	return s.Reply(c, web.Answer{Form: form, ByAccept: true}, []uint64{p.ID}, func(ctx context.Context, out *web.Scratch) error {
		memory := NearbyHits.Get().(*[]places.Hit)
		defer NearbyHits.Put(memory)
		hits, next, err := ask(ctx, finder, (*memory)[:0])
		if err != nil {
			return err
		}
		*memory = hits
		out.Body, err = write(ctx, finder, out.Body, hits, next)
		return err
	})
}

// PlacesHead begins a list of places.
const PlacesHead = `{"places":[`

// AppendHits writes {"places":[…],"next":"…"}.
func AppendHits(dst []byte, hits []places.Hit, next string) []byte {
	dst = append(dst, PlacesHead...)
	for i := range hits {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendHit(dst, &hits[i])
	}
	return AppendNext(append(dst, ']'), next)
}

// AppendHitFeatures writes a FeatureCollection of points; next is a foreign
// member of it.
func AppendHitFeatures(dst []byte, hits []places.Hit, next string) []byte {
	dst = append(dst, CollectionHead...)
	for i := range hits {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendFeatureHead(dst, hits[i].ID, hits[i].Lon, hits[i].Lat)
		dst = append(AppendHit(dst, &hits[i]), '}')
	}
	return AppendNext(append(dst, ']'), next)
}

// AppendHit writes a place with its distance in metres, to the decimetre.
func AppendHit(dst []byte, h *places.Hit) []byte {
	dst = append(append(dst, '{'), h.JSON...)
	dst = append(dst, `,"distance_m":`...)
	dst = strconv.AppendFloat(dst, h.DistanceM, 'f', 1, 64)
	return append(dst, '}')
}

// AppendMembers writes a hit that has no distance.
func AppendMembers(dst []byte, h *places.Hit) []byte {
	return append(append(append(dst, '{'), h.JSON...), '}')
}

// SearchHits is reused memory for the hits of one search.
var SearchHits = sync.Pool{New: func() any { return new([]search.Hit) }}

// nameMember begins the name among a place's members.
const nameMember = `,"name":`

// MemberName returns where the name's JSON string stands in a place's members.
func MemberName(members []byte) (from, to int) { return member(members, nameMember) }

// member returns where the JSON string of a member stands in a place's members or
// record, zeros when it has no such member. key is written as nameMember is. Within
// a string the quotes of a key are escaped, so the first match is the member itself,
// if there is one.
func member(members []byte, key string) (from, to int) {
	at := bytes.Index(members, []byte(key))
	if at < 0 {
		return 0, 0
	}
	from = at + len(key)
	to = from + StringEnd(members[from:])
	return from, to
}

// MemberText is the text of a member that is a code, "" when there is none.
func MemberText(members []byte, key string) string {
	from, to := member(members, key)
	if to-from < 2 {
		return ""
	}
	raw := members[from:to]
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return ""
	}
	return text
}

// StringEnd is the length of the JSON string that b begins with.
func StringEnd(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

// AppendRegion writes a region up to where its object may go on.
func AppendRegion(dst []byte, r *tiles.Region) []byte {
	dst = jsontext.AppendString(append(dst, `{"type":`...), r.Type)
	dst = jsontext.AppendString(append(dst, `,"id":`...), r.ID)
	if r.Name != "" {
		dst = jsontext.AppendString(append(dst, `,"name":`...), r.Name)
	}
	return dst
}

// PlaceFilter is what endpoints of places let through.
type PlaceFilter struct {
	Classes, Codes, Countries []string
	MinPopulation             int64
}

// Dear reports whether a search for so many places may look at very many: where
// the classes, codes and countries asked for are is known without reading, to a
// hundred places or so, but not where those of a population are.
func (f *PlaceFilter) Dear(limit int) bool {
	return f.MinPopulation > 0 || limit > 100 && len(f.Classes)+len(f.Codes)+len(f.Countries) > 0
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
	return !blank && len(s) <= search.MaxQuery && utf8.ValidString(s)
}
