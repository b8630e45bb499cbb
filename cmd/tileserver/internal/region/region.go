// Package region answers which regions hold a point or meet a box, and with one
// region.
package region

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"quadrille/cellstore/dataset"
	"quadrille/cmd/tileserver/internal/datasets"
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/internal/jsontext"
	"quadrille/tiles"
)

// Room answers which regions hold a point or meet a box, and with one region.
type Room struct {
	*web.Kit
	boundaries *dataset.Live[datasets.Boundaries]
}

func New(k *web.Kit, boundaries *dataset.Live[datasets.Boundaries]) *Room {
	return &Room{k, boundaries}
}

func (s *Room) Routes() []web.Route {
	return []web.Route{
		{Path: "/regions/at", Handle: s.getRegionsAt, Cost: web.Light, Query: web.Takes(web.Position, "types", "snap")},
		{Path: "/regions/within", Handle: s.getRegionsWithin, Cost: web.Heavy, Query: web.Takes("bbox", "types", "id", "limit", "cursor")},
		{Path: "/regions/:type/:id", Handle: s.getRegion, Cost: web.Mixed, Query: web.Takes("geometry")},
	}
}

var Kinds = []web.Kind{
	{Err: tiles.ErrUnknownType, Status: http.StatusNotFound, Type: "unknown-layer", Title: "There is no such layer",
		Detail: "Use a layer that /tiles/all.json lists."},
	{Err: tiles.ErrNotFound, Status: http.StatusNotFound, Type: "region-not-found", Title: "There is no such region",
		Detail: "Check the region's id; ids are lower case, such as country/fr."},
	{Err: tiles.ErrCursor, Status: http.StatusBadRequest, Type: "bad-parameter", Title: "A parameter is not valid",
		Detail: "Send the cursor exactly as the page before gave it in next, with the same parameters, or none to begin again."},
}

// getRegionsAt answers GET /regions/at?lat=&lon=&types=&snap=: the regions of
// every type, or of those listed, that hold the point. With snap, a distance in
// metres, a type without one answers with its nearest region within that
// distance, and every region says how it matched.
func (s *Room) getRegionsAt(c echo.Context) error {
	r := c.Request()
	q := web.QueryParams(r)
	lat, lon := q.Position()
	types := q.List("types", web.MaxList)
	snap := q.Optional("snap", "metres", 0, tiles.MaxSnap, -1)
	if q.Err != nil {
		return q.Err
	}
	p := datasets.Pin(s.boundaries)
	defer p.Release()
	b, err := p.Get()
	if err != nil {
		return err
	}
	if err := datasets.CheckTypes(b, types); err != nil {
		return err
	}
	return s.Reply(c, web.Answer{Form: web.FormJSON}, []uint64{p.ID}, func(ctx context.Context, out *web.Scratch) error {
		out.Body = append(out.Body, `{"lat":`...)
		out.Body = strconv.AppendFloat(out.Body, lat, 'f', -1, 64)
		out.Body = append(out.Body, `,"lon":`...)
		out.Body = strconv.AppendFloat(out.Body, lon, 'f', -1, 64)
		out.Body = append(out.Body, `,"regions":[`...)
		if snap >= 0 {
			matches, err := b.Nearest(ctx, lat, lon, snap, types...)
			if err != nil {
				return err
			}
			out.Body = appendMatches(out.Body, matches)
			return nil
		}
		regions, err := b.At(ctx, lat, lon, types...)
		if err != nil {
			return err
		}
		for i := range regions {
			if i > 0 {
				out.Body = append(out.Body, ',')
			}
			out.Body = append(listing.AppendRegion(out.Body, &regions[i]), '}')
		}
		out.Body = append(out.Body, `]}`...)
		return nil
	})
}

// appendMatches writes the regions that matched, and then, as "none", the types
// without one. Metres are given to the decimetre.
func appendMatches(dst []byte, matches []tiles.Match) []byte {
	n := 0
	for i := range matches {
		m := &matches[i]
		if m.Kind == tiles.MatchNone {
			continue
		}
		if n++; n > 1 {
			dst = append(dst, ',')
		}
		dst = listing.AppendRegion(dst, &m.Region)
		dst = jsontext.AppendString(append(dst, `,"match":`...), m.Kind.String())
		if m.Kind == tiles.MatchSnapped {
			dst = append(dst, `,"distance_m":`...)
			dst = strconv.AppendFloat(dst, m.Distance, 'f', 1, 64)
		}
		dst = append(dst, '}')
	}
	dst = append(dst, `],"none":[`...)
	n = 0
	for i := range matches {
		m := &matches[i]
		if m.Kind != tiles.MatchNone {
			continue
		}
		if n++; n > 1 {
			dst = append(dst, ',')
		}
		dst = jsontext.AppendString(append(dst, `{"type":`...), m.Type)
		dst = jsontext.AppendString(append(dst, `,"match":`...), m.Kind.String())
		if m.Truncated {
			dst = append(dst, `,"truncated":true`...)
		}
		dst = append(dst, '}')
	}
	return append(dst, `]}`...)
}

// getRegion answers GET /regions/{type}/{id}: the record, with the geometry
// when geometry=true.
func (s *Room) getRegion(c echo.Context) error {
	r := c.Request()
	if web.RunsOn(c) {
		return web.ErrNoRoute
	}
	values, err := web.PathParams(c)
	if err != nil {
		return err
	}
	typ, id := values[0], values[1]
	q := web.QueryParams(r)
	geometry := q.OneOf("geometry", "true", "false") == "true"
	if q.Err != nil {
		return q.Err
	}
	if geometry { // of the largest countries a megabyte
		if !s.BeginHeavy() {
			return web.ErrBusy
		}
		defer s.Heavy.Add(-1)
	}
	p := datasets.Pin(s.boundaries)
	defer p.Release()
	b, err := p.Get()
	if err != nil {
		return err
	}
	return s.Reply(c, web.Answer{Form: web.FormJSON}, []uint64{p.ID}, func(ctx context.Context, out *web.Scratch) error {
		record, err := b.Region(ctx, typ, id, geometry)
		if errors.Is(err, tiles.ErrUnknownType) {
			return datasets.UnknownType(b, "type")
		}
		out.Body = append(out.Body, record...)
		return err
	})
}
