package layers

import (
	"context"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
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
