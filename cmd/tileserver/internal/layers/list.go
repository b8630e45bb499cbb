package layers

import (
	"cmp"
	"context"
	"slices"

	"github.com/labstack/echo/v4"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
)

const (
	// maxLightLimit is the greatest limit of a page of the nearest features that counts as a light
	// request.
	maxLightLimit = 100
	// maxExamined bounds the features that are examined for a page in the order of a layer or of a
	// property. The most important features are found with an index that has a separate bound.
	maxExamined = 200_000
)

// getNearby answers GET …/nearby: the nearest features that pass the filters, ordered by
// distance.
func (l *list) getNearby(c echo.Context, p *endpoint.Params) error {
	near, from := listing.NearOf(p)
	if l.Open {
		if near.MinM = minRadiusParam.Of(p); near.MaxM > 0 && near.MinM > near.MaxM {
			p.Refuse("min_radius", "Set min_radius to at most radius.")
		}
	}
	limit := int(listing.Limit.Of(p))
	cursor := endpoint.Cursor.Of(p)
	q, err := l.ask(c, p, l.handlers.pageForm, true)
	if err != nil {
		return err
	}
	q.writer.WithDistance = true
	if cursor != "" && len(q.asked) > 1 {
		return endpoint.Refuse(endpoint.ErrParameter, "cursor",
			"Leave out cursor: the nearest of several collections are one page. Give min_radius to go on behind it, or ask one collection.")
	}
	query := feature.Query{Near: near, Filter: q.layer().filter, At: q.at}
	var own []*ask.Layer
	for i := range q.asked {
		own = append(own, q.asked[i].Layer)
	}
	if q.from, err = from.Open(q.view, q.from, own...); err != nil {
		return err
	}
	var dear bool
	switch {
	case l.Open:
		plain := len(q.asked) == 1 && query.Filter == nil && cursor == "" && q.at.IsZero()
		dear = !plain || near.MinM > 0 || limit > maxLightLimit
	case l.IsDear != nil:
		dear = l.IsDear(p, limit)
	}
	return l.handlers.RunHeavy(l.handlers.WithClientOf(c.Request().Context(), c), dear, func() error {
		return q.send("", func(ctx context.Context, out *page) (next string, err error) {
			if err := from.Locate(ctx, q.at, near); err != nil {
				return "", err
			}
			if err := query.Continue(q.layer().Info(), cursor); err != nil {
				return "", err
			}
			if out.from = from; len(q.asked) > 1 {
				return "", out.nearest(ctx, query, limit)
			}
			return out.fill(ctx, query, limit)
		}, nil)
	})
}

// ask does the same as begin, for a list. It also reads the form.
func (l *list) ask(c echo.Context, p *endpoint.Params, format *endpoint.Value[string], several bool) (*question, error) {
	a := asking{several: several, at: l.past(p), form: listing.FormatOf(c.Request(), format.Of(p)), byAccept: !format.Given(p)}
	if a.writer = l.readWriter(p, a.form.GeoJSON); l.Show != nil {
		a.show = l.Show(p)
	}
	return l.begin(c, p, a)
}

// page is a list that is being written.
type page struct {
	*question
	list listing.List
	body []byte
	from listing.From // a feature that is left out
}

// append writes a feature. collection is the name of its collection if several are requested.
func (p *page) append(ctx context.Context, of *asked, f *feature.Feature, collection string) (err error) {
	if p.show != nil {
		if err := p.show(ctx, of.Layer.Layer, f); err != nil {
			return err
		}
	}
	p.body, err = p.list.Append(p.body, f, collection)
	return err
}

// fill writes a page of the answer of one layer to a query, and returns the cursor of the
// next page.
func (p *page) fill(ctx context.Context, q feature.Query, limit int) (next string, err error) {
	of := p.layer()
	return feature.Page(ctx, p.from.Others(of.Layer.Layer, of.LayerInfo.Name), q, limit, func(f *feature.Feature) error { return p.append(ctx, of, f, "") })
}

