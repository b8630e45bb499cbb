package points

import (
	"encoding/base64"
	"encoding/binary"
	"time"

	"quadrille/feature"
	"quadrille/places/internal/near"
	"quadrille/quadkey"
)

// The text of a cursor is base64url of
//
//	version (1) │ query (4) │ rank (8) │ key (8) │ check (4) │ id
//
// where query is the beginning of a checksum of the query, and check of all but check.
// It is no secret: a forged one only chooses where to begin.
const (
	cursorVersion = 1
	cursorHead    = 21
	cursorCheck   = 4
)

// queryTag is the tag of what must not change between the pages of a query.
func queryTag(kind byte, f *feature.Filter, at time.Time, numbers ...float64) near.Tag {
	b := f.AppendTo(nil)
	if !at.IsZero() {
		b = binary.BigEndian.AppendUint64(b, uint64(at.UnixMilli()))
	}
	return near.QueryTag(kind, b, numbers...)
}

func encodeCursor(query near.Tag, last *kept) string {
	var memory [cursorHead + cursorCheck + MaxID]byte
	b := append(memory[:0], cursorVersion)
	b = append(b, query[:]...)
	b = binary.BigEndian.AppendUint64(b, last.rank)
	b = last.key.AppendTo(b)
	check := near.TagOf(append(b, last.id...))
	b = append(append(b, check[:]...), last.id...)
	var text [(len(memory)*4 + 2) / 3]byte
	base64.RawURLEncoding.Encode(text[:], b)
	return string(text[:base64.RawURLEncoding.EncodedLen(len(b))])
}

func decodeCursor(text string, query near.Tag) (m mark, err error) {
	if text == "" {
		return m, nil
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	// The decoder skips line breaks, so the length is compared too.
	if err != nil || base64.RawURLEncoding.EncodedLen(len(b)) != len(text) || len(b) <= cursorHead+cursorCheck || b[0] != cursorVersion {
		return m, near.StrangeCursor()
	}
	id := b[cursorHead+cursorCheck:]
	if near.TagOf(append(b[:cursorHead:cursorHead], id...)) != near.Tag(b[cursorHead:]) {
		return m, near.StrangeCursor()
	}
	if near.Tag(b[1:]) != query {
		return m, near.OtherQuery()
	}
	return mark{true, binary.BigEndian.Uint64(b[5:]), quadkey.PointKey(binary.BigEndian.Uint64(b[13:])), id}, nil
}
