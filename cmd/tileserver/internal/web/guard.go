package web

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/quota"
)

// Guard says who may ask, and how often.
type Guard struct {
	// Meter counts requests. It is required.
	Meter *quota.Meter
	// Keys returns the keys that are accepted. If it is nil, nobody needs a key. It
	// is called for every request.
	Keys func() *quota.Keys
	// Anonymous lets requests without a key pass, within AddressLimits. Without
	// Keys it has no effect.
	Anonymous bool
	// KeyLimits are the limits of keys that have none of their own. AddressLimits
	// are those of addresses that send no key, or a wrong one.
	KeyLimits, AddressLimits quota.Limits
}

// Limits returns the limits of a key: its own, or else KeyLimits. They must not be changed.
func (g *Guard) Limits(k *quota.Key) *quota.Limits {
	if k.Limits.None() {
		return &g.KeyLimits
	}
	return &k.Limits
}

// inUse returns the keys that are accepted now, nil if nobody needs one.
func (g *Guard) inUse() *quota.Keys {
	if g.Keys == nil {
		return nil
	}
	return g.Keys()
}

// refuseUnkeyed refuses a request without a key, and says how to send one.
func refuseUnkeyed(c echo.Context, err error) error {
	c.Response().Header()["Www-Authenticate"] = []string{`Bearer realm="Quadrille"`}
	return err
}

// verdict tells the client what is left of its limit, and refuses if nothing is.
func verdict(c echo.Context, v quota.Verdict) error {
	if v.Limit.Requests == 0 {
		return nil
	}
	h := c.Response().Header()
	reset := int(v.Reset / time.Second)
	h["Ratelimit-Limit"] = []string{strconv.FormatInt(v.Limit.Requests, 10)}
	h["Ratelimit-Remaining"] = []string{strconv.FormatInt(v.Remaining, 10)}
	h["Ratelimit-Reset"] = lengthHeader(reset)
	if !v.Refused {
		return nil
	}
	SetRetryAfter(h, reset)
	return endpoint.Refuse(ErrRateLimited, "", fmt.Sprintf("The limit of %d requests per %s is used up. Ask again in %d seconds.",
		v.Limit.Requests, [...]string{"minute", "hour", "day"}[v.Limit.Window], reset))
}

// sentKey returns the key of a request, "" for none. The key is in the header X-API-Key, a
// bearer token, or the password of Basic authentication, where clients of GeoIP2 put it.
// Clients that can only change an address send it as the parameter key; inQuery reports
// that. The parameter is taken out of the address, so that kept answers, tags and logs do
// not depend on it.
func sentKey(rule endpoint.KeyRule, r *http.Request) (key string, inQuery bool) {
	if rule == endpoint.KeysOfProxy {
		return r.Header.Get("X-Api-Key"), false
	}
	key = cutParameter(r.URL, endpoint.KeyParameter)
	inQuery = key != ""
	if rule == endpoint.KeysByUsername {
		if name := cutParameter(r.URL, "username"); key == "" {
			key = name
		}
	}
	if v := r.Header.Get("X-Api-Key"); v != "" {
		return v, false
	}
	if v := r.Header.Get("Authorization"); v != "" {
		if scheme, token, _ := strings.Cut(v, " "); strings.EqualFold(scheme, "Bearer") {
			return strings.TrimSpace(token), false
		}
		if _, password, ok := r.BasicAuth(); ok {
			return password, false
		}
	}
	return key, inQuery
}

// cutParameter takes a parameter out of the query of an address and returns its
// first value. The rest of the query stays as it is.
func cutParameter(u *url.URL, name string) (value string) {
	if !strings.Contains(u.RawQuery, name+"=") {
		return ""
	}
	var rest strings.Builder
	for part := range strings.SplitSeq(u.RawQuery, "&") {
		if v, ok := strings.CutPrefix(part, name+"="); ok {
			if value == "" {
				value, _ = url.QueryUnescape(v) // what cannot be read is no key
			}
			continue
		}
		if rest.Len() > 0 {
			rest.WriteByte('&')
		}
		rest.WriteString(part)
	}
	u.RawQuery = rest.String()
	return value
}

// queryKey is the context key of the key that was given as a parameter.
const queryKey = "queryKey"

// KeyInQuery reports whether a request was let in by the parameter key.
func KeyInQuery(c echo.Context) bool { return c.Get(queryKey) != nil }

// carryKey puts a key that was given as a parameter into the addresses of this server in a
// document. These begin with base. A client that can only be given an address follows them
// without another key. Text that people wrote into the properties of features stays as it
// is.
func carryKey(c echo.Context, form Format, base string, body []byte) []byte {
	key := KeyOfQuery(c)
	if key == "" || base == "" {
		return body
	}
	key = endpoint.KeyParameter + "=" + url.QueryEscape(key)
	start, out := []byte(`"`+base), []byte(nil)
	for {
		before, rest, found := bytes.Cut(body, start)
		out = append(out, before...)
		if !found {
			return out
		}
		link := bytes.HasSuffix(out, []byte("href=")) || bytes.HasSuffix(out, []byte(`"href":`)) || form != FormatGeoJSON
		out = append(out, start...)
		end := bytes.IndexAny(rest, `"#`)
		if body = rest; !link || end < 0 || end > 0 && (rest[0] != '/' && rest[0] != '?' || rest[end-1] == '\\') {
			continue
		}
		join := byte('?')
		if bytes.IndexByte(rest[:end], '?') >= 0 {
			join = '&'
		}
		out = append(append(append(out, rest[:end]...), join), key...)
		body = rest[end:]
	}
}

// privately is a Cache-Control that keeps shared caches out.
func privately(cacheControl string) string {
	rest := []string{"private"}
	for d := range strings.SplitSeq(cacheControl, ",") {
		switch name, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(d)), "="); name {
		case "", "public", "private", "s-maxage":
		default:
			rest = append(rest, strings.TrimSpace(d))
		}
	}
	return strings.Join(rest, ", ")
}
