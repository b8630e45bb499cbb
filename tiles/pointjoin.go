package tiles

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"quadrille/quadkey"
	"quadrille/tiles/internal/cells"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
)

// PointJoin finds the regions of many points, as At does for one. Its answers are numbers of a
// table, which has each distinct answer once and grows with these. Any number of goroutines may use
// a PointJoin; they share the table. For a stream, call Find with some thousands of points at a
// time.
type PointJoin struct {
	r       *Reader
	types   []*readerType
	scratch sync.Pool // *joinScratch
	tables  []answerTable
}

// NoPoint is the answer for a position that is none, such as NaN or a latitude of 91.
const NoPoint = -1

// PointJoin returns a join with the given types, in their order, or with all that have areas if
// none is given. Errors match ErrUnknownType, also for a type of lines.
func (r *Reader) PointJoin(types ...string) (*PointJoin, error) {
	j := &PointJoin{r: r}
	for _, t := range types {
		rt := r.types[t]
		switch {
		case rt == nil:
			return nil, r.unknownType(t)
		case rt.IsLines:
			return nil, fmt.Errorf("%w: %s has lines, which hold no point: leave it out", ErrUnknownType, t)
		case slices.Contains(j.types, rt):
			return nil, fmt.Errorf("type %s is given twice: give it once", t)
		}
		j.types = append(j.types, rt)
	}
	if len(types) == 0 {
		var s scratch
		if err := s.asked(r, nil); err != nil {
			return nil, err
		}
		j.types = s.types
	}
	j.tables = make([]answerTable, len(j.types))
	for i, rt := range j.types {
		j.tables[i] = answerTable{lists: [][]Region{nil}, one: map[string]int32{}, several: map[string]int32{}}
		if n := rt.TypeMeta.Regions; rt.stamp != 0 && n > 0 && n < mostNumbered {
			j.tables[i].numbered = make([]atomic.Int32, n)
		}
	}
	j.scratch.New = func() any { return new(joinScratch) }
	return j, nil
}

// mostNumbered bounds the regions of a type whose answers are found without a lock.
const mostNumbered = 1 << 26

// Types returns the names of the types, in the order of the columns of Find.
func (j *PointJoin) Types() []string {
	names := make([]string, len(j.types))
	for i, rt := range j.types {
		names[i] = rt.Name
	}
	return names
}

// Regions returns the regions of an answer of Find for the type at an index of Types, the smallest
// first. It returns nil for 0 and NoPoint. The caller must not change them.
func (j *PointJoin) Regions(typ int, answer int32) []Region {
	if answer <= 0 {
		return nil
	}
	t := &j.tables[typ]
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.lists[answer]
}

// Answers returns the number of distinct answers of a type so far. All answers are less than it.
func (j *PointJoin) Answers(typ int) int {
	t := &j.tables[typ]
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.lists)
}

// answerTable has the answers of a type. Number 0 is no region.
type answerTable struct {
	mu      sync.RWMutex
	lists   [][]Region
	one     map[string]int32 // answers of one region, by its id
	several map[string]int32 // of several, by the numbers of each
	// numbered are answers of one region, by its number in finished answers; 0 is not known.
	numbered []atomic.Int32
}

