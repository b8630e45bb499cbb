package fence

import (
	"context"
	"strconv"
	"strings"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/internal/jsontext"
	"quadrille/places/points"
	"quadrille/tiles"
)

// Types of events.
const (
	Move  = "move"
	Enter = "enter"
	Leave = "leave"
)

// Event is a move, or a fence that a move crosses.
type Event struct {
	ID    ID
	Type  string
	Fence string // "" of a move
	*points.Event
}

// ID is the id of an event: the sequence of a move, and of all but the last crossing of a
// move how many came before it and with it, so that what is cut off between two of them
// goes on with the second.
type ID struct {
	Seq  uint64
	sent int // crossings of Seq up to this one; 0 is all
}

// ParseID reads an id.
func ParseID(text string) (id ID, ok bool) {
	seq, sent, some := strings.Cut(text, ".")
	var err error
	if id.Seq, err = strconv.ParseUint(seq, 10, 63); err != nil || id.Seq == 0 {
		return ID{}, false
	}
	if some {
		if id.sent, err = strconv.Atoi(sent); err != nil || id.sent <= 0 || id.sent > 4*Max {
			return ID{}, false
		}
	}
	return id, true
}

// Append appends the id as text.
func (id ID) Append(dst []byte) []byte {
	dst = strconv.AppendUint(dst, id.Seq, 10)
	if id.sent > 0 {
		dst = strconv.AppendInt(append(dst, '.'), int64(id.sent), 10)
	}
	return dst
}

// String is the id as text, "" if it is of no event.
func (id ID) String() string {
	if id.Seq == 0 {
		return ""
	}
	return string(id.Append(nil))
}

// After is the sequence of the last move that has been told whole.
func (id ID) After() uint64 {
	if id.sent > 0 {
		return id.Seq - 1
	}
	return id.Seq
}

// Reader reads the events of a collection as what a set tells. It is for one goroutine.
type Reader struct {
	Last ID // the event that was told last, with the moves after it that tell nothing

	set        *Set
	moves      *points.Follower
	boundaries *dataset.Live[ask.Boundaries]
	processors *web.Processors
}

// Read begins after an event.
func (f *Set) Read(live *points.LiveCollection, after ID, boundaries *dataset.Live[ask.Boundaries], from *web.Processors) *Reader {
	return &Reader{after, f, live.Follower(after.After()), boundaries, from}
}

// Changed returns what is closed when Append is to be called again.
func (r *Reader) Changed() <-chan struct{} { return r.moves.Changed() }

// Append appends some of the next events, if there are any yet, in turns of a processor of
// whoever ctx is for: who follows may have any number of moves told again. Moves alone take
// none once they come as they are made. What comes with an error counts; the errors are
// those of points.Follower, and why boundaries cannot be read.
func (r *Reader) Append(ctx context.Context, dst []Event) ([]Event, error) {
	if r.set.All() && !r.moves.Behind() {
		return r.next(ctx, dst)
	}
	err := r.processors.InTurn(ctx, func(in context.Context) (err error) {
		dst, err = r.next(points.WithPause(in, web.TurnOf(in).Pause), dst)
		return err
	})
	return dst, err
}

// next is Append with a processor, or without one.
func (r *Reader) next(ctx context.Context, dst []Event) ([]Event, error) {
	moves, err := r.moves.Next(ctx)
	for i := 0; i < len(moves) && err == nil; i++ {
		if dst, err = r.appendEvents(ctx, dst, &moves[i]); err == nil {
			err = web.Step(ctx)
		}
	}
	return dst, err
}

// appendEvents appends what a move is told as, after the last event.
func (r *Reader) appendEvents(ctx context.Context, dst []Event, v *points.Event) ([]Event, error) {
	if r.set.All() {
		r.Last = ID{Seq: v.Seq}
		return append(dst, Event{ID: r.Last, Type: Move, Event: v}), nil
	}
	first := len(dst)
	dst, err := r.set.appendCrossings(dst, v, func(lon, lat float64) (at []tiles.Region, err error) {
		err = withBoundaries(r.boundaries, func(b ask.Boundaries) error {
			at, err = b.At(ctx, lat, lon, r.set.types...)
			return err
		})
		return at, err
	})
	if err != nil {
		return dst[:first], err
	}
	for i := range dst[first:] {
		e := &dst[first+i]
		if e.ID, e.Event = (ID{v.Seq, i + 1}), v; first+i+1 == len(dst) {
			e.ID.sent = 0
		}
	}
	if v.Seq == r.Last.Seq {
		told := min(r.Last.sent, len(dst)-first)
		dst = append(dst[:first], dst[first+told:]...)
	}
	r.Last = ID{Seq: v.Seq}
	return dst, nil
}

// withBoundaries calls fn with the boundaries in service.
func withBoundaries(boundaries *dataset.Live[ask.Boundaries], fn func(ask.Boundaries) error) error {
	p := ask.Pin(boundaries)
	defer p.Release()
	b, err := p.Get()
	if err != nil {
		return err
	}
	return fn(b)
}

// CheckRegions refuses a set with regions that are not there.
func (f *Set) CheckRegions(ctx context.Context, boundaries *dataset.Live[ask.Boundaries]) error {
	if len(f.types) == 0 {
		return nil
	}
	return withBoundaries(boundaries, func(b ask.Boundaries) error { return f.check(ctx, b) })
}

// AppendMembers appends the members of a JSON object that tell an event, but for its id,
// its type and whose it is, each with a comma before it.
func (e *Event) AppendMembers(b []byte) []byte {
	if e.Fence != "" {
		b = jsontext.AppendString(append(b, `,"fence":`...), e.Fence)
	}
	if e.Fence == "" && e.From != nil {
		b = append(appendPosition(append(b, `,"from":{`...), e.From), '}')
	}
	if e.To != nil {
		b = appendPosition(append(b, ','), e.To)
	} else {
		b = append(b, `,"gone":true`...)
	}
	if e.Expired {
		b = append(b, `,"expired":true`...)
	}
	return strconv.AppendInt(append(b, `,"version":`...), e.Version, 10)
}

// appendPosition appends the members lat and lon.
func appendPosition(dst []byte, p *[2]float64) []byte {
	dst = strconv.AppendFloat(append(dst, `"lat":`...), p[1], 'f', -1, 64)
	return strconv.AppendFloat(append(dst, `,"lon":`...), p[0], 'f', -1, 64)
}
