package httpapi

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"quadrille/tiles"
)

// requestTag is the entity tag of an answer made from a whole address and one
// generation of a data set. What an answer depends on beyond that goes into
// more.
func (s *server) requestTag(r *http.Request, generation uint64, a answer, more ...uint64) tag {
	h := s.tagStart.bytes(r.URL.Path).bytes(r.URL.RawQuery).number(generation)
	for _, m := range more {
		h = h.number(m)
	}
	return h.number(uint64(a.form)<<8 | uint64(a.coding)).tag()
}

// getRegionsAt answers GET /regions/at?lat=&lon=&types=: the regions of every
// type, or of those listed, that hold the point.
func (s *server) getRegionsAt(c echo.Context) error {
	r := c.Request()
	q := queryParams(r)
	lat, lon := q.position()
	types := q.list("types", maxLayers)
	if q.err != nil {
		return q.err
	}
	p := pin(s.boundaries)
	defer p.release()
	b, err := p.get()
	if err != nil {
		return err
	}
	for _, t := range types {
		if !slices.ContainsFunc(b.Types(), func(m tiles.TypeMeta) bool { return m.Name == t }) {
			return unknownType(b, "types")
		}
	}
	a := answer{form: formJSON, cache: s.cacheControl, coding: accepted(r)}
	etag := s.requestTag(r, p.id, a)
	a.tag = &etag
	if matches(r, a.tag, false) {
		return s.notModified(c, a)
	}

	ctx, cancel := context.WithTimeout(r.Context(), s.timeout)
	defer cancel()
	regions, err := b.At(ctx, lat, lon, types...)
	if err != nil {
		return err
	}
	out := getScratch()
	defer out.release()
	out.body = append(out.body, `{"lat":`...)
	out.body = strconv.AppendFloat(out.body, lat, 'f', -1, 64)
	out.body = append(out.body, `,"lon":`...)
	out.body = strconv.AppendFloat(out.body, lon, 'f', -1, 64)
	out.body = append(out.body, `,"regions":[`...)
	for i := range regions {
		if i > 0 {
			out.body = append(out.body, ',')
		}
		out.body = appendRegion(out.body, &regions[i])
	}
	out.body = append(out.body, `]}`...)
	return s.send(c, a, out)
}

func appendRegion(dst []byte, r *tiles.Region) []byte {
	dst = appendString(append(dst, `{"type":`...), r.Type)
	dst = appendString(append(dst, `,"id":`...), r.ID)
	if r.Name != "" {
		dst = appendString(append(dst, `,"name":`...), r.Name)
	}
	return append(dst, '}')
}

// getRegion answers GET /regions/{type}/{id}: the record, with the geometry
// when geometry=true.
func (s *server) getRegion(c echo.Context) error {
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
	p := pin(s.boundaries)
	defer p.release()
	b, err := p.get()
	if err != nil {
		return err
	}
	a := answer{form: formJSON, cache: s.cacheControl, coding: accepted(r)}
	etag := s.requestTag(r, p.id, a)
	a.tag = &etag

	if matches(r, a.tag, false) {
		return s.notModified(c, a)
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.timeout)
	defer cancel()
	record, err := b.Region(ctx, typ, id, geometry)
	switch {
	case errors.Is(err, tiles.ErrUnknownType):
		return unknownType(b, "type")
	case err != nil:
		return err
	}
	out := getScratch()
	defer out.release()
	out.body = append(out.body, record...)
	return s.send(c, a, out)
}

// unknownType says which region types there are.
func unknownType(b Boundaries, parameter string) error {
	var names []string
	for _, t := range b.Types() {
		names = append(names, t.Name)
	}
	return refuse(tiles.ErrUnknownType, parameter, "Use one of the published region types: "+strings.Join(names, ", ")+".")
}
