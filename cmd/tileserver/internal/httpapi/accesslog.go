package httpapi

import (
	"errors"
	"log/slog"
	"time"

	"github.com/labstack/echo/v4"
)

// errPanic stands for a panic that has been logged with its stack.
var errPanic = errors.New("handler panicked")

// maxLogged bounds how much of a path is logged.
const maxLogged = 512

// logAccess records a finished request with the resolved address of its
// client. start is the zero time when the request matched no route.
func (s *server) logAccess(c echo.Context, start time.Time) {
	if s.access == nil {
		return
	}
	r, res := c.Request(), c.Response()
	var took time.Duration
	if !start.IsZero() {
		took = time.Since(start)
	}
	s.access.LogAttrs(r.Context(), slog.LevelInfo, "request",
		slog.String("request_id", s.requestID(c)),
		slog.String("client", s.clientAddr(r).String()),
		slog.String("method", shorten(r.Method)),
		slog.String("path", shorten(r.URL.Path)),
		slog.String("query", shorten(r.URL.RawQuery)),
		slog.Int("status", res.Status),
		slog.Int64("bytes", res.Size),
		slog.Int64("took_us", took.Microseconds()),
	)
}

// logFailure records why a request failed. This is the only place where the
// cause goes; the client gets a problem that does not tell.
func (s *server) logFailure(c echo.Context, err error) {
	if errors.Is(err, errPanic) {
		return
	}
	r := c.Request()
	s.log.LogAttrs(r.Context(), slog.LevelError, "request failed",
		slog.String("request_id", s.requestID(c)),
		slog.String("client", s.clientAddr(r).String()),
		slog.String("method", shorten(r.Method)),
		slog.String("path", shorten(r.URL.Path)),
		slog.String("query", shorten(r.URL.RawQuery)),
		slog.Any("error", err),
	)
}

func shorten(s string) string {
	if len(s) > maxLogged {
		return s[:maxLogged] + "…"
	}
	return s
}
