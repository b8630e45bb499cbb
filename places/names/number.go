package names

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/fnv"

	"quadrille/cellstore"
	"quadrille/feature"
)

// Number returns a number for a feature that stays the same from build to build, for services whose
// ids are numbers. It has 52 bits, which every JSON reader keeps exactly. An airport keeps its
// number when its type changes, and a region when the case of its id changes.
func Number(kind Kind, typ, id string) uint64 {
	if kind != Region {
		typ = ""
	}
	if kind == Region {
		id = keptID(typ, id)
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(string(kind) + "\x00" + typ + "\x00" + id)) // never fails
	return h.Sum64() >> 12
}

// keptID returns the stored id of a region: its folded form, so that the region is found even if
// boundaries and names write its id differently. A Division has the gazetteer's code.
func keptID(typ, id string) string {
	if typ == Admin1Type {
		return id
	}
	return feature.FoldedRegionID(id)
}

// numberMark begins the row keys that map a number to a feature. No build has so many features
// that an id begins with this byte.
const numberMark = 0xff

func numberKey(number uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{numberMark}, number)
}

// Feature returns the feature with a number of [Number], and false if there is none.
func (r *Reader) Feature(ctx context.Context, number uint64) (f Feature, ok bool, err error) {
	var row cellstore.Row
	if ok, err = r.features.Get(ctx, numberKey(number), nil, &row); err != nil || !ok {
		for i := 0; i < len(r.more) && err == nil && !ok; i++ {
			f, ok, err = r.more[i].Feature(ctx, number)
		}
		return f, ok, err
	}
	id := append([]byte(nil), row.Cells[0].Value...)
	ok, err = r.features.Get(ctx, id, nil, &row)
	if err != nil {
		return f, false, fmt.Errorf("names: %w", err)
	}
	if !ok || json.Unmarshal(row.Cells[0].Value, &f) != nil {
		return f, false, fmt.Errorf("names: %w: there is no feature %x", cellstore.ErrCorrupt, id)
	}
	return f, true, nil
}
