package points

import (
	"context"
	"fmt"
	"time"

	"quadrille/cellstore"
	"quadrille/places/internal/near"
)

// Stop is where a point was from an instant on.
type Stop struct {
	Lat, Lon float64 // degrees
	Version  int64   // the instant: milliseconds since 1970
	// Gone says that the point was not there any more.
	Gone bool
}

// MaxTrack is the most stops that Track returns.
const MaxTrack = 100_000

// Track returns where a point was from one instant to another, both included, oldest
// first, at most so many stops, the oldest; next is the instant to go on from, zero when
// all have been returned. A write that left the point where it was is a stop too. Zero
// instants are the ends of what the collection remembers. Errors match ErrNotFound if
// there are none, ErrQuery where the collection keeps no history, or are the store's.
func (c *Collection) Track(ctx context.Context, id string, from, to time.Time, most int) (stops []Stop, next time.Time, err error) {
	if c.Meta().History == 0 {
		return nil, next, noHistory()
	}
	if CheckID(id) != nil {
		return nil, next, ErrNotFound
	}
	first, end := int64(0), int64(cellstore.MaxTimestamp)
	if !from.IsZero() {
		first = max(from.UnixMilli(), 0)
	}
	if !to.IsZero() {
		end = max(to.UnixMilli()+1, first)
	}
	var row cellstore.Row
	sel := &cellstore.Selection{Families: selectID.Families, Versions: cellstore.Unlimited, Time: cellstore.Between(first, end)}
	found, err := c.table.Get(ctx, appendIDKey(nil, id), sel, &row)
	if err != nil {
		return nil, next, wrap(err)
	}
	if !found {
		return nil, next, ErrNotFound
	}
	var r record
	for i := len(row.Cells) - 1; i >= 0; i-- { // the newest is the first cell
		cell := &row.Cells[i]
		if len(stops) == min(max(most, 1), MaxTrack) {
			return stops, time.UnixMilli(cell.Timestamp).UTC(), nil
		}
		s := Stop{Version: cell.Timestamp, Gone: len(cell.Value) == 0}
		if !s.Gone {
			if len(cell.Value) != idValue || !r.parseHead(cell.Value) {
				return nil, next, damaged(&row)
			}
			s.Lat, s.Lon = toDegrees(r.lat), toDegrees(r.lon)
		}
		stops = append(stops, s)
	}
	return stops, next, nil
}

func noHistory() error {
	return near.BadQuery("the collection keeps no history: ask for it as it is now, or make one that does")
}

// checkAt refuses instants that the collection does not remember; the zero time is now.
func (c *Collection) checkAt(at time.Time) error {
	history := time.Duration(c.Meta().History)
	switch {
	case at.IsZero():
	case history == 0:
		return noHistory()
	case at.Before(c.clock().Add(-history)):
		return near.BadQuery("the collection remembers %v: ask for a later instant", history)
	}
	return nil
}

// prunedRows is how many rows prune looks at in one go.
const prunedRows = 2000

// prune removes versions that no question may ask for any more, from some rows: those
// before the newest one that was there at the end of the history, and that one too if it
// says that the point had gone.
func (c *LiveCollection) prune() error {
	history := time.Duration(c.Meta().History)
	if history == 0 {
		return nil
	}
	families := [2]string{famID, famPoint}
	family := families[c.pruning]
	scan := cellstore.Scan{
		Ranges: []cellstore.Range{{From: c.pruned}}, Limit: prunedRows,
		Selection: cellstore.Selection{
			Families: []string{family}, Versions: cellstore.Unlimited,
			Time: cellstore.Between(0, c.clock().Add(-history).UnixMilli()+1),
		},
	}
	ctx := context.Background()
	var mutations []cellstore.Mutation
	n := 0
	for row, err := range c.table.Scan(ctx, scan) {
		if err != nil {
			return wrap(err)
		}
		n++
		c.pruned = append(append(c.pruned[:0], row.Key...), 0)
		old := row.Cells
		if len(old[0].Value) > 0 {
			old = old[1:]
		}
		if len(old) > 0 {
			mutations = append(mutations, cellstore.Mutation{
				Row: append([]byte(nil), row.Key...), Ops: []cellstore.Op{cellstore.DeleteColumn(family, nil, old[0].Timestamp)}, Durability: cellstore.Async,
			})
		}
	}
	if n < prunedRows {
		c.pruning, c.pruned = 1-c.pruning, c.pruned[:0]
	}
	if len(mutations) == 0 {
		return nil
	}
	if err := c.table.Apply(ctx, mutations...); err != nil {
		return fmt.Errorf("points: history: %w", err)
	}
	return nil
}
