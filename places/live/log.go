package live

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"quadrille/cellstore"
)

// Log keeps the changes of one collection in their order. It is the truth: an index gets missing
// changes from it. One goroutine appends at a time.
type Log interface {
	// Append writes a step that follows End, wholly or not at all. The error matches ErrOtherWriter if
	// another step already follows End. After any other error, End shows whether the step was
	// written. The step need not be on the disk before Sync.
	Append(ctx context.Context, s *LogStep) error
	// Sync makes all appended steps durable.
	Sync(ctx context.Context) error
	// End returns the end of the log.
	End(ctx context.Context) (LogEnd, error)
	// Read returns the events with numbers above after and up to last. most bounds how many.
	Read(ctx context.Context, after, last uint64, most int) ([]Event, error)
}

// LogEnd describes the end of a log.
type LogEnd struct {
	Seq   uint64 // of the last change
	Floor int64  // the greatest version of a feature that is gone
	Step  uint64 // the number of the last step
}

// LogStep is the unit of appending to a log.
type LogStep struct {
	LogEnd
	Changes []Change
	// Rows are the further rows that the step writes, in the table of the collection. Append may
	// append to them.
	Rows []cellstore.Mutation
}

// ErrOtherWriter is matched when another writer has appended to the log. A collection may have only one
// writer.
var ErrOtherWriter = errors.New("another program has written to the collection")

// These are the families of a TableLog, and the first bytes of their rows.
const (
	famEvent = "event"
	famMeta  = "meta"
	famEnd   = "end"

	rowEvent       = 'e'
	rowDescription = 'm'
	rowNote        = 'n' // after rowDescription
	rowEnd         = 'x'

	keyHead = 9 // the first byte of a row, and a number
)

// metaTime is the timestamp of all cells of the family meta. With equal timestamps the later put
// wins, even if the clock was set back.
const metaTime = 1

// endRow holds the LogEnd, which stays when events expire. Every step writes this row, so making
// the row durable makes all steps durable.
var endRow = []byte{rowDescription, 's'}

const endValue = 24 // sequence, floor, step

var (
	selectMeta  = &cellstore.Selection{Families: []string{famMeta}}
	selectEvent = cellstore.Selection{Families: []string{famEvent}}
)

// metaRow writes a row of the family meta.
func metaRow(key, value []byte) cellstore.Mutation {
	return cellstore.Mutation{Row: key, Ops: []cellstore.Op{cellstore.PutAt(famMeta, nil, metaTime, value)}}
}

// TableLog is a Log in a table that writes several rows at once.
type TableLog struct {
	table cellstore.Table
	whole bool
	last  LogEnd // the last end that this TableLog has seen
	value []byte // of last
	event Event
	ends  [2][2]float64
}

// NewTableLog returns the log in a table. A whole log stores all of each change, for an index
// outside the table. Any other log stores only the positions of features before and after.
func NewTableLog(table cellstore.Table, whole bool) *TableLog {
	return &TableLog{table: table, whole: whole}
}

// Append implements Log.
func (l *TableLog) Append(ctx context.Context, s *LogStep) error {
	if err := l.follow(ctx, s.Step); err != nil {
		return err
	}
	for i := range s.Changes {
		if c := &s.Changes[i]; c.Seq != 0 {
			value, _ := json.Marshal(l.eventOf(c)) // made of texts and numbers
			s.Rows = append(s.Rows, cellstore.Mutation{Row: eventKey(c.Seq), Ops: []cellstore.Op{cellstore.PutAt(famEvent, nil, c.date, value)}})
		}
	}
	s.Rows = append(s.Rows, metaRow(endRow, s.LogEnd.append(make([]byte, 0, endValue))))
	for i := range s.Rows {
		s.Rows[i].Durability = cellstore.Async // until Sync
	}
	err := l.table.Apply(ctx, s.Rows...)
	if l.last = s.LogEnd; err != nil {
		l.last = LogEnd{} // so that the next call reads it again
	}
	return err
}

