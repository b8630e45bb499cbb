package web

import (
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/labstack/echo/v4"
)

// journal logs requests.
type journal struct {
	tracing
	ids         *requestIDs
	log, access *slog.Logger
	sampling    sampling
}

// errPanic represents a panic that has been logged with its stack.
var errPanic = errors.New("handler panicked")

// sampling selects the requests that are logged. It may be used by any number of goroutines.
type sampling struct {
	every uint64 // one of every requests is logged
	slow  time.Duration
	seen  atomic.Uint64
}

// pick reports whether a request is logged, and how many requests its log line represents. Failures
// and slow requests represent only themselves and are not counted with the others.
func (s *sampling) pick(status int, took time.Duration) (weight uint64, ok bool) {
	if s.every <= 1 || status >= http.StatusInternalServerError || took >= s.slow {
		return 1, true
	}
	return s.every, (s.seen.Add(1)-1)%s.every == 0
}

// logAccess records a finished request with the resolved address of its client. start is the zero
// time if the request matched no route.
func (s *journal) logAccess(c echo.Context, start time.Time) {
	if s.access == nil {
		return
	}
	r, res := c.Request(), c.Response()
	var took time.Duration
	if !start.IsZero() {
		took = time.Since(start)
	}
	weight, ok := s.sampling.pick(res.Status, took)
	if !ok {
		return
	}
	var room [12]slog.Attr
	attrs := append(room[:0],
		slog.String("request_id", s.requestID(c)),
		slog.String("client", s.ClientAddr(r).String()),
		slog.String("method", shorten(r.Method)),
		slog.String("path", shorten(r.URL.Path)),
		slog.String("query", shorten(redacted(r.URL.RawQuery))),
		slog.Int("status", res.Status),
		slog.Int64("bytes", res.Size),
		slog.Int64("took_us", took.Microseconds()),
	)
	if name, ok := c.Get(clientName).(string); ok {
		attrs = append(attrs, slog.String("key", name))
	}
	if id, ok := s.traceID(r.Context()); ok {
		attrs = append(attrs, slog.String("trace_id", id))
	}
	if s.sampling.every > 1 {
		attrs = append(attrs, slog.Uint64("stands_for", weight))
	}
	s.access.LogAttrs(r.Context(), slog.LevelInfo, "request", attrs...)
}

// LogFailure logs why a request failed. The cause is only in the log, because the answer to the
// client omits it.
func (s *journal) LogFailure(c echo.Context, err error) {
	if errors.Is(err, errPanic) {
		return
	}
	r := c.Request()
	attrs := []slog.Attr{
		slog.String("request_id", s.requestID(c)),
		slog.String("client", s.ClientAddr(r).String()),
		slog.String("method", shorten(r.Method)),
		slog.String("path", shorten(r.URL.Path)),
		slog.String("query", shorten(redacted(r.URL.RawQuery))),
		slog.Any("error", err),
	}
	if id, ok := s.traceID(r.Context()); ok {
		attrs = append(attrs, slog.String("trace_id", id))
	}
	s.log.LogAttrs(r.Context(), slog.LevelError, "request failed", attrs...)
}

// redacted returns a query that may be logged. The query may contain a key at routes that require
// none, and in requests without a route. It also hides secrets of other services that clients send
// by mistake.
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

// secret reports whether a parameter of this name is a secret, however the words of the name are
// joined.
func secret(name string) bool {
	switch strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r == '.' {
			return -1
		}
		return unicode.ToLower(r)
	}, name) {
	case "key", "apikey", "xapikey", "accesskey", "authkey", "licensekey", "privatekey", "secretkey", "subscriptionkey",
		"ocpapimsubscriptionkey",
		"token", "accesstoken", "apitoken", "authtoken", "idtoken", "refreshtoken", "bearer", "bearertoken", "jwt",
		"auth", "authorization", "credential", "credentials", "xamzcredential", "secret", "clientsecret", "apisecret",
		"pass", "passwd", "password", "passphrase", "pwd", "sig", "signature", "xamzsignature", "sessionid", "username":
		return true
	}
	return false
}

// clientName is the context key of the client's name.
const clientName = "client"

// nameClient stores the owner of the key for the log.
func (s *journal) nameClient(c echo.Context, name string) {
	if s.access != nil {
		c.Set(clientName, name)
	}
}

// requestID returns the id of a request: the one that a trusted proxy gave it, or else a new one. A
// new id is made when a log or an error first needs it, and is then sent in the header of the
// answer. Most answers need no id and have no cost for it.
func (s *journal) requestID(c echo.Context) string {
	h := c.Response().Header()
	if v := h[requestIDHeader]; len(v) == 1 {
		return v[0]
	}
	r := c.Request()
	var id string
	if v := r.Header[requestIDHeader]; len(v) == 1 && validRequestID(v[0]) && s.trusts(peerAddr(r)) {
		id = v[0]
	} else {
		id = s.ids.process + strconv.FormatUint(s.ids.last.Add(1), 36)
	}
	h[requestIDHeader] = []string{id}
	return id
}
