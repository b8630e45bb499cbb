// Package zones answers what clocks showed, show or will show: the offset from
// UTC of a time zone at an instant between 1900 and 2100.
//
// # Tables
//
// Build writes the table tz_offsets. Each zone is a row and each of its rules
// a version of the row's one cell, so the rule in force at an instant is the
// newest version that is not newer than it: one AsOf read.
//
//	row        IANA name, "Europe/Zurich"; aliases such as Asia/Calcutta are rows too
//	family     o, all versions kept
//	timestamp  start of the rule, Unix milliseconds + 2⁴⁶ (timestamps are never
//	           negative); 0 for a rule without a beginning
//	value      seconds east of UTC, int32 big-endian (4) │ flags (1) │ abbreviation
//
// Bit 0 of the flags is set while daylight saving time is in force. It says
// what the zone database says: Ireland's law has standard time in summer, so
// its winter time has the flag.
//
// The rules are those of Go's own zone database, found by [time.LoadLocation].
// A rule lasts as long as offset, flag and abbreviation stay the same. What is
// announced for the future is taken to hold until 2100.
//
// The table tz_countries has the countries that have one zone only, such as
// Nepal: it answers everywhere in them. Where none is known it is left out.
//
//	row        ISO 3166-1 code, "NP"
//	family     o
//	value      IANA name, "Asia/Kathmandu"
//
// # Concurrency
//
// A [Reader] may be used by any number of goroutines. It ends with the store
// it reads from.
package zones

import (
	"errors"
	"time"
)

// What callers branch on; use errors.Is.
var (
	// ErrNotFound: no zone has this name.
	ErrNotFound = errors.New("no such time zone")
	// ErrRange: an instant before 1900 or after 2100.
	ErrRange = errors.New("time is out of range")
	// ErrNewer: a table written by a newer version of this package.
	ErrNewer = errors.New("time zones were written by a newer version")
)

// SchemaVersion is that of the rows.
const SchemaVersion = 1

const (
	table        = "tz_offsets"
	countryTable = "tz_countries"
	family       = "o"

	// bias makes the Unix milliseconds of a rule's start positive.
	bias = 1 << 46

	flagDST = 1 << 0

	// valueHead is the length of a value without the abbreviation.
	valueHead = 5
	maxName   = 64
)

// The instants covered: from the beginning of 1900 UTC to the end of 2100.
var (
	first = time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC)
	after = time.Date(2101, 1, 1, 0, 0, 0, 0, time.UTC)
)

// Meta describes a built data set. It belongs into its manifest as JSON, and
// [Open] needs it.
type Meta struct {
	SchemaVersion int   `json:"schema_version"`
	Zones         int64 `json:"zones"`
	Rules         int64 `json:"rules"`
	// Countries is how many have one zone only, 0 where that is not known.
	Countries int64 `json:"countries,omitempty"`
	// Fingerprint identifies the content: the same rules have the same.
	Fingerprint string `json:"fingerprint"`
}

// Stats says what a Build did.
type Stats struct {
	Zones, Rules int64
	// MostRules is how many rules the zone with the most has.
	MostRules int
}
