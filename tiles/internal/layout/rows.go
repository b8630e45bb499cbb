// Package layout defines how boundaries are stored: the tables and their keys, the projections onto
// the grid, and the encodings of features that the build writes and the reader serves.
package layout

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"regexp"

	"quadrille/cellstore"
	"quadrille/feature"
	"quadrille/quadkey"
)

// Table tile_bounds, one row per tile that shows something:
//
//	+----------------------------+-----------+
//	| zoom-16 cell of the tile's | 255 − zoom|   quadkey.Key, 5 bytes
//	| last descendant, 4 bytes   |  1 byte   |
//	+----------------------------+-----------+
//
// so that a tile's descendants come before it, and two rows behind all others
// for the polar caps beyond the square of the tiles:
//
//	FF FF FF FF FF 'N'    FF FF FF FF FF 'S'
//
// For each region type T four families, each its own ordered partition:
//
//	T        qualifier: folded id   value: mark, GeoJSON Feature
//	T.mvt    qualifier: none        value: mark, vector layer T, vector layer T_line
//	T.label  qualifier: none        value: mark, vector layer T_label
//	T.cells  qualifier: none        value: mark, finished answers, checksum
//
// The mark is one byte: 'M' for a mixed row, 'L' for a leaf, 'P' for a polar cap. The Feature of a
// leaf ends before its geometry, which is the square of the tile asked for; the vector layer of a
// leaf holds the buffered square, whose coordinates are the same in every tile.
//
// T_line holds the borders, without the edges of tiles, as lines with the regions to their left and
// right. A row with borders is always mixed, so lines need no row of their own. T_label holds a
// point inside each region, in one tile per zoom. Its rows are found only by their own key, and may
// lie inside leaves of the other families.
//
// T.cells answers which regions hold a point, without the rest of the row. Package cells defines its
// values. It has rows for tiles of zoom 8, and for leaves above them. If the answers of a tile of
// zoom 8 are long, its row has the mark 'S', a byte with a number of zooms d, and a bit for each of
// its tiles of zoom 8+d, the lowest of a byte first, that is set if the tile has a region. Then the
// answers are in the rows of these tiles, with their first tile of zoom 13, counted from 0 in the
// order of the cells, appended to the key of the row:
//
//	key of the tile of zoom 8, 5 bytes | first tile, 2 bytes
//
// The checksum is the CRC-32C of the name T, the key and the value, and starts from the build's
// stamp, which is in the manifest. Builds before layout 4 have no such family, and layers of lines
// no rows in it.
//
// A polar row has the family T.mvt only: a vector layer in plate carrée, whose
// unit is the unit of the world grid, 360°/2²⁵, x counted from −180° and y from the cap's northern
// limit.
//
// Table region_info, one row per region:
//
//	+-----------+-----------+
//	| type byte | folded id |
//	+-----------+-----------+
//
// The fold of an id is feature.FoldedRegionID. Records, GeoJSON and vector tiles have the id
// itself.
//
//	r  qualifier: none   value: the record, a JSON object
//	g  qualifier: none   value: the geometry, a GeoJSON Polygon or MultiPolygon; of a region of
//	                     lines a LineString or MultiLineString
//	w  qualifier: none   value: points of the source, each 10⁷ times its longitude
//	                     as an int32, big-endian, and so its latitude, shifted left
//	                     by a bit that says whether the point lies in the region
const (
	TableBounds  = "tile_bounds"
	TableRegions = "region_info"

	FamilyMVT   = ".mvt"
	FamilyLabel = ".label"
	FamilyCells = ".cells"

	LayerLine  = "_line"
	LayerLabel = "_label"

	FamilyRecord   = "r"
	FamilyGeometry = "g"
	FamilyWitness  = "w"

	MarkMixed = 'M'
	MarkLeaf  = 'L'
	MarkPolar = 'P'
	MarkSplit = 'S'
)

// These are patterns for the names of region types and for the ids of regions.
var (
	TypePattern = regexp.MustCompile(`^[a-z][a-z0-9_]{0,31}$`)
	IDPattern   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)
)

// Schemas declares the tables for the given types.
func Schemas(types []string) []cellstore.Schema {
	bounds := cellstore.Schema{Table: TableBounds}
	for _, t := range types {
		for _, f := range [4]string{t, t + FamilyMVT, t + FamilyLabel, t + FamilyCells} {
			// Most rows are found by Next, never by an exact key, so they need no filter. Rows of
			// labels are looked up by their exact key, and most tiles have none.
			bloom := cellstore.BloomNone
			if f == t+FamilyLabel {
				bloom = cellstore.BloomRow
			}
			bounds.Families = append(bounds.Families, cellstore.Family{
				Name: f, Bloom: bloom, Compression: cellstore.CompressionZstd,
				MaxVersions: cellstore.Unlimited, // rows are written once: the store need not look for more
			})
		}
	}
	regions := cellstore.Schema{Table: TableRegions, Families: []cellstore.Family{
		{Name: FamilyRecord, Compression: cellstore.CompressionZstd, MaxVersions: cellstore.Unlimited},
		{Name: FamilyGeometry, Compression: cellstore.CompressionZstd, MaxVersions: cellstore.Unlimited},
		{Name: FamilyWitness, Compression: cellstore.CompressionZstd, MaxVersions: cellstore.Unlimited},
	}}
	return []cellstore.Schema{bounds, regions}
}

// PartKey returns the key of a row of T.cells below a tile of zoom 8. first is its first tile of
// zoom 13.
func PartKey(tile quadkey.Key, first uint16) []byte {
	return binary.BigEndian.AppendUint16(append(make([]byte, 0, len(tile)+2), tile[:]...), first)
}

// PartBytes returns the number of bytes with a bit for each tile a number of zooms below another.
func PartBytes(zooms int) int { return (1<<(2*zooms) + 7) / 8 }

// RegionKey returns the key of a region's record.
func RegionKey(typeByte uint8, id string) []byte {
	return feature.AppendFoldedRegionID(append(make([]byte, 0, 1+len(id)), typeByte), id)
}

// FeatureID returns the id of a region's vector-tile feature. It has 53 bits, so it is exact in
// JavaScript. It is a hash of type and folded id, so it is the same in every tile, zoom and build,
// for any spelling of the id.
func FeatureID(typ, id string) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s\x00%s", typ, feature.FoldedRegionID(id))
	// The low bits of FNV are the most random; the high bits are combined with them.
	v := h.Sum64()
	v = (v ^ v>>53) & (1<<53 - 1)
	return max(v, 1)
}

// LabelID returns the feature id of a region's label. It differs from the id of the polygon,
// because clients that look up features by id alone would otherwise find the label instead of the
// polygon.
func LabelID(featureID uint64) uint64 { return featureID ^ 1<<52 }

// RowTile returns the tile of a row, and false for a polar row and a row of PartKey.
func RowTile(key []byte) (quadkey.Tile, bool) {
	if len(key) != len(quadkey.Key{}) {
		return quadkey.Tile{}, false
	}
	t, err := quadkey.ParseKey(key)
	return t, err == nil
}
