package ip

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/ipdatabase"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/ipgeo"
)

// This file answers with the location of the caller in headers of an empty answer. It is for
// reverse proxies that query it before they forward each request, and copy the headers into the
// request (docs/ip.md). The status is 200 even if the location is unknown or the lookup fails,
// because otherwise the proxy would refuse the request. Only a caller in a refused country gets
// 403. X-Geo-Status gives the result. Every answer has all headers, empty if their value is
// unknown, so that they replace forged headers from the client.

// These are the values of X-Geo-Status.
var (
	geoFound       = []string{"found"}
	geoNotFound    = []string{"not-found"}
	geoReserved    = []string{"reserved"}
	geoUnavailable = []string{"unavailable"}
	geoRefused     = []string{"refused"}
)

// headersPath is the path without the path of a visitor's request.
const headersPath = "/ip/headers"

var geoEmpty = []string{""}

// geoHeaders are the headers of the answer, each with the field of its value.
var geoHeaders = []struct{ name, field string }{
	{"X-Geo-Continent", "continent.code"},
	{"X-Geo-Country", "country.iso_code"},
	{"X-Geo-Subdivision", "subdivisions.0.iso_code"},
	{"X-Geo-City", "city.names"},
	{"X-Geo-Timezone", "location.time_zone"},
	{"X-Geo-Latitude", "location.latitude"},
	{"X-Geo-Longitude", "location.longitude"},
}

// getHeaders answers requests of any method to /ip/headers and to all paths below it: some proxies
// keep the method and append the path of the original request. The query is then that of the
// visitor, and has no settings of the proxy.
func (s *Handlers) getHeaders(c echo.Context, p *endpoint.Params) error {
	var denied []string
	if strings.HasSuffix(c.Path(), headersPath) {
		denied = denyParam.Of(p)
	}
	if p.Err != nil {
		web.LeaveBody(c)
		return p.Err
	}
	h := s.beginHeaders(c)
	s.locateHeaders(c, &p.View().Addresses, h)
	status := http.StatusOK
	if country := h["X-Geo-Country"][0]; country != "" && slices.Contains(denied, country) {
		status = http.StatusForbidden
	}
	c.Response().WriteHeader(status)
	return nil
}

// refuseHeaders answers when the server is at its limit, or when the proxy has no valid key or
// exceeds its rate limit.
func (s *Handlers) refuseHeaders(c echo.Context, err error) {
	h := s.beginHeaders(c)
	if !errors.Is(err, web.ErrBusy) {
		h["X-Geo-Status"] = geoRefused
	}
	delete(h, "Www-Authenticate") // these are of other statuses
	delete(h, "Retry-After")
	c.Response().WriteHeader(http.StatusOK)
}

// beginHeaders sets the headers to their values for an unknown address.
func (s *Handlers) beginHeaders(c echo.Context) http.Header {
	web.LeaveBody(c)
	h := c.Response().Header()
	for i := range geoHeaders {
		h[geoHeaders[i].name] = geoEmpty
	}
	h["X-Geo-Asn"], h["X-Geo-Network"], h["X-Geo-Ip"] = geoEmpty, geoEmpty, geoEmpty
	h["Cache-Control"] = web.PrivateNoStore
	h["Content-Length"] = []string{"0"}
	h["X-Geo-Status"] = geoUnavailable
	return h
}

func (s *Handlers) locateHeaders(c echo.Context, from *ask.Pinned[ask.AddressReader], h http.Header) {
	r := c.Request()
	addr := s.ClientAddr(r)
	if !addr.IsValid() {
		return
	}
	h["X-Geo-Ip"] = []string{addr.String()}
	reader, err := from.Get()
	if err != nil {
		if !errors.Is(err, ask.ErrMissing) {
			s.LogFailure(c, err)
		}
		return
	}
	h[ipdatabase.Header] = s.databases.Of(from).Header
	l := ipdatabase.LookupPool.Get().(*ipdatabase.Lookup)
	defer ipdatabase.LookupPool.Put(l)
	switch err := reader.Lookup(r.Context(), addr, &l.Res); {
	case err == nil:
		h["X-Geo-Status"] = geoFound
	case errors.Is(err, ipgeo.ErrNotFound):
		h["X-Geo-Status"] = geoNotFound
		return
	case errors.Is(err, ipgeo.ErrReserved):
		h["X-Geo-Status"] = geoReserved
		return
	default:
		s.LogFailure(c, err)
		return
	}
	for i := range geoHeaders {
		if raw := l.Res.Field(geoHeaders[i].field); len(raw) > 0 {
			h[geoHeaders[i].name] = []string{headerValue(raw)}
		}
	}
	h["X-Geo-Network"] = []string{l.Res.Network.String()}
	if asn := l.Res.ASN(); asn != 0 {
		h["X-Geo-Asn"] = []string{strconv.FormatUint(uint64(asn), 10)}
	}
}

// headerValue makes the value of a header from JSON: the text of a string, the digits of a number,
// and of an object of names the English name, or else the first name.
func headerValue(raw []byte) string {
	switch raw[0] {
	case '"':
		var text string
		if json.Unmarshal(raw, &text) != nil {
			return ""
		}
		return percentEncode(text)
	case '{':
		var names map[string]string
		if json.Unmarshal(raw, &names) != nil {
			return ""
		}
		first := ""
		for lang := range names {
			if lang == "en" {
				first = lang
				break
			}
			if first == "" || lang < first {
				first = lang
			}
		}
		return percentEncode(names[first])
	}
	return percentEncode(string(raw)) // digits, which stay as they are
}

// percentEncode replaces characters that are not allowed in a header, and the percent sign, by the
// percent-encoding of their UTF-8 (RFC 3986): "Zürich" becomes "Z%C3%BCrich". Spaces do not change.
// Decoding the result like a part of a URL gives the original text.
func percentEncode(s string) string {
	plain := true
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c >= 0x7f || c == '%' {
			plain = false
			break
		}
	}
	if plain {
		return s
	}
	const digits = "0123456789ABCDEF"
	b := make([]byte, 0, len(s)+len(s)/2)
	for i := range len(s) {
		if c := s[i]; c >= 0x20 && c < 0x7f && c != '%' {
			b = append(b, c)
		} else {
			b = append(b, '%', digits[c>>4], digits[c&15])
		}
	}
	return string(b)
}
