package live

import (
	"time"

	"quadrille/feature"
	"quadrille/quadkey"
)

// Change is one feature before and after a decided write. Its memory is valid until the call that
// receives it returns.
type Change struct {
	ID      string
	Version int64 // of the feature Is, or of its removal: milliseconds since 1970
	// Was and Is are the feature before and after, with their expiry times. Was is nil if the
	// feature did not exist before, and Is is nil if it does not exist any more.
	Was, Is *feature.Feature
	Expired bool // the feature is gone because its time was over
	// Seq is the number of the change in the log, which rises, and Before is the number of the
	// previous change. Seq is 0 for a change that the log does not store: one without a move, in a
	// log that is not whole.
	Seq, Before uint64
	// Edition is the edition of the areas by which both ends of the move are judged. PreviousEdition is
	// set if the feature has stayed while areas around it changed. It is the edition by which the
	// feature was judged before.
	Edition, PreviousEdition             uint64
	EditionSuffix, PreviousEditionSuffix string // of the names of these editions

	date    int64  // of the event, in milliseconds
	was, is []byte // the properties, as objects
}

// redrawn reports whether the feature has stayed while areas around it changed.
func (c *Change) redrawn() bool { return c.PreviousEdition != 0 || c.PreviousEditionSuffix != "" }

// moved reports whether the position of the feature has changed.
func (c *Change) moved() bool {
	return c.Was == nil || c.Is == nil || c.Was.Position != c.Is.Position || c.Was.Bounds != c.Is.Bounds
}

// WriteKind is the kind of a Write.
type WriteKind uint8

// These are the kinds of writes.
const (
	Put    WriteKind = iota // replaces a feature, or makes it
	Patch                   // changes a feature: its position, some properties
	Delete                  // removes a feature
	expire                  // removes a feature that expired at Expires
)

// Write is a requested change of one feature.
type Write struct {
	Kind WriteKind
	ID   string
	// Lat and Lon are degrees. A Patch does not change them unless Move is set.
	Lat, Lon float64
	Move     bool
	// Properties is a JSON object. A Patch sets the members that it names and removes
	// those that are null; an empty one changes nothing. With MergePatch it is a merge patch
	// of RFC 7396, or null to remove all.
	Properties []byte
	MergePatch bool
	// Expires is the feature's expiry time; the zero time means never. A Patch does not change it
	// unless SetExpires is set.
	Expires    time.Time
	SetExpires bool
	// IfVersions, unless it is empty, lists the acceptable versions of the feature. IfPresent
	// requires that the feature exists, IfAbsent that it does not.
	IfVersions          []int64
	IfPresent, IfAbsent bool
}

// Outcome is the result of a Write.
type Outcome struct {
	Version int64
	Created bool  // whether a Put created the feature
	Err     error // nil once the write is on the disk
}

// ready is a write checked as far as possible without the collection. Callers do this
// concurrently.
type ready struct {
	at         quadkey.Position
	properties []byte         // of a Put
	types      feature.Schema // types of properties
	err        error
}

// latest is the latest expiry time of a feature: the end of the year 9999.
var latest = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)

// ExpiryMillis returns the stored form of an instant, in milliseconds since 1970: 0 for never.
func ExpiryMillis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return max(min(t.UnixMilli(), latest.UnixMilli()), 1)
}

// ExpiryTime converts the stored form of an instant.
func ExpiryTime(ms int64) (t time.Time) {
	if ms != 0 {
		t = time.UnixMilli(ms).UTC()
	}
	return t
}

// over reports whether a feature has expired.
func over(f *feature.Feature, now int64) bool {
	return !f.Expires.IsZero() && f.Expires.UnixMilli() <= now
}

// objectOf returns the properties of an object.
func objectOf(object []byte) feature.Properties {
	return feature.CompactProperties(object[1 : len(object)-1])
}
