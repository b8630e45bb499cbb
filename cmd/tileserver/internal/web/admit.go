package web

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/quota"
)

// Guard says who may ask, and how often.
type Guard struct {
	// Meter counts requests. It is required.
	Meter *quota.Meter
	// Keys returns the keys that are accepted; nil asks nobody for one. It is
	// called for every request.
	Keys func() *quota.Keys
	// Anonymous lets requests without a key pass, within AddressLimits. It is of
	// no account without Keys.
	Anonymous bool
	// KeyLimits are those of keys that have none of their own, AddressLimits
	// those of addresses that send no key, or a wrong one.
	KeyLimits, AddressLimits quota.Limits
}

// Errors for which a request is refused before it is handled.
var (
	ErrKeyMissing  = errors.New("no key was sent")
	ErrKeyUnknown  = errors.New("key is not known")
	ErrRateLimited = errors.New("limit of requests is used up")
	// errScopeMissing is matched when a key lacks the right to what was asked.
	errScopeMissing = errors.New("key lacks the scope")
)

// KeyRule says who may ask an endpoint.
type KeyRule uint8

const (
	// KeysAsked admits requests with a key, if the server asks for keys, and counts
	// them against a limit.
	KeysAsked KeyRule = iota
	// KeysUnasked: everybody, and no limit is used up. It is for what watches the
	// service, and for what belongs to its page.
	KeysUnasked
	// KeysByUsername: the parameter username is taken for a key.
	KeysByUsername
	// KeysOfProxy: the other credentials of a request are for somebody else's
	// service, so only the header that is ours alone is looked at.
	KeysOfProxy
	// KeysOfOthers: the endpoint asks for keys of its own.
	KeysOfOthers
)

// admission is how requests to a route are judged.
type admission struct {
	s     *Kit
	guard *Guard
	rule  KeyRule
	// lines are charged one by one where a request may ask many questions.
	lines bool
	// scoped is Route.Scoped.
	scoped bool
	// light requests with a key that can only ask are not remembered as such, which would
	// cost memory.
	light bool
}

// admitted lets requests through to h that have a key, where one is needed, and
// are within their limits.
func (s *Kit) admitted(r *Route, h echo.HandlerFunc) echo.HandlerFunc {
	if r.Keys == KeysUnasked {
		return h
	}
	a := &admission{s: s, guard: s.Guarding, rule: r.Keys, lines: r.Cost == Streamed, scoped: r.Scoped, light: r.Cost == Light || r.Cost == Mixed}
	return func(c echo.Context) error {
		err := a.judge(c)
		if err == nil {
			return h(c)
		}
		if s.metrics != nil {
			s.metrics.refused(err)
		}
		return s.answering(func(c echo.Context) error { return r.turnAway(c, err) })(c)
	}
}

// judge counts a request and returns why it may not pass.
func (a *admission) judge(c echo.Context) error {
	r := c.Request()
	sent, inQuery := sentKey(a.rule, r)
	g := a.guard
	var keys *quota.Keys
	if g.Keys != nil && a.rule != KeysOfOthers {
		keys = g.Keys()
	}
	if keys != nil && sent != "" {
		if k := keys.Find(sent); k != nil {
			a.s.nameClient(c, k.Name)
			if inQuery {
				c.Set(queryKey, sent)
			}
			if len(k.Scopes) > 0 || a.scoped || !a.light || r.Method != http.MethodGet {
				c.Set(clientKey, keyed{k.Name, func() *quota.Key {
					if keys := g.Keys(); keys != nil {
						return keys.Find(sent)
					}
					return nil
				}})
			}
			if a.lines {
				c.Set(chargeName, func(n int64) { g.Meter.ChargeKey(k.Name, n) })
			}
			return verdict(c, g.Meter.Key(k.Name, g.Limits(k)))
		}
	}
	// Wrong keys use up the limit of the address too, and the busiest of those
	// who send them are found.
	client := quota.ClientOf(a.s.ClientAddr(r))
	if err := verdict(c, g.Meter.Address(client, &g.AddressLimits)); err != nil {
		return err
	}
	if a.lines {
		c.Set(chargeName, func(n int64) { g.Meter.ChargeAddress(client, n) })
	}
	switch {
	case keys == nil:
		return nil
	case sent == "" && !g.Anonymous:
		return refuseUnkeyed(c, ErrKeyMissing)
	case sent != "" && !(g.Anonymous && a.rule == KeysByUsername): // GeoNames' clients always send some name
		return refuseUnkeyed(c, ErrKeyUnknown)
	}
	return nil
}