// follow returns an error unless a step follows the last stored one. The cost of reading the row
// grows with the writes to it since the store's memory was last flushed; a check only reads the
// row's newest version.
func (l *TableLog) follow(ctx context.Context, step uint64) (err error) {
	if l.last.Step+1 != step || l.last == (LogEnd{}) {
		if l.last, err = l.End(ctx); err != nil {
			return err
		}
	}
	check := cellstore.Check{Family: famMeta, Op: cellstore.Absent}
	if l.last != (LogEnd{}) {
		l.value = l.last.append(l.value[:0])
		check.Op, check.Value = cellstore.Equal, l.value
	}
	is, err := l.table.CheckAndMutate(ctx, check, cellstore.Mutation{Row: endRow, Durability: cellstore.Async})
	switch {
	case err != nil:
		return err
	case !is || l.last.Step+1 != step:
		l.last = LogEnd{}
		return fmt.Errorf("%w: it has step %d, which was to be the next one: let one program alone have the directory",
			ErrOtherWriter, step)
	}
	return nil
}

// eventOf converts a change to an event, which is valid until the next call.
func (l *TableLog) eventOf(c *Change) *Event {
	l.event = Event{
		Seq: c.Seq, Before: c.Before, ID: c.ID, Version: c.Version, Expired: c.Expired,
		Edition: c.Edition, EditionSuffix: c.EditionSuffix,
		PreviousEdition: c.PreviousEdition, PreviousEditionSuffix: c.PreviousEditionSuffix,
	}
	if c.Was != nil {
		l.ends[0] = [2]float64{c.Was.Lon, c.Was.Lat}
		l.event.From = &l.ends[0]
	}
	if c.Is != nil {
		l.ends[1] = [2]float64{c.Is.Lon, c.Is.Lat}
		l.event.To = &l.ends[1]
	}
	if l.whole && c.Is != nil && !c.redrawn() {
		l.event.Content = &Content{Properties: c.is, Expires: ExpiryMillis(c.Is.Expires)}
	}
	return &l.event
}

// Sync implements Log.
func (l *TableLog) Sync(ctx context.Context) error {
	return l.table.Apply(ctx, cellstore.Mutation{Row: endRow})
}

// End implements Log.
func (l *TableLog) End(ctx context.Context) (e LogEnd, err error) {
	var row cellstore.Row
	found, err := l.table.Get(ctx, endRow, selectMeta, &row)
	if err != nil || !found {
		return e, wrap(err)
	}
	if v := row.Cells[0].Value; !e.parse(v) {
		return e, fmt.Errorf("live: %w: the row of the last event has %d bytes", cellstore.ErrCorrupt, len(v))
	}
	return e, nil
}

// append appends the stored form of the end.
func (e *LogEnd) append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(dst, e.Seq), uint64(e.Floor))
	return binary.BigEndian.AppendUint64(dst, e.Step)
}

func (e *LogEnd) parse(v []byte) bool {
	if len(v) != endValue {
		return false
	}
	e.Seq, e.Floor, e.Step = binary.BigEndian.Uint64(v), int64(binary.BigEndian.Uint64(v[8:])), binary.BigEndian.Uint64(v[16:])
	return true
}

// Read implements Log.
func (l *TableLog) Read(ctx context.Context, after, last uint64, most int) (list []Event, err error) {
	scan := cellstore.Scan{Ranges: []cellstore.Range{{From: eventKey(after + 1), To: eventKey(last + 1)}}, Selection: selectEvent, Limit: most}
	for row, err := range l.table.Scan(ctx, scan) {
		if err != nil {
			return nil, wrap(err)
		}
		var e Event
		if !e.parse(row) {
			return nil, fmt.Errorf("live: %w: the row %q is no event", cellstore.ErrCorrupt, row.Key)
		}
		list = append(list, e)
	}
	return list, nil
}

// eventKey returns the row key of an event.
func eventKey(seq uint64) []byte { return binary.BigEndian.AppendUint64([]byte{rowEvent}, seq) }

func wrap(err error) error {
	if err != nil {
		return fmt.Errorf("live: %w", err)
	}
	return nil
}
