// Package pebblestore is the embedded cellstore driver, on Pebble.
//
// # On disk
//
//	dir/LOCK                        held by the one writable opener
//	dir/tables/NAME/schema.json     declares the table; its presence makes it exist
//	dir/tables/NAME/db/             the table's own Pebble database
//	dir/tables/NAME/bulk/           sorted files of loads not committed yet
//
// Bloom filters, compression and block size belong to a whole Pebble
// database, so each table has its own and all share one block cache. Families
// of one table that ask for different values get the union: a filter if any
// asks for one, the strongest compression, the largest block. Table.Schema
// reports what is in force.
//
// # Key of a cell
//
//	family byte | row | 0x00 | qualifier | ^timestamp | suffix length
//	└──────── prefix ────────┘└───────────── suffix ─────────────────┘
//
// Row and qualifier are raw bytes without escaping, so both are sub-slices of
// the iterator's key. The timestamp is eight bytes, big-endian and inverted:
// newest first. The suffix length counts the whole suffix, itself included:
// one byte of 1 to 254, or, for a longer suffix, two bytes and then 255. It is
// never 0 in its last byte, so a key that ends in 0x00 is a bare prefix. That
// is how the comparer tells where a row ends even though rows and qualifiers
// may hold any byte.
//
// Keys compare by prefix, then qualifier, then inverted timestamp. A row r
// orders before r+x for every byte x, 0x00 included, because its prefix r+0x00
// is then either smaller than, or a proper prefix of, the other's.
//
// Each family is a contiguous range of keys with its own sorted files, and a
// read of a family is confined to that range: the others are never touched.
//
// # Writing
//
// Every write is one engine batch over all families of its rows, made under
// locks of the rows and released before the log is synchronized, so that any
// number of Sync writers share one write to the disk. Async commits are made
// durable within half a second. A delete reads the cells it removes and
// deletes exactly those. MaxVersions and TTL are applied by reads; what they
// hide is removed by a sweeper in the background, driven by how many cells may
// be hidden, and by Compact. Increment, Append and CheckAndMutate cost one seek
// more than a put.
//
// When the write-ahead log cannot be written, for example on a full disk, writes
// answer an error until the store is opened again, and reads go on. When the
// engine cannot record which files it has, it ends the process. Neither loses
// acknowledged writes.
//
// # Read-only stores
//
// A store that is not written any more can be opened with Options.ReadOnly by
// any number of processes at once. Such an open takes no lock and changes
// nothing in the directory. Opening it while another process writes it is a
// mistake that cannot be detected.
package pebblestore
