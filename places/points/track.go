package points

import (
	"context"
	"time"

	"quadrille/cellstore"
	"quadrille/feature"
)

// MaxTrack bounds the stops that Track returns.
const MaxTrack = 100_000

// Track implements feature.Tracker. It returns the stops of a point from one instant to another,
// both included, the oldest first. most bounds their number. next is the instant from which to
// continue. It is zero if all stops have been returned. A write that left the position unchanged is
// a stop too. An expired point is gone from its expiry time on, even if its rows are removed later.
// Zero instants mean the ends of the recorded history. Errors match ErrNotFound if there are no
// stops, or ErrQuery if the collection keeps no history, or come from the store.
func (c *Collection) Track(ctx context.Context, id string, from, to time.Time, most int) (stops []feature.Stop, next time.Time, err error) {
	if c.Meta().HistoryRetention == 0 {
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
	most = min(max(most, 1), MaxTrack)
	t := trackReader{from: c.table, key: appendIDKey(nil, id)}
	newest, err := t.versions(ctx, 0, end, 1)
	if err != nil {
		return nil, next, err
	}
	gone, err := t.expiry(newest, min(end, c.clock.Now()+1))
	if err != nil {
		return nil, next, err
	}
	over := gone.Gone && gone.Version >= first
	if len(newest) > 0 && newest[0].Timestamp >= first {
		end = newest[0].Timestamp + 1
	} else if end = first; !over {
		return nil, next, ErrNotFound
	}
	// The store returns the newest versions of a time span, but the oldest are needed: the span
	// is halved until all of its versions are returned.
	for span := end - first; first < end; {
		cells, err := t.versions(ctx, first, min(first+span, end), maxVersions+1)
		if err != nil {
			return nil, next, err
		}
		if len(cells) > maxVersions {
			span = (span + 1) / 2
			continue
		}
		for i := len(cells) - 1; i >= 0; i-- {
			if len(stops) == most {
				return stops, time.UnixMilli(cells[i].Timestamp).UTC(), nil
			}
			stop, err := t.stop(&cells[i])
			if err != nil {
				return nil, next, err
			}
			stops = append(stops, stop)
		}
		first, span = first+span, 2*span
	}
	switch {
	case over && len(stops) == most:
		next = time.UnixMilli(gone.Version).UTC()
	case over:
		stops = append(stops, gone)
	}
	return stops, next, nil
}

// maxVersions bounds the versions of a row that are in memory at once.
const maxVersions = 4096

// trackReader reads the versions of one id.
type trackReader struct {
	from cellstore.Table
	key  []byte
	row  cellstore.Row
}

// versions returns the newest versions from one instant to before another one, newest
// first. They are valid until the next call.
func (t *trackReader) versions(ctx context.Context, first, end int64, most int) ([]cellstore.Cell, error) {
	sel := &cellstore.Selection{Families: selectID.Families, Versions: most, Time: cellstore.Between(first, end)}
	found, err := t.from.Get(ctx, t.key, sel, &t.row)
	if err != nil || !found {
		return nil, wrap(err)
	}
	return t.row.Cells, nil
}

// expiry returns the stop of a point whose newest version expired before an instant. No version
// records that stop yet.
func (t *trackReader) expiry(newest []cellstore.Cell, before int64) (s feature.Stop, err error) {
	if len(newest) == 0 || len(newest[0].Value) == 0 {
		return s, nil
	}
	var r record
	if err := r.parseID(&t.row); err != nil {
		return s, err
	}
	if s.Version = max(r.expires, r.version+1); r.expires != 0 && s.Version < before {
		s.Gone = true
	}
	return s, nil
}

// stop converts a version to a stop.
func (t *trackReader) stop(cell *cellstore.Cell) (feature.Stop, error) {
	s := feature.Stop{Version: cell.Timestamp, Gone: len(cell.Value) == 0}
	var r record
	if !s.Gone {
		if len(cell.Value) != idValue || !r.parseHead(cell.Value) {
			return s, damaged(&t.row)
		}
		s.Lat, s.Lon = toDegrees(r.lat), toDegrees(r.lon)
	}
	return s, nil
}

func noHistory() error {
	return feature.BadQuery("the collection keeps no history: ask for it as it is now, or make one that does")
}

// checkAt returns an error for instants before the collection's history; the zero time means now.
func (c *Collection) checkAt(at time.Time) error {
	m := c.Meta()
	switch first := m.HistoryStart(c.Now()); {
	case at.IsZero():
	case m.HistoryRetention == 0:
		return noHistory()
	case at.Before(first):
		return feature.BadQuery("the collection remembers %v, back to %v: ask for a later instant", time.Duration(m.HistoryRetention),
			first.UTC().Format(time.RFC3339))
	}
	return nil
}
