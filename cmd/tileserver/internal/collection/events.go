package collection

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/datasets"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/internal/jsontext"
	"quadrille/places/points"
	"quadrille/tiles"
)

const (
	// heartbeat is how often a stream says something, so that proxies keep it open and
	// clients that are gone are noticed. So are keys that have been revoked.
	heartbeat = 15 * time.Second
	// takeTimeout is how long a client may take to read what it has been sent.
	takeTimeout = 30 * time.Second
)

// errStop ends a Follow that has told enough.
var errStop = errors.New("stop")

// getEvents answers GET /points/{collection}/events: the moves of points as server-sent
// events, or those across fences.
func (s *Room) getEvents(c echo.Context) error {
	path, err := web.PathParams(c)
	if err != nil {
		return err
	}
	l, err := s.toFollow(c, path[0])
	if err != nil {
		return err
	}
	r := c.Request()
	q := web.QueryParams(r)
	e := &eventStream{s: s, c: c, live: l, fences: readFences(&q)}
	last := r.Header.Get("Last-Event-ID")
	given := q.Has("last_event_id")
	if text := q.Text("last_event_id", 64); last == "" { // browsers send the header when they connect again
		last = text
	}
	if q.Err == nil && (given || last != "") && !e.last.parse(last) {
		q.Refuse("last_event_id", "Send the id of the last event as it was received, or none to begin with the next event.")
	}
	if q.Err != nil {
		return q.Err
	}
	if len(e.fences.types) > 0 {
		err = e.withBoundaries(func(b datasets.Boundaries) error { return e.fences.check(r.Context(), b) })
	}
	if err == nil {
		err = e.begin(last != "")
	}
	if err != nil {
		return err
	}
	return e.run()
}

// toFollow returns a collection whose events whoever sent the request may read.
func (s *Room) toFollow(c echo.Context, name string) (*points.LiveCollection, error) {
	pin := s.Collections.Pin(name)
	defer pin.Release()
	from, err := pin.Get()
	if err != nil {
		return nil, err
	}
	if !s.mayRead(c, name, from.Meta()) {
		return nil, points.ErrNoCollection
	}
	if pin.Live == nil {
		return nil, web.Refuse(points.ErrNoCollection, "", "Only live collections have events; this one was published by ingest.")
	}
	return pin.Live, nil
}

// eventID is the id of a server-sent event: the sequence of a move, and of all but the
// last crossing of a move how many came before it, so that a stream that breaks between
// two of them goes on with the second.
type eventID struct {
	seq  uint64
	sent int // crossings of seq that have been received; 0 is all
}

func (id *eventID) parse(text string) bool {
	seq, sent, some := strings.Cut(text, ".")
	var err error
	if id.seq, err = strconv.ParseUint(seq, 10, 63); err != nil || id.seq == 0 {
		return false
	}
	if some {
		id.sent, err = strconv.Atoi(sent)
		return err == nil && id.sent > 0 && id.sent <= 4*maxFences
	}
	return true
}

func (id eventID) append(dst []byte) []byte {
	dst = strconv.AppendUint(dst, id.seq, 10)
	if id.sent > 0 {
		dst = strconv.AppendInt(append(dst, '.'), int64(id.sent), 10)
	}
	return dst
}

// eventStream is a stream of events that is being answered.
type eventStream struct {
	s      *Room
	c      echo.Context
	rc     *http.ResponseController
	live   *points.LiveCollection
	fences fences
	last   eventID // that the client has, or is about to

	crossed []crossing
	out     []byte
}

// withBoundaries calls fn with the boundaries in service.
func (e *eventStream) withBoundaries(fn func(datasets.Boundaries) error) error {
	p := datasets.Pin(e.s.Boundaries)
	defer p.Release()
	b, err := p.Get()
	if err != nil {
		return err
	}
	return fn(b)
}

// begin refuses a stream whose events are gone, and finds out where a new one begins.
func (e *eventStream) begin(resumed bool) error {
	if !resumed {
		seq, err := e.live.LastEvent(e.c.Request().Context())
		e.last = eventID{seq: seq}
		return err
	}
	over, cancel := context.WithCancel(e.c.Request().Context())
	cancel()
	if err := e.live.Follow(over, e.after(), func(*points.Event) error { return errStop }); errors.Is(err, points.ErrEventsGone) || errors.Is(err, points.ErrClosed) {
		return err
	}
	return nil
}

