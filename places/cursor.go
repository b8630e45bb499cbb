package places

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
)

// The text of a cursor names the last place of a page. It is base64url of
//
//	version (1) │ data (4) │ query (4) │ rank (8) │ id (4) │ check (4)
//
// where data and query are the beginnings of checksums of the data set and of
// the query, rank is what places are ordered by before their ids, and check is
// a checksum of all before it. It is not a secret: a forged one only chooses
// where to begin.
const (
	cursorVersion = 2
	cursorSize    = 25
)

// cursor is that of Nearby.
type cursor struct {
	distance float64 // metres; negative before the first page
	id       uint32
}

var start = cursor{distance: -1}

// before reports whether the cursor's place sorts before one at this distance
// with this id.
func (c cursor) before(distance float64, id uint32) bool {
	return distance > c.distance || distance == c.distance && id > c.id
}

func (c cursor) encode(data, query [4]byte) string {
	return encodeCursor(data, query, math.Float64bits(c.distance), c.id)
}

func decodeDistance(text string, data, query [4]byte) (cursor, error) {
	rank, id, err := decodeCursor(text, data, query)
	if err != nil {
		return cursor{}, err
	}
	c := cursor{math.Float64frombits(rank), id}
	if !(c.distance >= 0) || math.IsInf(c.distance, 0) {
		return cursor{}, strangeCursor()
	}
	return c, nil
}

// tag is a checksum of what must not change between pages.
func (q *NearbyQuery) tag(f *filter) [4]byte {
	return queryTag('n', f, q.Lat, q.Lon, q.RadiusM)
}

func (q *WithinQuery) tag(f *filter) [4]byte {
	if t := q.Tile; t != nil {
		return queryTag('t', f, float64(t.Z), float64(t.X), float64(t.Y))
	}
	return queryTag('b', f, q.Box.West, q.Box.South, q.Box.East, q.Box.North)
}

func queryTag(kind byte, f *filter, numbers ...float64) [4]byte {
	b := []byte{kind}
	for _, v := range numbers {
		b = binary.BigEndian.AppendUint64(b, math.Float64bits(v+0)) // -0 as 0
	}
	sum := sha256.Sum256(f.appendTo(b))
	return [4]byte(sum[:])
}

func dataTag(fingerprint string) [4]byte {
	sum := sha256.Sum256([]byte(fingerprint))
	return [4]byte(sum[:])
}

func encodeCursor(data, query [4]byte, rank uint64, id uint32) string {
	b := make([]byte, 0, cursorSize)
	b = append(b, cursorVersion)
	b = append(append(b, data[:]...), query[:]...)
	b = binary.BigEndian.AppendUint64(b, rank)
	b = binary.BigEndian.AppendUint32(b, id)
	sum := sha256.Sum256(b)
	b = append(b, sum[:4]...)
	return base64.RawURLEncoding.EncodeToString(b)
}

func refuseCursor(err error, why string) error {
	return fmt.Errorf("%w: %s; ask for the first page again, without a cursor", err, why)
}

func strangeCursor() error { return refuseCursor(ErrCursor, "it is not one that was handed out") }

func decodeCursor(text string, data, query [4]byte) (rank uint64, id uint32, err error) {
	if len(text) != base64.RawURLEncoding.EncodedLen(cursorSize) {
		return 0, 0, strangeCursor()
	}
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(b) != cursorSize {
		return 0, 0, strangeCursor()
	}
	sum := sha256.Sum256(b[:cursorSize-4])
	if !bytes.Equal(sum[:4], b[cursorSize-4:]) || b[0] != cursorVersion {
		return 0, 0, strangeCursor()
	}
	if !bytes.Equal(b[1:5], data[:]) {
		return 0, 0, refuseCursor(ErrCursorExpired, "the places have been replaced since")
	}
	if !bytes.Equal(b[5:9], query[:]) {
		return 0, 0, refuseCursor(ErrCursor, "it belongs to a query with other parameters")
	}
	return binary.BigEndian.Uint64(b[9:]), binary.BigEndian.Uint32(b[17:]), nil
}
