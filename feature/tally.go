package feature

import (
	"context"
	"strconv"

	"github.com/paulmach/orb"

	"quadrille/quadkey"
)

// Tally asks for the number of features of each group, and for sums and other measures of their
// properties.
type Tally struct {
	By       []Grouping // at most MaxGroupings
	Measures []Measure
}

// MaxGroupings bounds the groupings of a Tally.
const MaxGroupings = 2

// Grouping divides features by a property or, if Place is set, by their positions. Values are equal
// as the values of a filter are: 1 is 1.0. A list is one value.
type Grouping struct {
	Property string // a name with dots may be that of a member
	Place    Placer
}

// Placer tells the groups of positions by numbers, from 1. 0 is no group. One goroutine uses it.
type Placer interface {
	Place(ctx context.Context, at []quadkey.Position, groups []uint32) error
	// Value returns the compact JSON of a group.
	Value(group uint32) []byte
}

// NamedPlacer is a Placer whose groups have names for people.
type NamedPlacer interface {
	Placer
	// Name returns the name of a group, or "" if it has none.
	Name(group uint32) string
}

// OutlinedPlacer is a Placer whose groups are areas.
type OutlinedPlacer interface {
	Placer
	// Outline sets f to the area of a group, without properties. The geometry is NoGeometry if it is not known.
	Outline(ctx context.Context, group uint32, f *Feature) error
}

// Measure is a number about a property of the features of a group.
type Measure struct{ Op, Property string }

// These are the operations of measures. Sums and means are of numbers, which are added exactly if
// they are integers. The least and the greatest are of numbers and times, by the schema. Distinct
// counts the different values other than null.
const (
	OpSum      = "sum"
	OpMean     = "mean"
	OpMin      = "min"
	OpMax      = "max"
	OpDistinct = "distinct"
)

// Tallier is a Layer that can tally faster than by listing its features.
type Tallier interface {
	Layer
	// Tally adds the features that a query selects. It ignores Order, After and Limit. If its error
	// matches errors.ErrUnsupported, it has added none.
	Tally(ctx context.Context, q *Query, to *Tallying) error
}

// These are bounds of a Tally. With more, its error matches ErrTooMuchWork.
const (
	mostGroups      = 1 << 21
	mostStats       = 1 << 19 // groups times properties
	mostDistinct    = 1 << 21
	mostTalliedText = 128 << 20 // bytes of the distinct values, with what is known of them
)

// Totals are the result of a Tally.
type Totals struct {
	Count  int64
	Groups []Group // those with the most features first
	// OtherGroups are not in Groups, with OtherCount features.
	OtherGroups, OtherCount int64
	// Skipped is the number of values of each of Properties that a sum cannot have, such as texts.
	Skipped    []int64
	Properties []string
}

// Group is a group of features.
type Group struct {
	Values   [][]byte             // compact JSON of each grouping, nil for none
	Names    []string             // of the groups of a NamedPlacer, "" for none
	Numbers  [MaxGroupings]uint32 // of the groups of a Placer, 0 for none
	Count    int64
	Measures [][]byte // compact JSON of each measure, nil for none
}

// TilePlacer returns a Placer by the tiles of a zoom. Its values are texts such as "8/134/89".
func TilePlacer(zoom uint8) Placer {
	return &tilePlacer{zoom: zoom, numbers: map[quadkey.Tile]uint32{}}
}

type tilePlacer struct {
	zoom    uint8
	numbers map[quadkey.Tile]uint32
	tiles   []quadkey.Tile
}

func (p *tilePlacer) Place(_ context.Context, at []quadkey.Position, groups []uint32) error {
	for i, pos := range at {
		t, err := quadkey.TileAt(pos.Lon, pos.Lat, p.zoom)
		if err != nil {
			return err
		}
		n, ok := p.numbers[t]
		if !ok {
			if len(p.tiles) == mostGroups {
				return Faultf(ErrTooMuchWork, "there are too many tiles: give a smaller zoom, or a smaller area")
			}
			p.tiles = append(p.tiles, t)
			n = uint32(len(p.tiles)) //nolint:gosec // bounded
			p.numbers[t] = n
		}
		groups[i] = n
	}
	return nil
}

func (p *tilePlacer) Value(group uint32) []byte {
	return strconv.AppendQuote(nil, p.tiles[group-1].String())
}

// Outline implements OutlinedPlacer with the bounds of the tile, counterclockwise.
func (p *tilePlacer) Outline(_ context.Context, group uint32, f *Feature) error {
	t := p.tiles[group-1]
	b := t.Bound()
	*f = Feature{ID: t.String(), Bounds: b, Geometry: OrbGeometry(orb.Polygon{{
		{b.West, b.South}, {b.East, b.South}, {b.East, b.North}, {b.West, b.North}, {b.West, b.South},
	}})}
	return nil
}
