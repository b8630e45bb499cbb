// Package cellstore is the data model of every Quadrille table: the sparse, sorted, versioned map
// of Bigtable and Apache HBase.
//
//	table → row → family → qualifier → timestamp → value
//
// Rows, qualifiers and values are opaque bytes and come back exactly as they
// were written; a timestamp is an int64 (milliseconds since 1970 when it is a
// time at all). A row exists if and only if it has a visible cell. Tables and
// families are declared in a [Schema]; qualifiers appear by being written.
//
// # Order
//
// Every read returns cells sorted by row, family name and qualifier ascending
// and then by timestamp descending. Bytes compare unsigned and a proper prefix
// sorts first. This order is what the rest of the project is built on: tables are laid out so that
// an answer is the next row at or after a key.
//
// # Families are physical partitions
//
// A read names the families it needs, and a driver must not touch the others.
// [Reader.NextEach] goes one step further: the next row of each family on its
// own, in one call.
//
// # Versions
//
// A column is a map from timestamp to value. A put inserts or replaces an entry, and only the
// MaxVersions largest timestamps stay; a delete removes entries; entries older than TTL are
// removed, except the MinVersions newest. A removed entry never comes back except by a new put. A
// delete never hides a later put, at whatever time the store cleans up.
//
// # Time
//
// The [Clock] of the store dates puts without a timestamp and expires cells by TTL. A store exposes
// it as a [Timekeeper]. A Clock tolerates a machine's clock that is wrong for a moment. Use it for
// all times that are compared with those of cells.
//
// # Writing
//
// [Mutation] is the unit of atomicity: puts and deletes on one row, over any
// of its families. [Table.CheckAndMutate], [Table.Increment] and
// [Table.Append] read and write a row as one step. There are no transactions
// over rows: order writes so that a crash leaves only waste. [Durability] defines the writes that a
// crash may lose.
//
// # Cost
//
// A call costs the same on every backend, in seeks of a sorted store and, on a remote one, in
// rounds of requests:
//
//	Get, Next, Prev    a seek per selected family; a Get that misses reads no
//	                   data when the family has a filter; one round
//	NextEach           a seek per family; one round
//	MultiGet           a Get for each key
//	Scan               a seek per range and family, then a step per cell; a
//	                   round per Batch rows
//	Apply              no read for puts; deletes read what they remove
//	CheckAndMutate,    one Get and one Apply, under a lock of the row
//	Increment, Append
//
// A Row is read whole, so data that is read alone belongs in a row, or a family, of its own. A step
// past an invisible version costs as much as a step to a visible one. After a few such steps
// readers seek.
//
// # Bytes
//
// No input slice is kept or changed by any call. Bytes returned in a [Row]
// belong to that Row: they stay valid until the Row is used for another read
// or, for rows yielded by an iterator, until the loop body ends. Keep a copy
// (or [Row.Clone]) to hold them longer. A Row reused for many reads settles
// at the size of the largest and then allocates nothing.
//
// # Concurrency
//
// A [Store] and its [Table]s may be used by any number of goroutines. A read shows everything that
// an earlier one, ended before it began, has shown. A Row, an iterator and a [BulkLoader] belong to
// one goroutine at a time; a [Snapshot] is shared like a Table. Close waits for running calls; all
// later calls return [ErrClosed]. [ParallelScan] reads a table with many goroutines.
//
// # What Quadrille does not use
//
// The contract is that of HBase's data model, so that later uses find all of it, and any driver can
// be tested against it. Quadrille itself calls no [Table.Append], no [Store.Compact] and no reverse
// scan, and has no [ColumnFilter]. It deletes columns and rows only, checks with [Absent] and
// [Equal] alone, and declares neither MinVersions, InMemory nor [BloomRowCol].
//
// # Drivers
//
// pebblestore is the embedded driver. Rules that a backend may lack are declared by [Capabilities],
// never imitated. A call that needs a missing capability returns errors.ErrUnsupported. All drivers
// check inputs with a [Validator]. CONTRACT.md has every rule by its number, and package storetest
// judges a driver by them.
package cellstore
