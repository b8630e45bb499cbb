package points

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"strings"

	"quadrille/feature"
	"quadrille/quadkey"
)

// ErrNoCluster is matched when no tile shows a cluster of an id.
var ErrNoCluster = errors.New("no such cluster")

// The id of a cluster, such as 8-3f9k2, is its zoom and, in base 36, the number of a square. The
// square is cellZooms zooms deeper than the cluster's tile. It holds the mean of the cluster's head,
// the cell that the others joined. A square has at most one head. A cluster of a filtered tile also
// has a mark of the filter, as in 8-3f9k2-1p0z.
const clusterBase = 36

// squareShift returns the shift from a key to its square.
func squareShift(z uint8) uint { return 2 * (32 - uint(z+cellZooms)) }

// squareOfHead returns the square with the mean of a head.
func (g *grouping) squareOfHead(k *cell) quadkey.PointKey {
	lat, lon := k.mean()
	return positionOf(int32(lat), int32(lon)).key >> squareShift(g.tile.Z)
}

func appendClusterID(dst []byte, z uint8, square quadkey.PointKey) []byte {
	return strconv.AppendUint(append(strconv.AppendUint(dst, uint64(z), 10), '-'), uint64(square), clusterBase)
}

// parseClusterID returns the zoom and the square of an id.
func parseClusterID(id string) (z uint8, square quadkey.PointKey, err error) {
	zoom, rest, _ := strings.Cut(id, "-")
	n, zerr := strconv.ParseUint(zoom, 10, 8)
	at, err := strconv.ParseUint(rest, clusterBase, 64)
	z, square = uint8(n), quadkey.PointKey(at)
	if zerr != nil || err != nil || z > quadkey.MaxZoom || at>>(2*uint(z+cellZooms)) != 0 || string(appendClusterID(nil, z, square)) != id {
		return 0, 0, fmt.Errorf("%w: %.40q", ErrNoCluster, id)
	}
	return z, square, nil
}

// markOf returns the mark of a filter in the ids of its clusters.
func markOf(by feature.Filter) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(by.String()))
	return strconv.FormatUint(uint64(h.Sum32()), clusterBase)
}

// Cluster implements feature.Clusterer. It uses the same grouping as tiles: of the points that pass
// the filter if the id is of a filtered tile, and otherwise of all. The error matches ErrNoCluster
// if no tile now shows a cluster with the id.
func (c *Collection) Cluster(ctx context.Context, id string, by feature.Filter) (feature.Area, error) {
	short, mark, filtered := id, "", strings.Count(id, "-") > 1
	if filtered {
		at := strings.LastIndexByte(id, '-')
		short, mark = id[:at], id[at+1:]
	}
	z, square, err := parseClusterID(short)
	switch {
	case err != nil:
		return nil, err
	case !filtered:
		by = nil
	case by == nil || markOf(by) != mark:
		return nil, fmt.Errorf("%w with this filter: %.40q", ErrNoCluster, id)
	}
	tile := (square << squareShift(z)).Tile(z)
	m := &members{id: id}
	err = c.grouped(ctx, tile, by, func(_ *search, g *grouping, _ []cluster) error {
		m.keys = g.membersOf(square)
		return nil
	})
	if err == nil && m.keys == nil {
		err = fmt.Errorf("%w: %.40q", ErrNoCluster, id)
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

// membersOf returns the runs of keys of the points in a cluster whose head is in the tile, or nil
// if there is none. shown must have been called.
func (g *grouping) membersOf(square quadkey.PointKey) (runs []keyRange) {
	head := int32(0)
	for at := int32(1); at < int32(len(g.cells)); at++ {
		if k := &g.cells[at]; k.all.count > 1 && g.squareOfHead(k) == square {
			head = at
		}
	}
	if head == 0 {
		return nil
	}
	for at := range g.cells {
		if k := &g.cells[at]; k.head == head && g.within(k, apart+shift) {
			runs = append(runs, keyRange{k.first, k.last})
		}
	}
	slices.SortFunc(runs, func(a, b keyRange) int {
		if a.first < b.first {
			return -1
		}
		return 1
	})
	return runs
}

// members is the area of the points in a cluster.
type members struct {
	id   string
	keys []keyRange // in order, without overlap
}

// String implements feature.Area.
func (m *members) String() string { return "cluster " + m.id }

// Cover implements feature.Area.
func (m *members) Cover(_ context.Context, from quadkey.Cell, fn func(p *feature.AreaPart) error) error {
	var part feature.AreaPart
	contains := func(at quadkey.Position) (bool, error) { return m.holds(at), nil }
	for i := 0; i < len(m.keys); i++ {
		// A range of whole cells needs no Contains. Ranges within one cell become one part.
		if part.Contains = nil; !m.keys[i].ofCells() {
			part.Contains = contains
		}
		part.Cells = quadkey.Range{First: quadkey.Cell(m.keys[i].first >> cellShift), Last: quadkey.Cell(m.keys[i].last >> cellShift)}
		for ; i+1 < len(m.keys) && quadkey.Cell(m.keys[i+1].first>>cellShift) == part.Cells.Last; i++ {
			part.Cells.Last = quadkey.Cell(m.keys[i+1].last >> cellShift)
		}
		if part.Cells.Last < from {
			continue
		}
		if err := fn(&part); err != nil {
			return err
		}
	}
	return nil
}

// ofCells reports whether a range of keys begins and ends with a cell.
func (r keyRange) ofCells() bool {
	const within = 1<<cellShift - 1
	return r.first&within == 0 && r.last&within == within
}

func (m *members) holds(at quadkey.Position) bool {
	key, err := quadkey.PointKeyOf(at.Lon, at.Lat)
	i, found := slices.BinarySearchFunc(m.keys, key, func(r keyRange, key quadkey.PointKey) int {
		switch {
		case r.last < key:
			return -1
		case r.first > key:
			return 1
		}
		return 0
	})
	return err == nil && found && i < len(m.keys)
}

// eachRun calls fn with the runs of keys of an area, beginning at from, and with the part of the
// area, which tests their points. The runs matter because a cell can have far more points than a
// cluster in it.
func eachRun(ctx context.Context, a feature.Area, from quadkey.PointKey, fn func(keys keyRange, p *feature.AreaPart) error) error {
	if m, is := a.(*members); is {
		for _, keys := range m.keys {
			if keys.last < from {
				continue
			}
			if err := fn(keyRange{max(keys.first, from), keys.last}, &feature.AreaPart{}); err != nil {
				return err
			}
		}
		return nil
	}
	part := func(p *feature.AreaPart) error {
		first, last := pointKeys(p.Cells)
		return fn(keyRange{max(first, from), last}, p)
	}
	if a == nil {
		return part(&feature.AreaPart{Cells: quadkey.Range{Last: math.MaxUint32}})
	}
	return a.Cover(ctx, quadkey.Cell(from>>cellShift), part)
}
