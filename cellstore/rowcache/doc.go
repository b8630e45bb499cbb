// Package rowcache caches the answers of a remote store, so that the next read needs no round trip.
//
// It is made for tables that do not change, such as those of a published generation of a data set:
// cached rows stay correct, even while the store cannot be reached.
//
// # Contents
//
// For every table and selection, a view has disjoint intervals of keys with all rows in them. An
// interval holds no other row, so "not found" is answered from memory too. Get, Next and NextEach
// are answered from memory if the intervals determine the answer, and a Scan if they cover all its
// ranges. Any other read goes to the store once, and stores an interval in the cache:
//
//	Get        the requested row, or the fact that it does not exist
//	Next       a block of rows from the requested key on, as many as make some
//	           16 KiB, or a single one if rows are large
//	NextEach   the same for each family that is not cached, all at once
//	Scan       all rows that it has read, unless these are many
//
// Prev, MultiGet and reverse scans bypass the cache: no reader of published data uses them.
//
// Intervals are cached rather than single reads, because most reads for an address or a tile are
// new: in a test with 20,000 new keys between rows of which some were cached, 2,236 keys needed a
// call of the store. With a map of single reads (otter v2), all 20,000 did. A hit took 1.3 µs here
// and 0.2 µs in the map, while a call takes 1.6 ms.
//
// A read makes one call of the store at most, and NextEach one round of calls. Equal reads at the
// same time share one call. The call continues while any caller waits for it, so a caller that
// gives up does not affect the others. Errors are never cached.
//
// Each selection has its own view: a view of all families is not used for reads of one family. The
// number of views per table is bounded, and unused ones are dropped first.
//
// # Writes
//
// Writes go to the store. A write through the Store that New returned empties the table's cache.
// Reads bypass the cache until the write is done. So the contract of the store's driver still
// holds. After a write with an unknown outcome, reads bypass the cache for good, because the write
// may still be done later. Writes by other programs are not noticed. Every read of a table with a
// TTL bypasses the cache, because its answers depend on the time. So do Snapshots.
//
// # Bytes
//
// A read copies its answer to the caller's Row. A [Cache] is bounded in bytes, its own bookkeeping
// included, and may be shared by any number of stores. Rows being read at the moment take further
// memory. A row that takes more than an eighth of the cache, or of a shard if it has several, is
// not cached.
package rowcache
