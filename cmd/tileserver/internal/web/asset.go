package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"
)

// Asset is a file of the page, or a document that looks like one, in each coding.
type Asset struct {
	contentType []string
	cache       []string
	etag        [codingCount]Tag
	body        [codingCount][]byte // nil where the coding does not pay
	length      [codingCount][]string
	html        bool
	framed      bool // other pages may hold it in a frame
}

// hashed matches the names the bundler gives to files whose content can never
// change: a hash of eight capitals and digits before the extension.
var hashed = regexp.MustCompile(`-[A-Z0-9]{8}\.[a-z0-9]+(\.map)?$`)

// AssetTypes are the media types of files of the page, by the ends of their names.
var AssetTypes = map[string]string{
	".html":        "text/html; charset=utf-8",
	".js":          "text/javascript; charset=utf-8",
	".mjs":         "text/javascript; charset=utf-8",
	".css":         "text/css; charset=utf-8",
	".json":        "application/json",
	".map":         "application/json",
	".webmanifest": "application/manifest+json",
	".svg":         "image/svg+xml",
	".png":         "image/png",
	".jpg":         "image/jpeg",
	".gif":         "image/gif",
	".ico":         "image/x-icon",
	".woff2":       "font/woff2",
	".txt":         "text/plain; charset=utf-8",
}

var (
	immutable = []string{"public, max-age=31536000, immutable"}
	noCache   = []string{"no-cache"}
)

// pageHeaders go with every file of the page. The policy forbids everything
// but what the map does: its own scripts and styles, tiles and lookups from
// this server, and images it draws itself.
var pageHeaders = http.Header{
	"Content-Security-Policy":    {pagePolicy + "frame-ancestors 'none'"},
	"X-Content-Type-Options":     NoSniff,
	"Referrer-Policy":            {"strict-origin-when-cross-origin"},
	"Cross-Origin-Opener-Policy": {"same-origin"},
	"Vary":                       VaryEncoding,
}

const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; " +
	"font-src 'self'; connect-src 'self'; worker-src 'self' blob:; manifest-src 'self'; " +
	"base-uri 'none'; form-action 'self'; "

// framedPolicy is that of a page which others may hold in a frame. It does no more
// than draw, so nothing is won by a click that was meant for something else.
var framedPolicy = []string{pagePolicy + "frame-ancestors *"}

// Framed lets pages of any origin hold the asset in a frame.
func (a *Asset) Framed() *Asset {
	a.framed = true
	return a
}

// NewAsset makes an asset. It may be kept for good if its name has a hash of its
// content.
func NewAsset(name, contentType string, body []byte) *Asset {
	a := &Asset{contentType: []string{contentType}, cache: noCache, html: strings.HasPrefix(contentType, "text/html")}
	if hashed.MatchString(name) && !a.html {
		a.cache = immutable
	}
	a.body[Identity] = body
	for c := Identity + 1; c < codingCount && len(body) >= compressFrom; c++ {
		var packed bytes.Buffer
		compress(&packed, body, c, kept)
		if packed.Len() < len(body) {
			a.body[c] = bytes.Clone(packed.Bytes())
		}
	}
	sum := sha256.Sum256(body)
	h := Hash(binary.BigEndian.Uint64(sum[:]))
	for c := range a.body {
		if a.body[c] == nil && c != int(Identity) {
			continue
		}
		a.etag[c] = h.Number(uint64(c)).Tag()
		a.length[c] = []string{strconv.Itoa(len(a.body[c]))}
	}
	return a
}

// SendPage answers with a page made for this request alone, where the Accept header
// asked for one.
func (s *Kit) SendPage(c echo.Context, html []byte) error {
	h := c.Response().Header()
	for name, values := range pageHeaders {
		h[name] = values
	}
	h["Vary"] = varyAccept
	h["Cache-Control"] = NoStore
	h["Content-Type"] = htmlTypes
	h["Content-Length"] = LengthHeader(len(html))
	c.Response().WriteHeader(http.StatusOK)
	return write(c, html)
}

// SendAsset answers with a file of the page, or a document that looks like one.
func (s *Kit) SendAsset(c echo.Context, a *Asset) error {
	r, res := c.Request(), c.Response()
	h := res.Header()
	for name, values := range pageHeaders {
		h[name] = values
	}
	if a.framed {
		h["Content-Security-Policy"] = framedPolicy
	}
	cd := AcceptedKept(r)
	if a.body[cd] == nil {
		cd = Identity
	}
	h["Cache-Control"] = a.cache
	h["Etag"] = []string{string(a.etag[cd][:])}
	if Matches(r, &a.etag[cd], true) {
		res.WriteHeader(http.StatusNotModified)
		return nil
	}
	h["Content-Type"] = a.contentType
	h["Content-Length"] = a.length[cd]
	if cd != Identity {
		h["Content-Encoding"] = ContentEncodings[cd]
	}
	res.WriteHeader(http.StatusOK)
	return write(c, a.body[cd])
}
