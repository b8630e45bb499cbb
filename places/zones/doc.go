// Package zones answers which offset from UTC a time zone has at an instant
// between 1900 and 2100.
//
// # Tables
//
// Build writes the table tz_offsets. Each zone is a row, and each of its rules
// is a version of the row's one cell. The rule in force at an instant is the
// newest version that is not newer than the instant. A [Reader] keeps the rules of the zones that it
// was asked for in memory: 2.3 MB for all of them.
//
//	row        IANA name, "Europe/Zurich"; aliases such as Asia/Calcutta are rows too
//	family     o, all versions kept
//	timestamp  start of the rule, Unix milliseconds + 2⁴⁶ (timestamps are never
//	           negative); 0 for a rule without a beginning
//	value      seconds east of UTC, int32 big-endian (4) │ flags (1) │ abbreviation
//
// Bit 0 of the flags is set while daylight saving time is in force, according
// to the zone database. Ireland's law has standard time in summer, so its
// winter time has the flag.
//
// The rules are those of Go's own zone database, found by [time.LoadLocation].
// A rule lasts as long as offset, flag and abbreviation stay the same. Rules
// announced for the future are assumed to hold until 2100.
//
// The table tz_countries lists the countries with one zone only, such as Nepal.
// It is left out if no such country is known.
//
//	row        ISO 3166-1 code, "NP"
//	family     o
//	value      IANA name, "Asia/Kathmandu"
//
// # Concurrency
//
// Any number of goroutines may use a [Reader], until its store is closed.
package zones

import (
	"errors"
	"time"
)

// Test for these errors with errors.Is.
var (
	// ErrNotFound means that no zone has this name.
	ErrNotFound = errors.New("no such time zone")
	// ErrTimeRange means an instant before 1900 or after 2100.
	ErrTimeRange = errors.New("time is out of range")
)

// SchemaVersion is the version of the rows.
const SchemaVersion = 1

const (
	table        = "tz_offsets"
	countryTable = "tz_countries"
	family       = "o"

	// bias makes the Unix milliseconds of a rule's start positive.
	bias = 1 << 46

	flagDST = 1 << 0

	// valueHead is the length of a value before the abbreviation.
	valueHead = 5
	maxName   = 64
)

// These instants bound the data: from the beginning of 1900 UTC to the end of
// 2100.
var (
	first = time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC)
	after = time.Date(2101, 1, 1, 0, 0, 0, 0, time.UTC)
)

// Meta describes a built data set. Store it as JSON in the manifest; [Open]
// needs it.
type Meta struct {
	SchemaVersion int   `json:"schema_version"`
	Zones         int64 `json:"zones"`
	Rules         int64 `json:"rules"`
	// Countries is the number of countries with one zone only, or 0 if unknown.
	Countries int64 `json:"countries,omitempty"`
	// Fingerprint identifies the content: equal rules have equal fingerprints.
	Fingerprint string `json:"fingerprint"`
}

// Stats counts what Build wrote.
type Stats struct {
	Zones, Rules int64
	// MaxRules is the greatest number of rules of one zone.
	MaxRules int
}
