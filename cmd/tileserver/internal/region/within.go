package region

import (
	"context"
	"strconv"

	"github.com/labstack/echo/v4"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/cmd/tileserver/internal/problems"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
	"quadrille/quadkey"
	"quadrille/tiles"
)

// getRegionsWithin answers GET /regions/within?bbox=: a page of the regions
// that meet the box, of every type or of those in types; or, with types=T&id=ID,
// the part of one region in the box as GeoJSON.
func (s *Room) getRegionsWithin(c echo.Context, q *endpoint.Params) error {
	query := tiles.WithinQuery{}
	query.Box = endpoint.BBox.Of(q)
	query.Types = listing.Types.Of(q)
	id := idParam.Of(q)
	query.Limit = int(limitParam.Of(q))
	query.Cursor = cursorParam.Of(q)
	switch {
	case idParam.Given(q) && id == "":
		q.Refuse("id", "Give id a region's id, or leave it out for all regions.")
	case idParam.Given(q) && len(query.Types) != 1:
		q.Refuse("types", "Name the one region type that id is of in types.")
	case idParam.Given(q) && (cursorParam.Given(q) || limitParam.Given(q)):
		q.Refuse("id", "Leave out limit and cursor: the part of one region is one answer.")
	case cursorParam.Given(q) && query.Cursor == "":
		q.Refuse("cursor", "Leave cursor out for the first page; for the next one give it the answer's next.")
	}
	if q.Err != nil {
		return q.Err
	}
	p := ask.Pin(s.boundaries)
	defer p.Release()
	b, err := p.Get()
	if err != nil {
		return err
	}
	if err := problems.CheckTypes(b, query.Types); err != nil {
		return err
	}
	a := web.Answer{Form: web.FormJSON}
	if id != "" {
		a.Form = web.FormGeoJSON
	}
	return s.Reply(c, a, []uint64{p.ID}, func(ctx context.Context, out *web.Scratch) (err error) {
		if id != "" {
			out.Body, err = s.appendCutout(s.As(ctx, c), out.Body, b, query.Types[0], id, query.Box)
		} else {
			out.Body, err = appendWithin(ctx, out.Body, b, query)
		}
		return err
	})
}

// appendWithin writes {"bbox":[…],"regions":[…],"next":"…"}.
func appendWithin(ctx context.Context, dst []byte, b ask.Boundaries, q tiles.WithinQuery) ([]byte, error) {
	page, next, err := b.Within(ctx, q)
	if err != nil {
		return dst, err
	}
	dst = feature.AppendBounds(append(dst, '{'), [4]float64{q.Box.West, q.Box.South, q.Box.East, q.Box.North})
	p := listing.Begin(append(dst, ','), web.FormJSON, "regions")
	for i := range page {
		p.Next()
		p.Body = listing.AppendRegion(p.Body, &page[i].Region)
		p.Body = append(feature.AppendBounds(append(p.Body, ','), page[i].Bounds), '}')
	}
	return p.End(next), nil
}

// appendCutout writes a FeatureCollection of at most one region. Its foreign
// member zoom says whose border it is: the exact one of 13 or a simpler one.
func (s *Room) appendCutout(ctx context.Context, dst []byte, b ask.Boundaries, typ, id string, box quadkey.Box) ([]byte, error) {
	var zoom int
	err := s.InTurn(ctx, func(context.Context) (err error) {
		dst, zoom, err = b.AppendCutout(ctx, append(dst, listing.CollectionHead...), typ, id, box)
		return err
	})
	if err != nil {
		return dst, err
	}
	dst = strconv.AppendInt(append(dst, `],"zoom":`...), int64(zoom), 10)
	return append(dst, '}'), nil
}