// after is the sequence of the last event that the client has whole.
func (e *eventStream) after() uint64 {
	if e.last.sent > 0 {
		return e.last.seq - 1
	}
	return e.last.seq
}

// run sends events until the client or the collection is gone, the client's key loses the
// right to read it, or the server stops. What else goes wrong ends the stream, too: the
// client connects again and is told then.
func (e *eventStream) run() error {
	ctx, cancel := context.WithCancel(e.c.Request().Context())
	defer cancel()
	e.rc = http.NewResponseController(e.c.Response().Writer)
	_ = e.rc.SetReadDeadline(time.Time{}) // a writer without deadlines is a test's
	h := e.c.Response().Header()
	e.s.CommonHeaders(h, web.Answer{Cache: web.PrivateNoStore}, false)
	h["Content-Type"] = []string{"text/event-stream"}
	h["X-Content-Type-Options"] = web.NoSniff
	h["X-Accel-Buffering"] = []string{"no"} // nginx would collect events
	e.c.Response().WriteHeader(http.StatusOK)
	if e.beat() != nil {
		return nil
	}
	events, failed := make(chan *points.Event), make(chan error, 1)
	go func() {
		failed <- e.live.Follow(ctx, e.after(), func(v *points.Event) error {
			select {
			case events <- v:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	tick := time.NewTicker(e.s.heartbeat)
	defer tick.Stop()
	for {
		var err error
		select {
		case v := <-events:
			err = e.tell(ctx, v)
		case <-tick.C:
			if !e.s.mayRead(e.c, e.live.Meta().Name, e.live.Meta()) {
				return nil
			}
			err = e.beat()
		case err = <-failed:
			if ctx.Err() == nil && !errors.Is(err, points.ErrClosed) {
				e.s.LogFailure(e.c, err)
			}
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

// beat tells the client where the stream is. Without it a client that hears of no crossing
// for long would ask for events that are gone.
func (e *eventStream) beat() error {
	e.out = append(e.out, ":\n"...)
	if e.last.seq != 0 {
		e.out = append(e.last.append(append(e.out, "id: "...)), '\n')
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

// tell sends what a move is.
func (e *eventStream) tell(ctx context.Context, v *points.Event) error {
	sent := 0
	if v.Seq == e.last.seq {
		sent = e.last.sent
	}
	if e.fences.none() {
		e.last = eventID{seq: v.Seq}
		e.append(v, "move", "")
		return e.flush()
	}
	var err error
	e.crossed, err = e.fences.crossings(e.crossed[:0], v, func(lon, lat float64) (at []tiles.Region, err error) {
		err = e.withBoundaries(func(b datasets.Boundaries) error {
			at, err = b.At(ctx, lat, lon, e.fences.types...)
			return err
		})
		return at, err
	})
	if err != nil {
		if ctx.Err() == nil {
			e.s.LogFailure(e.c, err)
		}
		return err
	}
	for i := sent; i < len(e.crossed); i++ {
		if e.last = (eventID{v.Seq, i + 1}); i+1 == len(e.crossed) {
			e.last.sent = 0
		}
		name := "leave"
		if e.crossed[i].enters {
			name = "enter"
		}
		e.append(v, name, e.crossed[i].fence)
	}
	e.last = eventID{seq: v.Seq}
	if len(e.out) == 0 {
		return nil
	}
	return e.flush()
}

// append appends an event.
func (e *eventStream) append(v *points.Event, name, fence string) {
	b := append(e.last.append(append(e.out, "id: "...)), "\nevent: "...)
	b = jsontext.AppendString(append(append(b, name...), "\ndata: {\"id\":"...), v.ID)
	if fence != "" {
		b = jsontext.AppendString(append(b, `,"fence":`...), fence)
	}
	if fence == "" && v.From != nil {
		b = append(appendPosition(append(b, `,"from":{`...), v.From), '}')
	}
	if v.To != nil {
		b = appendPosition(append(b, ','), v.To)
	} else {
		b = append(b, `,"gone":true`...)
	}
	if v.Expired {
		b = append(b, `,"expired":true`...)
	}
	b = strconv.AppendInt(append(b, `,"version":`...), v.Version, 10)
	e.out = append(b, "}\n\n"...)
}

// appendPosition appends the members lat and lon.
func appendPosition(dst []byte, p *[2]float64) []byte {
	dst = strconv.AppendFloat(append(dst, `"lat":`...), p[1], 'f', -1, 64)
	return strconv.AppendFloat(append(dst, `,"lon":`...), p[0], 'f', -1, 64)
}
