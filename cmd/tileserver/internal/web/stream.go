package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/labstack/echo/v4"
)

const (
	// streamBuffer is the number of bytes that are written at once.
	streamBuffer = 32 << 10
	// streamStall bounds how long a client of a stream may neither send nor read anything.
	streamStall = 30 * time.Second
)

// Stream is an answer in lines whose number is not known in advance. Its memory does not depend on
// their number.
type Stream struct {
	// Body is the part of the answer that has not been written yet. Lines are appended to it.
	Body []byte

	kit    *Kit
	c      echo.Context
	rc     *http.ResponseController
	answer Answer
	zip    *gzip.Writer // nil for lines as they are
	begun  bool         // the header is out
	reset  resettable   // the connection, if the answer ends with it; nil otherwise
	// turn is the right to use a processor of the CPUScheduler while the answer is made, or nil if none
	// is needed. It pauses while lines are written, because the client may be slow.
	turn *Turn
	wait context.Context // for the next turn
}

// begin prepares an answer, in the memory of an earlier one. The caller calls release.
func (o *Stream) begin(s *Kit, c echo.Context, a Answer) {
	*o = Stream{Body: o.Body[:0], kit: s, c: c, rc: http.NewResponseController(c.Response().Writer), answer: a}
}

// release releases the resources of the answer, except the memory of Body. It closes the connection
// of an incomplete answer.
func (o *Stream) release() {
	if o.reset != nil {
		_ = o.reset.Close() // before TLS says that all is sent
	}
	if o.turn != nil {
		o.turn.Pause()
	}
	if o.zip != nil {
		gzipWriters[once].Put(o.zip)
	}
	*o = Stream{Body: o.Body[:0]}
}

// Full reports whether Body has enough bytes to write.
func (o *Stream) Full() bool { return len(o.Body) >= streamBuffer }

func (o *Stream) writeHeader() {
	o.begun = true
	r := o.c.Request()
	h := o.c.Response().Header()
	h["Content-Type"] = forms[o.answer.Format].header
	h["X-Content-Type-Options"] = noSniff
	if preferStream.Of(r) == gzipped && !o.answer.Format.isPacked() {
		h["Content-Encoding"] = contentEncodings[gzipped]
		if r.Method != http.MethodHead {
			o.zip = gzipWriters[once].Get().(*gzip.Writer)
			o.zip.Reset(o.c.Response())
		}
	}
	o.kit.headers(h, &o.answer, !o.answer.Format.isPacked(), o.answer.Tag.header())
	o.c.Response().WriteHeader(cmp.Or(o.answer.Status, http.StatusOK))
	if r.ProtoMajor == 1 && r.ProtoMinor == 0 && r.Method != http.MethodHead {
		o.reset = resettableOf(r)
	}
}

// These errors end an answer at its first write, when it is known that the answer exists.
var (
	// errUnchanged is matched if the client already has the answer according to its date.
	errUnchanged = errors.New("the client has the answer")
	// errHeaderOnly is matched if the request is for the header only.
	errHeaderOnly = errors.New("the client asked for the header only")
)

// write writes the header, if it was not written before, and Body. The error is ErrGone,
// errUnchanged, which replaces the header, or errHeaderOnly, which follows it.
func (o *Stream) write() error {
	if !o.begun {
		r := o.c.Request()
		if unchangedSince(r, o.answer.dated) {
			return errUnchanged
		}
		if o.writeHeader(); r.Method == http.MethodHead {
			return errHeaderOnly
		}
	}
	_ = o.rc.SetWriteDeadline(time.Now().Add(streamStall)) // a writer without deadlines is a test's
	if len(o.Body) == 0 {
		return nil
	}
	var err error
	if o.zip != nil {
		_, err = o.zip.Write(o.Body)
	} else {
		_, err = o.c.Response().Write(o.Body)
	}
	if o.Body = o.Body[:0]; err != nil {
		return ErrGone
	}
	return nil
}

// Flush writes Body and makes the server send it.
func (o *Stream) Flush() error {
	if len(o.Body) == 0 {
		return nil
	}
	if err := o.write(); err != nil {
		return err
	}
	if o.zip != nil && o.zip.Flush() != nil {
		return ErrGone
	}
	if err := o.rc.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return ErrGone
	}
	return nil
}

// finish writes the end of the answer.
func (o *Stream) finish() error {
	err := o.write()
	if err == nil && o.zip != nil && o.zip.Close() != nil {
		err = ErrGone
	}
	if err == nil && o.reset != nil {
		if o.rc.Flush() != nil {
			return ErrGone
		}
		_ = o.reset.SetLinger(-1) // the system sends the rest, and then the end
		o.reset = nil
	}
	return err
}

// Line ends a line, and sends the lines when there are enough. Its error ends the answer.
func (o *Stream) Line() error {
	if o.Body = append(o.Body, '\n'); o.Full() {
		return o.Send()
	}
	return nil
}

// Send writes Body to the client. It releases its processor while it writes, and waits for a
// processor afterwards.
func (o *Stream) Send() error {
	if o.turn != nil {
		o.turn.Pause()
	}
	err := o.Flush()
	if err == nil && o.turn != nil {
		err = o.turn.begin(o.wait)
	}
	return err
}

// Stream answers with the lines that fill writes, within a time limit. fill calls Line after each
// line. from has the same meaning as in Reply. An error before the first write is answered like any
// other error. A later error closes the connection, so that the client can detect that lines are
// missing.
func (s *Kit) Stream(c echo.Context, a Answer, from []uint64, most time.Duration, fill func(ctx context.Context, out *Stream) error) error {
	if !a.Format.isPacked() {
		a.Coding = preferStream.Of(c.Request())
	}
	if s.isFrom(c, &a, from); a.has(c.Request(), true) {
		return s.notModified(c, &a)
	}
	return s.stream(c, a, most, fill)
}

func (s *Kit) stream(c echo.Context, a Answer, most time.Duration, fill func(ctx context.Context, out *Stream) error) error {
	free, err := s.beginStream(c)
	if err != nil {
		return err
	}
	defer free()
	r := c.Request()
	ctx, cancel := context.WithTimeout(r.Context(), most)
	defer cancel()
	memory := GetScratch()
	defer memory.Release()
	out := &Stream{Body: memory.Body}
	out.begin(s, c, a)
	defer func() {
		out.release()
		memory.Body = out.Body
	}()
	out.turn, out.wait = &Turn{of: s.CPUScheduler, who: s.ClientOf(c)}, ctx
	if err = out.turn.begin(ctx); err == nil {
		err = fill(out.turn.in(ctx), out)
	}
	out.turn.Pause()
	if err == nil {
		err = out.finish()
	}
	switch {
	case err == nil, errors.Is(err, errHeaderOnly):
		return nil
	case errors.Is(err, errUnchanged):
		return s.notModified(c, &a)
	case !out.begun:
		return err
	case !errors.Is(err, ErrGone) && r.Context().Err() == nil:
		if k := s.kindOf(s.Translate(err)); k.Status >= http.StatusInternalServerError && !k.IsExpected {
			s.LogFailure(c, err)
		}
	}
	panic(http.ErrAbortHandler)
}
