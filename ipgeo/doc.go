// Package ipgeo answers "where is this IP address?" from ranges in one table of a cell store.
//
// [Build] turns an unordered sequence of ranges from any number of sources,
// which may overlap, into disjoint ranges with their answers merged and encoded.
// A row holds up to 64 of them under its last address. [Reader.Lookup] is then
// one seek: a range of the first row at or after the address covers it, or none
// does. rowkey.go draws the layout.
//
// [BuildIndex] writes the table to a file that [Index] maps into memory for the
// same answers without a store. index.go draws the file, and [CheckIndex]
// compares it with the table. [Diff] compares two tables.
//
// # Addresses
//
// An IPv4 address inside IPv6 is looked up as that IPv4 address: IPv4-mapped (::ffff:0:0/96, RFC
// 4291), 6to4 (2002::/16, RFC 3056), the client of a Teredo address (2001::/32, RFC 4380), and the
// IPv4 address behind the well-known prefix of NAT64 (64:ff9b::/96, RFC 6052). Zones are dropped,
// because they name a network interface of one machine and no place. For addresses that belong to
// no particular owner, such as private, loopback and documentation addresses, the error is a
// [ReservedError] that names the block; see [SpecialBlockOf]. Private addresses have answers like others
// if a source that may locate them has one, see [BuildOptions].
//
// # Ownership and concurrency
//
// Any number of goroutines may use a [Reader] or an [Index]. A [Result] belongs to one goroutine at
// a time. Its bytes stay valid until the next lookup into it, and reusing it allocates nothing. No
// byte of a Result points into an Index, so the Index may be closed before the Result is read.
// [Build] keeps nothing of a Range after it reads the next.
package ipgeo
