package cellstore

import (
	"bytes"
	"math"
)

// These are special timestamps.
const (
	// Now means the time of the store's clock, in milliseconds since 1970. It is read once for a
	// whole row mutation and never runs backwards, so two puts in one millisecond are the same
	// version.
	Now int64 = -1
	// AllVersions, as the bound of a delete, includes every version, also those dated in the future.
	AllVersions int64 = math.MaxInt64
)

// Durability is the kind of crash that a write survives once it has returned.
type Durability uint8

const (
	// Sync writes survive any crash once they have returned.
	Sync Durability = iota
	// Async writes may be lost for about a second. A crash loses only whole mutations, and in each
	// row only the last committed ones.
	Async
)

// Mutation is an ordered list of puts and deletes on one row. Readers and
// crashes see all of it or nothing; later operations see the effect of
// earlier ones. A Mutation without Ops changes nothing and succeeds.
type Mutation struct {
	Row        []byte
	Ops        []Op
	Durability Durability
}

// OpKind is the kind of an Op.
type OpKind uint8

const (
	OpPut                 OpKind = iota // one version of a column, by Put and PutAt
	OpDeleteVersion                     // one version of a column
	OpDeleteColumn                      // versions of a column up to Timestamp
	OpDeleteFamily                      // versions of all columns of Family up to Timestamp
	OpDeleteFamilyVersion               // version Timestamp of all columns of Family
	OpDeleteRow                         // versions of all columns of all families up to Timestamp
)

// Op is one put or delete. Make it with one of the functions below. Fields that a kind does not use
// are ignored.
//
// A delete affects only cells that were committed before it, and earlier operations of its own
// Mutation. A put after a delete is visible at once, whatever its timestamp. A delete without
// matching cells succeeds.
type Op struct {
	Kind      OpKind
	Family    string
	Qualifier []byte
	Timestamp int64 // of the version, or the bound of a delete, inclusive
	Value     []byte
}

// Put writes the version of the store's clock.
func Put(family string, qualifier, value []byte) Op {
	return PutAt(family, qualifier, Now, value)
}

// PutAt writes version ts, 0 to MaxTimestamp. It replaces a version of the
// same timestamp.
func PutAt(family string, qualifier []byte, ts int64, value []byte) Op {
	return Op{Kind: OpPut, Family: family, Qualifier: qualifier, Timestamp: ts, Value: value}
}

// DeleteVersion removes exactly version ts of a column, or with Now its newest version,
// independently of the clock.
func DeleteVersion(family string, qualifier []byte, ts int64) Op {
	return Op{Kind: OpDeleteVersion, Family: family, Qualifier: qualifier, Timestamp: ts}
}

// DeleteColumn removes the versions of a column up to upTo: a timestamp, Now
// or AllVersions.
func DeleteColumn(family string, qualifier []byte, upTo int64) Op {
	return Op{Kind: OpDeleteColumn, Family: family, Qualifier: qualifier, Timestamp: upTo}
}

// DeleteFamily removes the versions of all columns of a family up to upTo: a
// timestamp, Now or AllVersions.
func DeleteFamily(family string, upTo int64) Op {
	return Op{Kind: OpDeleteFamily, Family: family, Timestamp: upTo}
}

// DeleteFamilyVersion removes version ts, 0 to MaxTimestamp, of all columns of
// a family. It has no form without a timestamp.
func DeleteFamilyVersion(family string, ts int64) Op {
	return Op{Kind: OpDeleteFamilyVersion, Family: family, Timestamp: ts}
}

// DeleteRow removes the versions of all columns of all families up to upTo: a
// timestamp, Now or AllVersions.
func DeleteRow(upTo int64) Op {
	return Op{Kind: OpDeleteRow, Timestamp: upTo}
}

// CompareOp is the comparison of a Check.
type CompareOp uint8

const (
	Absent         CompareOp = iota // the column has no visible version
	Present                         // the column has a visible version
	Equal                           // stored = Value, byte by byte
	NotEqual                        // stored ≠ Value; false for a missing column
	Less                            // stored < Value
	LessOrEqual                     // stored ≤ Value
	Greater                         // stored > Value
	GreaterOrEqual                  // stored ≥ Value
)

// Check is a condition on the newest visible version of one column: stored Op Value, compared as
// unsigned bytes. A missing column fails every comparison, NotEqual too. Absent and Present take no
// Value. Comparisons need one, or the error is ErrBadCondition. Do not store empty values in
// columns that are checked, because some backends treat them as absent.
type Check struct {
	Family    string
	Qualifier []byte
	Op        CompareOp
	Value     []byte
}

// Holds reports whether a column's newest visible version passes the condition.
// present reports whether there is a version. It is for drivers that compare values themselves.
func (c *Check) Holds(stored []byte, present bool) bool {
	if !present || c.Op == Absent {
		return !present && c.Op == Absent
	}
	d := bytes.Compare(stored, c.Value)
	switch c.Op {
	case Equal:
		return d == 0
	case NotEqual:
		return d != 0
	case Less:
		return d < 0
	case LessOrEqual:
		return d <= 0
	case Greater:
		return d > 0
	case GreaterOrEqual:
		return d >= 0
	}
	return true // Present
}

// Increment adds to one or several counters of a row at once. A counter is a
// value of 8 bytes, a big-endian two's complement integer; a missing one
// counts from 0 and an overflow wraps. Several deltas of one column are applied in their order.
type Increment struct {
	Row        []byte
	Deltas     []Delta
	Durability Durability
}

// Delta is the amount that an Increment adds to one counter. By may be negative or 0.
type Delta struct {
	Family    string
	Qualifier []byte
	By        int64
}