// nearest writes the nearest features of several layers.
func (p *page) nearest(ctx context.Context, q feature.Query, limit int) error {
	type found struct {
		feature.Feature
		of *asked
	}
	var all []found
	for i := range p.asked {
		a := &p.asked[i]
		q.Filter, q.Limit = a.filter, limit
		for f, err := range p.from.Others(a.Layer.Layer, a.LayerInfo.Name).Features(ctx, &q) {
			if err != nil {
				return err
			}
			all = append(all, found{f.Clone(), a})
		}
	}
	slices.SortStableFunc(all, func(a, b found) int { return cmp.Compare(a.DistanceM, b.DistanceM) })
	for i := range all[:min(len(all), limit)] {
		if err := p.append(ctx, all[i].of, &all[i].Feature, all[i].of.name); err != nil {
			return err
		}
	}
	return nil
}

// send answers with a list. fill writes the list and returns the cursor of the next page. If the
// list is an object, head is its beginning, and more, if set, adds members.
func (q *question) send(head string, fill func(ctx context.Context, p *page) (next string, err error),
	more func(ctx context.Context, dst []byte) ([]byte, error)) error {
	return q.reply(web.Answer{Format: q.form.Format, ByAccept: true, Linked: !q.form.Object},
		func(ctx context.Context, out *web.Scratch) error {
			p := page{question: q, list: q.newList(head), body: out.Body}
			defer func() { out.Body = p.body }()
			p.body = p.list.Begin(p.body)
			next, err := fill(ctx, &p)
			if next != "" && !q.form.Object {
				q.handlers.LinkNext(q.context, "cursor", next, q.form.Name)
			}
			if p.body = p.list.End(p.body, next); err == nil && more != nil {
				p.body, err = more(ctx, p.body)
			}
			return err
		})
}

func (q *question) newList(head string) listing.List {
	l := listing.List{Spec: &q.Spec, Format: q.form, Writer: q.writer, FirstMembers: head, SeveralCollections: len(q.asked) > 1}
	for i := range q.asked {
		of := q.asked[i].Layer
		l.Schema = l.Schema.Merge(of.LayerInfo.Schema)
		l.UnlistedProperties = l.UnlistedProperties || listing.MayLackProperties(of.LayerInfo.Schema, of.TakesWrites)
	}
	return l
}

// getWithin answers GET …/within: the features in a box or a tile.
func (l *list) getWithin(c echo.Context, p *endpoint.Params) error {
	in := listing.AreaParamsOf(p, "polygon")
	if in.Area == nil && in.Drawn == nil {
		p.Refuse("bbox", "Add bbox, west,south,east,north in degrees, or tile, z/x/y, or polygon, lon,lat,lon,lat,….")
	}
	return l.sendWithin(c, p, func(feature.Layer, feature.Filter) (listing.Ground, error) { return in.Ground(p.View()) })
}

// postWithin answers POST …/within: the features in the area in the body.
func (l *list) postWithin(c echo.Context, p *endpoint.Params) error {
	return l.sendWithin(c, p, func(feature.Layer, feature.Filter) (g listing.Ground, err error) {
		in, err := listing.PostedAreaOf(l.handlers.Kit, c, p)
		if err != nil {
			return g, err
		}
		return in.Ground(p.View())
	})
}

// getWithinRegion answers GET …/within/{type}/{id}: the features in a region.
func (l *list) getWithinRegion(c echo.Context, p *endpoint.Params) error {
	values, err := endpoint.WholePath(c)
	if err != nil {
		return err
	}
	typ, id := values[len(values)-2], values[len(values)-1]
	return l.sendWithin(c, p, func(feature.Layer, feature.Filter) (listing.Ground, error) {
		return listing.InRegion(p.View(), typ, id, "type")
	})
}

// getCluster answers GET …/cluster/{cluster}: the features in a cluster of a tile.
func (l *list) getCluster(c echo.Context, p *endpoint.Params) error {
	values, err := endpoint.WholePath(c)
	if err != nil {
		return err
	}
	if l.Open && p.Values().Has(pastParam.Name) {
		return endpoint.Refuse(endpoint.ErrParameter, pastParam.Name, "Leave out at: clusters are made of the points as they are now.")
	}
	return l.sendWithin(c, p, func(of feature.Layer, by feature.Filter) (in listing.Ground, err error) {
		clusters, ok := of.(feature.Clusterer)
		if !ok {
			return in, endpoint.ErrNoRoute
		}
		ctx, cancel := context.WithTimeout(c.Request().Context(), l.handlers.Timeout)
		defer cancel()
		err = l.handlers.InTurn(l.handlers.WithClientOf(ctx, c), func(turn context.Context) (err error) {
			heavy := feature.Heavy{Step: web.Step, Run: func(ctx context.Context, fn func(ctx context.Context) error) error {
				return l.handlers.RunHeavy(ctx, true, func() error { return fn(ctx) })
			}}
			in.Area, err = clusters.Cluster(heavy.With(turn), values[len(values)-1], by)
			return err
		})
		return in, err
	})
}

