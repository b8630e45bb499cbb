package httpapi

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
)

// answer describes a response that is not kept in the cache.
type answer struct {
	form  form
	tag   *tag     // nil for answers that must not be revalidated
	cache []string // Cache-Control
	// byAccept says that the Accept header chose the form.
	byAccept bool
	// coding is what the client takes; small bodies stay uncompressed, and
	// then do not vary with it.
	coding coding
}

// scratch is memory reused from request to request.
type scratch struct {
	body   []byte
	packed bytes.Buffer
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// maxScratch is the largest buffer worth keeping between requests.
const maxScratch = 1 << 20

func getScratch() *scratch { return scratches.Get().(*scratch) }

func (b *scratch) release() {
	if cap(b.body) > maxScratch || b.packed.Cap() > maxScratch {
		return
	}
	b.body = b.body[:0]
	b.packed.Reset()
	scratches.Put(b)
}

// reply answers with what fill writes, within the time a request may take.
//
// from are the generations the answer is made from. It may be kept, under an
// entity tag of them and the address, and a client that has it already is told
// so before anything is read. An answer that depends on more than those, such as
// the time of day, is from nil and must not be kept.
func (s *kit) reply(c echo.Context, a answer, from []uint64, fill func(ctx context.Context, out *scratch) error) error {
	r := c.Request()
	a.coding = accepted(r)
	if from == nil {
		a.cache = noStore
	} else {
		a.cache = s.cacheControl
		etag := s.requestTag(r, a, from...)
		a.tag = &etag
		s.traceFrom(r.Context(), from...)
		if matches(r, a.tag, false) {
			return s.notModified(c, a)
		}
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.timeout)
	defer cancel()
	out := getScratch()
	defer out.release()
	ctx, end := s.traceRead(ctx)
	err := fill(ctx, out)
	end()
	if err != nil {
		return err
	}
	return s.send(c, a, out)
}

// send writes an answer whose body is in b.
func (s *kit) send(c echo.Context, a answer, b *scratch) error {
	if a.tag != nil && matches(c.Request(), a.tag, true) {
		return s.notModified(c, a) // "*": by now it is known to exist
	}
	return s.sendStatus(c, http.StatusOK, a, b)
}

// sendStatus writes an answer with a status.
func (s *kit) sendStatus(c echo.Context, status int, a answer, b *scratch) error {
	body := b.body
	res := c.Response()
	h := res.Header()
	if a.coding != identity && len(body) >= compressFrom {
		b.packed.Reset()
		compress(&b.packed, body, a.coding, once)
		body = b.packed.Bytes()
		h["Content-Encoding"] = contentEncodings[a.coding]
	}
	if a.form == formScript || a.form == formText {
		h["X-Content-Type-Options"] = noSniff
	}
	h["Content-Type"] = contentTypes[a.form]
	h["Content-Length"] = lengthHeader(len(body))
	s.commonHeaders(h, a, len(b.body) >= compressFrom)
	res.WriteHeader(status)
	return write(c, body)
}

// lengths are the values of Content-Length of small bodies. Most answers about
// addresses are, and are so quick to make that these would be felt.
var lengths = func() (all [2 << 10][]string) {
	for i := range all {
		all[i] = []string{strconv.Itoa(i)}
	}
	return all
}()

// lengthHeader returns the value of Content-Length, not to be changed.
func lengthHeader(n int) []string {
	if n < len(lengths) {
		return lengths[n]
	}
	return []string{strconv.Itoa(n)}
}

// notModified answers 304, with the headers RFC 9110 wants repeated. Whether
// the body would have been large is not known without reading it.
func (s *kit) notModified(c echo.Context, a answer) error {
	s.commonHeaders(c.Response().Header(), a, !a.form.picture())
	c.Response().WriteHeader(http.StatusNotModified)
	return nil
}

// commonHeaders sets what every answer has; large says whether its body is, or
// may be, large enough to be compressed.
func (s *kit) commonHeaders(h http.Header, a answer, large bool) {
	if s.origin != nil {
		h["Access-Control-Allow-Origin"] = s.origin
	}
	h["Cache-Control"] = s.cacheOf(h, a.cache)
	switch {
	case a.byAccept && large:
		h["Vary"] = varyAcceptEncoding
	case a.byAccept:
		h["Vary"] = varyAccept
	case large:
		h["Vary"] = varyEncoding
	}
	if a.tag != nil {
		h["Etag"] = []string{string(a.tag[:])}
	}
}

// finish makes a response that can be kept: the body compressed once if that
// pays, and copied to its own memory.
func finish(body []byte, f form, cd coding, t *tag) *finished {
	res := &finished{form: f, large: len(body) >= compressFrom && !f.picture()}
	if t != nil {
		res.etag = []string{string(t[:])}
	}
	if len(body) == 0 {
		return res
	}
	if cd != identity && res.large {
		b := getScratch()
		defer b.release()
		compress(&b.packed, body, cd, kept)
		body = b.packed.Bytes()
		res.encoding = contentEncodings[cd]
	}
	res.body = append(make([]byte, 0, len(body)), body...)
	res.length = []string{strconv.Itoa(len(body))}
	return res
}

// vary is the value of the Vary header, nil for none.
func (f *finished) vary() []string {
	switch {
	case f.byAccept && f.large:
		return varyAcceptEncoding
	case f.byAccept:
		return varyAccept
	case f.large:
		return varyEncoding
	}
	return nil
}

// sendFinished writes a kept response: header values that exist already, and
// one Write.
func (s *kit) sendFinished(c echo.Context, f *finished) error {
	return s.sendKept(c, f, s.cacheControl)
}

// keptHeaders sets the headers of a kept answer that do not depend on its body.
func (s *kit) keptHeaders(h http.Header, f *finished, cache []string) {
	if s.origin != nil {
		h["Access-Control-Allow-Origin"] = s.origin
	}
	h["Cache-Control"] = s.cacheOf(h, cache)
	if vary := f.vary(); vary != nil {
		h["Vary"] = vary
	}
	if f.etag != nil {
		h["Etag"] = f.etag
	}
}

// sendKept is sendFinished with another Cache-Control.
func (s *kit) sendKept(c echo.Context, f *finished, cache []string) error {
	res := c.Response()
	h := res.Header()
	s.keptHeaders(h, f, cache)
	h["Content-Type"] = contentTypes[f.form]
	h["Content-Length"] = f.length
	if f.encoding != nil {
		h["Content-Encoding"] = f.encoding
	}
	res.WriteHeader(http.StatusOK)
	return write(c, f.body)
}

// A large body is written in pieces, each of which the client must take in
// time: one that stops reading holds its place among the running requests, and
// its body, no longer than that.
const (
	pieceSize  = 256 << 10
	stallLimit = 10 * time.Second
)

// write sends a body unless only the header was asked for. Its error means
// that the client is gone, which nothing can be done about.
func write(c echo.Context, body []byte) error {
	if c.Request().Method == http.MethodHead {
		return nil
	}
	res := c.Response()
	if len(body) > pieceSize {
		rc := http.NewResponseController(res.Writer)
		for ; len(body) > pieceSize; body = body[pieceSize:] {
			// A writer without deadlines is a test's.
			_ = rc.SetWriteDeadline(time.Now().Add(stallLimit))
			if _, err := res.Write(body[:pieceSize]); err != nil {
				return nil //nolint:nilerr // see above
			}
		}
	}
	_, _ = res.Write(body)
	return nil
}
