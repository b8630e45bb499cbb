// Package points keeps collections of points with properties, such as shops, chargers or
// vehicles. It finds those near a position, within a box or inside an area.
//
// A collection is either published, built once by [Build] and never changed, or live: an [Index]
// of package live, of the kind [LiveKind], which takes writes. Both have the same rows, and a
// [Collection] answers the same queries on both.
//
// # Rows
//
// A collection is one table. Numbers are big-endian.
//
//	family   row                              value
//	id       i │ id                           expires (8) │ lat (4) │ lon (4)
//	point    p │ key (8) │ id                 expires (8) │ lat (4) │ lon (4) │ properties
//	tree     t │ number (4)                   the counts of tiles (published)
//	past     h │ key (8) │ id                 as point, or nothing once it has left (live, with history)
//
// A live collection also has the rows of its log, see package live.
//
// key is the quadkey.PointKey of the position, so points of a tile are one range of
// rows. lat and lon are int32 of 1e-7 degrees: points are kept, measured and shown at
// that precision. expires is in milliseconds since 1970, 0 for never. properties are
// a compact JSON object, see [feature.AppendProperties].
//
// Timestamps of cells are versions: milliseconds since 1970, which always rise for one point. A
// point that moves gets a new row and its old one is deleted, together with the change of its id
// row, in one atomic step. With history, rows of the family past keep all versions: an empty value
// marks the instant from which the point is no longer there. So a read as of any instant finds
// every point in exactly one row.
//
// # The tree
//
// A Collection keeps the number of points in each tile in memory: a quadtree whose leaves have at
// most 32 points. It takes about two bytes for each point. A search descends it best-first and
// reads the rows of leaves. For text properties with few values, each tile also has a bit for each
// hash of a value, so that a search skips tiles without the value.
//
// # Concurrency
//
// A Collection may be used by any number of goroutines, also while points are written, until the
// store that it reads is closed. An answer shows the collection at one moment.
package points
