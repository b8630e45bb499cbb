package tile

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/web"
)

// generations are the generations that a tile is made from: of boundaries, and of the layers
// of points in the order of the registry. A number is 0 if the layers use nothing of that
// data set. As text it is the version of the TileJSON and a mark, "3.2.0-1f0c77ab". In a new
// data directory numbers begin anew, and the mark differs.
type generations struct {
	numbers []uint64 // at least leastNumbers; more do not end with 0
	mark    uint32
}

// leastNumbers is how many numbers every text has: those of boundaries, places and airports.
// More follow only if there are more layers, so that addresses outlive changes of the
// registry.
const leastNumbers = 3

func newGenerations(numbers, ids []uint64) generations {
	for len(numbers) > leastNumbers && numbers[len(numbers)-1] == 0 {
		numbers = numbers[:len(numbers)-1]
	}
	h := web.HashStart
	for _, id := range ids[:len(numbers)] {
		h = h.Number(id)
	}
	return generations{numbers, uint32(h >> 32)}
}

func (g generations) String() string {
	var b []byte
	for _, n := range g.numbers {
		b = append(strconv.AppendUint(b, n, 10), '.')
	}
	return fmt.Sprintf("%s-%08x", b[:len(b)-1], g.mark)
}

// parseGenerations reads what String writes, of so many numbers at most, and nothing else: each
// set of generations has one address.
func parseGenerations(s string, most int) (g generations, ok bool) {
	list, mark, ok := strings.Cut(s, "-")
	parts := strings.SplitN(list, ".", most+1)
	if !ok || len(parts) < leastNumbers || len(parts) > most {
		return g, false
	}
	m, err := strconv.ParseUint(mark, 16, 32)
	g.mark = uint32(m)
	for _, p := range parts {
		n, perr := strconv.ParseUint(p, 10, 64)
		g.numbers = append(g.numbers, n)
		err = errors.Join(err, perr)
	}
	last := g.numbers[len(parts)-1]
	some := last != 0 || len(parts) == leastNumbers && slices.Max(g.numbers) > 0
	return g, err == nil && some && g.String() == s
}

// generations returns the generations from which the tiles of a set are made, without
// collections.
func (v *view) generations(set *layerSet) generations {
	ids, _ := v.from(set, nil)
	numbers := make([]uint64, 1+v.singles)
	if ids[0] != 0 && v.boundaries.Handle != nil {
		numbers[0] = v.boundaries.Handle.Manifest().Generation
	}
	for i := range numbers[1:] {
		if m := v.points[i].Manifest(); ids[1+i] != 0 && m != nil {
			numbers[1+i] = m.Generation
		}
	}
	return newGenerations(numbers, ids)
}

// getPinnedTile answers GET /g/{generations}/tiles/{layers}/{z}/{x}/{file}: the
// tile that getTile makes of those generations, the same for ever. The status is
// 410 once a generation has been removed, or replaced by another with its number.
// It is 404 if there was never a generation with a number.
func (s *Room) getPinnedTile(c echo.Context, q *endpoint.Params) error {
	values, err := endpoint.PathParams(c)
	if err != nil {
		return err
	}
	t, f, byAccept, err := parseTile(c.Request(), values[2:])
	if err != nil {
		return err
	}
	g, ok := parseGenerations(values[0], 1+len(s.TiledNames()))
	if !ok {
		return dataset.ErrNoGeneration
	}
	points := s.PinTiled(nil, g.numbers[1:])
	// The address names no generation of names: what it stands for has local ones of regions.
	v := &view{boundaries: ask.PinGeneration(s.Boundaries, g.numbers[0]), names: ask.Pin[ask.Names](nil), points: points, singles: len(points)}
	defer v.release()
	ids, errs := []uint64{v.boundaries.ID}, []error{v.boundaries.Err}
	for i := range v.points {
		ids, errs = append(ids, v.points[i].ID), append(errs, v.points[i].Err)
	}
	for _, err := range errs {
		if err != nil && !errors.Is(err, ask.ErrMissing) {
			return err
		}
	}
	if newGenerations(g.numbers, ids).mark != g.mark {
		return dataset.ErrPruned
	}
	v.double = doubledBy(q, f.Picture(), t.Z)
	return s.sendTile(c, q, v, values[1], t, f, manner{cache: s.PinnedCache, byAccept: byAccept})
}
