package collection

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/internal/jsontext"
	"quadrille/places/live"
	"quadrille/places/points"
)

// These are bounds of the lines that are written together.
const (
	maxLines     = 1000
	maxLineBytes = 1 << 20 // of the text of all
)

// A batch without a valid line gets an error status. Therefore refusals are not sent until a line
// has been accepted.
const (
	maxUntaken  = 2 << 20                // bytes of refusals, after which the batch ends
	untakenWait = 500 * time.Millisecond // for how long, where the client may wait for them
)

// postLines answers POST /points/{collection} with a write in each line of the body.
func (s *Handlers) postLines(c echo.Context, _ *endpoint.Params) error {
	l, _, err := s.toWrite(c)
	if err != nil {
		return err
	}
	b := &batch{
		Batch: s.NewBatch(c, s.Batch), s: s, live: l, chunk: new(chunk),
		queue: make(chan *chunk, 1),
		// The context of the request ends when the client closes its half of the connection. A
		// client may do this after sending the whole body.
		ctx:    context.WithoutCancel(c.Request().Context()),
		turn:   s.CPUScheduler.Turn(s.ClientOf(c)),
		length: c.Request().ContentLength,
	}
	defer b.Release()
	b.LineBytes, b.NoneTaken, b.Sample = maxBody, true, sampleLine
	b.Answer, b.Wait, b.Refuse = b.answer, b.wait, b.refuse
	return b.Run()
}

// batch is a batch of writes. One goroutine reads lines into a chunk while another writes and
// answers the previous chunk.
type batch struct {
	*web.Batch
	s    *Handlers
	live *live.Collection
	ctx  context.Context

	chunk   *chunk // the chunk that is being filled
	waiting bool   // the last chunk was queued because there was nothing to read

	turn *web.Turn // for reading lines

	length int64 // of the body by the client's header, -1 if unknown

	queue chan *chunk
	err   error           // why no more is written
	at    int64           // the line that err is about
	ended <-chan struct{} // closed when writeAll has ended, be it by a panic
}

// chunk has lines that are written together.
type chunk struct {
	lines    []line
	text     []byte
	writes   []live.Write
	outcomes []live.Outcome
}

// line is a line that is to be answered.
type line struct {
	number int64
	id     string
	write  int   // its index among the writes
	err    error // why there is no write
	// ignored is a member that gives a time.
	ignored string
}

// answer reads all lines.
func (b *batch) answer() (err error) {
	var wait func()
	b.ended, wait = beside(b.writeAll)
	defer func() {
		close(b.queue)
		if wait(); b.err != nil {
			err = b.err
		}
	}()
	defer b.turn.Pause() // before writeAll is waited for
	ended := b.Each(points.ErrInvalidPoint, func(text []byte, refused error) error {
		switch {
		case refused != nil:
			b.add(line{err: refused})
		case len(text) > 0: // blank lines need no answer: answers have the numbers of their lines
			b.read(text)
		}
		if len(b.chunk.lines) >= maxLines || len(b.chunk.text) >= maxLineBytes {
			return b.enqueue()
		}
		return nil
	})
	return cmp.Or(b.enqueue(), ended)
}

// read adds the write in a line.
func (b *batch) read(text []byte) {
	b.turn.Step()
	c := b.filling()
	from := len(c.text)
	c.text = append(c.text, text...)
	var w live.Write
	ignored, err := readChange(c.text[from:len(c.text):len(c.text)], formLine, b.live.Now(), &w)
	if err != nil {
		b.add(line{id: w.ID, err: err})
		return
	}
	c.writes = append(c.writes, w)
	b.add(line{id: w.ID, write: len(c.writes) - 1, ignored: ignored})
}

func (b *batch) add(l line) {
	l.number = b.Line
	c := b.filling()
	c.lines = append(c.lines, l)
}

// filling returns the chunk to which lines are added: the last one in the queue, if its
// writing has not begun.
func (b *batch) filling() *chunk {
	if b.waiting {
		b.waiting = false
		select {
		case b.chunk = <-b.queue:
		default:
		}
	}
	return b.chunk
}

// enqueue queues the chunk for writing.
func (b *batch) enqueue() error {
	if len(b.chunk.lines) == 0 {
		return nil
	}
	b.turn.Pause()
	select {
	case b.queue <- b.chunk:
		b.chunk = new(chunk)
		return nil
	case <-b.ended: // writeAll has ended early: err says why, or its panic is raised where it is waited for
		return cmp.Or(b.err, web.ErrGone)
	}
}

// wait is called before the batch waits for more of the body. The previous lines must be answered
// now, because the client may wait for the answers before it sends more. The chunk can still grow
// until its writing begins.
func (b *batch) wait() error {
	b.turn.Pause()
	select {
	case <-b.ended:
		return cmp.Or(b.err, web.ErrGone)
	default:
	}
	if len(b.chunk.lines) == 0 {
		return nil
	}
	err := b.enqueue()
	b.waiting = err == nil
	return err
}

