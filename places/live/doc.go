// Package live keeps collections that take writes. It handles neither geometry nor rows of
// features: those belong to an [Index], such as that of package points.
//
// # A change is a value
//
// Writes are decided one after the other, by the state of the features alone. Each becomes a
// [Change], one feature before and after. A step of changes is appended to the [Log], which is
// the truth, and applied to the Index, which is a cache of it. Events are the changes as
// the log keeps them. After an error the end of the log shows whether a step was written.
//
// An index whose rows are in the table of the log ([TableIndex]) is written in the same atomic
// step. Any other index is brought to the end of a log that is whole ([Kind]) when the collection
// is opened.
//
// # Rows
//
// The table of a collection has these rows beside those of a TableIndex. m and mn belong to
// the collection, x to every step, and e and ms to a TableLog. Numbers are big-endian.
//
//	family   row                              value
//	event    e │ sequence (8)                 a change, see Event
//	meta     m                                Meta as JSON
//	meta     ms                               LogEnd: sequence of the last event, floor of versions, number of the
//	                                          last step (8 each)
//	meta     mn │ name                        a note, see SetNote
//	end      x │ expires (8) │ id             nothing
//
// Events have the instant of their sequence, and cells of meta all the same timestamp.
//
// # Time
//
// All times come from the clock of the store, a cellstore.Clock. Order does not: events have rising
// sequences, and the versions of one feature rise, whatever the clock shows. A new feature gets no
// version that lies ahead of the clock by more than its skew. A feature that was written while the
// clock was further ahead continues from that version. An expiry has the time in the feature's
// expires, however late it is removed. Until the clock is settled no history is removed, and no
// feature that has expired at the start or by a step.
package live
