package httpapi

import (
	"encoding/binary"
	"net/http"
	"strings"
)

// form is the representation of an answer.
type form uint8

const (
	formJSON form = iota
	formGeoJSON
	formMVT
	formGeoNames // JSON, as GeoNames labels it
	formScript
	formText
	formNDJSON
	formGeoIPCountry // the three of GeoIP2's web service
	formGeoIPCity
	formGeoIPError
	formPNG
	formPNG2x // of double density
	formCount
)

// contentTypes are ready to be put into a header map.
var contentTypes = [formCount][]string{
	formJSON:         {"application/json"},
	formGeoJSON:      {"application/geo+json"},
	formMVT:          {"application/vnd.mapbox-vector-tile"},
	formGeoNames:     {"application/json;charset=UTF-8"},
	formScript:       {"text/javascript;charset=UTF-8"},
	formText:         {"text/plain;charset=UTF-8"},
	formNDJSON:       {"application/x-ndjson"},
	formGeoIPCountry: {"application/vnd.maxmind.com-country+json; charset=UTF-8; version=2.1"},
	formGeoIPCity:    {"application/vnd.maxmind.com-city+json; charset=UTF-8; version=2.1"},
	formGeoIPError:   {"application/vnd.maxmind.com-error+json; charset=UTF-8; version=2.0"},
	formPNG:          {"image/png"},
	formPNG2x:        {"image/png"},
}

// picture reports whether the form is an image. Images are compressed as they
// are and have no content coding.
func (f form) picture() bool { return f >= formPNG }

var (
	varyEncoding       = []string{"Accept-Encoding"}
	varyAccept         = []string{"Accept"}
	varyAcceptEncoding = []string{"Accept, Accept-Encoding"}
)

// weight is the value of q among the parameters of an Accept item, 1 when it
// has none or one that is no number.
func weight(params string) float64 {
	for len(params) > 0 {
		var p string
		p, params, _ = strings.Cut(params, ";")
		name, value, _ := strings.Cut(strings.TrimSpace(p), "=")
		if strings.EqualFold(strings.TrimSpace(name), "q") {
			if q, ok := decimal(strings.TrimSpace(value)); ok {
				return q
			}
		}
	}
	return 1
}

// hash is an FNV-1a hash over everything an answer depends on. Its value must
// be the same in every process, since clients and caches keep the tags made
// from it.
type hash uint64

const hashStart hash = 14695981039346656037

func (h hash) bytes(s string) hash {
	for i := range len(s) {
		h = (h ^ hash(s[i])) * 1099511628211
	}
	return (h ^ 0xFF) * 1099511628211 // so that "ab","c" differs from "a","bc"
}

// number mixes in eight bytes at once, by the finaliser of splitmix64.
func (h hash) number(v uint64) hash {
	x := uint64(h) ^ v
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return hash(x^x>>31)*1099511628211 + 1
}

// tag is an entity tag, quotes included.
type tag [18]byte

func (h hash) tag() (t tag) {
	const digits = "0123456789abcdef"
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(h))
	t[0], t[17] = '"', '"'
	for i, c := range b {
		t[1+2*i], t[2+2*i] = digits[c>>4], digits[c&15]
	}
	return t
}

// matches reports whether the request already has the representation with
// this tag. If-None-Match compares weakly, as RFC 9110 wants, because caches
// between us and the client may have weakened the tag. "*", which stands alone,
// means any representation there is, so it matches only when exists is true: the
// caller knows that there is one.
func matches(r *http.Request, t *tag, exists bool) bool {
	lines := r.Header["If-None-Match"]
	if exists && len(lines) == 1 && strings.TrimSpace(lines[0]) == "*" {
		return true
	}
	for _, v := range lines {
		for len(v) > 0 {
			var item string
			item, v, _ = strings.Cut(v, ",")
			if strings.TrimPrefix(strings.TrimSpace(item), "W/") == string(t[:]) {
				return true
			}
		}
	}
	return false
}

// requestTag is the entity tag of an answer made from a whole address and
// generations of data sets, or whatever else it depends on.
func (s *kit) requestTag(r *http.Request, a answer, from ...uint64) tag {
	h := s.tagStart.bytes(r.URL.Path).bytes(r.URL.RawQuery)
	for _, id := range from {
		h = h.number(id)
	}
	return h.number(uint64(a.form)<<8 | uint64(a.coding)).tag()
}
