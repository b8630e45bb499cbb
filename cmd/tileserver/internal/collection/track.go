package collection

import (
	"context"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
	"quadrille/internal/jsontext"
	"quadrille/places/points"
)

// Stops on a page of a track.
const (
	defaultStops = 1000
	maxStops     = 10_000
)

// getTrack answers GET /points/{collection}/{id}/track: where a point of a live collection
// with a history was, oldest first.
func (s *Room) getTrack(c echo.Context, p *endpoint.Params) error {
	if endpoint.RunsOn(c) {
		return endpoint.ErrNoRoute
	}
	values, err := endpoint.PathParams(c)
	if err != nil {
		return err
	}
	id := values[1]
	from, to := trackFromParam.Of(p), trackToParam.Of(p)
	if p.Err == nil && !from.IsZero() && !to.IsZero() && to.Before(from) {
		p.Refuse("to", "Set to to an instant that is not before from.")
	}
	limit := int(trackLimitParam.Of(p))
	q, err := s.ask(c, p, asking{})
	if err != nil {
		return err
	}
	defer q.release()
	a := &q.asked[0]
	if a.pin.Live == nil || a.meta.History == 0 {
		return endpoint.Refuse(points.ErrNoCollection, "", "Only live collections with a history have tracks; ask for the point itself.")
	}
	return q.reply(web.Answer{Form: web.FormJSON}, func(ctx context.Context, out *web.Scratch) error {
		stops, next, err := a.pin.Live.Track(ctx, id, from, to, limit)
		if err != nil {
			return err
		}
		dst := append(jsontext.AppendString(append(out.Body, `{"id":`...), id), `,"track":[`...)
		for i := range stops {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendStop(dst, &stops[i])
		}
		dst = append(dst, ']')
		if !next.IsZero() {
			dst = append(next.AppendFormat(append(dst, `,"next":"`...), time.RFC3339Nano), '"')
		}
		out.Body = append(dst, '}')
		return nil
	})
}

func appendStop(dst []byte, s *feature.Stop) []byte {
	dst = append(time.UnixMilli(s.Version).UTC().AppendFormat(append(dst, `{"time":"`...), time.RFC3339Nano), '"')
	if s.Gone {
		return append(dst, `,"gone":true}`...)
	}
	dst = strconv.AppendFloat(append(dst, `,"lat":`...), s.Position.Lat, 'f', -1, 64)
	dst = strconv.AppendFloat(append(dst, `,"lon":`...), s.Position.Lon, 'f', -1, 64)
	return append(dst, '}')
}
