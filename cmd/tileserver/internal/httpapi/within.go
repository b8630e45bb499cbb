package httpapi

import (
	"context"
	"strconv"

	"github.com/labstack/echo/v4"

	"quadrille/quadkey"
	"quadrille/tiles"
)

// getRegionsWithin answers GET /regions/within?bbox=: a page of the regions
// that meet the box, of every type or of those in types; or, with types=T&id=ID,
// the part of one region in the box as GeoJSON.
func (s *regionRoom) getRegionsWithin(c echo.Context) error {
	r := c.Request()
	q := queryParams(r)
	query := tiles.WithinQuery{}
	query.Box = q.box("bbox")
	query.Types = q.list("types", maxList)
	id := q.text("id", maxListText)
	query.Limit = int(q.integer("limit", 1, tiles.MaxLimit, tiles.DefaultLimit))
	query.Cursor = q.text("cursor", maxCursor)
	switch {
	case q.has("id") && id == "":
		q.refuse("id", "Give id a region's id, or leave it out for all regions.")
	case q.has("id") && len(query.Types) != 1:
		q.refuse("types", "Name the one region type that id is of in types.")
	case q.has("id") && (q.has("cursor") || q.has("limit")):
		q.refuse("id", "Leave out limit and cursor: the part of one region is one answer.")
	case q.has("cursor") && query.Cursor == "":
		q.refuse("cursor", "Leave cursor out for the first page; for the next one give it the answer's next.")
	}
	if q.err != nil {
		return q.err
	}
	p := pin(s.boundaries)
	defer p.release()
	b, err := p.get()
	if err != nil {
		return err
	}
	if err := checkTypes(b, query.Types); err != nil {
		return err
	}
	a := answer{form: formJSON}
	if id != "" {
		a.form = formGeoJSON
	}
	return s.reply(c, a, []uint64{p.id}, func(ctx context.Context, out *scratch) (err error) {
		if id != "" {
			out.body, err = s.appendCutout(ctx, out.body, b, query.Types[0], id, query.Box)
		} else {
			out.body, err = appendWithin(ctx, out.body, b, query)
		}
		return err
	})
}

// appendWithin writes {"bbox":[…],"regions":[…],"next":"…"}.
func appendWithin(ctx context.Context, dst []byte, b Boundaries, q tiles.WithinQuery) ([]byte, error) {
	page, next, err := b.Within(ctx, q)
	if err != nil {
		return dst, err
	}
	dst = appendBounds(append(dst, '{'), [4]float64{q.Box.West, q.Box.South, q.Box.East, q.Box.North})
	dst = append(dst, `,"regions":[`...)
	for i := range page {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendRegion(dst, &page[i].Region)
		dst = append(appendBounds(append(dst, ','), page[i].Bounds), '}')
	}
	return appendNext(append(dst, ']'), next), nil
}

// appendCutout writes a FeatureCollection of at most one region. Its foreign
// member zoom says whose border it is: the exact one of 13 or a simpler one.
func (s *regionRoom) appendCutout(ctx context.Context, dst []byte, b Boundaries, typ, id string, box quadkey.Box) ([]byte, error) {
	// It takes a processor as drawing a tile does, and for longer.
	select {
	case s.drawing <- struct{}{}:
		defer func() { <-s.drawing }()
	case <-ctx.Done():
		return dst, ctx.Err()
	}
	dst, zoom, err := b.AppendCutout(ctx, append(dst, collectionHead...), typ, id, box)
	if err != nil {
		return dst, err
	}
	dst = strconv.AppendInt(append(dst, `],"zoom":`...), int64(zoom), 10)
	return append(dst, '}'), nil
}
