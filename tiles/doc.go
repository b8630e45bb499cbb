// Package tiles answers tiles of any zoom, the regions at a point, and region
// records. It reads a quadtree of region borders that package build wrote:
// countries, states, counties, or any other polygon layer.
//
// # Rows
//
// Every tile down to zoom 13 that shows something has a row. A tile is a leaf of a region type if
// two conditions hold at every zoom from its own to 13: no edge of the type meets its buffered
// extent, and the same non-empty set of regions covers it. A leaf represents all its descendants,
// and nothing is written inside it. Any other tile with content is mixed and holds its own
// geometry. One seek then answers any tile of any zoom: the row found at or after the tile's key is
// the answer if it is the row of the tile itself or of a leaf that covers the tile. Otherwise the
// tile is empty.
//
// Which regions hold a point is a question of its own, with finished answers in rows of zoom 8: runs
// of tiles with the same regions, and for a tile with borders the edges that can decide.
//
// internal/layout/rows.go draws the tables.
//
// # Reading
//
// A [Reader] is bound to one store and may be used by any number of goroutines. Package verify
// checks all rows of a store. [Reader.At] has the regions at a point, and [Reader.PointJoin] those at
// millions of points. [Reader.Layer] has the regions of a type as features, and
// [Reader.QueryArea] is the ground of a region, for queries of other layers.
package tiles
