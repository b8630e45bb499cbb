package layers

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
	"quadrille/internal/jsontext"
	"quadrille/quadkey"
)

// area is the ground for which features are queried.
type area struct {
	feature.Area
	drawn bool     // by data, and not by the question
	from  []uint64 // the generations that draw it, nil if it is as it is now
}

// inTurns is an area that takes turns of a processor between its parts: a large region
// without a feature in it has many.
type inTurns struct{ feature.Area }

// Cover implements feature.Area.
func (a inTurns) Cover(ctx context.Context, from quadkey.Cell, fn func(p *feature.Part) error) error {
	return a.Area.Cover(ctx, from, func(p *feature.Part) error {
		if err := web.Step(ctx); err != nil {
			return err
		}
		return fn(p)
	})
}

// inRegion is the area of a region. parameter is the name of the parameter with its type.
func inRegion(v ask.View, typ, id, parameter string) (area, error) {
	g, err := v.Ground(typ)
	if err != nil {
		return area{}, err
	}
	if err := problems.CheckTypes(g, parameter, typ); err != nil {
		return area{}, err
	}
	return area{inTurns{g.Area(typ, id)}, true, g.IDs(typ)}, nil
}

// inBox is the area of a box.
func inBox(b quadkey.Box) area { return area{Area: feature.Box(b)} }

// inTile is the area of a tile.
func inTile(t quadkey.Tile) area { return area{Area: feature.Tile(t)} }

// dependOn adds the regions to the generations that answers depend on.
func (q *question) dependOn(where *area) {
	if q.turns = where.drawn; !q.turns || q.from == nil {
		return
	}
	if q.from = append(q.from, where.from...); where.from == nil {
		q.from = nil
	}
}

// getCount answers GET …/count: how many features are in an area, or in all.
func (l *list) getCount(c echo.Context, p *endpoint.Params) error {
	in := func() (area, error) { return area{}, nil }
	switch listing.GivenArea(p) {
	case "bbox":
		b := endpoint.BBox.Of(p)
		in = func() (area, error) { return inBox(b), nil }
	case "tile":
		t := *endpoint.Tile.Of(p)
		in = func() (area, error) { return inTile(t), nil }
	case "region":
		r := listing.Region.Of(p)
		in = func() (area, error) { return inRegion(p.View(), r.Type, r.ID, "region") }
	}
	q, err := l.begin(c, p, asking{several: true, at: l.past(p)})
	if err != nil {
		return err
	}
	where, err := in()
	if err != nil {
		return err
	}
	q.dependOn(&where)
	q.turns = true // without an index, counting reads everything
	return q.reply(web.Answer{Form: web.FormJSON}, func(ctx context.Context, out *web.Scratch) error {
		counts := make([]int64, len(q.asked))
		sum := int64(0)
		for i := range q.asked {
			a := &q.asked[i]
			n, err := a.Count(ctx, &feature.Query{In: where.Area, Filter: a.filter, At: q.at, Step: web.Step})
			if err != nil {
				return err
			}
			counts[i] = n
			sum += n
		}
		out.Body = strconv.AppendInt(append(out.Body, `{"count":`...), sum, 10)
		if len(counts) > 1 {
			out.Body = append(out.Body, `,"collections":{`...)
			for i, n := range counts {
				if i > 0 {
					out.Body = append(out.Body, ',')
				}
				out.Body = append(jsontext.AppendString(out.Body, q.asked[i].name), ':')
				out.Body = strconv.AppendInt(out.Body, n, 10)
			}
			out.Body = append(out.Body, '}')
		}
		out.Body = append(out.Body, '}')
		return nil
	})
}
