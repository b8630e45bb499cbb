package layout

import (
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/mvt"
)

// These are the attributes of features in vector tiles.
const (
	TagID   = "id"
	TagName = "name"
	TagRank = "rank"

	// TagRegion is the id of the region of a label. Labels have no TagID, so that a search for an
	// id in a tile finds the polygon.
	TagRegion = "region"

	TagLeft  = "left"
	TagRight = "right"

	// TagColor is the number of a polygon's colour, below MapColors, on a map where neighbours
	// differ.
	TagColor = "map_color"

	// TagMerged is the number of regions that a merged polygon represents.
	TagMerged = "merged"
)

// MapColors is the number of colours that always suffice for neighbours to differ, on any plane
// map.
const MapColors = 6

// MergedMark begins the id of a polygon that represents several regions. No region's own id begins
// with it.
const MergedMark = '~'

// MergedID returns the id of a polygon that represents several regions, derived from the id of the
// largest.
func MergedID(largest string) string { return string(MergedMark) + largest }

// TileBuffer is the distance that the shapes of a vector tile reach beyond the tile.
const TileBuffer = mvt.Extent >> grid.BufferShift

// LayerWriter writes regions into a vector layer.
type LayerWriter struct {
	mvt.Layer
	ring []grid.Point
}

// BeginRegion starts the feature of a region.
func (l *LayerWriter) BeginRegion(shape mvt.GeomType, number uint64, id, name string) {
	l.Begin(number, shape)
	l.TagString(TagID, id)
	if name != "" {
		l.TagString(TagName, name)
	}
}

// BeginLabel starts the feature of a region's label.
func (l *LayerWriter) BeginLabel(number uint64, id, name string, rank int64) {
	l.Begin(LabelID(number), mvt.Point)
	l.TagString(TagRegion, id)
	if name != "" {
		l.TagString(TagName, name)
	}
	l.TagInt(TagRank, rank)
}

// Polygons adds polygons to the current feature, moved to an origin and scaled
// down by 2^shift.
func (l *LayerWriter) Polygons(polys []grid.Polygon, origin grid.Point, shift uint) {
	for _, p := range polys {
		for _, r := range p {
			l.ring = l.ring[:0]
			for _, q := range r {
				l.ring = append(l.ring, q.In(origin, shift))
			}
			l.Ring(l.ring)
		}
	}
}

// BufferedSquare is the ring of a whole tile with its buffer.
var BufferedSquare = []grid.Point{
	{X: -TileBuffer, Y: -TileBuffer},
	{X: mvt.Extent + TileBuffer, Y: -TileBuffer},
	{X: mvt.Extent + TileBuffer, Y: mvt.Extent + TileBuffer},
	{X: -TileBuffer, Y: mvt.Extent + TileBuffer},
}
