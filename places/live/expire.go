package live

import (
	"context"
	"encoding/binary"
	"time"

	"quadrille/cellstore"
)

// endKey returns the key of a feature's expiry row.
func endKey(expires int64, id string) []byte {
	return append(binary.BigEndian.AppendUint64([]byte{rowEnd}, uint64(expires)), id...)
}

// ExpiryRow returns the row with a feature's expiry time.
func ExpiryRow(expires int64, id string) cellstore.Mutation {
	return cellstore.Mutation{Row: endKey(expires, id), Ops: []cellstore.Op{cellstore.Put(famEnd, nil, nil)}}
}

// expiry appends the mutations for the rows of expiry times, if the change changes the feature's
// expiry time.
func (c *Change) expiry(rows []cellstore.Mutation) []cellstore.Mutation {
	was, is := int64(0), int64(0)
	if c.Was != nil {
		was = ExpiryMillis(c.Was.Expires)
	}
	if c.Is != nil {
		is = ExpiryMillis(c.Is.Expires)
	}
	if was != is && was != 0 {
		rows = append(rows, cellstore.Mutation{Row: endKey(was, c.ID),
			Ops: []cellstore.Op{cellstore.DeleteColumn(famEnd, nil, cellstore.AllVersions)}})
	}
	if was != is && is != 0 {
		rows = append(rows, ExpiryRow(is, c.ID))
	}
	return rows
}

// Expirer finds the features of a collection that have expired. It belongs to one goroutine.
type Expirer struct {
	clock  *cellstore.Clock
	swept  int64 // time of the last search
	unsure int64 // features may have expired by a wrong clock up to this instant
}

// NewExpirer returns an Expirer that uses a clock.
func NewExpirer(clock *cellstore.Clock) *Expirer { return &Expirer{clock: clock} }

// ExpiredWrites returns writes that remove expired features. most bounds their number. Features
// that expired all at once, at the start or by a step of the clock, wait until the clock is
// settled.
func (e *Expirer) ExpiredWrites(table cellstore.Table, most int) (gone []Write) {
	now := e.clock.Now()
	switch {
	case e.clock.Settled():
		e.unsure = 0
	case now-e.swept > e.clock.Skew().Milliseconds():
		e.unsure = now
	}
	e.swept = now
	scan := cellstore.Scan{
		Ranges: []cellstore.Range{{From: endKey(e.unsure+1, ""), To: endKey(max(now, e.unsure)+1, "")}}, Limit: most,
		Selection: cellstore.Selection{Families: []string{famEnd}},
	}
	for row, err := range table.Scan(context.Background(), scan) {
		if err != nil || len(row.Key) <= keyHead {
			break // the next try is in a second
		}
		at := int64(binary.BigEndian.Uint64(row.Key[1:]))
		gone = append(gone, Write{Kind: expire, ID: string(row.Key[keyHead:]), Expires: time.UnixMilli(at)})
	}
	return gone
}
