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

// generations has the generations from which a tile is made, by the names of their data sets. Their
// text ends with the mark, a checksum of their identities: "boundaries.3.places.2-1f0c77ab". In a
// new data directory the numbers begin again at 1, but the mark differs.
type generations struct {
	names   []string
	numbers []uint64
	mark    uint32
}

// markOf returns the mark of generations.
func markOf(ids []uint64) uint32 {
	h := web.HashStart
	for _, id := range ids {
		h = h.Number(id)
	}
	return uint32(h >> 32)
}

func (g *generations) add(name string, number uint64) {
	g.names, g.numbers = append(g.names, name), append(g.numbers, number)
}

func (g generations) String() string {
	var b []byte
	for i, n := range g.numbers {
		b = append(append(b, g.names[i]...), '.')
		b = append(strconv.AppendUint(b, n, 10), '.')
	}
	return fmt.Sprintf("%s-%08x", b[:max(len(b)-1, 0)], g.mark)
}

// number returns the number of the generation of a data set, or 0 if there is none.
func (g *generations) number(name string) uint64 {
	if i := slices.Index(g.names, name); i >= 0 {
		return g.numbers[i]
	}
	return 0
}

// placed lists the data sets of the first numbers in addresses of releases up to 0.16. The caller's
// layers follow.
var placed = []string{ask.BoundariesName, ask.PlacesName, ask.AirportsName}

// parseGenerations reads the text that String writes, with some of the data sets in their order. It
// accepts no other spelling, so that each set of generations has one address. It also reads the
// form of releases up to 0.16, which has only numbers in the order of the data sets:
// "3.2.0-1f0c77ab".
func parseGenerations(s string, sets []string) (g generations, ok bool) {
	list, mark, ok := cutLast(s, "-")
	parts := strings.SplitN(list, ".", 2*len(sets)+1)
	if !ok || len(parts) > 2*len(sets) {
		return g, false
	}
	m, err := strconv.ParseUint(mark, 16, 32)
	g.mark = uint32(m)
	read := func(name, number string) bool {
		n, perr := strconv.ParseUint(number, 10, 64)
		g.add(name, n)
		return perr == nil && strconv.FormatUint(n, 10) == number
	}
	if err != nil || fmt.Sprintf("%08x", m) != mark {
		return g, false
	}
	if _, err := strconv.ParseUint(parts[0], 10, 64); err == nil {
		own := slices.DeleteFunc(slices.Clone(sets), func(name string) bool {
			return slices.Contains(placed, name) || strings.HasPrefix(name, ask.RegionSetPrefix)
		})
		ok = len(parts) >= len(placed) && len(parts) <= len(placed)+len(own)
		for i, name := range slices.Concat(placed, own)[:min(len(parts), len(placed)+len(own))] {
			ok = ok && read(name, parts[i])
		}
		last := len(parts) - 1
		return g, ok && (parts[last] != "0" || len(parts) == len(placed) && slices.Max(g.numbers) > 0)
	}
	if len(parts)%2 != 0 {
		return g, false
	}
	for left := sets; len(parts) > 0; parts = parts[2:] {
		at := slices.Index(left, parts[0])
		if at < 0 || parts[1] == "0" || !read(parts[0], parts[1]) {
			return g, false
		}
		left = left[at+1:]
	}
	return g, true
}

// cutLast cuts a text at the last separator.
func cutLast(s, separator string) (before, after string, ok bool) {
	i := strings.LastIndex(s, separator)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(separator):], true
}

// sets returns the data sets from which tiles are made, without collections.
func (s *Handlers) sets(v ask.View) []string {
	return append(v.Boundaries.DatasetNames(), s.Views.TiledLayerNames()...)
}

// generations returns the generations from which the tiles of a set are made, without
// collections.
func (v *view) generations(set *layerSet) (g generations) {
	ids, _ := v.from(set, nil)
	var of []uint64
	add := func(name string, m *dataset.Manifest, id uint64) {
		if id != 0 && m != nil {
			g.add(name, m.Generation)
			of = append(of, id)
		}
	}
	if ids[0] != 0 {
		for _, m := range v.Boundaries.Manifests(set.types) {
			add(m.Dataset, m, v.Boundaries.PinOf(m.Dataset).ID)
		}
	}
	for i, p := range v.points[:v.singles] {
		add(p.LayerInfo.Name, p.Manifest, ids[1+i])
	}
	g.mark = markOf(of)
	return g
}

// getPinnedTile answers GET /g/{generations}/tiles/{layers}/{z}/{x}/{file} with the tile that
// getTile makes from these generations. It never changes. The status is 410 once a generation has
// been removed, or replaced by another with its number. It is 404 if a generation with such a
// number has never existed.
func (s *Handlers) getPinnedTile(c echo.Context, q *endpoint.Params) error {
	values, err := endpoint.PathParams(c)
	if err != nil {
		return err
	}
	t, f, byAccept, err := parseTile(c.Request(), values[2:])
	if err != nil {
		return err
	}
	g, ok := parseGenerations(values[0], s.sets(q.View()))
	if !ok {
		return dataset.ErrNoGeneration
	}
	numbers := map[string]uint64{}
	for i, name := range g.names {
		numbers[name] = g.numbers[i]
	}
	// The address contains no generation of names, so its tiles have only local names of regions.
	of := s.Views.TakeGenerations(numbers, q.View().At)
	defer of.Release()
	v := viewOf(of)
	v.pinned = true
	defer v.release()
	var ids []uint64
	for _, name := range g.names {
		of := v.Boundaries.PinOf(name)
		id, err := of.ID, of.Err
		if p := v.single(name); p != nil {
			id, err = p.ID(), p.Err
		}
		if err != nil && !errors.Is(err, ask.ErrMissing) {
			return err
		}
		ids = append(ids, id)
	}
	if markOf(ids) != g.mark {
		return dataset.ErrPruned
	}
	v.double = doubledBy(q, f.IsPicture(), t.Z)
	return s.sendTile(c, q, v, values[1], t, f, manner{cache: s.PinnedCacheControl, byAccept: byAccept})
}
