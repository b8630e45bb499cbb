// Package region serves the endpoints for regions: those that contain a point or intersect a box,
// and single regions.
package region

import (
	"context"
	"errors"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/cmd/tileserver/internal/problems"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
	"quadrille/internal/jsontext"
	"quadrille/quadkey"
	"quadrille/tiles"
)

// Handlers has the handlers of regions: those that contain a point or intersect a box, and single
// regions.
type Handlers struct {
	*web.Kit
	form *endpoint.Value[string] // of a list
}

// New returns the handlers.
func New(k *web.Kit) *Handlers { return &Handlers{k, listing.FormatParam(false)} }

// getRegionsAt answers GET /regions/at?lat=&lon=&types=&snap= with the regions of every type, or of
// those listed, that contain the point. snap is a distance in metres. With it, a type without a
// region that contains the point gives its nearest region within this distance, and every region
// has the kind of match.
func (s *Handlers) getRegionsAt(c echo.Context, q *endpoint.Params) error {
	lat, lon := endpoint.Position(q)
	types := listing.Types.Of(q)
	snap := snapParam.Of(q)
	if q.Err != nil {
		return q.Err
	}
	g, err := ground(q, types)
	if err != nil {
		return err
	}
	return s.Reply(c, web.Answer{Format: web.FormatJSON}, g.GenerationIDs(types...), func(ctx context.Context, out *web.Scratch) error {
		out.Body = feature.AppendLatLon(append(out.Body, '{'), quadkey.Position{Lat: lat, Lon: lon})
		out.Body = append(out.Body, `,"regions":[`...)
		if snapParam.Given(q) {
			matches, err := g.Nearest(ctx, lat, lon, snap, types...)
			if err != nil {
				return err
			}
			out.Body = appendMatches(out.Body, matches)
			return nil
		}
		regions, err := g.At(ctx, lat, lon, types...)
		if err != nil {
			return err
		}
		for i := range regions {
			out.Body = append(listing.AppendRegion(jsontext.Next(out.Body), &regions[i]), '}')
		}
		out.Body = append(out.Body, "]}"...)
		return nil
	})
}

// appendMatches writes the regions that matched and then, as "none", the types without a match.
func appendMatches(dst []byte, matches []tiles.Match) []byte {
	for i := range matches {
		m := &matches[i]
		if m.Kind == tiles.MatchNone {
			continue
		}
		dst = listing.AppendRegion(jsontext.Next(dst), &m.Region)
		dst = jsontext.AppendString(append(dst, `,"match":`...), m.Kind.String())
		if m.Kind == tiles.MatchSnapped {
			dst = feature.AppendDistance(append(dst, ','), m.DistanceM)
		}
		dst = append(dst, '}')
	}
	dst = append(dst, `],"none":[`...)
	for i := range matches {
		m := &matches[i]
		if m.Kind != tiles.MatchNone {
			continue
		}
		dst = jsontext.AppendString(append(jsontext.Next(dst), `{"type":`...), m.Type)
		dst = jsontext.AppendString(append(dst, `,"match":`...), m.Kind.String())
		if m.Truncated {
			dst = append(dst, `,"truncated":true`...)
		}
		dst = append(dst, '}')
	}
	return append(dst, "]}"...)
}

// getRegion answers GET /regions/{type}/{id} with the record, and with the geometry if
// geometry=true.
func (s *Handlers) getRegion(c echo.Context, q *endpoint.Params) error {
	r := c.Request()
	values, err := endpoint.WholePath(c)
	if err != nil {
		return err
	}
	typ, id := values[0], values[1]
	geometry := geometryParam.Of(q)
	if q.Err != nil {
		return q.Err
	}
	g, err := q.View().Ground(typ)
	if err != nil {
		return err
	}
	// The geometry of the largest countries takes a megabyte.
	return s.RunHeavy(s.WithClientOf(r.Context(), c), geometry, func() error {
		return s.Reply(c, web.Answer{Format: web.FormatJSON}, g.GenerationIDs(typ), func(ctx context.Context, out *web.Scratch) error {
			record, err := g.Record(ctx, typ, id, geometry)
			if errors.Is(err, tiles.ErrUnknownType) {
				return problems.UnknownType(g, "type")
			}
			if err == nil {
				err = web.IsAt(id, tiles.RecordID(record))
			}
			out.Body = append(out.Body, record...)
			return err
		})
	})
}