func (g *Guard) Limits(k *quota.Key) *quota.Limits {
	if k.Limits.None() {
		return &g.KeyLimits
	}
	return &k.Limits
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

// cacheOf is the Cache-Control of an answer with the headers h. What is left of a
// limit is for its caller alone, so answers that tell it are kept out of caches
// that many callers share. What never changes is made for those: it stays public
// and does not tell.
func (s *Kit) cacheOf(h http.Header, cache []string) []string {
	if s.Guarding == nil || h["Ratelimit-Limit"] == nil || strings.Contains(cache[0], "private") || strings.Contains(cache[0], "no-store") {
		return cache
	}
	if &cache[0] != &s.PinnedCache[0] {
		return []string{privately(cache[0])}
	}
	delete(h, "Ratelimit-Limit")
	delete(h, "Ratelimit-Remaining")
	delete(h, "Ratelimit-Reset")
	return cache
}

// refuseUnkeyed says how to send a key with a refusal for the lack of one.
func refuseUnkeyed(c echo.Context, err error) error {
	c.Response().Header()["Www-Authenticate"] = []string{`Bearer realm="Quadrille"`}
	return err
}

// verdict tells the client what is left, and refuses when nothing is.
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
	h["Retry-After"] = lengthHeader(reset)
	return Refuse(ErrRateLimited, "", fmt.Sprintf("The limit of %d requests per %s is used up. Ask again in %d seconds.",
		v.Limit.Requests, [...]string{"minute", "hour", "day"}[v.Limit.Window], reset))
}

// survives reports whether a failure keeps a header that was set before: all
// others are of the answer that has failed.
func survives(name string) bool {
	switch name {
	case "Allow", "Connection", "Www-Authenticate", "Retry-After", "Ratelimit-Limit", "Ratelimit-Remaining", "Ratelimit-Reset",
		requestIDHeader, allowOriginHeader, exposeHeadersHeader:
		return true
	}
	return false
}

// sentKey returns the key a request brings, "" for none: in the header X-API-Key, as
// a bearer token, as the password of Basic authentication, which is where
// clients of GeoIP2 put it, or, for those that can only change an address, as
// the parameter key, of which inQuery tells. The parameter is taken out of the address, so
// that kept answers, tags and logs do not depend on it.
func sentKey(rule KeyRule, r *http.Request) (key string, inQuery bool) {
	if rule == KeysOfProxy {
		return r.Header.Get("X-Api-Key"), false
	}
	key = cutParameter(r.URL, keyParameter)
	inQuery = key != ""
	if rule == KeysByUsername {
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

// redacted is a query as it may be logged: routes that ask for no key, and
// requests that no route is for, do not take it out.
// What others call their secrets is hidden too: clients send them by mistake.
func redacted(query string) string {
	b := make([]byte, 0, maxLogged+len("…"))
	for rest := query; rest != ""; {
		part, end := rest, ""
		if i := strings.IndexAny(rest, "&;"); i >= 0 {
			part, end = rest[:i], rest[i:i+1]
		}
		rest = rest[len(part)+len(end):]
		name, _, ok := strings.Cut(part, "=")
		if plain, err := url.QueryUnescape(name); ok && (err != nil || secret(plain)) {
			part = name + "=…"
		}
		b = append(append(b, part...), end...)
	}
	return string(b)
}

// secret reports whether a parameter of this name is one that nobody else may know, however
// its words are joined.
func secret(name string) bool {
	switch strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r == '.' {
			return -1
		}
		return unicode.ToLower(r)
	}, name) {
	case "key", "apikey", "xapikey", "accesskey", "authkey", "licensekey", "privatekey", "secretkey", "subscriptionkey", "ocpapimsubscriptionkey",
		"token", "accesstoken", "apitoken", "authtoken", "idtoken", "refreshtoken", "bearer", "bearertoken", "jwt",
		"auth", "authorization", "credential", "credentials", "xamzcredential", "secret", "clientsecret", "apisecret",
		"pass", "passwd", "password", "passphrase", "pwd", "sig", "signature", "xamzsignature", "sessionid", "username":
		return true
	}
	return false
}

