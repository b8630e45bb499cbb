package web

import (
	"encoding/binary"
	"net/http"
	"strconv"
	"strings"
)

// Hash is an FNV-1a hash over everything an answer depends on. Its value must
// be the same in every process, since clients and caches keep the tags made
// from it.
type Hash uint64

// HashStart is the hash of nothing.
const HashStart Hash = 14695981039346656037

// Bytes mixes in a text.
func (h Hash) Bytes(s string) Hash {
	for i := range len(s) {
		h = (h ^ Hash(s[i])) * 1099511628211
	}
	return (h ^ 0xFF) * 1099511628211 // so that "ab","c" differs from "a","bc"
}

// Number mixes in eight bytes at once, by the finaliser of splitmix64.
func (h Hash) Number(v uint64) Hash {
	x := uint64(h) ^ v
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return Hash(x^x>>31)*1099511628211 + 1
}

// Tag is an entity tag, quotes included. The zero Tag means that there is no tag.
type Tag struct {
	text [23]byte
	n    uint8
}

// TagOf is a tag of the caller's making, of 23 bytes at most.
func TagOf(text string) (t Tag) {
	t.n = uint8(copy(t.text[:], text)) //nolint:gosec // 23 at most
	return t
}

// VersionTag returns the entity tag of a version of a thing that can be written, for TagOf.
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

// header returns the tag as a value of a header, nil for none.
func (t *Tag) header() []string {
	if t.n == 0 {
		return nil
	}
	return []string{string(t.text[:t.n])}
}

// matches reports whether a request with these lines of If-None-Match already has
// the representation with this tag. If-None-Match compares weakly, as RFC 9110 wants, because caches
// between us and the client may have weakened the tag. "*", which stands alone,
// means any representation there is, so it matches only when exists is true: the
// caller knows that there is one.
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

// unchangedSince reports whether the date in a request is that of the answer, a value of
// Last-Modified or nil. Tags say more, so they win. Both dates must be equal: after a rollback, the
// data in service is older than the client's. A value that is no date is ignored.
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
