package tile

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"quadrille/ask"
	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/web"
)

// generations names the generations a tile is made from, of boundaries, places
// and airports; 0 where the layers have nothing of a data set. As text it is the
// version of the TileJSON and a mark, "3.2.0-1f0c77ab". Numbers begin anew in a
// new data directory, the mark differs.
type generations struct {
	numbers [3]uint64
	mark    uint32
}

// markOf joins the identities of generations into a mark.
func markOf(ids [3]uint64) uint32 {
	h := web.HashStart
	for _, id := range ids {
		h = h.Number(id)
	}
	return uint32(h >> 32)
}

func (g generations) String() string {
	return fmt.Sprintf("%d.%d.%d-%08x", g.numbers[0], g.numbers[1], g.numbers[2], g.mark)
}

// maxGenerations is the longest text of generations: three numbers of 20 digits, the
// dots and the mark.
const maxGenerations = 3*20 + 2 + 1 + 8

// parseGenerations reads what String writes, and nothing else: each set of
// generations has one address.
func parseGenerations(s string) (g generations, ok bool) {
	list, mark, ok := strings.Cut(s, "-")
	parts := strings.SplitN(list, ".", len(g.numbers)+1)
	if !ok || len(s) > maxGenerations || len(parts) != len(g.numbers) {
		return g, false
	}
	m, err := strconv.ParseUint(mark, 16, 32)
	g.mark = uint32(m)
	for i, p := range parts {
		var perr error
		g.numbers[i], perr = strconv.ParseUint(p, 10, 64)
		err = errors.Join(err, perr)
	}
	return g, err == nil && g.numbers != [3]uint64{} && g.String() == s
}

// pinnedPath is the beginning of the paths of tiles of a layer set that never
// change.
func (v *view) pinnedPath(set *layerSet) string {
	var g generations
	var ids [3]uint64
	if len(set.selectors) > 0 && v.boundaries.Handle != nil {
		g.numbers[0], ids[0] = v.boundaries.Handle.Manifest().Generation, v.boundaries.ID
	}
	if set.places && v.places.Handle != nil {
		g.numbers[1], ids[1] = v.places.Handle.Manifest().Generation, v.places.ID
	}
	if set.airports && v.airports.Handle != nil {
		g.numbers[2], ids[2] = v.airports.Handle.Manifest().Generation, v.airports.ID
	}
	g.mark = markOf(ids)
	return "/g/" + g.String()
}

// getPinnedTile answers GET /g/{generations}/tiles/{layers}/{z}/{x}/{file}: the
// tile as getTile makes it of those generations, for ever. It is 410 once one of
// them has been removed, or replaced by another of its number, and 404 when there
// has been none of a number.
func (s *Room) getPinnedTile(c echo.Context, q *endpoint.Params) error {
	values, err := endpoint.PathParams(c)
	if err != nil {
		return err
	}
	t, f, byAccept, err := parseTile(c.Request(), values[2:])
	if err != nil {
		return err
	}
	g, ok := parseGenerations(values[0])
	if !ok {
		return dataset.ErrNoGeneration
	}
	v := view{
		boundaries: pinGeneration(s.Boundaries, g.numbers[0]),
		places:     pinGeneration(s.Places, g.numbers[1]),
		airports:   pinGeneration(s.Airports, g.numbers[2]),
	}
	defer v.release()
	for _, err := range [...]error{v.boundaries.Err, v.places.Err, v.airports.Err} {
		if err != nil && !errors.Is(err, ask.ErrMissing) {
			return err
		}
	}
	if markOf([3]uint64{v.boundaries.ID, v.places.ID, v.airports.ID}) != g.mark {
		return dataset.ErrPruned
	}
	return s.sendTile(c, q, &v, values[1], t, f, manner{cache: s.PinnedCache, byAccept: byAccept})
}

// pinGeneration takes a generation of a data set, in service or not; 0 stands
// for none.
func pinGeneration[T any](live *dataset.Live[T], generation uint64) ask.Pinned[T] {
	switch {
	case generation == 0:
		return ask.Pinned[T]{Err: ask.ErrMissing, ID: ask.IDMissing}
	case live == nil:
		return ask.Pinned[T]{Err: dataset.ErrNoGeneration, ID: ask.IDMissing}
	}
	h, err := live.AcquireGeneration(generation)
	switch {
	case err == nil:
		return ask.Pinned[T]{Handle: h, ID: ask.IdentityOf(h.Manifest())}
	case errors.Is(err, dataset.ErrPruned), errors.Is(err, dataset.ErrNoGeneration), errors.Is(err, dataset.ErrOlderBusy), errors.Is(err, cellstore.ErrClosed):
		return ask.Pinned[T]{Err: err, ID: ask.IDFailed}
	}
	return ask.Pinned[T]{Err: fmt.Errorf("%w: %w", ask.ErrFailed, err), ID: ask.IDFailed}
}
