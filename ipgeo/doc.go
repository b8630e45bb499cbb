// Package ipgeo answers "where is this IP address?" from ranges kept in one
// table of a cell store.
//
// [Build] turns an unordered sequence of ranges of any number of sources,
// overlaps and all, into disjoint rows, each stored under its last address,
// with the answer merged and encoded. [Reader.Lookup] is then one seek: the
// first row at or after the address either covers it or nothing does. The
// layout is drawn in rowkey.go.
//
// [BuildIndex] makes a file of the table that [Index] maps into memory, for
// the same answers without a store; index.go draws it, and [CheckIndex]
// compares the two. [Diff] compares two tables.
//
// # Addresses
//
// An IPv4 address inside IPv6 is looked up as that IPv4 address: IPv4-mapped
// (::ffff:0:0/96, RFC 4291), 6to4 (2002::/16, RFC 3056), the client of a
// Teredo address (2001::/32, RFC 4380), and what NAT64 translates behind the
// well-known prefix (64:ff9b::/96, RFC 6052). Zones are dropped, for they name a
// network interface of one machine and no place. Addresses that nobody in
// particular has – private, loopback, documentation and so on – answer a
// [ReservedError] that names the block; see [Special].
//
// # Ownership and concurrency
//
// A [Reader] and an [Index] may be used by any number of goroutines. A [Result] belongs to
// one goroutine at a time, and its bytes stay valid until the next lookup
// into it. A Result used again allocates nothing. No
// byte of a Result points into an Index, which may be closed before it is read.
// [Build] keeps nothing of a Range once the next is asked for.
package ipgeo
