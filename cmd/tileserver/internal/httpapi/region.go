package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"quadrille/cellstore/dataset"
	"quadrille/internal/jsontext"
	"quadrille/tiles"
)

// regionRoom answers which regions hold a point or meet a box, and with one region.
type regionRoom struct {
	*kit
	boundaries *dataset.Live[Boundaries]
}

func newRegionRoom(k *kit, boundaries *dataset.Live[Boundaries]) *regionRoom {
	return &regionRoom{k, boundaries}
}

func (s *regionRoom) routes() []route {
	return []route{
		{path: "/regions/at", handle: s.getRegionsAt, cost: light, query: takes(position, "types", "snap")},
		{path: "/regions/within", handle: s.getRegionsWithin, cost: heavy, query: takes("bbox", "types", "id", "limit", "cursor")},
		{path: "/regions/:type/:id", handle: s.getRegion, cost: mixed, query: takes("geometry")},
	}
}

var regionKinds = []kind{
	{err: tiles.ErrUnknownType, status: http.StatusNotFound, typ: "unknown-layer", title: "There is no such layer",
		detail: "Use a layer that /tiles/all.json lists."},
	{err: tiles.ErrNotFound, status: http.StatusNotFound, typ: "region-not-found", title: "There is no such region",
		detail: "Check the region's id; ids are lower case, such as country/fr."},
	{err: tiles.ErrCursor, status: http.StatusBadRequest, typ: "bad-parameter", title: "A parameter is not valid",
		detail: "Send the cursor exactly as the page before gave it in next, with the same parameters, or none to begin again."},
}

// getRegionsAt answers GET /regions/at?lat=&lon=&types=&snap=: the regions of
// every type, or of those listed, that hold the point. With snap, a distance in
// metres, a type without one answers with its nearest region within that
// distance, and every region says how it matched.
func (s *regionRoom) getRegionsAt(c echo.Context) error {
	r := c.Request()
	q := queryParams(r)
	lat, lon := q.position()
	types := q.list("types", maxList)
	snap := q.optional("snap", "metres", 0, tiles.MaxSnap, -1)
	if q.err != nil {
		return q.err
	}
	p := pin(s.boundaries)
	defer p.release()
	b, err := p.get()
	if err != nil {
		return err
	}
	if err := checkTypes(b, types); err != nil {
		return err
	}
	return s.reply(c, answer{form: formJSON}, []uint64{p.id}, func(ctx context.Context, out *scratch) error {
		out.body = append(out.body, `{"lat":`...)
		out.body = strconv.AppendFloat(out.body, lat, 'f', -1, 64)
		out.body = append(out.body, `,"lon":`...)
		out.body = strconv.AppendFloat(out.body, lon, 'f', -1, 64)
		out.body = append(out.body, `,"regions":[`...)
		if snap >= 0 {
			matches, err := b.Nearest(ctx, lat, lon, snap, types...)
			if err != nil {
				return err
			}
			out.body = appendMatches(out.body, matches)
			return nil
		}
		regions, err := b.At(ctx, lat, lon, types...)
		if err != nil {
			return err
		}
		for i := range regions {
			if i > 0 {
				out.body = append(out.body, ',')
			}
			out.body = append(appendRegion(out.body, &regions[i]), '}')
		}
		out.body = append(out.body, `]}`...)
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
		dst = appendRegion(dst, &m.Region)
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
func (s *regionRoom) getRegion(c echo.Context) error {
	r := c.Request()
	if runsOn(c) {
		return errNoRoute
	}
	values, err := pathParams(c)
	if err != nil {
		return err
	}
	typ, id := values[0], values[1]
	q := queryParams(r)
	geometry := q.oneOf("geometry", "true", "false") == "true"
	if q.err != nil {
		return q.err
	}
	if geometry { // of the largest countries a megabyte
		if !s.beginHeavy() {
			return errBusy
		}
		defer s.heavy.Add(-1)
	}
	p := pin(s.boundaries)
	defer p.release()
	b, err := p.get()
	if err != nil {
		return err
	}
	return s.reply(c, answer{form: formJSON}, []uint64{p.id}, func(ctx context.Context, out *scratch) error {
		record, err := b.Region(ctx, typ, id, geometry)
		if errors.Is(err, tiles.ErrUnknownType) {
			return unknownType(b, "type")
		}
		out.body = append(out.body, record...)
		return err
	})
}
