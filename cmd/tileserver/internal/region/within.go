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
	box, types, id := endpoint.BBox.Of(q), listing.Types.Of(q), idParam.Of(q)
	limit, cursor := int(limitParam.Of(q)), cursorParam.Of(q)
	switch {
	case idParam.Given(q) && id == "":
		q.Refuse("id", "Give id a region's id, or leave it out for all regions.")
	case idParam.Given(q) && len(types) != 1:
		q.Refuse("types", "Name the one region type that id is of in types.")
	case idParam.Given(q) && (cursorParam.Given(q) || limitParam.Given(q)):
		q.Refuse("id", "Leave out limit and cursor: the part of one region is one answer.")
	case cursorParam.Given(q) && cursor == "":
		q.Refuse("cursor", "Leave cursor out for the first page; for the next one give it the answer's next.")
	}
	if q.Err != nil {
		return q.Err
	}
	b, err := q.View.Boundaries.Get()
	if err != nil {
		return err
	}
	if err := problems.CheckTypes(b, types); err != nil {
		return err
	}
	a := web.Answer{Form: web.FormJSON}
	if id != "" {
		a.Form = web.FormGeoJSON
	}
	return s.Reply(c, a, []uint64{q.View.Boundaries.ID}, func(ctx context.Context, out *web.Scratch) (err error) {
		if id != "" {
			out.Body, err = s.appendCutout(s.As(ctx, c), out.Body, b, types[0], id, box)
		} else {
			out.Body, err = appendWithin(ctx, out.Body, b, types, box, limit, cursor)
		}
		return err
	})
}

// appendWithin writes {"bbox":[…],"regions":[…],"next":"…"}.
func appendWithin(ctx context.Context, dst []byte, b ask.Boundaries, types []string, box quadkey.Box, limit int, cursor string) ([]byte, error) {
	of, err := layersOf(b, types)
	if err != nil {
		return dst, err
	}
	q := feature.Query{In: feature.Box(box), Detail: feature.WithoutGeometry}
	if err := q.Continue(of.Info(), cursor); err != nil {
		return dst, err
	}
	dst = feature.AppendBounds(append(dst, '{'), [4]float64{box.West, box.South, box.East, box.North})
	p := listing.Begin(append(dst, ','), web.FormJSON, "regions")
	next, err := feature.Page(ctx, of, q, limit, func(f *feature.Feature) error {
		p.Next()
		p.Body = listing.AppendRegion(p.Body, &tiles.Region{Type: f.Properties.Text("type"), ID: f.ID, Name: f.Name()})
		in := tiles.Overlap(box, f.Bounds)
		p.Body = append(feature.AppendBounds(append(p.Body, ','), [4]float64{in.West, in.South, in.East, in.North}), '}')
		return nil
	})
	return p.End(next), err
}

// appendCutout writes a FeatureCollection of at most one region. Its foreign
// member zoom says which border it has: the exact one, of zoom 13, or a simpler
// one.
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
