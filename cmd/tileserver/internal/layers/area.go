package layers

import (
	"context"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
	"quadrille/internal/jsontext"
)

// getCount answers GET …/count with the number of features in an area or in the whole layer, and
// with the groups and measures that the parameters of tallies select.
func (l *list) getCount(c echo.Context, p *endpoint.Params) error {
	in := listing.AreaParamsOf(p, "region", "polygon")
	return l.sendCount(c, p, func() (listing.AreaParams, error) { return in, nil })
}

// postCount answers POST …/count with the number of features in the area in the body.
func (l *list) postCount(c echo.Context, p *endpoint.Params) error {
	return l.sendCount(c, p, func() (listing.AreaParams, error) { return listing.PostedAreaOf(l.handlers.Kit, c, p) })
}

func (l *list) sendCount(c echo.Context, p *endpoint.Params, of func() (listing.AreaParams, error)) error {
	q, err := l.begin(c, p, asking{several: true, at: l.past(p)})
	if err != nil {
		return err
	}
	t, err := q.readTally(p)
	if err != nil {
		return err
	}
	in, err := of()
	if err != nil {
		return err
	}
	where, err := in.Ground(p.View())
	if err != nil {
		return err
	}
	q.from = where.AppendGenerationIDs(q.from)
	q.turns = true // without an index, counting reads everything
	if t != nil {
		select {
		case l.handlers.tallies <- struct{}{}:
			defer func() { <-l.handlers.tallies }()
		case <-time.After(l.handlers.Timeout):
			return web.ErrBusy
		case <-c.Request().Context().Done():
			return c.Request().Context().Err()
		}
	}
	return q.reply(web.Answer{Format: t.format()}, func(ctx context.Context, out *web.Scratch) error {
		counts := make([]int64, len(q.asked))
		sum := int64(0)
		to := t.begin(q)
		for i := range q.asked {
			a := &q.asked[i]
			n, err := a.count(ctx, &feature.Query{In: where.Area, Filter: a.filter, At: q.at, Step: web.Step}, to)
			if err != nil {
				return err
			}
			counts[i] = n
			sum += n
		}
		if t != nil && t.csv {
			out.Body = t.appendTable(out.Body, to.Totals(t.limit))
			return nil
		}
		out.Body = strconv.AppendInt(append(out.Body, `{"count":`...), sum, 10)
		if len(counts) > 1 {
			out.Body = append(out.Body, `,"collections":{`...)
			for i, n := range counts {
				out.Body = append(jsontext.AppendString(jsontext.Next(out.Body), q.asked[i].name), ':')
				out.Body = strconv.AppendInt(out.Body, n, 10)
			}
			out.Body = append(out.Body, '}')
		}
		if t != nil {
			out.Body = t.append(out.Body, to.Totals(t.limit))
		}
		out.Body = append(out.Body, '}')
		return nil
	})
}
