package places

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
)

// A cursor names the last place of a page. Its text is base64url of
//
//	version (1) │ data (4) │ query (4) │ distance (8) │ id (4) │ check (4)
//
// where data and query are the beginnings of checksums of the data set and of
// the query, and check is one of all before it. It is not a secret: a forged
// one only chooses where to begin.
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

const (
	cursorVersion = 1
	cursorSize    = 25
)

// queryTag is a checksum of what must not change between pages.
func queryTag(q *NearbyQuery, f *filter) [4]byte {
	var b []byte
	for _, v := range [...]float64{q.Lat, q.Lon, q.RadiusM} {
		b = binary.BigEndian.AppendUint64(b, math.Float64bits(v+0)) // -0 as 0
	}
	b = binary.BigEndian.AppendUint64(b, f.minPopulation)
	b = append(b, f.country[:]...)
	b = append(append(b, f.class...), '.')
	b = append(b, f.featureCode...)
	sum := sha256.Sum256(b)
	return [4]byte(sum[:])
}

func dataTag(fingerprint string) [4]byte {
	sum := sha256.Sum256([]byte(fingerprint))
	return [4]byte(sum[:])
}

func (c cursor) encode(data, query [4]byte) string {
	b := make([]byte, 0, cursorSize)
	b = append(b, cursorVersion)
	b = append(append(b, data[:]...), query[:]...)
	b = binary.BigEndian.AppendUint64(b, math.Float64bits(c.distance))
	b = binary.BigEndian.AppendUint32(b, c.id)
	sum := sha256.Sum256(b)
	b = append(b, sum[:4]...)
	return base64.RawURLEncoding.EncodeToString(b)
}

func decodeCursor(text string, data, query [4]byte) (cursor, error) {
	refuse := func(err error, why string) (cursor, error) {
		return cursor{}, fmt.Errorf("%w: %s; ask for the first page again, without a cursor", err, why)
	}
	if len(text) != base64.RawURLEncoding.EncodedLen(cursorSize) {
		return refuse(ErrCursor, "it is not one that was handed out")
	}
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(b) != cursorSize {
		return refuse(ErrCursor, "it is not one that was handed out")
	}
	sum := sha256.Sum256(b[:cursorSize-4])
	if !bytes.Equal(sum[:4], b[cursorSize-4:]) || b[0] != cursorVersion {
		return refuse(ErrCursor, "it is not one that was handed out")
	}
	if !bytes.Equal(b[1:5], data[:]) {
		return refuse(ErrCursorExpired, "the places have been replaced since")
	}
	if !bytes.Equal(b[5:9], query[:]) {
		return refuse(ErrCursor, "it belongs to a query with other parameters")
	}
	c := cursor{math.Float64frombits(binary.BigEndian.Uint64(b[9:])), binary.BigEndian.Uint32(b[17:])}
	if !(c.distance >= 0) || math.IsInf(c.distance, 0) {
		return refuse(ErrCursor, "it is not one that was handed out")
	}
	return c, nil
}
