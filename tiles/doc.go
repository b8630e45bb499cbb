// Package tiles keeps region borders – countries, states, counties, any
// polygon layer – as a quadtree of map tiles down to zoom 13, and answers
// tiles of any zoom, the regions at a point, and region records from it.
//
// # From polygons to rows
//
// [Build] puts every border on one integer grid, the world 2²⁵ units wide, so
// that a zoom-13 tile is 4096 units across, and lays the borders of all regions
// of all layers into one arrangement of lines that meet at vertices only
// (noding.go). A border that two regions share, of one type or of two, is one
// line. Rings that cross or overlap are mended (winding.go). For each zoom above
// 13 the arcs between junctions are simplified without moving a line across
// another (simplify.go), and the arrangement is rounded to the zoom's grid, 4096
// steps a tile, with a vertex wherever it crosses a tile line (levels.go).
// Neighbours therefore neither gap nor overlap at any zoom, in a tile or across
// tiles.
//
// A region is then a chain of directed edges whose winding number says what is
// inside (chain.go), and the quadtree is walked depth first with only the edges
// that meet each tile (node.go).
//
// # Rows
//
// Every tile that shows something has a row; see rowkey.go for the layout.
// A tile is a leaf of a region type when, at every zoom from its own to 13, no
// edge of the type meets its buffered extent and the same non-empty set of
// regions covers it. A leaf stands for all its descendants, and nothing is
// written inside it. Any other tile with content is mixed and holds its own
// geometry. One seek then answers any tile of any zoom: the row found at or
// after the tile's key is the answer if it is the tile's own, or a leaf that
// covers it; otherwise the tile is empty.
//
// # Reading
//
// A [Reader] is bound to one store and may be used by any number of
// goroutines.
package tiles