// writeAll writes and answers chunks until there are no more.
func (b *batch) writeAll() {
	for {
		var c *chunk
		var open bool
		select {
		case c, open = <-b.queue:
		default:
			if c, open = b.untaken(); c == nil && open {
				if b.err = b.Flush(); b.err == nil {
					c, open = <-b.queue
				}
			}
		}
		if !open {
			return
		}
		if b.err == nil {
			b.err = b.write(c)
		}
		if b.err != nil {
			return
		}
	}
}

// untaken waits for the next chunk while no line has been accepted. After untakenWait it returns no
// chunk: then the refusals must be sent, because the client may wait for them before it sends more.
// A client that sent a Content-Length does not wait for them.
func (b *batch) untaken() (c *chunk, open bool) {
	if !b.NoneTaken {
		return nil, true
	}
	var end <-chan time.Time
	if len(b.Body) > 0 && b.length < 0 {
		end = time.After(untakenWait)
	}
	select {
	case c, open = <-b.queue:
		return c, open
	case <-end:
		b.NoneTaken = false
		return nil, true
	}
}

// write writes the points of a chunk and answers its lines.
func (b *batch) write(c *chunk) error {
	b.at = c.lines[0].number
	if len(c.writes) > 0 {
		c.outcomes = make([]live.Outcome, len(c.writes))
		ctx, cancel := context.WithTimeout(b.ctx, b.s.Timeout)
		defer cancel()
		if err := b.live.Write(ctx, c.writes, c.outcomes); err != nil {
			return err
		}
	}
	for i := range c.lines {
		l := &c.lines[i]
		b.at = l.number
		var w *live.Write
		var o *live.Outcome
		if l.err == nil {
			w, o = &c.writes[l.write], &c.outcomes[l.write]
			l.err = o.Err
		}
		if l.err != nil {
			err := b.s.Translate(refusal(l.err))
			k, _ := b.s.Classify(err)
			if k.Status >= http.StatusInternalServerError {
				return err
			}
			b.NoneTaken = b.NoneTaken && k.Status == http.StatusBadRequest
			b.appendRefusal(l.number, l.id, err)
			continue
		}
		b.NoneTaken = false
		b.Body = strconv.AppendInt(append(b.Body, `{"line":`...), l.number, 10)
		b.Body = jsontext.AppendString(append(b.Body, `,"id":`...), l.id)
		b.Body = strconv.AppendInt(append(b.Body, `,"status":`...), int64(statusOf(w, o)), 10)
		b.Body = strconv.AppendInt(append(b.Body, `,"version":`...), o.Version, 10)
		b.Body = append(jsontext.AppendText(b.Body, "ignored", l.ignored), "}\n"...)
	}
	switch {
	case !b.NoneTaken:
		return b.WriteIfFull()
	case len(b.Body) > maxUntaken:
		return endpoint.Refuse(endpoint.ErrLine, "",
			"None of the first "+strconv.FormatInt(b.at, 10)+" lines was taken, and no more were read. Write a Feature in each, such as "+sampleLine)
	}
	return nil
}

// statusOf returns the status that the same write would get as a single request.
func statusOf(w *live.Write, o *live.Outcome) int {
	switch {
	case o.Created:
		return http.StatusCreated
	case w.Kind == live.Delete:
		return http.StatusNoContent
	}
	return http.StatusOK
}

// refuse ends the answer with the reason why the remaining lines are not written.
func (b *batch) refuse(err error) {
	at := b.Line
	if b.err != nil {
		at = b.at
	}
	b.appendRefusal(at, "", err)
}

func (b *batch) appendRefusal(number int64, id string, err error) {
	_, p := b.s.Classify(err)
	b.Body = strconv.AppendInt(append(b.Body, `{"line":`...), number, 10)
	if id != "" {
		b.Body = jsontext.AppendString(append(b.Body, `,"id":`...), id)
	}
	b.Body = strconv.AppendInt(append(b.Body, `,"status":`...), int64(p.Status), 10)
	b.Body = jsontext.AppendString(append(b.Body, `,"type":`...), p.Type)
	b.Body = jsontext.AppendString(append(b.Body, `,"detail":`...), p.Detail+b.JoinedAdvice(number))
	b.Body = append(b.Body, "}\n"...)
}

// beside runs fn in a goroutine of a request. If fn panics, wait panics with the same value in the
// goroutine that calls it: the server recovers from panics of handlers, and must recover from this
// one too. wait may be called once done is closed; before that, it waits.
func beside(fn func()) (done <-chan struct{}, wait func()) {
	ended := make(chan struct{})
	var panicked any
	go func() {
		defer close(ended)
		defer func() { panicked = recover() }()
		fn()
	}()
	return ended, func() {
		if <-ended; panicked != nil {
			panic(panicked)
		}
	}
}
