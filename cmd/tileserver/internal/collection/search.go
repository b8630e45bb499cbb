package collection

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/cmd/tileserver/internal/problems"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
	"quadrille/internal/jsontext"
	"quadrille/places/points"
	"quadrille/quadkey"
)

// maxLightLimit is the longest page of the points nearest that is light.
const maxLightLimit = 100

// getNearby answers GET /points/{collection}/nearby: the nearest points that pass the
// filters, ordered by distance.
func (s *Room) getNearby(c echo.Context, p *endpoint.Params) error {
	near := &feature.Near{}
	near.Lat, near.Lon = endpoint.Position(p)
	near.MaxM = endpoint.Radius.Of(p)
	near.MinM = minRadiusParam.Of(p)
	if near.MaxM > 0 && near.MinM > near.MaxM {
		p.Refuse("min_radius", "Set min_radius to at most radius.")
	}
	limit := int(listing.Limit.Of(p))
	cursor := endpoint.Cursor.Of(p)
	how := readAsking(p, c.Request(), endpoint.Format)
	how.several, how.shape.writer.Near = true, true
	q, err := s.ask(c, p, how)
	if err != nil {
		return err
	}
	defer q.release()
	if cursor != "" && len(q.asked) > 1 {
		return endpoint.Refuse(endpoint.ErrParameter, "cursor", "Leave out cursor: the nearest of several collections are one page. Give min_radius to go on behind it, or ask one collection.")
	}
	query := feature.Query{Near: near, Filter: q.asked[0].filter, At: q.at}
	if err := query.Continue(q.asked[0].from.Info(), cursor); err != nil {
		return err
	}
	plain := len(q.asked) == 1 && q.asked[0].filter == nil && cursor == "" && q.at.IsZero()
	dear := !plain || near.MinM > 0 || limit > maxLightLimit
	return s.Heavily(s.As(c.Request().Context(), c), dear, func() error {
		return q.send(func(ctx context.Context, p *listing.Page) (next string, err error) {
			if len(q.asked) > 1 {
				return "", q.nearest(ctx, query, limit, p)
			}
			return p.Fill(ctx, q.asked[0].from, query, limit, &q.shape.writer)
		})
	})
}

// nearest writes the nearest points of several collections.
func (q *question) nearest(ctx context.Context, query feature.Query, limit int, p *listing.Page) error {
	type found struct {
		feature.Feature
		of string
	}
	var list []found
	for i := range q.asked {
		a := &q.asked[i]
		query.Filter, query.Limit = a.filter, limit
		for f, err := range a.from.Features(ctx, &query) {
			if err != nil {
				return err
			}
			list = append(list, found{f.Clone(), a.name})
		}
	}
	slices.SortStableFunc(list, func(a, b found) int { return cmp.Compare(a.Distance, b.Distance) })
	for i := range list[:min(len(list), limit)] {
		p.Next()
		var err error
		of := append(jsontext.AppendString([]byte(`"collection":`), list[i].of), ',')
		if p.Body, err = q.shape.writer.Append(p.Body, &list[i].Feature, string(of)); err != nil {
			return err
		}
	}
	return nil
}

// area is ground that points are asked for in. Release it.
type area struct {
	feature.Area
	regions ask.Pinned[ask.Boundaries]
}

func (a *area) release() { a.regions.Release() }

// inTurns is an area that takes its turns between parts: a large region without a point in it
// has many.
type inTurns struct{ feature.Area }

// Cover implements feature.Area.
func (a inTurns) Cover(ctx context.Context, from quadkey.Cell, fn func(p *feature.Part) error) error {
	return a.Area.Cover(ctx, from, func(p *feature.Part) error {
		if err := web.Step(ctx); err != nil {
			return err
		}
		return fn(p)
	})
}

// inRegion takes a region. parameter is the one that names its type.
func (s *Room) inRegion(typ, id, parameter string) (area, error) {
	a := area{regions: ask.Pin(s.Boundaries)}
	b, err := a.regions.Get()
	if err != nil {
		return a, err
	}
	if problems.CheckTypes(b, []string{typ}) != nil {
		a.release()
		return area{}, problems.UnknownType(b, parameter)
	}
	a.Area = inTurns{b.Area(typ, id)}
	return a, nil
}

