// Package listing writes what several rooms answer with in one form: regions, pages of
// places, airports and stations as JSON or GeoJSON, and the cursor of the next page.
package listing

import (
	"context"
	"strconv"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/internal/jsontext"
	"quadrille/places"
	"quadrille/places/search"
	"quadrille/tiles"
)

// NearbyHits is reused memory for the hits of one answer.
var NearbyHits = sync.Pool{New: func() any { return new([]places.Hit) }}

// List says how a page of hits is written.
type List struct {
	Name string // of the member that has them
	Form web.Form
	Near bool // each with its distance
}

// SendHits answers with a page of places or airports of a data set: find finds them,
// and more, if set, adds members to the finished object, both in one generation.
func SendHits[F any](s *web.Kit, c echo.Context, live *dataset.Live[F], list List,
	find func(ctx context.Context, f F, dst []places.Hit) (hits []places.Hit, next string, err error),
	more func(ctx context.Context, f F, dst []byte) ([]byte, error)) error {
	p := ask.Pin(live)
	defer p.Release()
	finder, err := p.Get()
	if err != nil {
		return err
	}
	return s.Reply(c, web.Answer{Form: list.Form, ByAccept: true}, []uint64{p.ID}, func(ctx context.Context, out *web.Scratch) error {
		memory := NearbyHits.Get().(*[]places.Hit)
		defer NearbyHits.Put(memory)
		hits, next, err := find(ctx, finder, (*memory)[:0])
		if err != nil {
			return err
		}
		*memory = hits
		if out.Body = list.append(out.Body, hits, next); more != nil {
			out.Body, err = more(ctx, finder, out.Body)
		}
		return err
	})
}

// append writes {"places":[…],"next":"…"} or a FeatureCollection.
func (l *List) append(dst []byte, hits []places.Hit, next string) []byte {
	p := Begin(append(dst, '{'), l.Form, l.Name)
	var id [10]byte
	for i := range hits {
		h := &hits[i]
		p.Open(strconv.AppendUint(id[:0], uint64(h.ID), 10), h.Lon, h.Lat)
		if p.Body = append(p.Body, h.JSON...); l.Near {
			p.Body = AppendDistance(p.Body, h.DistanceM)
		}
		p.Shut()
	}
	return p.End(next)
}

// SearchHits is reused memory for the hits of one search.
var SearchHits = sync.Pool{New: func() any { return new([]search.Hit) }}

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

// Dear reports whether a search may read many places. The index knows where classes,
// codes and countries lie, so up to 100 of those are cheap. It does not know
// populations.
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
