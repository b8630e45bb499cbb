package web

import (
	"encoding/binary"
	"net/http"
	"strconv"
	"strings"
)

// Hash is an FNV-1a hash of everything that an answer depends on. Its value must be the same in
// every process, because clients and caches store the ETags that are made from it.
type Hash uint64

// HashStart is the hash of the empty input.
const HashStart Hash = 14695981039346656037

// Bytes adds a text to the hash.
func (h Hash) Bytes(s string) Hash {
	for i := range len(s) {
		h = (h ^ Hash(s[i])) * 1099511628211
	}
	return (h ^ 0xFF) * 1099511628211 // so that "ab","c" differs from "a","bc"
}

// Number adds eight bytes at once, with the finaliser of splitmix64.
func (h Hash) Number(v uint64) Hash {
	x := uint64(h) ^ v
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return Hash(x^x>>31)*1099511628211 + 1
}

// Tag is an ETag, including its quotes. The zero Tag means that there is no ETag.
type Tag struct {
	text [23]byte
	n    uint8
}

// TagOf returns a Tag with the caller's text, which has at most 23 bytes.
func TagOf(text string) (t Tag) {
	t.n = uint8(copy(t.text[:], text)) //nolint:gosec // 23 at most
	return t
}

// VersionTag returns the ETag of a version of a writable resource, for TagOf.
func VersionTag(version int64) string { return `"v` + strconv.FormatInt(version, 10) + `"` }

// Tag returns the entity tag of everything that has been mixed in.
func (h Hash) Tag() (t Tag) {
	const digits = "0123456789abcdef"
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(h))
	t.n = 18
	t.text[0], t.text[17] = '"', '"'
	for i, c := range b {
		t.text[1+2*i], t.text[2+2*i] = digits[c>>4], digits[c&15]
	}
	return t
}

// header returns the ETag as a value of a header map, or nil if there is none.
func (t *Tag) header() []string {
	if t.n == 0 {
		return nil
	}
	return []string{string(t.text[:t.n])}
}

// matches reports whether the client of a request with these lines of If-None-Match already has the
// representation with this ETag. The comparison is weak, as RFC 9110 requires, because caches
// between us and the client may have weakened the ETag. "*" means any existing representation. It
// matches only if exists is true: then the caller knows of such a representation.
func (t *Tag) matches(lines []string, exists bool) bool {
	if exists && len(lines) == 1 && strings.TrimSpace(lines[0]) == "*" {
		return true
	}
	for _, v := range lines {
		for len(v) > 0 {
			var item string
			item, v, _ = strings.Cut(v, ",")
			if strings.TrimPrefix(strings.TrimSpace(item), "W/") == string(t.text[:t.n]) {
				return true
			}
		}
	}
	return false
}

// unchangedSince reports whether the date in a request equals that of the answer, which is a value
// of Last-Modified or nil. ETags are more precise, so they take precedence. Both dates must be
// equal, because after a rollback the data in service is older than the client's. A value that is
// not a date is ignored.
func unchangedSince(r *http.Request, dated []string) bool {
	if dated == nil {
		return false
	}
	since := r.Header["If-Modified-Since"]
	if len(since) != 1 || r.Header["If-None-Match"] != nil || r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	t, err := http.ParseTime(since[0])
	return err == nil && t.UTC().Format(http.TimeFormat) == dated[0]
}