// inBox is the area of a box.
func inBox(b quadkey.Box) area { return area{Area: feature.Box(b)} }

// inTile is the area of a tile.
func inTile(t quadkey.Tile) area { return area{Area: feature.Tile(t)} }

// getWithin answers GET /points/{collection}/within: the points in a box or a tile.
func (s *Room) getWithin(c echo.Context, p *endpoint.Params) error {
	var in area
	switch {
	case endpoint.BBox.Given(p) && endpoint.Tile.Given(p):
		p.Refuse("tile", "Give either bbox or tile, not both.")
	case endpoint.Tile.Given(p):
		in = inTile(*endpoint.Tile.Of(p))
	case endpoint.BBox.Given(p):
		in = inBox(endpoint.BBox.Of(p))
	default:
		p.Refuse("bbox", "Add bbox, west,south,east,north in degrees, or tile, z/x/y.")
	}
	return s.sendWithin(c, p, func() (area, error) { return in, nil })
}

// getWithinRegion answers GET /points/{collection}/within/{type}/{id}: the points in a
// region.
func (s *Room) getWithinRegion(c echo.Context, p *endpoint.Params) error {
	if endpoint.RunsOn(c) {
		return endpoint.ErrNoRoute
	}
	values, err := endpoint.PathParams(c)
	if err != nil {
		return err
	}
	typ, id := values[1], values[2]
	return s.sendWithin(c, p, func() (area, error) { return s.inRegion(typ, id, "type") })
}

// sendWithin answers with the points in an area: a page of them, or all of them as lines.
func (s *Room) sendWithin(c echo.Context, p *endpoint.Params, in func() (area, error)) error {
	limit, cursor := int(listing.Limit.Of(p)), endpoint.Cursor.Of(p)
	sort := sortParam.Of(p)
	if sortParam.Given(p) && sort == "" {
		p.Refuse("sort", "Set sort to a property, or to - and a property for the greatest first, or leave it out.")
	}
	how := readAsking(p, c.Request(), linesFormatParam)
	if how.shape.form == web.FormNDJSON {
		for _, name := range []string{"limit", "cursor", "sort"} {
			if p.Has(name) {
				p.Refuse(name, "Give either "+name+" or format=ndjson, which answers with all points in the order they are kept in.")
			}
		}
	}
	q, err := s.ask(c, p, how)
	if err != nil {
		return err
	}
	defer q.release()
	a := &q.asked[0]
	query := feature.Query{Filter: a.filter, At: q.at, Step: web.Step}
	if query.Order.Sort, err = q.sort(sort); err != nil {
		return err
	}
	where, err := in()
	if err != nil {
		return err
	}
	defer where.release()
	query.In = where.Area
	if err := query.Continue(a.from.Info(), cursor); err != nil {
		return err
	}
	q.dependOn(&where)
	if q.shape.form == web.FormNDJSON {
		return s.Stream(c, web.Answer{Form: web.FormNDJSON}, nil, s.StreamTimeout, func(ctx context.Context, out *web.Stream) error {
			ctx = points.WithPause(ctx, web.TurnOf(ctx).Pause)
			for f, err := range a.from.Features(ctx, &query) {
				if err == nil {
					if out.Body, err = q.shape.writer.Append(out.Body, f, ""); err == nil {
						err = out.Line()
					}
				}
				if err != nil {
					return q.explain(err)
				}
			}
			return nil
		})
	}
	query.Examine = points.MaxExamined
	return q.send(func(ctx context.Context, p *listing.Page) (next string, err error) {
		return p.Fill(ctx, a.from, query, limit, &q.shape.writer)
	})
}

// dependOn adds the regions to what answers depend on.
func (q *question) dependOn(where *area) {
	q.inRegion = where.regions.Handle != nil
	if q.inRegion && q.from != nil {
		q.from = append(q.from, where.regions.ID)
	}
}

// sort reads the order of a page.
func (q *question) sort(text string) (by feature.Sort, err error) {
	if text == "" {
		return by, nil
	}
	if by, err = q.asked[0].meta.Schema.ParseSort(text); err != nil {
		err = endpoint.Refuse(endpoint.ErrParameter, "sort", "The order cannot be used: "+reason(err)+".")
	}
	return by, err
}

