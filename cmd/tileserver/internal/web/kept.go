package web

import (
	"context"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"

	"quadrille/internal/bytecache"
)

// CachedResponse is a response ready to be written: the body in its final coding and the header values,
// as slices that can be put into a header map without a copy. It is shared and immutable.
type CachedResponse struct {
	Body     []byte   // nil for an empty tile
	large    bool     // enough to be compressed for clients that accept that
	encoding []string // Content-Encoding, nil for identity
	length   []string // Content-Length
	etag     []string
	// Link is the value of the header Link, or nil if there is none; see NextLink.
	Link []string
}

// Bytes returns the memory of the response in a cache.
func (f *CachedResponse) Bytes() int64 {
	const fixed = 256 // the struct, and its headers
	return fixed + int64(len(f.Body))
}

// maxKeptEffort is the greatest size in bytes of a body that is compressed with the effort of
// cached answers. A page of 12 MB took more than a second.
const maxKeptEffort = 1 << 20

// NewCachedResponse makes a response that can be cached. The body is compressed if this makes it smaller, or
// else copied.
func NewCachedResponse(a *Answer, body []byte) *CachedResponse {
	res := &CachedResponse{large: len(body) >= compressFrom && !a.Format.isPacked(), etag: a.Tag.header()}
	if len(body) == 0 {
		return res
	}
	if a.Coding != Identity && res.large {
		b := GetScratch()
		defer b.Release()
		level := kept
		if len(body) > maxKeptEffort {
			level = once
		}
		compress(&b.packed, body, a.Coding, level)
		body = b.packed.Bytes()
		res.encoding = contentEncodings[a.Coding]
	}
	res.Body = append(make([]byte, 0, len(body)), body...)
	res.length = []string{strconv.Itoa(len(body))}
	return res
}

// NewPackedResponse does the same as NewCachedResponse, for a body that already has the coding. It uses the body
// without a copy.
func NewPackedResponse(a *Answer, body []byte) *CachedResponse {
	return &CachedResponse{
		Body: body, large: !a.Format.isPacked(), encoding: contentEncodings[a.Coding],
		length: []string{strconv.Itoa(len(body))}, etag: a.Tag.header(),
	}
}

// fillFunc makes the answer to a key, and ends with [NewCachedResponse]. It may use the memory of
// out for the body.
type fillFunc func(ctx context.Context, out *Scratch) (*CachedResponse, error)

// ResponseCache is a cache of finished answers. Its keys have everything that the bytes depend on, so an
// entry can never be wrong, only unused.
type ResponseCache[K bytecache.Key] struct {
	// Foreign is set if the bytes are from third parties. Browsers may not guess their type.
	Foreign bool
	// Total is set if every key has an answer, or an empty one, which is sent as 404. Then the
	// condition "*", which tests whether an answer exists, needs no read.
	Total bool

	kit   *Kit
	cache *bytecache.Cache[K, *CachedResponse]
}

// NewResponseCache returns a ResponseCache that caches answers with about the given number of bytes in total. name is
// its name in metrics. With 0 bytes no answer is cached, but concurrent requests for the same key
// still share their work.
func NewResponseCache[K bytecache.Key](s *Kit, name string, bytes int64) *ResponseCache[K] {
	return keptIn(s, name, bytecache.New[K, *CachedResponse](bytes))
}

// NewLargeResponseCache does the same as NewResponseCache, for answers that may take a large part of the bytes.
func NewLargeResponseCache[K bytecache.Key](s *Kit, name string, bytes int64) *ResponseCache[K] {
	return keptIn(s, name, bytecache.NewOfLarge[K, *CachedResponse](bytes))
}

func keptIn[K bytecache.Key](s *Kit, name string, cache *bytecache.Cache[K, *CachedResponse]) *ResponseCache[K] {
	watchCache(s, name, cache)
	return &ResponseCache[K]{kit: s, cache: cache}
}

// Send sends the cached answer of a key. If there is none, fill makes it, once for all concurrent
// requests. from are the generations of the answer, for traces and the date. The ETag of the answer
// identifies the same content as the key, so a client that has the answer gets 304 before anything
// is read.
func (k *ResponseCache[K]) Send(c echo.Context, key K, a *Answer, from []uint64, fill fillFunc) error {
	s, r := k.kit, c.Request()
	tags := r.Header["If-None-Match"] // which most have none of
	s.TraceFrom(r.Context(), from...)
	if tags != nil && a.Tag.matches(tags, k.Total && a.EmptyStatus != http.StatusNotFound) {
		return s.notModified(c, a)
	}
	res := k.cache.Get(key)
	s.traceCache(r.Context(), res != nil)
	if res == nil {
		var err error
		if res, err = k.make(s.WithClientOf(r.Context(), c), key, fill); err != nil {
			return err
		}
	}
	if res.encoding == nil || r.Header["If-Modified-Since"] != nil { // else the answer has no Last-Modified
		a.dated = s.dated(a, from)
	}
	h := c.Response().Header()
	if k.Foreign || forms[a.Format].NoSniff {
		h["X-Content-Type-Options"] = noSniff
	}
	switch {
	case res.Body == nil && a.EmptyStatus == http.StatusNotFound:
		return errNothing
	case tags != nil && a.Tag.matches(tags, true), unchangedSince(r, a.dated):
		return s.notModified(c, a) // "*" and dates: by now it is known to exist
	}
	if res.Body == nil {
		s.headers(h, a, res.large, res.etag)
		return sendEmpty(c, a)
	}
	h["Content-Type"] = forms[a.Format].header
	h["Content-Length"] = res.length
	if res.Link != nil {
		h["Link"] = res.Link
	}
	if res.encoding != nil {
		h["Content-Encoding"] = res.encoding
	}
	s.headers(h, a, res.large, res.etag)
	c.Response().WriteHeader(http.StatusOK)
	return write(c, res.Body)
}

// Get returns the answer that Send would send, for use in another answer. ctx is the context of a
// request.
func (k *ResponseCache[K]) Get(ctx context.Context, key K, fill fillFunc) (*CachedResponse, error) {
	res := k.cache.Get(key)
	k.kit.traceCache(ctx, res != nil)
	if res != nil {
		return res, nil
	}
	return k.make(ctx, key, fill)
}

// make makes the answer for a key and caches it. Requests for the same key share the work, so it
// continues if the client that caused it disconnects.
func (k *ResponseCache[K]) make(ctx context.Context, key K, fill fillFunc) (*CachedResponse, error) {
	wait, cancel := context.WithTimeout(ctx, k.kit.Timeout)
	defer cancel()
	return k.cache.Do(wait, key, func() (*CachedResponse, error) {
		read, cancel := context.WithTimeout(context.WithoutCancel(ctx), k.kit.Timeout)
		defer cancel()
		read, end := k.kit.TraceRead(read)
		defer end()
		out := GetScratch()
		defer out.Release()
		return fill(read, out)
	})
}

// watchCache registers the metrics of a cache.
func watchCache[K bytecache.Key, V bytecache.Value](s *Kit, name string, c *bytecache.Cache[K, V]) {
	s.Collect(func(ch chan<- prometheus.Metric) {
		st := c.Stats()
		SendCounter(ch, descCacheHits, st.Hits, name)
		SendCounter(ch, descCacheMisses, st.Misses, name)
		SendCounter(ch, descCacheEvicted, st.Evicted, name)
		SendGauge(ch, descCacheBytes, float64(st.Bytes), name)
		SendGauge(ch, descCacheEntries, float64(st.Entries), name)
	})
}
