package web

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
)

// Answer describes a response.
type Answer struct {
	Format       Format
	Tag          Tag      // empty for answers that must not be revalidated
	CacheControl []string // Cache-Control; Reply and Stream set the usual one if it is nil
	// ByAccept is set if the Accept header selected the form, and ByLanguage if Accept-Language
	// selected the language.
	ByAccept, ByLanguage bool
	// Coding is a coding that the client accepts. Small bodies stay uncompressed, and then do not
	// depend on it.
	Coding Coding
	// Base is the server's address in the links of the body, if it has any; see carryKey. Linked is
	// set if headers may have links.
	Base   string
	Linked bool
	// dated is Last-Modified, or nil for none; see Kit.dated.
	dated []string
	// Status is the status of the answer; 0 means 200.
	Status int
	// EmptyStatus is the status of an answer with an empty body: 204, 200, which becomes 204 for a
	// picture, or 404. 0 is for answers that are never empty.
	EmptyStatus int
}

// withKey forbids shared caches to store an answer whose links contain a key.
func (a *Answer) withKey(c echo.Context) {
	if (a.Base != "" || a.Linked) && KeyInQuery(c) {
		a.CacheControl = []string{privately(a.CacheControl[0])}
	}
}

// Scratch is memory that requests reuse.
type Scratch struct {
	Body   []byte
	packed bytes.Buffer
}

var scratches = sync.Pool{New: func() any { return new(Scratch) }}

// maxScratch is the size in bytes up to which a buffer is reused.
const maxScratch = 1 << 20

// GetScratch returns empty memory. The caller releases it.
func GetScratch() *Scratch { return scratches.Get().(*Scratch) }

// Release returns the memory for reuse, unless it has grown too large.
func (b *Scratch) Release() {
	if cap(b.Body) > maxScratch || b.packed.Cap() > maxScratch {
		return
	}
	b.Body = b.Body[:0]
	b.packed.Reset()
	scratches.Put(b)
}

