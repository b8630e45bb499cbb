// Package rowcache keeps what reads of a remote store have answered, so that
// the next answer needs no trip.
//
// It is made for tables that do not change, such as those of a published
// generation of a data set: what is known of them stays true, also while the
// store behind cannot be reached.
//
// # What is kept
//
// For every table and selection a view knows disjoint intervals of keys and the
// rows in them, all of them: that an interval holds no further row is known too,
// so "not found" is answered from memory like everything else. Get, Next and
// NextEach are answered where the intervals say all there is to say, and a Scan
// where they cover all its ranges. What they do not know goes to the store once
// and leaves an interval behind:
//
//	Get        the row asked for, or that it is not there
//	Next       a block of rows from the key asked for on, as many as make some
//	           16 KiB and one where rows are large
//	NextEach   the same for each family that is not known, at once
//	Scan       all it read, unless that is a lot
//
// Prev, MultiGet and scans in reverse pass by: no reader of published data sends
// them.
//
// Intervals rather than single questions are kept because most questions for an
// address or a tile were never asked before: of 20,000 new keys between rows that
// were known in part, 2,236 needed a call of the store, and all 20,000 with a map
// of questions (otter v2). A hit took 1.3 µs here and 0.2 µs in the map, and a call
// takes 1.6 ms.
//
// A question is one call of the store at most, and NextEach one round of them.
// Questions that are the same and asked at once wait for one call. It runs on
// as long as anybody waits: one caller giving up fails no other. Errors are
// never kept.
//
// Selections are kept apart: a view that has all families does not answer for
// one of them. There is a bounded number of views per table; those that are not
// used make room.
//
// # Writes
//
// Writes are passed on. Those through the Store that New returned make it forget
// the table, and reads pass the cache by until they are done, so that the store
// remains what its driver's contract says. After a write whose outcome is not
// known they pass it by for good, as it may be done later still. Writes by
// others are not noticed. For tables with a TTL, where answers depend on the time, every read passes by, and
// so do Snapshots.
//
// # Bytes
//
// What a read returns is a copy in the caller's Row. A [Cache] is bounded in
// bytes, its own bookkeeping included, and may be shared by any number of
// stores; rows being read at the moment come on top. A row that takes more than
// an eighth of the cache, or of its share if it is divided, is not kept.
package rowcache
