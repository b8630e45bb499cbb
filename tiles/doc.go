// Package tiles keeps region borders – countries, states, counties, any
// polygon layer – as a quadtree of map tiles down to zoom 13, and answers
// tiles of any zoom, the regions at a point, and region records from it.
//
// # From polygons to rows
//
// [Build] puts every border on one integer grid, the world 2²⁵ units wide, so
// that a zoom-13 tile is 4096 units across. A region becomes a chain of
// directed edges whose winding number says what is inside (chain.go). For each
// zoom the chain is snapped to that zoom's grid, 4096 steps a tile, and gets a
// vertex wherever it crosses a tile line; both are done the same way for the
// two regions on either side of a border, so neighbours neither gap nor
// overlap, in a tile or across tiles. The quadtree is then walked depth first
// with only the edges that meet each tile.
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
