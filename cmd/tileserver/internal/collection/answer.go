package collection

import (
	"context"

	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
	"quadrille/places/points"
)

// shape says how points are written. Properties are users' own names, so none of ours is
// beside them.
type shape struct {
	form   web.Form
	writer feature.Writer
}

// shapeOf is that of a form.
func shapeOf(form web.Form, fields []string) shape {
	return shape{form, feature.Writer{GeoJSON: form != web.FormJSON, Nested: true, Versions: true, Fields: fields}}
}

// reply answers with what fill writes.
func (q *question) reply(a web.Answer, fill func(ctx context.Context, out *web.Scratch) error) error {
	return q.room.Reply(q.context, a, q.from, func(ctx context.Context, out *web.Scratch) error {
		if !q.inRegion {
			return q.explain(fill(ctx, out))
		}
		return q.room.InTurn(q.room.As(ctx, q.context), func(turn context.Context) error {
			return q.explain(fill(points.WithPause(turn, web.TurnOf(turn).Pause), out))
		})
	})
}

// send answers with a page, which fill writes, and returns the cursor of the next one.
func (q *question) send(fill func(ctx context.Context, p *listing.Page) (next string, err error)) error {
	return q.reply(web.Answer{Form: q.shape.form, ByAccept: true}, func(ctx context.Context, out *web.Scratch) error {
		p := listing.Begin(append(out.Body, '{'), q.shape.form, "points")
		next, err := fill(ctx, &p)
		out.Body = p.End(next)
		return err
	})
}
