package web

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
)

// Answer describes a response that is not kept in the cache.
type Answer struct {
	Form  Form
	Tag   Tag      // its zero value for answers that must not be revalidated
	Cache []string // Cache-Control
	// ByAccept says that the Accept header chose the form, ByLanguage that Accept-Language
	// chose the language.
	ByAccept, ByLanguage bool
	// Coding is what the client takes; small bodies stay uncompressed, and
	// then do not vary with it.
	Coding Coding
	// Base is the server's address where the body has links to it; see CarryKey.
	Base string
	// Empty is the status of an answer whose body has no bytes: 204, 200, which for a picture
	// is 204, or 404. 0 is for answers that always have some.
	Empty int
}

// etag is the tag as a header has it, nil for none.
func (a *Answer) etag() []string {
	if a.Tag == (Tag{}) {
		return nil
	}
	return []string{string(a.Tag[:])}
}

// withKey keeps an answer whose links carry a key out of caches that many share.
func (a *Answer) withKey(c echo.Context) {
	if a.Base != "" && KeyInQuery(c) {
		a.Cache = []string{privately(a.Cache[0])}
	}
}

// Scratch is memory reused from request to request.
type Scratch struct {
	Body   []byte
	packed bytes.Buffer
}

var scratches = sync.Pool{New: func() any { return new(Scratch) }}

// MaxScratch is the largest buffer worth keeping between requests.
const MaxScratch = 1 << 20

// GetScratch returns empty memory. Whoever takes it releases it.
func GetScratch() *Scratch { return scratches.Get().(*Scratch) }

// Release gives the memory back, unless it has grown too large.
func (b *Scratch) Release() {
	if cap(b.Body) > MaxScratch || b.packed.Cap() > MaxScratch {
		return
	}
	b.Body = b.Body[:0]
	b.packed.Reset()
	scratches.Put(b)
}

// Reply answers with what fill writes, within the time a request may take.
//
// from are the generations the answer is made from. It may be kept, under an
// entity tag of them and the address, and a client that has it already is told
// so before anything is read. An answer that depends on more than those, such as
// the time of day, is from nil and must not be kept.
func (s *Kit) Reply(c echo.Context, a Answer, from []uint64, fill func(ctx context.Context, out *Scratch) error) error {
	r := c.Request()
	a.Coding = Accepted(r)
	if from == nil {
		a.Cache = NoStore
	} else {
		a.Cache = s.CacheControl
		a.Tag = s.RequestTag(r, a, from...)
		s.TraceFrom(r.Context(), from...)
		if Matches(r, a.Tag, false) {
			return s.NotModified(c, a)
		}
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.Timeout)
	defer cancel()
	out := GetScratch()
	defer out.Release()
	ctx, end := s.TraceRead(ctx)
	err := fill(ctx, out)
	end()
	if err != nil {
		return err
	}
	return s.Send(c, a, out)
}

// Send writes an answer whose body is in b.
func (s *Kit) Send(c echo.Context, a Answer, b *Scratch) error {
	if a.Tag != (Tag{}) && Matches(c.Request(), a.Tag, true) {
		return s.NotModified(c, a) // "*": by now it is known to exist
	}
	if len(b.Body) == 0 && a.Empty != 0 {
		if a.Empty == http.StatusNotFound {
			return ErrNothing
		}
		s.answerHeaders(c.Response().Header(), &a, false, a.etag())
		return sendEmpty(c, &a)
	}
	return s.SendStatus(c, http.StatusOK, a, b)
}

// SendStatus writes an answer with a status.
func (s *Kit) SendStatus(c echo.Context, status int, a Answer, b *Scratch) error {
	b.Body = CarryKey(c, a.Form, a.Base, b.Body)
	a.withKey(c)
	body := b.Body
	res := c.Response()
	h := res.Header()
	if a.Coding != Identity && len(body) >= compressFrom {
		b.packed.Reset()
		compress(&b.packed, body, a.Coding, Once)
		body = b.packed.Bytes()
		h["Content-Encoding"] = ContentEncodings[a.Coding]
	}
	if a.Form == FormScript || a.Form == FormText {
		h["X-Content-Type-Options"] = NoSniff
	}
	h["Content-Type"] = ContentTypes[a.Form]
	h["Content-Length"] = LengthHeader(len(body))
	s.CommonHeaders(h, a, len(b.Body) >= compressFrom)
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

// LengthHeader returns the value of Content-Length, not to be changed.
func LengthHeader(n int) []string {
	if n < len(lengths) {
		return lengths[n]
	}
	return []string{strconv.Itoa(n)}
}

// NotModified answers 304, with the headers RFC 9110 wants repeated. Whether
// the body would have been large is not known without reading it.
func (s *Kit) NotModified(c echo.Context, a Answer) error {
	a.withKey(c)
	s.CommonHeaders(c.Response().Header(), a, !a.Form.Picture())
	c.Response().WriteHeader(http.StatusNotModified)
	return nil
}

// CommonHeaders sets what every answer has; large says whether its body is, or
// may be, large enough to be compressed.
func (s *Kit) CommonHeaders(h http.Header, a Answer, large bool) {
	s.answerHeaders(h, &a, large, a.etag())
}

func (s *Kit) answerHeaders(h http.Header, a *Answer, large bool, etag []string) {
	h["Cache-Control"] = s.cacheOf(h, a.Cache)
	switch {
	case a.ByAccept && large:
		h["Vary"] = varyAcceptEncoding
	case a.ByAccept:
		h["Vary"] = varyAccept
	case a.ByLanguage && large:
		h["Vary"] = varyLanguageEncoding
	case a.ByLanguage:
		h["Vary"] = varyLanguage
	case large:
		h["Vary"] = VaryEncoding
	}
	if etag != nil {
		h["Etag"] = etag
	}
}

// sendEmpty answers with nothing, by 204, or by 200 with no bytes.
func sendEmpty(c echo.Context, a *Answer) error {
	status := http.StatusNoContent
	if a.Empty == http.StatusOK && !a.Form.Picture() {
		status = http.StatusOK
		h := c.Response().Header()
		h["Content-Type"] = ContentTypes[a.Form]
		h["Content-Length"] = LengthHeader(0)
	}
	c.Response().WriteHeader(status)
	return nil
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
