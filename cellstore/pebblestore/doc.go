// Package pebblestore is the embedded cellstore driver, on Pebble.
//
// # On disk
//
//	dir/LOCK                        held by the one writable opener
//	dir/tables/NAME/                a table; it exists as long as this directory does
//	dir/tables/NAME/schema.json     declares it
//	dir/tables/NAME/db/             its own Pebble database
//	dir/tables/NAME/ledger          how much of its logs and lists of files is on the disk
//	dir/tables/NAME/bulk/           sorted files of loads not committed yet
//	dir/tables/.new-NAME/           a table that is being created
//	dir/tables/.dropped-NAME/       one that is being removed
//
// No data is removed because other data is missing: only directories with one of the last three
// names may be removed. The store has no list of its tables, so a table whose whole directory is
// gone does not exist.
//
// Bloom filters, compression and block size belong to a whole Pebble database, so each table has
// its own and all share one block cache. If families of one table ask for different values, the
// table has a filter if any family asks for one, the strongest compression and the largest block.
// Table.Schema reports the options in force.
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
// is how the comparer finds the end of a row even though rows and qualifiers may hold any byte.
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
// locks of the rows and released before the log is synchronised, so that any
// number of Sync writers share one write to the disk. Async commits are made
// durable within half a second. A delete reads the cells it removes and
// deletes exactly those. Reads apply MaxVersions and TTL. A sweeper in the background, driven by
// the number of possibly hidden cells, removes the cells that these hide. So does Compact.
// Increment, Append and CheckAndMutate cost one seek more than a put.
//
// When the disk refuses a write, for example because it is full, the files of the table stay as
// they are at that moment, and everything that the engine writes from then on goes to memory. The
// writes of that moment return an error that matches ErrUnknownOutcome. The errors of later writes
// say why the table takes none. Reads still work until Recover opens the table again from the disk.
// Nothing that was acknowledged is lost. See [cellstore.Recoverer].
//
// # Damage
//
// After a crash, the engine reads a log to its end. It cannot distinguish a log that the crash cut
// short from a damaged one, nor an empty database from one whose files are gone. With the ledger
// both are possible. It has the length and the checksum of each log and list of files (Pebble's WAL
// and MANIFEST), and is written after each synchronisation. A table opens, for reading or writing,
// if all these bytes are there. Otherwise the error matches cellstore.ErrCorrupt, and the table is
// left as it is. Bytes beyond the recorded length come from writes without an acknowledgement. They
// are read as far as they are intact, and a warning in Options.Logger says how many were not read.
// Sorted files have checksums of their own, which are compared when they are read.
//
// # Read-only stores
//
// A store that nobody writes any more can be opened with Options.ReadOnly by any number of
// processes at once. Such an open takes no lock and changes nothing in the directory. Opening it
// while another process writes it is a mistake that cannot be detected.
package pebblestore