// getCount answers GET /points/{collection}/count: how many points are in an area, or in
// all.
func (s *Room) getCount(c echo.Context, p *endpoint.Params) error {
	in := func() (area, error) { return inBox(quadkey.World), nil }
	given := ""
	for _, name := range []string{"bbox", "tile", "region"} {
		if !p.Has(name) {
			continue
		}
		if given != "" {
			p.Refuse(name, "Give either "+given+" or "+name+", not both.")
		}
		given = name
	}
	switch given {
	case "bbox":
		b := endpoint.BBox.Of(p)
		in = func() (area, error) { return inBox(b), nil }
	case "tile":
		t := *endpoint.Tile.Of(p)
		in = func() (area, error) { return inTile(t), nil }
	case "region":
		typ, id, ok := strings.Cut(inRegionParam.Of(p), ":")
		if !ok || typ == "" || id == "" {
			p.Refuse("region", "Set region to a region type and an id such as country:ch.")
		}
		in = func() (area, error) { return s.inRegion(typ, id, "region") }
	}
	q, err := s.ask(c, p, asking{several: true, at: pastParam.Of(p)})
	if err != nil {
		return err
	}
	defer q.release()
	where, err := in()
	if err != nil {
		return err
	}
	defer where.release()
	q.dependOn(&where)
	return q.reply(web.Answer{Form: web.FormJSON}, func(ctx context.Context, out *web.Scratch) error {
		counts := make([]int64, len(q.asked))
		sum := int64(0)
		for i := range q.asked {
			a := &q.asked[i]
			n, err := a.from.Count(ctx, &feature.Query{In: where.Area, Filter: a.filter, At: q.at, Step: web.Step})
			if err != nil {
				return err
			}
			counts[i] = n
			sum += n
		}
		out.Body = strconv.AppendInt(append(out.Body, `{"count":`...), sum, 10)
		if len(counts) > 1 {
			out.Body = append(out.Body, `,"collections":{`...)
			for i, n := range counts {
				if i > 0 {
					out.Body = append(out.Body, ',')
				}
				out.Body = append(jsontext.AppendString(out.Body, q.asked[i].name), ':')
				out.Body = strconv.AppendInt(out.Body, n, 10)
			}
			out.Body = append(out.Body, '}')
		}
		out.Body = append(out.Body, '}')
		return nil
	})
}

// getPoint answers GET /points/{collection}/{id}: a point as a GeoJSON feature.
func (s *Room) getPoint(c echo.Context, p *endpoint.Params) error {
	if endpoint.RunsOn(c) {
		return endpoint.ErrNoRoute
	}
	values, err := endpoint.PathParams(c)
	if err != nil {
		return err
	}
	id := values[1]
	how := asking{at: pastParam.Of(p)}
	how.shape = shapeOf(web.FormGeoJSON, fieldsParam.Of(p))
	q, err := s.ask(c, p, how)
	if err != nil {
		return err
	}
	defer q.release()
	if q.asked[0].pin.Live != nil && !fieldsParam.Given(p) && q.at.IsZero() {
		return q.sendVersion(id)
	}
	return q.reply(web.Answer{Form: web.FormGeoJSON}, func(ctx context.Context, out *web.Scratch) error {
		var f feature.Feature
		if err = q.asked[0].from.Get(ctx, id, q.at, &f); err == nil {
			out.Body, err = q.shape.writer.Append(out.Body, &f, "")
		}
		return err
	})
}

// sendVersion answers with a point of a live collection, whole and as it is now, under the
// entity tag that writes take. Tags name bytes, so these are not compressed.
func (q *question) sendVersion(id string) error {
	s, c := q.room, q.context
	ctx, cancel := context.WithTimeout(c.Request().Context(), s.Timeout)
	defer cancel()
	ctx, end := s.TraceRead(ctx)
	out := web.GetScratch()
	defer out.Release()
	var f feature.Feature
	err := q.asked[0].from.Get(ctx, id, q.at, &f)
	end()
	if err == nil {
		out.Body, err = q.shape.writer.Append(out.Body, &f, "")
	}
	if err != nil {
		return q.explain(err)
	}
	return s.Send(c, web.Answer{Form: web.FormGeoJSON, Tag: web.TagOf(versionTag(f.Version)), Cache: web.NoStore}, out)
}
