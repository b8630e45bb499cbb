// Package airports finds airports by their codes and by their positions.
//
// # Tables
//
// Build writes the table airports. It also writes the tables of package places with the prefix
// "airport_", which find the airports near a point, in a box and in a tile. Its table airport_nearest
// lists the airports of ForTravellers.
//
//	row     kind (1) │ code     i: IATA, o: ICAO, f: everything else
//	family  r
//	value   id (4) │ lat (4) │ lon (4) │ length of zone (1) │ zone │ record
//
// Numbers are big-endian, lat and lon int32 of 1e-7 degrees, zone the IANA name of the time zone or
// nothing, and record a finished JSON object. Codes are in capital letters. An airport has one row
// for each of its codes. Each row has the whole record, so a lookup by any code is one get.
//
// Row f holds idents, GPS and local codes in one name space. If several airports have the same
// code, its row holds the first one in this order: open airports before closed ones, then by
// importance, then the airport with this ident before airports with this GPS or local code, then
// the lowest id.
//
// In package places the kind of an airport is its type, followed by "/scheduled" if it has
// scheduled service: large_airport/scheduled, heliport. Answers show type and scheduled as separate
// members. The importance depends on both, and on whether the airport has an IATA code. Closed
// airports are stored, but tiles do not show them, and searches near a point or in a box find them
// only on request.
//
// Cell timestamps are the date of the source.
//
// # Concurrency
//
// A [Finder] may be used by any number of goroutines, until the store that it reads is closed.
package airports

import (
	"errors"

	"quadrille/feature"
)

// Errors that callers branch on; use errors.Is. Searches also return the errors of package places.
var (
	// ErrNotFound means that no airport has this code.
	ErrNotFound = feature.NotFound("no such airport")
	// ErrBadCode means that the text cannot be the code of an airport.
	ErrBadCode = errors.New("airport code is not valid")
	// ErrInvalidAirport means that an Airport cannot be stored.
	ErrInvalidAirport = errors.New("airport is not valid")
)

// SchemaVersion is the version of the row layout.
const SchemaVersion = 2

const (
	table  = "airports"
	family = "r"
	prefix = "airport_"

	// MaxCodeBytes is the greatest length of a code in bytes.
	MaxCodeBytes = 16

	valueHead      = 13 // bytes before the zone
	unitsPerDegree = 1e7
)

// CodeKind is a name space of codes, and the first byte of their rows.
type CodeKind byte

// These are the kinds of codes.
const (
	IATA  CodeKind = 'i' // three letters: SFO
	ICAO  CodeKind = 'o' // four letters: KSFO
	Local CodeKind = 'f' // idents, GPS and local codes: KSFO, SFO, US-0003
)