// sendWithin answers with the features in an area. It sends all of them if the form supports whole
// areas and the request selects no page. Otherwise it sends a page.
func (l *list) sendWithin(c echo.Context, p *endpoint.Params, in func(of feature.Layer, by feature.Filter) (listing.Ground, error)) error {
	limit, cursor := int(listing.Limit.Of(p)), endpoint.Cursor.Of(p)
	sort := ""
	if l.Open {
		if sort = sortParam.Of(p); sortParam.Given(p) && sort == "" {
			p.Refuse("sort", "Set sort to a property, or to - and a property for the greatest first, or leave it out.")
		}
	}
	q, err := l.ask(c, p, l.handlers.areaForm, false)
	if err != nil {
		return err
	}
	of := q.layer()
	query := feature.Query{Filter: of.filter, Order: l.Order, At: q.at, Step: web.Step}
	if sort != "" {
		if query.Order.Sort, err = q.sort(sort); err != nil {
			return err
		}
	}
	where, err := in(of.Layer.Layer, of.filter)
	if err != nil {
		return q.explain(err)
	}
	query.In = where.Area
	q.from, q.turns = where.AppendGenerationIDs(q.from), where.InTurns
	if paged := listing.Limit.Given(p) || endpoint.Cursor.Given(p) || sort != ""; q.form.Unpaged && !paged {
		query.Order = feature.Order{}
		return q.stream(query)
	}
	if err := query.Continue(of.Info(), cursor); err != nil {
		return err
	}
	if !query.Order.Importance {
		query.MaxExamined = maxExamined
	}
	head := ""
	if box, ok := where.Area.(feature.Box); ok && l.WithBounds {
		head = string(append(feature.AppendBounds(nil, [4]float64{box.West, box.South, box.East, box.North}), ','))
	}
	var more func(context.Context, []byte) ([]byte, error)
	if l.AppendToFirstPage != nil && cursor == "" && q.form.Object {
		more = func(ctx context.Context, dst []byte) ([]byte, error) {
			return l.AppendToFirstPage(ctx, of.Layer.Layer, where.Area, dst)
		}
	}
	return q.send(head, func(ctx context.Context, p *page) (next string, err error) { return p.fill(ctx, query, limit) }, more)
}

// streamPage is the number of bytes of an answer that are read at a time.
const streamPage = 1 << 20

// stream sends all results of a query as they are found. A live layer is read from a snapshot of
// one moment, which stays open until the client has received everything. A published layer does not
// change while its generation is open. Therefore it is read in successive parts, and no read of the
// store is open during a write to the client.
func (q *question) stream(query feature.Query) error {
	from := q.from
	if q.named { // most of them are live
		from = nil
	}
	of := q.layer()
	answer := web.Answer{Format: q.form.Format, ByAccept: q.byAccept}
	return q.handlers.Stream(q.context, answer, from, q.handlers.StreamTimeout, func(ctx context.Context, out *web.Stream) error {
		p := page{question: q, list: q.newList("")}
		out.Body = p.list.Begin(out.Body)
		held := q.handlers.HoldMemory()
		defer held.Release()
		if err := held.Grow(p.list.Memory()); err != nil {
			return err
		}
		for again := true; again; {
			again = false
			for f, err := range of.Features(ctx, &query) {
				if err == nil {
					p.body = out.Body
					err = p.append(ctx, of, f, "")
					out.Body = p.body
				}
				if err == nil {
					err = held.Grow(p.list.Memory())
				}
				if err == nil && of.TakesWrites && out.Full() {
					err = out.Send()
				}
				if err != nil {
					return q.explain(err)
				}
				if again = len(out.Body) >= streamPage; again {
					query.After = append(feature.Mark(nil), f.Mark...)
					break
				}
			}
			if again {
				if err := out.Send(); err != nil {
					return err
				}
			}
		}
		out.Body = p.list.End(out.Body, "")
		return nil
	})
}
