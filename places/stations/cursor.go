package stations

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
)

// A cursor says where the next page begins. Its text is base64url of
//
//	version (1) │ data (4) │ query (4) │ next (8) │ check (4)
//
// where data and query are the beginnings of checksums of the data set and of
// the query, and check is one of all before it. It is not a secret: a forged
// one only chooses where to begin.
const (
	cursorVersion = 1
	cursorSize    = 21
)

func tagOf(data []byte) [4]byte {
	sum := sha256.Sum256(data)
	return [4]byte(sum[:])
}

func encodeCursor(next uint64, data, query [4]byte) string {
	b := make([]byte, 0, cursorSize)
	b = append(b, cursorVersion)
	b = append(append(b, data[:]...), query[:]...)
	b = binary.BigEndian.AppendUint64(b, next)
	check := tagOf(b)
	return base64.RawURLEncoding.EncodeToString(append(b, check[:]...))
}

func decodeCursor(text string, data, query [4]byte) (next uint64, err error) {
	refuse := func(err error, why string) (uint64, error) {
		return 0, fmt.Errorf("%w: %s; ask for the first page again, without a cursor", err, why)
	}
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(b) != cursorSize || b[0] != cursorVersion || tagOf(b[:cursorSize-4]) != [4]byte(b[cursorSize-4:]) {
		return refuse(ErrCursor, "it is not one that was handed out")
	}
	if [4]byte(b[1:]) != data {
		return refuse(ErrCursorExpired, "the data has been replaced since")
	}
	if [4]byte(b[5:]) != query {
		return refuse(ErrCursor, "it belongs to a query with other parameters")
	}
	return binary.BigEndian.Uint64(b[9:]), nil
}