// queryKey is the context key of the key that was given as a parameter.
const queryKey = "queryKey"

// KeyInQuery reports whether a request was let in by the parameter key.
func KeyInQuery(c echo.Context) bool { return c.Get(queryKey) != nil }

// carryKey puts the key that was given as a parameter into the addresses of this server in
// a document, which begin with base: whoever can only be given an address follows them with
// no other key. What people wrote into the properties of features stays as it is.
func carryKey(c echo.Context, form Form, base string, body []byte) []byte {
	key, _ := c.Get(queryKey).(string)
	if key == "" || base == "" {
		return body
	}
	key = keyParameter + "=" + url.QueryEscape(key)
	start, out := []byte(`"`+base), []byte(nil)
	for {
		before, rest, found := bytes.Cut(body, start)
		out = append(out, before...)
		if !found {
			return out
		}
		link := bytes.HasSuffix(out, []byte("href=")) || bytes.HasSuffix(out, []byte(`"href":`)) || form != FormGeoJSON
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

// clientName is under which a request's context keeps the name of its key.
const clientName = "client"

// nameClient remembers the owner of the key for the log.
func (s *Kit) nameClient(c echo.Context, name string) {
	if s.access != nil {
		c.Set(clientName, name)
	}
}

// KeyOf is the key that a request brings to a route that is open to all.
func (s *Kit) KeyOf(c echo.Context) (*quota.Key, error) {
	sent, _ := sentKey(KeysAsked, c.Request())
	if sent == "" {
		return nil, refuseUnkeyed(c, ErrKeyMissing)
	}
	k := s.Guarding.Keys().Find(sent)
	if k == nil {
		return nil, refuseUnkeyed(c, ErrKeyUnknown)
	}
	s.nameClient(c, k.Name)
	return k, nil
}

// clientKey is the context key of the request's keyed.
const clientKey = "key"

// keyed is the key that a request was made with.
type keyed struct {
	name string
	find func() *quota.Key // nil once it has been revoked
}

// HasScope reports whether a request was made with a key that has the scope now. Keys may
// be revoked while a long request runs.
func (s *Kit) HasScope(c echo.Context, scope quota.Scope) bool {
	sent, ok := c.Get(clientKey).(keyed)
	if !ok {
		return false
	}
	k := sent.find()
	return k != nil && k.Has(scope)
}

// ReadsCollection reports whether a request was made with a key that may read a collection.
func (s *Kit) ReadsCollection(c echo.Context, name string) bool {
	return s.HasScope(c, quota.Scope{Collection: name})
}

// CheckScope refuses a request to change something unless its key has the scope. A
// server that asks for no keys refuses all.
func (s *Kit) CheckScope(c echo.Context, scope quota.Scope) error {
	making := "tileserver keys new NAME --keys FILE --scope " + scope.String()
	switch {
	case s.HasScope(c, scope):
		return nil
	case s.Guarding == nil || s.Guarding.Keys == nil:
		return Refuse(errScopeMissing, "", "This server has no keys, so nobody may do this. The operator makes a key by "+making+" and starts the server with --keys FILE.")
	case c.Get(clientKey) == nil:
		return refuseUnkeyed(c, ErrKeyMissing)
	}
	return Refuse(errScopeMissing, "", "Send a key that has the scope "+scope.String()+"; the operator makes one by "+making+".")
}

// chargeName is under which a request's context keeps what counts its lines.
const chargeName = "charge"

// Charge counts the lines of a batch as requests, its first one being counted
// already. It does so afterwards, when their number is known: a batch that has
// begun is finished, and the next one waits.
func (s *Kit) Charge(c echo.Context, lines int64) {
	if s.Guarding == nil || lines < 2 {
		return
	}
	if count, ok := c.Get(chargeName).(func(int64)); ok {
		count(lines - 1)
	}
}
