package region

import (
	"context"
	"strconv"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
	"quadrille/internal/jsontext"
)

// nearList describes lists of the nearest regions.
var nearList = listing.Spec{Name: "regions", List: RegionsNear{}, Features: RegionFeaturesNear{}, Item: RegionFeatureNear{}}

// getRegionsNearby answers GET /regions/nearby?lat=&lon= with a page of the nearest regions of
// every type, or of those in types, ordered by the distance to their borders.
func (s *Handlers) getRegionsNearby(c echo.Context, q *endpoint.Params) error {
	near, from := listing.NearOf(q)
	types, limit, cursor := listing.Types.Of(q), int(listing.Limit.Of(q)), endpoint.Cursor.Of(q)
	l := s.newList(c, q, &nearList)
	l.Writer.WithDistance = true
	if q.Err != nil {
		return q.Err
	}
	g, err := ground(q, types)
	if err != nil {
		return err
	}
	p := regionPage{List: &l, types: types, limit: limit, cursor: cursor, from: from}
	generations, err := p.from.Open(q.View(), g.GenerationIDs(types...))
	if err != nil {
		return err
	}
	return s.send(c, q, g, &p, feature.Query{Near: near, Step: web.Step}, generations)
}

// getRegionsCount answers GET /regions/count?bbox=&tile=&region=&types=: it counts the regions of
// every type, or of those in types, in an area or in total.
func (s *Handlers) getRegionsCount(c echo.Context, q *endpoint.Params) error {
	of, types := listing.AreaParamsOf(q, "region", "polygon"), listing.Types.Of(q)
	if q.Err != nil {
		return q.Err
	}
	return s.sendCount(c, q, &of, types)
}

// postRegionsCount answers POST /regions/count: it counts the regions in the area in the body.
func (s *Handlers) postRegionsCount(c echo.Context, q *endpoint.Params) error {
	types := listing.Types.Of(q)
	of, err := listing.PostedAreaOf(s.Kit, c, q)
	if err != nil {
		return err
	}
	return s.sendCount(c, q, &of, types)
}

func (s *Handlers) sendCount(c echo.Context, q *endpoint.Params, of *listing.AreaParams, types []string) error {
	if err := of.CheckBorder(); err != nil {
		return err
	}
	g, err := ground(q, types)
	if err != nil {
		return err
	}
	in, err := of.Ground(q.View())
	if err != nil {
		return err
	}
	query := feature.Query{In: in.Area, Step: web.Step}
	return s.Reply(c, web.Answer{Format: web.FormatJSON}, in.AppendGenerationIDs(g.GenerationIDs(types...)),
		func(ctx context.Context, out *web.Scratch) error {
			return s.InTurn(s.WithClientOf(ctx, c), func(ctx context.Context) error {
				sum, each := int64(0), []byte{}
				for _, l := range asked(g, types, &query) {
					n, err := feature.Count(ctx, l, &query)
					if err != nil {
						return err
					}
					sum += n
					each = jsontext.AppendString(jsontext.Next(each), l.Info().Name)
					each = strconv.AppendInt(append(each, ':'), n, 10)
				}
				out.Body = strconv.AppendInt(append(out.Body, `{"count":`...), sum, 10)
				out.Body = append(append(append(out.Body, `,"types":{`...), each...), "}}"...)
				return nil
			})
		})
}
