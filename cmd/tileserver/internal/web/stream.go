package web

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/labstack/echo/v4"
)

const (
	// streamBuffer is how much is written at once, in bytes.
	streamBuffer = 32 << 10
	// streamStall is how long a client may take nothing.
	streamStall = 30 * time.Second
)

// Stream is an answer of lines whose number nobody knows. What it takes of memory does
// not depend on it.
type Stream struct {
	// Body is what has not been written. Lines are appended to it.
	Body []byte

	kit   *Kit
	c     echo.Context
	rc    *http.ResponseController
	zip   *gzip.Writer // nil for lines as they are
	begun bool         // the header is out
}

// errGone means that nothing can be written any more.
var errGone = errors.New("the client is gone")

// Stream answers with the lines that fill writes, calling Line after each, within a
// time. The answer is never kept. An error before the first write is answered as any
// other. One after it cuts the connection, so that the client knows that lines are
// missing.
func (s *Kit) Stream(c echo.Context, most time.Duration, fill func(ctx context.Context, out *Stream) error) error {
	if !s.beginStream() {
		return ErrBusy
	}
	defer s.streams.Add(-1)
	ctx, cancel := context.WithTimeout(c.Request().Context(), most)
	defer cancel()
	memory := GetScratch()
	out := &Stream{Body: memory.Body, kit: s, c: c, rc: http.NewResponseController(c.Response().Writer)}
	defer func() {
		memory.Body = out.Body
		memory.Release()
		if out.zip != nil {
			GzipWriters[Once].Put(out.zip)
		}
	}()
	var err error
	if c.Request().Method != http.MethodHead {
		err = fill(ctx, out)
	}
	if err == nil {
		err = out.finish()
	}
	switch {
	case err == nil:
		return nil
	case !out.begun:
		return err
	case !errors.Is(err, errGone) && c.Request().Context().Err() == nil:
		if k := s.KindOf(s.Replaced(err)); k.Status >= http.StatusInternalServerError && !k.Expected {
			s.LogFailure(c, err)
		}
	}
	panic(http.ErrAbortHandler)
}

// Line ends a line, and writes when there is enough. Its error ends the answer.
func (o *Stream) Line() error {
	if o.Body = append(o.Body, '\n'); len(o.Body) < streamBuffer {
		return nil
	}
	return o.write()
}

func (o *Stream) begin() {
	o.begun = true
	r := o.c.Request()
	h := o.c.Response().Header()
	o.kit.CommonHeaders(h, Answer{Form: FormNDJSON, Cache: NoStore}, true)
	h["Content-Type"] = ContentTypes[FormNDJSON]
	h["X-Content-Type-Options"] = NoSniff
	if PreferStream.Of(r) == Gzipped {
		h["Content-Encoding"] = ContentEncodings[Gzipped]
		if r.Method != http.MethodHead {
			o.zip = GzipWriters[Once].Get().(*gzip.Writer)
			o.zip.Reset(o.c.Response())
		}
	}
	o.c.Response().WriteHeader(http.StatusOK)
}

// write sends what there is, at least the header.
func (o *Stream) write() error {
	if !o.begun {
		o.begin()
	}
	_ = o.rc.SetWriteDeadline(time.Now().Add(streamStall)) // a writer without deadlines is a test's
	var err error
	if o.zip != nil {
		_, err = o.zip.Write(o.Body)
	} else if len(o.Body) > 0 {
		_, err = o.c.Response().Write(o.Body)
	}
	o.Body = o.Body[:0]
	if err == nil {
		err = o.rc.Flush()
	}
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		return errGone
	}
	return nil
}

func (o *Stream) finish() error {
	err := o.write()
	if err == nil && o.zip != nil && o.zip.Close() != nil {
		err = errGone
	}
	return err
}
