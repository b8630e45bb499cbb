package near

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"

	"quadrille/feature"
)

// Cursor says after which point a page begins. The zero Cursor is that of the
// first page. Its text, for ids of 32 bits, is base64url of
//
//	version (1) │ data (4) │ query (4) │ rank (8) │ id (4) │ check (4)
//
// where data and query are the beginnings of checksums of the data set and of
// the query, and check is a checksum of all before it. It is not a secret: a
// forged one only chooses where to begin.
type Cursor = Ranked[ID]

const (
	cursorVersion = 2
	cursorSize    = 25
)

// Tag is the beginning of a checksum.
type Tag [4]byte

// TagOf is the tag of a fingerprint.
func TagOf(fingerprint []byte) Tag {
	sum := sha256.Sum256(fingerprint)
	return Tag(sum[:])
}

// QueryTag is the tag of what must not change between the pages of a query: its
// kind, its filters and its numbers.
func QueryTag(kind byte, filters []byte, numbers ...float64) Tag {
	b := append(make([]byte, 0, 128), kind)
	for _, v := range numbers {
		b = binary.BigEndian.AppendUint64(b, math.Float64bits(v+0)) // -0 as 0
	}
	return TagOf(append(b, filters...))
}

// Encode returns the text of a cursor.
func Encode(c Cursor, data, query Tag) string {
	b := make([]byte, 0, cursorSize)
	b = append(b, cursorVersion)
	b = append(append(b, data[:]...), query[:]...)
	b = binary.BigEndian.AppendUint64(b, c.Rank)
	b = binary.BigEndian.AppendUint32(b, uint32(c.Key))
	check := TagOf(b)
	return base64.RawURLEncoding.EncodeToString(append(b, check[:]...))
}

// DecodeCursor reads the text of a cursor; "" is the zero Cursor. Errors match
// ErrCursor or ErrCursorExpired.
func DecodeCursor(text string, data, query Tag) (Cursor, error) {
	if text == "" {
		return Cursor{}, nil
	}
	if len(text) != base64.RawURLEncoding.EncodedLen(cursorSize) {
		return Cursor{}, StrangeCursor()
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) != cursorSize || b[0] != cursorVersion || TagOf(b[:cursorSize-4]) != Tag(b[cursorSize-4:]) {
		return Cursor{}, StrangeCursor()
	}
	if Tag(b[1:]) != data {
		return Cursor{}, fmt.Errorf("%w: the data has been replaced since; ask for the first page again, without a cursor", ErrCursorExpired)
	}
	if Tag(b[5:]) != query {
		return Cursor{}, OtherQuery()
	}
	return Cursor{binary.BigEndian.Uint64(b[9:]), ID(binary.BigEndian.Uint32(b[17:]))}, nil
}

// isDistance reports whether a rank is one by distance.
func isDistance(rank uint64) bool {
	d := math.Float64frombits(rank)
	return d >= 0 && !math.IsInf(d, 0) && !math.Signbit(d)
}

// StrangeCursor is the error for a cursor that no query can have returned.
func StrangeCursor() error { return feature.BadCursor("it is not one that was handed out") }

// OtherQuery is the error for a cursor of another query.
func OtherQuery() error { return feature.BadCursor("it belongs to a query with other parameters") }
