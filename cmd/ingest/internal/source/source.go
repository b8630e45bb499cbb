// Package source is the common base of all readers of foreign data. It defines the records that
// they yield or refuse. It opens files in such a way that a hostile file can neither fill the
// memory nor remain unnoticed.
//
// Each format has its own package below this one. A reader turns bytes into an iterator of (record,
// error) pairs and does not depend on the tables of a data set. It yields a *BadRecord for a record
// that can be omitted, and continues. It yields any other error for a file that cannot be read
// further, and stops.
package source

import (
	"fmt"
	"unicode/utf8"

	"github.com/paulmach/orb"
)

// Feature is one feature of a file, with any geometry.
type Feature struct {
	// ID is the feature's own id as text, or "" when the file gives none.
	ID string
	// Members are the properties, with the names and in the order of the file. They are valid
	// until the next feature is read.
	Members []Member
	// Properties are nil until Members are decoded. Values are string, int64, float64 or bool, or
	// else json.RawMessage: a list, an object, or a whole number beyond int64. Nulls are left
	// out.
	Properties map[string]any
	// Lost counts the properties that are omitted for other reasons.
	Lost Lost
	// Expires is the time at which a point is removed, as JSON in the spelling of the file, or
	// empty.
	Expires []byte
	// Geometry has longitude and latitude in degrees, as in the file. It is nil if the file has
	// none. [PolygonsOf] and [PositionOf] return its usable part.
	Geometry orb.Geometry
	// Line is the 1-based line of the file where the feature starts, or its 1-based number among
	// the features if the format has no lines.
	Line int
	// Repair describes the reader's repairs of the feature, "" if there were none.
	Repair string
}

// Member is a property with its JSON text.
type Member struct {
	Name  string
	Value []byte // as written; not to be changed
}

// Lost counts properties that are left out. It names only the first, because a feature of a
// foreign file may have any number of them.
type Lost struct {
	Count int
	First string // its name and the reason
}

// Add counts one more lost property.
func (l *Lost) Add(name, why string) {
	if l.Count == 0 {
		l.First = name + ": " + why
	}
	l.Count++
}

// These are repairs by the readers; a feature's Repair may name several.
const (
	// RepairClosed means that a ring did not end at its first point, and was closed.
	RepairClosed = "ring left open, closed by a straight line"
	// RepairAstray means that less than half of a hole lies in any ring.
	RepairAstray = "a hole that is mostly outside, cut out of the ring that holds most of it"
	// RepairRewound means that a ring with the direction of a hole lies in no other ring.
	RepairRewound = "rings whose directions contradict each other, read by which lies in which"
)

// RepairCollapsed is the Repair of a feature that had shrunk to a point or a line because of the file's
// precision. The feature is now the box around that point or line.
const RepairCollapsed = "collapsed at the file's precision, drawn as the box around what is left of it"

// BadRecord is one refused record with the reason. Readers yield it as *BadRecord. Callers find it
// with errors.As, count it by Reason and continue. If only the geometry of a feature cannot be used, the
// feature without it comes beside the BadRecord, and has a Line.
type BadRecord struct {
	Source string // path of the file
	Line   int    // 1-based line, or number of the record where there are no lines
	Reason string // the fault, from a small fixed set: "latitude out of range"
	Detail string // this record's own case: "91.2"; may be empty
}

func (b *BadRecord) Error() string {
	if b.Detail == "" {
		return fmt.Sprintf("%s:%d: %s", b.Source, b.Line, b.Reason)
	}
	return fmt.Sprintf("%s:%d: %s: %s", b.Source, b.Line, b.Reason, b.Detail)
}

// Excerpt shortens foreign text for a BadRecord's Detail: at most 80 bytes, quoted, so that control
// characters and invalid UTF-8 appear as escapes.
func Excerpt[T ~string | ~[]byte](s T) string {
	const most = 80
	if len(s) > most {
		end := most
		for end > most-utf8.UTFMax && !utf8.RuneStart(s[end]) {
			end--
		}
		return fmt.Sprintf("%q…", s[:end])
	}
	return fmt.Sprintf("%q", s)
}
