// Package ipgeo answers "where is this IP address?" from ranges kept in one
// table of a cell store.
//
// [Build] turns an unordered sequence of ranges, overlaps and all, into
// disjoint rows, each stored under its last address. [Reader.Lookup] is then
// one seek: the first row at or after the address either covers it or nothing
// does. The layout is drawn in rowkey.go.
//
// # Addresses
//
// An IPv4 address inside IPv6 is looked up as that IPv4 address: IPv4-mapped
// (::ffff:0:0/96, RFC 4291), 6to4 (2002::/16, RFC 3056) and the client of a
// Teredo address (2001::/32, RFC 4380). Zones are dropped, for they name a
// network interface of one machine and no place. Addresses that nobody in
// particular has – private, loopback, documentation and so on – answer a
// [ReservedError] that names the block; see [Special].
//
// # Ownership and concurrency
//
// A [Reader] may be used by any number of goroutines. A [Result] belongs to
// one goroutine at a time, and its bytes stay valid until the next lookup
// into it. A Result used again allocates nothing.
package ipgeo
