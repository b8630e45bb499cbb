package layers

import (
	"context"
	"time"

	"github.com/labstack/echo/v4"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
	"quadrille/internal/jsontext"
)

// getOne answers GET …/{id}: a feature as GeoJSON.
func (l *list) getOne(c echo.Context, p *endpoint.Params) error {
	values, err := endpoint.WholePath(c)
	if err != nil {
		return err
	}
	id := values[len(values)-1]
	q, err := l.begin(c, p, asking{at: l.past(p), writer: l.readWriter(p, true)})
	if err != nil {
		return err
	}
	if q.layer().TakesWrites && q.writer.Fields == nil && !q.writer.SkipGeometry && q.at.IsZero() {
		return q.sendVersion(id)
	}
	return q.reply(web.Answer{Format: web.FormatGeoJSON}, func(ctx context.Context, out *web.Scratch) error {
		_, err := q.appendOne(ctx, id, out)
		return err
	})
}

func (q *question) appendOne(ctx context.Context, id string, out *web.Scratch) (f feature.Feature, err error) {
	if err = q.layer().Get(ctx, id, q.at, &f); err == nil {
		out.Body, err = q.writer.Append(out.Body, &f, "")
	}
	return f, err
}

// sendVersion answers with the current, complete feature of a live layer. Conditional writes accept
// its ETag. A strong ETag identifies exact bytes, so these answers are not compressed.
func (q *question) sendVersion(id string) error {
	s, c := q.handlers, q.context
	ctx, cancel := context.WithTimeout(c.Request().Context(), s.Timeout)
	defer cancel()
	ctx, end := s.TraceRead(ctx)
	out := web.GetScratch()
	defer out.Release()
	f, err := q.appendOne(ctx, id, out)
	if end(); err != nil {
		return q.explain(err)
	}
	return s.Send(c, web.Answer{Format: web.FormatGeoJSON, Tag: web.TagOf(web.VersionTag(f.Version)), CacheControl: web.NoStore}, out)
}

// These are limits of the stops on a page of a track.
const (
	defaultStops = 1000
	maxStops     = 10_000
)

// getTrack answers GET …/{id}/track with the past positions of a feature, oldest first. The layer
// must have a history.
func (l *list) getTrack(c echo.Context, p *endpoint.Params) error {
	values, err := endpoint.WholePath(c)
	if err != nil {
		return err
	}
	id := values[len(values)-1]
	from, to := trackFromParam.Of(p), trackToParam.Of(p)
	if p.Err == nil && !from.IsZero() && !to.IsZero() && to.Before(from) {
		p.Refuse("to", "Set to to an instant that is not before from.")
	}
	limit := int(trackLimitParam.Of(p))
	q, err := l.begin(c, p, asking{})
	if err != nil {
		return err
	}
	tracker, ok := q.layer().Layer.Layer.(feature.Tracker)
	if !ok || !q.layer().LayerInfo.History {
		return endpoint.Refuse(ask.ErrNoLayer, "", "Only live collections with a history have tracks; ask for the point itself.")
	}
	return q.reply(web.Answer{Format: web.FormatJSON}, func(ctx context.Context, out *web.Scratch) error {
		stops, next, err := tracker.Track(ctx, id, from, to, limit)
		if err != nil {
			return err
		}
		dst := append(jsontext.AppendString(append(out.Body, `{"id":`...), id), `,"track":[`...)
		for i := range stops {
			dst = appendStop(jsontext.Next(dst), &stops[i])
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
	return append(feature.AppendLatLon(append(dst, ','), s.Position), '}')
}
