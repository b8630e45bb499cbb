package collection

import (
	"context"
	"strconv"
	"sync"
	"time"

	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
	"quadrille/internal/jsontext"
	"quadrille/places/points"
)

// shape says how points are written.
type shape struct {
	form    web.Form
	fields  []string // properties; nil for all
	near    bool     // with distances
	several bool     // with the names of their collections
}

// append writes a point as an object of its own or a GeoJSON feature. Properties are
// users' own names, so none of ours is beside them.
func (s *shape) append(dst []byte, h *points.Hit, collection string) []byte {
	if s.form == web.FormJSON {
		dst = jsontext.AppendString(append(dst, `{"id":`...), h.ID)
		dst = strconv.AppendFloat(append(dst, `,"lat":`...), h.Lat, 'f', -1, 64)
		dst = strconv.AppendFloat(append(dst, `,"lon":`...), h.Lon, 'f', -1, 64)
	} else {
		dst = jsontext.AppendString(append(dst, `{"type":"Feature","id":`...), h.ID)
		dst = strconv.AppendFloat(append(dst, `,"geometry":{"type":"Point","coordinates":[`...), h.Lon, 'f', -1, 64)
		dst = strconv.AppendFloat(append(dst, ','), h.Lat, 'f', -1, 64)
		dst = append(dst, `]}`...)
	}
	if s.several {
		dst = jsontext.AppendString(append(dst, `,"collection":`...), collection)
	}
	if s.near {
		dst = listing.AppendDistance(dst, h.DistanceM)
	}
	dst = strconv.AppendInt(append(dst, `,"version":`...), h.Version, 10)
	if !h.Expires.IsZero() {
		dst = append(h.Expires.UTC().AppendFormat(append(dst, `,"expires":"`...), time.RFC3339Nano), '"')
	}
	dst = append(dst, `,"properties":`...)
	if s.fields != nil {
		dst = feature.AppendFields(dst, h.Properties, s.fields)
	} else {
		dst = append(dst, h.Properties...)
	}
	return append(dst, '}')
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

// pages is reused memory for the points of one page.
var pages = sync.Pool{New: func() any { return new(page) }}

// maxPage is how many bytes of properties are worth keeping between requests.
const maxPage = 1 << 20

// page is a page of points. of names the collection of each, where several are asked.
type page struct {
	hits []points.Hit
	of   []string
	next string
}

// release gives the memory back, unless properties have made it large.
func (p *page) release() {
	bytes := 0
	for i := range p.hits {
		bytes += cap(p.hits[i].Properties)
	}
	if bytes <= maxPage {
		pages.Put(p)
	}
}

// send answers with a page, which find fills.
func (q *question) send(find func(ctx context.Context, into *page) error) error {
	return q.reply(web.Answer{Form: q.shape.form, ByAccept: true}, func(ctx context.Context, out *web.Scratch) error {
		found := pages.Get().(*page)
		defer found.release()
		found.next = ""
		if err := find(ctx, found); err != nil {
			return err
		}
		p := listing.Begin(append(out.Body, '{'), q.shape.form, "points")
		for i := range found.hits {
			p.Next()
			of := ""
			if q.shape.several {
				of = found.of[i]
			}
			p.Body = q.shape.append(p.Body, &found.hits[i], of)
		}
		out.Body = p.End(found.next)
		return nil
	})
}
