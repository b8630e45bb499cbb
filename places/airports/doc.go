// Package airports finds airports by their codes and by where they are.
//
// # Tables
//
// Build writes the table airports, and beside it the tables of package places
// under the prefix "airport_", which answer what lies near a point, in a box
// and in a tile.
//
//	row     kind (1) │ code     i: IATA, o: ICAO, f: everything else
//	family  r
//	value   id (4) │ lat (4) │ lon (4) │ length of zone (1) │ zone │ record
//
// Numbers are big-endian, lat and lon int32 of 1e-7 degrees, zone the IANA name
// of the time zone or nothing, and record a finished JSON object. Codes are in
// capital letters. Every airport has the rows of all its codes, each with the
// whole record: finding it by any of them is one get.
//
// Row f holds idents, GPS and local codes in one name space. Of several airports
// with one code the row holds the most important: open before closed, then by
// importance, then the one whose ident it is before those whose GPS or local
// code it is, then the lowest id.
//
// In package places an airport has as kind its type and, if it has scheduled
// service, "/scheduled" behind it: large_airport/scheduled, heliport. What is shown
// of it has type and scheduled. Importance is by these and by having an IATA code. Closed airports are kept but neither shown in tiles nor
// found near a point or in a box unless that is asked for.
//
// Cell timestamps are the date of the source.
//
// # Concurrency
//
// A [Finder] may be used by any number of goroutines. It ends with the store
// it reads from.
package airports

import (
	"errors"

	"quadrille/feature"
)

// What callers branch on; use errors.Is. Searches also give the errors of
// package places.
var (
	// ErrNotFound: no airport has this code.
	ErrNotFound = feature.NotFound("no such airport")
	// ErrBadCode: the text cannot be the code of an airport.
	ErrBadCode = errors.New("airport code is not valid")
	// ErrInvalidAirport: an Airport that cannot be stored.
	ErrInvalidAirport = errors.New("airport is not valid")
)

// SchemaVersion is that of the rows.
const SchemaVersion = 2

const (
	table  = "airports"
	family = "r"
	prefix = "airport_"

	// MaxCodeBytes is the longest code, in bytes.
	MaxCodeBytes = 16

	valueHead      = 13 // bytes before the zone
	unitsPerDegree = 1e7
)

// CodeKind is a name space of codes, and the first byte of their rows.
type CodeKind byte

// The kinds of codes.
const (
	IATA  CodeKind = 'i' // three letters: SFO
	ICAO  CodeKind = 'o' // four letters: KSFO
	Local CodeKind = 'f' // idents, GPS and local codes: KSFO, SFO, US-0003
)
