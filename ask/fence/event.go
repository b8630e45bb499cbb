package fence

import (
	"context"
	"strconv"
	"strings"

	"quadrille/ask"
	"quadrille/places/live"
)

// These are the types of events.
const (
	Move  = "move"
	Enter = "enter"
	Leave = "leave"
)

// Event is a move, or the crossing of a fence by a move. Fence is the name of a shape, or the
// type and the id of a region with a colon between them.
type Event struct {
	ID    ID
	Type  string
	Fence string // "" for a move
	*live.Event
}

// ID is the id of an event. It has the sequence number of the move. For every crossing of the move
// except the last one, it also has the number of crossings so far. So a stream that is cut off
// between two crossings continues with the second one.
type ID struct {
	Seq  uint64
	sent int // crossings of Seq up to this one; 0 means all
}

// ParseID reads an id.
func ParseID(text string) (id ID, ok bool) {
	seq, sent, some := strings.Cut(text, ".")
	var err error
	if id.Seq, err = strconv.ParseUint(seq, 10, 63); err != nil || id.Seq == 0 {
		return ID{}, false
	}
	if some {
		if id.sent, err = strconv.Atoi(sent); err != nil || id.sent <= 0 || id.sent > 4*MaxFences {
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

// String returns the id as text, or "" for the zero ID.
func (id ID) String() string {
	if id.Seq == 0 {
		return ""
	}
	return string(id.Append(nil))
}

// CompletedSeq returns the sequence of the last move whose events have all been returned.
func (id ID) CompletedSeq() uint64 {
	if id.sent > 0 {
		return id.Seq - 1
	}
	return id.Seq
}

// Reader reads the events of a collection for the fences of a set. It belongs to one goroutine.
type Reader struct {
	Last ID // the last event returned, with the moves after it that have no events
	// Step is called after each move that Append reads; an error of Step ends Append. A caller that
	// shares a processor yields in Step. If Step is nil, Append checks the context instead.
	Step func(context.Context) error

	set   *Set
	moves *live.Follower
	by    judge
}

// Follow begins after an event. views may be nil without fences of regions.
func (f *Set) Follow(live *live.Collection, after ID, views *ask.Views) *Reader {
	return &Reader{Last: after, set: f, moves: live.Follower(after.CompletedSeq()), by: judge{views: views}}
}

// Changed returns a channel that is closed when Append should be called again. After the
// collection's Done there are no more events.
func (r *Reader) Changed() <-chan struct{} { return r.moves.Changed() }

// IsCheap reports whether Append is cheap. It is cheap if every move is an event and the reader is
// up to date. With fences Append looks up regions, and a reader that is behind may have to catch up
// with any number of moves.
func (r *Reader) IsCheap() bool { return r.set.EveryMove() && !r.moves.HasMore() }

// Append appends some of the next events, if there are any yet. Events returned together with an
// error are valid. The error is one of live.Follower, or the reason why boundaries cannot be read.
func (r *Reader) Append(ctx context.Context, dst []Event) ([]Event, error) {
	moves, err := r.moves.Next(ctx)
	for i := 0; i < len(moves) && err == nil; i++ {
		if dst, err = r.appendEvents(ctx, dst, &moves[i]); err != nil {
			break
		}
		if err = ctx.Err(); r.Step != nil {
			err = r.Step(ctx)
		}
	}
	return dst, err
}

// appendEvents appends the events of a move that come after Last.
func (r *Reader) appendEvents(ctx context.Context, dst []Event, v *live.Event) ([]Event, error) {
	if r.set.EveryMove() {
		if r.Last = (ID{Seq: v.Seq}); v.IsRedraw() {
			return dst, nil // it has not moved
		}
		return append(dst, Event{ID: r.Last, Type: Move, Event: v}), nil
	}
	first := len(dst)
	dst, err := r.set.appendCrossings(ctx, dst, v, &r.by)
	if err != nil {
		return dst[:first], err
	}
	for i := range dst[first:] {
		e := &dst[first+i]
		if e.ID = (ID{v.Seq, i + 1}); first+i+1 == len(dst) {
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
