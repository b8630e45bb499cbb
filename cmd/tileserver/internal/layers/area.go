package layers

import (
	"context"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
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

func (l *list) sendCount(c echo.Context, p *endpoint.Params, area func() (listing.AreaParams, error)) error {
	q, err := l.begin(c, p, asking{several: true, at: l.past(p)})
	if err != nil {
		return err
	}
	layers, listed := q.schemas()
	var of []listing.Counted
	for i := range q.asked {
		of = append(of, listing.Counted{Layer: q.asked[i].Layer, Name: layers[i].Name, Filter: q.asked[i].filter})
	}
	form := listing.CountFormats[listing.CountForm.Of(p)]
	t, err := listing.ReadTally(p, of, listed, form)
	if err != nil {
		return err
	}
	in, err := area()
	if err != nil {
		return err
	}
	where, err := in.Ground(p.View())
	if err != nil {
		return err
	}
	q.from = t.AppendGenerationIDs(where.AppendGenerationIDs(q.from))
	q.turns = true // without an index, counting reads everything
	release, err := t.Admit(c, l.handlers.Timeout)
	if err != nil {
		return err
	}
	defer release()
	return q.reply(web.Answer{Format: form}, func(ctx context.Context, out *web.Scratch) (err error) {
		out.Body, err = t.Append(ctx, out.Body, feature.Query{In: where.Area, At: q.at, Step: web.Step})
		return err
	})
}
