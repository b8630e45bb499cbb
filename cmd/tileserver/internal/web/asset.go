package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/labstack/echo/v4"
)

// Asset is a file of the page, or a document in the same style, in each coding.
type Asset struct {
	contentType []string
	cache       []string
	coded       [codingCount]func() *codedAsset
	hash        Hash // of the content
	html        bool
	framed      bool // other pages may show it in a frame
}

// codedAsset is an asset in a coding; the body is nil if the coding saves nothing.
type codedAsset struct {
	body   []byte
	etag   Tag
	length []string
}

// hashed matches the names of immutable files from the bundler: they have a hash of eight capitals
// and digits before the extension.
var hashed = regexp.MustCompile(`-[A-Z0-9]{8}\.[a-z0-9]+(\.map)?$`)

// pageHeaders are sent with every file of the page. The policy allows only the map's own needs: its
// own scripts and styles, tiles and lookups from this server, and images it draws itself.
var pageHeaders = http.Header{
	"Content-Security-Policy":    {pagePolicy + "frame-ancestors 'none'"},
	"X-Content-Type-Options":     noSniff,
	"Referrer-Policy":            {"strict-origin-when-cross-origin"},
	"Cross-Origin-Opener-Policy": {"same-origin"},
	"Vary":                       varyEncoding,
}

const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; " +
	"font-src 'self'; connect-src 'self'; worker-src 'self' blob:; manifest-src 'self'; " +
	"base-uri 'none'; form-action 'self'; "

// framedPolicy is the policy of a page that other sites may show in a frame. The page only shows a
// map, so clickjacking gains nothing.
var framedPolicy = []string{pagePolicy + "frame-ancestors *"}

// AllowFraming lets pages of any origin show the asset in a frame.
func (a *Asset) AllowFraming() *Asset {
	a.framed = true
	return a
}

// NewAsset makes an asset. Clients may cache it forever if its name contains a hash of its content.
func NewAsset(name, contentType string, body []byte) *Asset {
	a := &Asset{contentType: []string{contentType}, cache: noCache, html: strings.HasPrefix(contentType, "text/html")}
	if hashed.MatchString(name) && !a.html {
		a.cache = immutable
	}
	sum := sha256.Sum256(body)
	a.hash = Hash(binary.BigEndian.Uint64(sum[:]))
	for c := range codingCount {
		// At the start, compressing the whole page takes longer than everything else.
		a.coded[c] = sync.OnceValue(func() *codedAsset {
			coded := body
			if c != Identity {
				coded = compressed(body, c)
			}
			return &codedAsset{body: coded, etag: a.hash.Number(uint64(c)).Tag(), length: []string{strconv.Itoa(len(coded))}}
		})
	}
	return a
}

// SetPacked sets the brotli form of an asset's body, which was made in advance at a higher level than
// a request has time for.
func (a *Asset) SetPacked(body []byte) *Asset {
	etag := a.hash.Number(uint64(brotlied)).Number(uint64(len(body))).Tag()
	as := &codedAsset{body: body, etag: etag, length: []string{strconv.Itoa(len(body))}}
	a.coded[brotlied] = func() *codedAsset { return as }
	return a
}

// compressed returns a body in a coding, or nil if compression saves nothing.
func compressed(body []byte, c Coding) []byte {
	if len(body) < compressFrom {
		return nil
	}
	var packed bytes.Buffer
	if compress(&packed, body, c, kept); packed.Len() >= len(body) {
		return nil
	}
	return bytes.Clone(packed.Bytes())
}

// SendPage answers with a page for this request, if the Accept header prefers a page. base is the
// server's address in the links of the page.
func (s *Kit) SendPage(c echo.Context, base string, html []byte) error {
	html = carryKey(c, FormatText, base, html)
	h := c.Response().Header()
	for name, values := range pageHeaders {
		h[name] = values
	}
	h["Vary"] = varyAccept
	h["Cache-Control"] = NoStore
	h["Content-Type"] = htmlTypes
	h["Content-Length"] = lengthHeader(len(html))
	c.Response().WriteHeader(http.StatusOK)
	return write(c, html)
}

// SendAsset answers with a file of the page, or with a document in the same style.
func (s *Kit) SendAsset(c echo.Context, a *Asset) error {
	r, res := c.Request(), c.Response()
	h := res.Header()
	for name, values := range pageHeaders {
		h[name] = values
	}
	if a.framed {
		h["Content-Security-Policy"] = framedPolicy
	}
	cd := AcceptedCacheCoding(r)
	as := a.coded[cd]()
	if as.body == nil {
		cd = Identity
		as = a.coded[cd]()
	}
	s.allowResource(h)
	h["Cache-Control"] = a.cache
	h["Etag"] = as.etag.header()
	if as.etag.matches(r.Header["If-None-Match"], true) {
		res.WriteHeader(http.StatusNotModified)
		return nil
	}
	h["Content-Type"] = a.contentType
	h["Content-Length"] = as.length
	if cd != Identity {
		h["Content-Encoding"] = contentEncodings[cd]
	}
	res.WriteHeader(http.StatusOK)
	return write(c, as.body)
}