// numberOf returns the number of the answer with regions, which are in order.
func (t *answerTable) numberOf(regions []Region) int32 {
	switch len(regions) {
	case 0:
		return 0
	case 1:
		t.mu.Lock()
		defer t.mu.Unlock()
		return t.oneOf(regions[0])
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	var key []byte
	for _, r := range regions {
		key = binary.AppendVarint(key, int64(t.oneOf(r)))
	}
	n, ok := t.several[string(key)]
	if !ok {
		list := make([]Region, len(regions))
		for i, r := range regions {
			list[i] = t.lists[t.one[r.ID]][0]
		}
		n = t.add(list)
		t.several[string(key)] = n
	}
	return n
}

func (t *answerTable) oneOf(r Region) int32 {
	n, ok := t.one[r.ID]
	if !ok {
		r.ID, r.Name = strings.Clone(r.ID), strings.Clone(r.Name) // r is a part of a block's text
		n = t.add([]Region{r})
		t.one[r.ID] = n
	}
	return n
}

func (t *answerTable) add(list []Region) int32 {
	t.lists = append(t.lists, list)
	return int32(len(t.lists) - 1)
}

// chunkBits is the binary logarithm of the number of points that Find sorts at once. Fewer would
// share fewer answers, and more would not fit into the cache of a processor.
const chunkBits = 18

// joinScratch is the memory for a chunk.
type joinScratch struct {
	scratch
	sorted, spare []uint64      // the tile of zoom 13, and below it the place of the point in the chunk
	values        []cells.Value // of the tile, by type
	local         [][]int32     // numbers of the values of a block, by type
	found         []Region
}

const (
	chunkPoints = 1 << chunkBits
	tileBits    = 2 * grid.MaxZoom
)

// Find sets out[k][i] to the number of the answer of type k for point i, for all types. Points may
// come in any order: Find sorts them in chunks of 262,144, for which it needs 4 MB. Errors match
// ErrCorrupt, or come from the store or the context; then out is undefined.
func (j *PointJoin) Find(ctx context.Context, points []quadkey.Position, out [][]int32) error {
	if len(out) != len(j.types) || slices.ContainsFunc(out, func(column []int32) bool { return len(column) != len(points) }) {
		return fmt.Errorf("give a column for each of %d types, as long as the %d points", len(j.types), len(points))
	}
	s := j.scratch.Get().(*joinScratch)
	defer j.scratch.Put(s)
	for from := 0; from < len(points); from += chunkPoints {
		to := min(from+chunkPoints, len(points))
		chunk := make([][]int32, len(out)) // per chunk, not per point
		for k := range out {
			chunk[k] = out[k][from:to]
		}
		if err := j.chunk(ctx, s, points[from:to], chunk); err != nil {
			return err
		}
	}
	return nil
}

// chunk answers a chunk of points, tile by tile of zoom 8.
func (j *PointJoin) chunk(ctx context.Context, s *joinScratch, points []quadkey.Position, out [][]int32) error {
	if err := j.place(ctx, s, points, out); err != nil {
		return err
	}
	s.sort()
	for i := 0; i < len(s.sorted); {
		if err := ctx.Err(); err != nil {
			return err
		}
		square := s.sorted[i] >> (chunkBits + tileBits - 2*cells.Zoom)
		end := i + 1
		for end < len(s.sorted) && s.sorted[end]>>(chunkBits+tileBits-2*cells.Zoom) == square {
			end++
		}
		if err := j.square(ctx, s, s.sorted[i:end], points, out); err != nil {
			return err
		}
		i = end
	}
	return nil
}

// place sets s.sorted to the tiles of the points. It answers those that are in no tile.
func (j *PointJoin) place(ctx context.Context, s *joinScratch, points []quadkey.Position, out [][]int32) error {
	s.sorted = slices.Grow(s.sorted[:0], len(points))
	var polar [2][]uint32 // points of the north and of the south
	for i, p := range points {
		switch {
		case !p.Valid():
			for k := range out {
				out[k][i] = NoPoint
			}
		case p.Lat > quadkey.MaxLatitude:
			polar[0] = append(polar[0], uint32(i))
		case p.Lat < -quadkey.MaxLatitude:
			polar[1] = append(polar[1], uint32(i))
		default:
			t, err := quadkey.TileAt(meridian(p.Lon, p.Lat), p.Lat, grid.MaxZoom)
			if err != nil {
				return err
			}
			s.sorted = append(s.sorted, t.Packed()<<chunkBits|uint64(i))
		}
	}
	for i, polar := range polar {
		if err := j.cap(ctx, s, layout.PolarCaps[i], polar, points, out); err != nil {
			return err
		}
	}
	return nil
}

// cap answers the points of a polar cap, which are given by their places.
func (j *PointJoin) cap(ctx context.Context, s *joinScratch, polar *layout.PolarCap, places []uint32, points []quadkey.Position,
	out [][]int32) error {
	if len(places) == 0 {
		return nil
	}
	s.types = append(s.types[:0], j.types...)
	if err := s.seekCap(ctx, polar); err != nil {
		return err
	}
	for _, i := range places {
		if err := ctx.Err(); err != nil {
			return err
		}
		p := points[i]
		found, err := j.r.inCap(ctx, &s.scratch, polar, meridian(p.Lon, p.Lat), p.Lat)
		if err != nil {
			return err
		}
		for k, rt := range j.types {
			n := 0
			for n < len(found) && found[n].Type == rt.Name {
				n++
			}
			out[k][i] = j.tables[k].numberOf(found[:n])
			found = found[n:]
		}
	}
	return nil
}

// sort orders the points by their tiles: a radix sort of 26 bits in three passes.
func (s *joinScratch) sort() {
	if len(s.sorted) < 1<<8 {
		slices.Sort(s.sorted)
		return
	}
	s.spare = slices.Grow(s.spare[:0], len(s.sorted))[:len(s.sorted)]
	shift := uint(chunkBits)
	for _, bits := range [...]uint{8, 9, 9} {
		var at [1 << 9]int32
		mask := uint64(1)<<bits - 1
		for _, v := range s.sorted {
			at[v>>shift&mask]++
		}
		sum := int32(0)
		for i, n := range at {
			at[i], sum = sum, sum+n
		}
		for _, v := range s.sorted {
			b := v >> shift & mask
			s.spare[at[b]] = v
			at[b]++
		}
		s.sorted, s.spare = s.spare, s.sorted
		shift += bits
	}
}

// square answers points in one tile of zoom 8.
func (j *PointJoin) square(ctx context.Context, s *joinScratch, sorted []uint64, points []quadkey.Position, out [][]int32) error {
	for len(sorted) > 0 {
		first := sorted[0] >> chunkBits
		t, err := quadkey.TileFromPacked(grid.MaxZoom, first)
		if err != nil {
			return err
		}
		if err := j.r.answers(ctx, &s.scratch, t, j.types); err != nil {
			return err
		}
		n := len(sorted)
		if s.span < cells.Tiles { // the answers are those of a part of the tile
			beyond := (first/s.span + 1) * s.span << chunkBits
			n, _ = slices.BinarySearch(sorted, beyond)
		}
		if err := j.blocks(ctx, s, sorted[:n], points, out); err != nil {
			return err
		}
		sorted = sorted[n:]
	}
	return nil
}

// unknown marks an answer of a block without a number yet.
const unknown = math.MinInt32

// blocks answers points from s.blocks.
func (j *PointJoin) blocks(ctx context.Context, s *joinScratch, sorted []uint64, points []quadkey.Position, out [][]int32) error {
	for len(s.local) < len(j.types) {
		s.local, s.values = append(s.local, nil), append(s.values, 0)
	}
	for k, b := range s.blocks {
		n := b.Values()
		local := slices.Grow(s.local[k][:0], n)[:n]
		for i := range local {
			local[i] = unknown
		}
		local[0] = 0
		s.local[k] = local
	}
	last := uint64(math.MaxUint64)
	mixed := false
	for _, v := range sorted {
		if at := v >> chunkBits; at != last {
			last, mixed = at, false
			for k, b := range s.blocks {
				s.values[k] = b.Find(uint32(at) & (cells.Tiles - 1))
				mixed = mixed || s.values[k].Mixed()
			}
		}
		i := v & (chunkPoints - 1)
		var px, py int64
		if mixed {
			t, err := quadkey.TileFromPacked(grid.MaxZoom, last)
			if err != nil {
				return err
			}
			px, py = tilePoint(t, meridian(points[i].Lon, points[i].Lat), points[i].Lat)
		}
		for k, value := range s.values[:len(s.blocks)] {
			if value.Mixed() {
				s.in = s.blocks[k].AppendRegions(s.in[:0], value, px, py)
				switch len(s.in) {
				case 0:
					out[k][i] = 0
					continue
				case 1:
					value = cells.Value(s.in[0] + 1)
				default:
					n, err := j.resolve(ctx, s, k, s.in)
					if err != nil {
						return err
					}
					out[k][i] = n
					continue
				}
			}
			n := s.local[k][value]
			if n == unknown {
				var err error
				if n, err = j.resolve(ctx, s, k, s.blocks[k].AppendRegions(s.in[:0], value, 0, 0)); err != nil {
					return err
				}
				s.local[k][value] = n
			}
			out[k][i] = n
		}
	}
	return nil
}

// resolve returns the number of an answer with regions of a block.
func (j *PointJoin) resolve(ctx context.Context, s *joinScratch, k int, in []uint32) (int32, error) {
	if number := s.blocks[k].Regions[in[0]].Number; len(in) == 1 && int(number) < len(j.tables[k].numbered) {
		known := &j.tables[k].numbered[number]
		r := &s.blocks[k].Regions[in[0]]
		n := known.Load()
		if n == 0 {
			n = j.tables[k].numberOf([]Region{{j.types[k].Name, r.ID, r.Name}})
			known.Store(n)
		}
		if j.Regions(k, n)[0].ID != r.ID {
			return 0, fmt.Errorf("%w: the %s %s and %s have one number: %s", ErrCorrupt, j.types[k].Name, r.ID, j.Regions(k, n)[0].ID, renewAnswers)
		}
		return n, nil
	}
	s.found = s.found[:0]
	for _, n := range in {
		r := &s.blocks[k].Regions[n]
		s.found = append(s.found, Region{j.types[k].Name, r.ID, r.Name})
	}
	if len(s.found) > 1 && j.types[k].stamp == 0 {
		if err := j.r.smallestFirst(ctx, s.found); err != nil {
			return 0, err
		}
	}
	return j.tables[k].numberOf(s.found), nil
}
