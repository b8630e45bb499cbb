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

// Guard decides which clients may send requests, and how often.
type Guard struct {
	// Meter counts requests. It is required.
	Meter *quota.Meter
	// Keys returns the accepted keys. It is called for every request. If it is nil, no request
	// needs a key.
	Keys func() *quota.Keys
	// Anonymous admits requests without a key, within AddressLimits. Without Keys it has no effect.
	Anonymous bool
	// KeyLimits are the limits of keys without their own limits. AddressLimits are the limits of
	// addresses that send no key or a wrong key.
	KeyLimits, AddressLimits quota.Limits
}

// Limits returns the limits of a key: its own, or else KeyLimits. They must not be changed.
func (g *Guard) Limits(k *quota.Key) *quota.Limits {
	if k.Limits.None() {
		return &g.KeyLimits
	}
	return &k.Limits
}

// inUse returns the currently accepted keys, or nil if no request needs a key.
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

// verdict sends the rest of the limit to the client, and refuses the request if the limit is
// reached.
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

// sentKey returns the key of a request, or "" if there is none. The key is the header X-API-Key, a
// bearer token, or the password of Basic authentication, as GeoIP2 clients send it. Clients that
// cannot set headers send it as the parameter key; inQuery reports this. The parameter is removed
// from the address, so that cached answers, ETags and logs do not depend on it.
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

// cutParameter removes a parameter from the query of an address and returns its first value. The
// rest of the query does not change.
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

// KeyInQuery reports whether a request was admitted because of the parameter key.
func KeyInQuery(c echo.Context) bool { return c.Get(queryKey) != nil }

// carryKey inserts a key that was given as a parameter into the addresses of this server in a
// document. These addresses begin with base. A client that cannot set headers can then follow them.
// Text in the properties of features does not change.
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

// privately returns a Cache-Control that forbids shared caches.
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