// Reply answers with the body that fill writes, within the time limit of a request. from are the
// generations from which the answer is made. Clients may cache the answer with an ETag that depends
// on the address and on from; a client that already has it gets 304 before anything is read. If the
// answer depends on more, such as the time of day, from must be nil, and the answer must not be
// cached.
func (s *Kit) Reply(c echo.Context, a Answer, from []uint64, fill func(ctx context.Context, out *Scratch) error) error {
	r := c.Request()
	if !a.Format.isPacked() {
		a.Coding = AcceptedCoding(r)
	}
	if s.isFrom(c, &a, from); a.has(r, false) {
		return s.notModified(c, &a)
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

// isFrom decides whether an answer may be cached, and with which ETag.
func (s *Kit) isFrom(c echo.Context, a *Answer, from []uint64) {
	r := c.Request()
	switch {
	case from == nil:
		a.CacheControl = NoStore
		return
	case a.CacheControl == nil:
		a.CacheControl = s.CacheControl
	}
	a.Tag, a.dated = s.requestTag(r, a, from), s.dated(a, from)
	s.TraceFrom(r.Context(), from...)
}

// has reports whether the client of a request already has the answer; exists has the same meaning
// as in Tag.matches.
func (a *Answer) has(r *http.Request, exists bool) bool {
	return a.Tag.n > 0 && a.Tag.matches(r.Header["If-None-Match"], exists)
}

// SendJSON answers with the document that document returns, as JSON, unless the client already has
// it according to the ETag.
func (s *Kit) SendJSON(c echo.Context, a Answer, document func() (any, error)) error {
	r := c.Request()
	if a.has(r, false) {
		return s.notModified(c, &a)
	}
	doc, err := document()
	if err != nil {
		return err
	}
	body, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	out := GetScratch()
	defer out.Release()
	out.Body = append(out.Body, body...)
	return s.Send(c, a, out)
}

// Send answers with the body in b.
func (s *Kit) Send(c echo.Context, a Answer, b *Scratch) error {
	if r := c.Request(); a.has(r, true) || unchangedSince(r, a.dated) {
		return s.notModified(c, &a) // "*" and dates: by now it is known to exist
	}
	res := c.Response()
	h := res.Header()
	if len(b.Body) == 0 && a.EmptyStatus != 0 {
		if a.EmptyStatus == http.StatusNotFound {
			return errNothing
		}
		s.headers(h, &a, false, a.Tag.header())
		return sendEmpty(c, &a)
	}
	b.Body = carryKey(c, a.Format, a.Base, b.Body)
	a.withKey(c)
	body := b.Body
	if a.Coding != Identity && len(body) >= compressFrom {
		b.packed.Reset()
		compress(&b.packed, body, a.Coding, once)
		body = b.packed.Bytes()
		h["Content-Encoding"] = contentEncodings[a.Coding]
	}
	if forms[a.Format].NoSniff {
		h["X-Content-Type-Options"] = noSniff
	}
	h["Content-Type"] = forms[a.Format].header
	h["Content-Length"] = lengthHeader(len(body))
	s.headers(h, &a, len(b.Body) >= compressFrom && !a.Format.isPacked(), a.Tag.header())
	res.WriteHeader(cmp.Or(a.Status, http.StatusOK))
	return write(c, body)
}

// notModified answers 304, with the headers that RFC 9110 requires. It does not know whether the
// body would have been large, because the body is not read.
func (s *Kit) notModified(c echo.Context, a *Answer) error {
	a.dated = nil // the tag, which is among them, says more
	a.withKey(c)
	s.headers(c.Response().Header(), a, !a.Format.isPacked(), a.Tag.header())
	c.Response().WriteHeader(http.StatusNotModified)
	return nil
}

// headers sets the headers of every answer. large is set if its body is, or may be, large enough to
// be compressed.
func (s *Kit) headers(h http.Header, a *Answer, large bool, etag []string) {
	h["Cache-Control"] = s.cacheOf(h, a.CacheControl)
	if d := forms[a.Format].disposition; d != nil {
		h["Content-Disposition"] = d
	}
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
		h["Vary"] = varyEncoding
	}
	if etag != nil {
		h["Etag"] = etag
	}
	// A compressed answer has eight headers, and a ninth makes the maps of net/http grow, which
	// takes five allocations of each request. Clients that use only dates do not request
	// compression.
	if a.dated != nil && h["Content-Encoding"] == nil {
		h["Last-Modified"] = a.dated
	}
	// Answers that may be from a private collection are not allowed. Only pictures and scripts need
	// the policy, because elements of a page load them; all others are loaded with CORS, which
	// ignores the policy.
	shown := a.Format.IsPicture() || a.Format == FormatScript
	if shown && &a.CacheControl[0] != &NoStore[0] && &a.CacheControl[0] != &PrivateNoStore[0] {
		s.allowResource(h)
	}
}

// sendEmpty sends an empty answer, with 204 or with 200.
func sendEmpty(c echo.Context, a *Answer) error {
	status := http.StatusNoContent
	if a.EmptyStatus == http.StatusOK && !a.Format.IsPicture() {
		status = http.StatusOK
		h := c.Response().Header()
		h["Content-Type"] = forms[a.Format].header
		h["Content-Length"] = lengthHeader(0)
	}
	c.Response().WriteHeader(status)
	return nil
}

// A large body is written in pieces, and the client must read each piece within a time limit.
// Therefore a client that stops reading keeps its place among the running requests, and the body in
// memory, only for this time.
const (
	pieceSize  = 256 << 10
	stallLimit = 10 * time.Second
)

// write sends a body, unless the request is for the header only. An error means that the client has
// disconnected, so it is not reported.
func write(c echo.Context, body []byte) error {
	if c.Request().Method == http.MethodHead {
		return nil
	}
	res := c.Response()
	if len(body) > pieceSize {
		rc := http.NewResponseController(res.Writer)
		for ; len(body) > pieceSize; body = body[pieceSize:] {
			// Only writers in tests have no deadlines.
			_ = rc.SetWriteDeadline(time.Now().Add(stallLimit))
			if _, err := res.Write(body[:pieceSize]); err != nil {
				return nil //nolint:nilerr // see above
			}
		}
	}
	_, _ = res.Write(body)
	return nil
}

// cacheOf returns the Cache-Control of an answer with the headers h. The RateLimit headers are for
// one caller, so an answer with them becomes private. An answer that never changes should be in
// shared caches, so it stays public and its RateLimit headers are deleted.
func (s *Kit) cacheOf(h http.Header, cache []string) []string {
	if s.Guard == nil || h["Ratelimit-Limit"] == nil || strings.Contains(cache[0], "private") || strings.Contains(cache[0], "no-store") {
		return cache
	}
	if &cache[0] != &s.PinnedCacheControl[0] {
		return []string{privately(cache[0])}
	}
	delete(h, "Ratelimit-Limit")
	delete(h, "Ratelimit-Remaining")
	delete(h, "Ratelimit-Reset")
	return cache
}

// requestTag returns the ETag of an answer that depends on the whole address and on generations or
// other numbers.
func (s *Kit) requestTag(r *http.Request, a *Answer, from []uint64) Tag {
	h := s.ETagSeed.Bytes(r.URL.Path).Bytes(r.URL.RawQuery)
	for _, id := range from {
		h = h.Number(id)
	}
	return h.Number(a.Format.Tag()).Number(uint64(a.Coding)).Tag()
}
