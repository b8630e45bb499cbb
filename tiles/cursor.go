package tiles

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"quadrille/tiles/internal/layout"
)

// The layout of a cursor is base64url of: version 1 | tag of the query, 4 bytes
// | type | ':' | id of the last region.
const cursorVersion = 1

func cursorHead(q WithinQuery) []byte {
	h := fnv.New32a()
	for _, v := range [4]float64{q.Box.West, q.Box.South, q.Box.East, q.Box.North} {
		_ = binary.Write(h, binary.BigEndian, v+0) // a hash does not fail
	}
	types := slices.Clone(q.Types)
	slices.Sort(types)
	for _, t := range slices.Compact(types) {
		h.Write(append([]byte(t), 0))
	}
	return h.Sum([]byte{cursorVersion})
}

func encodeCursor(q WithinQuery, last Region) string {
	return base64.RawURLEncoding.EncodeToString(append(cursorHead(q), last.Type+":"+last.ID...))
}

func decodeCursor(q WithinQuery) (after Region, err error) {
	if q.Cursor == "" {
		return Region{}, nil
	}
	const again = "ask for the first page again, without a cursor"
	b, err := base64.RawURLEncoding.Strict().DecodeString(q.Cursor)
	// The decoder skips line breaks, so the length is compared too.
	if err != nil || base64.RawURLEncoding.EncodedLen(len(b)) != len(q.Cursor) || len(b) < 5 || b[0] != cursorVersion {
		return Region{}, fmt.Errorf("%w: it is not one that was handed out; %s", ErrCursor, again)
	}
	if string(b[:5]) != string(cursorHead(q)) {
		return Region{}, fmt.Errorf("%w: it belongs to a query with other parameters; %s", ErrCursor, again)
	}
	typ, id, ok := strings.Cut(string(b[5:]), ":")
	if !ok || !layout.TypePattern.MatchString(typ) || !layout.IDPattern.MatchString(id) {
		return Region{}, fmt.Errorf("%w: it is not one that was handed out; %s", ErrCursor, again)
	}
	return Region{Type: typ, ID: id}, nil
}
