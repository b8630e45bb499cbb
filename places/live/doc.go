// Package live keeps collections that take writes. It knows no geometry and no rows of features:
// those are an [Index]'s, such as that of package points.
//
// # A change is a value
//
// Writes are decided one after the other, by the state of the features alone: each becomes a
// [Change], one feature before and after. A step of changes is appended to the [Log], which is the
// truth, and applied to the Index, which is a cache of it. Events are the changes as the log keeps
// them. After an error the end of the log tells what became of a step.
//
// An index whose rows are in the table of the log ([Tabled]) is written in the same atomic step. Any
// other index is brought to the end of a log that is whole ([Kind]) when the collection is opened.
//
// # Rows
//
// The table of a collection has these rows beside those of a Tabled index: m and mn are the collection's,
// x is of each step, and e and ms are a TableLog's. Numbers are big-endian.
//
//	family   row                              value
//	event    e │ sequence (8)                 a change, see Event
//	meta     m                                Meta as JSON
//	meta     ms                               End: sequence of the last event, floor of versions, number of the
//	                                          last step (8 each)
//	meta     mn │ name                        a note, see SetNote
//	end      x │ expires (8) │ id             nothing
//
// Events have the instant of their sequence, and cells of meta all the same timestamp.
//
// # Time
//
// All goes by the clock of the store, a cellstore.Clock. Order does not: events have
// sequences that rise, versions of one feature rise, whatever the clock is set to. A feature
// that is new gets no version that lies ahead of the clock by more than its skew. One that
// was written while the clock was ahead for longer goes on from there. An expiry is dated by
// the expires of the feature, however late it is removed. Until the clock is settled
// no history is removed, and no feature that has expired at the start or by a step.
package live
