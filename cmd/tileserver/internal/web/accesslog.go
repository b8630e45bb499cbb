package web

import (
	"errors"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"
)

// errPanic stands for a panic that has been logged with its stack.
var errPanic = errors.New("handler panicked")

// maxLogged bounds how much of a path is logged.
const maxLogged = 512

// sampling chooses the requests that are logged. It may be used by any number of
// goroutines.
type sampling struct {
	every uint64 // one of so many
	slow  time.Duration
	seen  atomic.Uint64
}

// pick reports whether a request is logged, and how many it stands for. Failures
// and slow requests stand for themselves and leave the others' turns alone.
func (s *sampling) pick(status int, took time.Duration) (weight uint64, ok bool) {
	if s.every <= 1 || status >= http.StatusInternalServerError || took >= s.slow {
		return 1, true
	}
	return s.every, (s.seen.Add(1)-1)%s.every == 0
}

// logAccess records a finished request with the resolved address of its
// client. start is the zero time when the request matched no route.
func (s *Kit) logAccess(c echo.Context, start time.Time) {
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

// LogFailure records why a request failed. This is the only place where the
// cause goes; the client gets a problem that does not tell.
func (s *Kit) LogFailure(c echo.Context, err error) {
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

func shorten(s string) string {
	if len(s) > maxLogged {
		return s[:maxLogged] + "…"
	}
	return s
}
