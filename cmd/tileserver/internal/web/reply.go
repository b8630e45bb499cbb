package web

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/bytecache"
)

// Answer describes a response that is not kept in the cache.
type Answer struct {
	Form  Form
	Tag   *Tag     // nil for answers that must not be revalidated
	Cache []string // Cache-Control
	// ByAccept says that the Accept header chose the form, ByLanguage that Accept-Language
	// chose the language.
	ByAccept, ByLanguage bool
	// Coding is what the client takes; small bodies stay uncompressed, and
	// then do not vary with it.
	Coding Coding
	// Base is the server's address where the body has links to it; see CarryKey.
	Base string
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
		etag := s.RequestTag(r, a, from...)
		a.Tag = &etag
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
	if a.Tag != nil && Matches(c.Request(), a.Tag, true) {
		return s.NotModified(c, a) // "*": by now it is known to exist
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
	if a.Tag != nil {
		h["Etag"] = []string{string(a.Tag[:])}
	}
}

// Finished is a response ready to be written: the body in its final coding
// and the header values that go with it, as slices that can be put into a
// header map without being copied. It is shared and never changed.
type Finished struct {
	Body     []byte // nil for an empty tile
	Form     Form
	large    bool     // enough to be compressed for those who take that
	ByAccept bool     // the Accept header chose the form
	encoding []string // Content-Encoding, nil for identity
	length   []string // Content-Length
	etag     []string // nil for none
}

// Bytes is what keeping the response takes.
func (f *Finished) Bytes() int64 { return int64(len(f.Body)) }

// ResponseCache keeps finished responses.
type ResponseCache[K bytecache.Key] = bytecache.Cache[K, *Finished]

// NewResponseCache returns a cache of about the given number of bytes.
func NewResponseCache[K bytecache.Key](bytes int64) *ResponseCache[K] {
	return bytecache.New[K, *Finished](bytes)
}

// maxKeptEffort is the largest body, in bytes, that is worth the effort of kept answers: of
// a page of 12 MB it took more than a second.
const maxKeptEffort = 1 << 20

// Finish makes a response that can be kept: the body compressed once if that
// pays, and copied to its own memory.
func Finish(body []byte, f Form, cd Coding, t *Tag) *Finished {
	res := &Finished{Form: f, large: len(body) >= compressFrom && !f.Picture()}
	if t != nil {
		res.etag = []string{string(t[:])}
	}
	if len(body) == 0 {
		return res
	}
	if cd != Identity && res.large {
		b := GetScratch()
		defer b.Release()
		effort := kept
		if len(body) > maxKeptEffort {
			effort = Once
		}
		compress(&b.packed, body, cd, effort)
		body = b.packed.Bytes()
		res.encoding = ContentEncodings[cd]
	}
	res.Body = append(make([]byte, 0, len(body)), body...)
	res.length = []string{strconv.Itoa(len(body))}
	return res
}

// FinishStored is Finish of a body that is in a coding already. The body is kept as it is.
func FinishStored(body []byte, f Form, cd Coding, t *Tag) *Finished {
	return &Finished{
		Body: body, Form: f, large: !f.Picture(), encoding: ContentEncodings[cd],
		length: []string{strconv.Itoa(len(body))}, etag: []string{string(t[:])},
	}
}

// vary is the value of the Vary header, nil for none.
func (f *Finished) vary() []string {
	switch {
	case f.ByAccept && f.large:
		return varyAcceptEncoding
	case f.ByAccept:
		return varyAccept
	case f.large:
		return VaryEncoding
	}
	return nil
}

// SendFinished writes a kept response: header values that exist already, and
// one Write.
func (s *Kit) SendFinished(c echo.Context, f *Finished) error {
	return s.SendKept(c, f, s.CacheControl)
}

// KeptHeaders sets the headers of a kept answer that do not depend on its body.
func (s *Kit) KeptHeaders(h http.Header, f *Finished, cache []string) {
	h["Cache-Control"] = s.cacheOf(h, cache)
	if vary := f.vary(); vary != nil {
		h["Vary"] = vary
	}
	if f.etag != nil {
		h["Etag"] = f.etag
	}
}

// SendEmpty answers with a kept answer that has nothing in it, by 204, or by 200 with no
// bytes.
func (s *Kit) SendEmpty(c echo.Context, f *Finished, cache []string, status int) error {
	h := c.Response().Header()
	s.KeptHeaders(h, f, cache)
	if status == http.StatusOK {
		h["Content-Type"] = ContentTypes[f.Form]
		h["Content-Length"] = LengthHeader(0)
	}
	c.Response().WriteHeader(status)
	return nil
}

// SendKept is SendFinished with another Cache-Control.
func (s *Kit) SendKept(c echo.Context, f *Finished, cache []string) error {
	res := c.Response()
	h := res.Header()
	s.KeptHeaders(h, f, cache)
	h["Content-Type"] = ContentTypes[f.Form]
	h["Content-Length"] = f.length
	if f.encoding != nil {
		h["Content-Encoding"] = f.encoding
	}
	res.WriteHeader(http.StatusOK)
	return write(c, f.Body)
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
