// Package points keeps collections of points that have properties, such as shops,
// chargers or vehicles, and answers what is near, within a box or inside an area.
//
// A collection is either published, built once by [Build] and never changed, or live:
// [OpenLive] takes writes. Both have the same rows and answer the same questions, by
// a [Collection].
//
// # Rows
//
// A collection is one table. Numbers are big-endian.
//
//	family   row                              value
//	id       i │ id                           expires (8) │ lat (4) │ lon (4)
//	point    p │ key (8) │ id                 expires (8) │ lat (4) │ lon (4) │ properties
//	event    e │ sequence (8)                 a move, see Event (live)
//	tree     t │ number (4)                   the counts of tiles (published)
//	meta     m                                Meta as JSON (live)
//	past     h │ key (8) │ id                 as point, or nothing once it has left (live, with history)
//	meta     ms                               sequence of the last event, floor of versions, number of the
//	                                          last step (8 each, live)
//	meta     mn │ name                        a note, see SetNote (live)
//	end      x │ expires (8) │ id             nothing (live)
//
// key is the quadkey.PointKey of the position, so points of a tile are one range of
// rows. lat and lon are int32 of 1e-7 degrees: points are kept, measured and shown at
// that precision. expires is in milliseconds since 1970, 0 for never. properties are
// a compact JSON object, see [feature.AppendProperties].
//
// Timestamps of cells are versions: milliseconds since 1970, of one point always
// rising. A point that moves gets a new row and its old one is deleted, together with
// the change of its id row, in one atomic step. With history, rows of the family past
// keep all versions: an empty value says from when on the point is not there any more,
// so that a read as of a time finds every point in exactly one row. Events have the
// instant of their sequence, and cells of meta all the same timestamp.
//
// # Time
//
// All goes by the clock of the store, a cellstore.Clock. Order does not: events have
// sequences that rise, versions of one point rise, whatever the clock is set to. A point
// that is new gets no version that lies ahead of the clock by more than its skew. One that
// was written while the clock was ahead for longer goes on from there. An expiry is dated by
// the expires of the point, however late its rows are removed. Until the clock is settled
// no history is removed, and no point that has expired at the start or by a step.
//
// # The tree
//
// A Collection keeps in memory how many points there are in tiles: a quadtree whose
// leaves have at most 32 points, about two bytes for each point. A search
// descends it best-first and reads the rows of leaves. Of the values of text that are
// few it also knows, a bit for each hash of a value, what a tile cannot have.
//
// # Concurrency
//
// A Collection may be used by any number of goroutines, also while points are written.
// An answer shows the collection at one moment. It ends with the store it reads from.
package points
