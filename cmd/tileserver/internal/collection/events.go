package collection

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"quadrille/ask/fence"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/follow"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/internal/jsontext"
	"quadrille/places/live"
)

const (
	// heartbeat is the interval at which an idle stream sends something. It makes proxies keep the
	// stream open, and reveals which clients have disconnected and which keys have been revoked.
	heartbeat = 15 * time.Second
	// takeTimeout bounds how long a client may take to read the events sent.
	takeTimeout = 30 * time.Second
	// flushSize is the number of bytes that are buffered before they are sent.
	flushSize = 64 << 10
)

// getEvents answers GET /points/{collection}/events: the moves of points, or only those across
// fences, as server-sent events.
func (s *Handlers) getEvents(c echo.Context, q *endpoint.Params) error {
	path, err := endpoint.PathParams(c)
	if err != nil {
		return err
	}
	l, err := s.toFollow(c, path[0])
	if err != nil {
		return err
	}
	r := c.Request()
	e := &eventStream{s: s, c: c, live: l, fences: follow.ReadFences(q)}
	last := r.Header.Get("Last-Event-ID")
	given := lastEventIDParam.Given(q)
	if text := lastEventIDParam.Of(q); last == "" { // browsers send the header when they connect again
		last = text
	}
	var ok bool
	if e.last, ok = fence.ParseID(last); q.Err == nil && (given || last != "") && !ok {
		q.Refuse("last_event_id", "Send the id of the last event as it was received, or none to begin with the next event.")
	}
	if q.Err != nil {
		return q.Err
	}
	if err := follow.CheckRegions(r.Context(), &e.fences, s.Views); err != nil {
		return err
	}
	if err := e.begin(last != ""); err != nil {
		return err
	}
	return e.run()
}

// toFollow returns the collection of a request whose sender may read its events.
func (s *Handlers) toFollow(c echo.Context, name string) (*live.Collection, error) {
	v := s.Views.Take(s.Clock())
	defer v.Release()
	pin := v.Collection(name)
	from, err := pin.Get()
	if err != nil {
		return nil, s.unread(c, name, err)
	}
	if !s.mayRead(c, name, from.Meta()) {
		return nil, live.ErrNoCollection
	}
	if pin.Live == nil {
		return nil, endpoint.Refuse(live.ErrNoCollection, "", "Only live collections have events; this one was published by ingest.")
	}
	return pin.Live, nil
}

// eventStream is the state of an answer with a stream of events.
type eventStream struct {
	s      *Handlers
	c      echo.Context
	rc     *http.ResponseController
	live   *live.Collection
	fences fence.Set
	last   fence.ID // the last event that the client has

	events []fence.Event
	out    []byte
}

// begin refuses a stream whose events are no longer stored, and determines where a new stream
// begins.
func (e *eventStream) begin(resumed bool) error {
	if !resumed {
		seq, err := e.live.LastEvent(e.c.Request().Context())
		e.last = fence.ID{Seq: seq}
		return err
	}
	return e.live.CheckEventsAfter(e.c.Request().Context(), e.last.CompletedSeq())
}

// run sends events until the client disconnects, the collection is dropped, the key may no longer
// read it, or the server stops. Any other failure also ends the stream: the client connects again
// and then learns why.
func (e *eventStream) run() error {
	ctx := e.s.WithClientOf(e.c.Request().Context(), e.c)
	e.rc = http.NewResponseController(e.c.Response().Writer)
	_ = e.rc.SetReadDeadline(time.Time{}) // only a test's writer has no deadlines
	h := e.c.Response().Header()
	h["Cache-Control"] = web.PrivateNoStore
	h["Content-Type"] = []string{"text/event-stream"}
	h["X-Content-Type-Options"] = []string{"nosniff"}
	h["X-Accel-Buffering"] = []string{"no"} // nginx would collect events
	e.c.Response().WriteHeader(http.StatusOK)
	if e.c.Request().Method == http.MethodHead || e.beat() != nil {
		return nil
	}
	from := follow.NewReader(&e.fences, e.live, e.last, e.s.Views, e.s.CPUScheduler)
	tick := time.NewTicker(e.s.heartbeat)
	defer tick.Stop()
	for {
		var err error
		select {
		case <-from.Changed():
			err = e.tell(ctx, from)
		case <-tick.C:
			if !e.s.mayRead(e.c, e.live.Meta().Name, e.live.Meta()) {
				return nil
			}
			err = e.beat()
		case <-e.live.Done():
			return nil
		case <-ctx.Done():
			return nil
		case <-e.s.Draining:
			return nil
		}
		if err != nil {
			return nil // the header is out
		}
	}
}

// beat sends the client the position of the stream. Otherwise a client that gets no crossing for a
// long time would later request events that are no longer stored.
func (e *eventStream) beat() error {
	e.out = append(e.out, ":\n"...)
	if e.last.Seq != 0 {
		e.out = append(e.last.Append(append(e.out, "id: "...)), '\n')
	}
	e.out = append(e.out, '\n')
	return e.flush()
}

func (e *eventStream) flush() error {
	_ = e.rc.SetWriteDeadline(time.Now().Add(takeTimeout)) // as above
	_, err := e.c.Response().Write(e.out)
	if e.out = e.out[:0]; err != nil {
		return err
	}
	if err := e.rc.Flush(); !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

// tell sends the new events.
func (e *eventStream) tell(ctx context.Context, from *follow.Reader) error {
	var failed error
	if e.events, failed = from.Append(ctx, e.events[:0]); failed != nil && ctx.Err() == nil && !errors.Is(failed, live.ErrClosed) {
		e.s.LogFailure(e.c, failed)
	}
	for i := range e.events {
		if e.append(&e.events[i]); len(e.out) >= flushSize {
			if err := e.flush(); err != nil {
				return err
			}
		}
	}
	if e.last = from.Last; len(e.out) > 0 {
		if err := e.flush(); err != nil {
			return err
		}
	}
	return failed
}

// append appends an event.
func (e *eventStream) append(v *fence.Event) {
	b := append(v.ID.Append(append(e.out, "id: "...)), "\nevent: "...)
	b = jsontext.AppendString(append(append(b, v.Type...), "\ndata: {\"id\":"...), v.Event.ID)
	e.out = append(follow.AppendMembers(b, v), "}\n\n"...)
}
