//go:build !race

package httpapi_test

import (
	"bytes"
	"errors"
	"log/slog"
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/cmd/tileserver/internal/servertest"
)

// requestName matches names of requests that are allowed in a log.
var requestName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

func TestRequestID(t *testing.T) {
	var log bytes.Buffer
	f := servertest.New(t, func(c *httpapi.Config) {
		c.Log = slog.New(slog.NewTextHandler(&log, nil))
		c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("1.2.0.7/32")}
	}, servertest.DefaultDatasets...)
	f.Boundaries.ReadErr = errors.New("disk on fire")
	const path = "/tiles/country/1/0/0.mvt"
	p := servertest.WantProblem(t, f.Get(path, "X-Request-Id", "abc.DEF_1-2"), 500, "internal")
	if p.RequestID != "abc.DEF_1-2" || !strings.Contains(log.String(), "request_id=abc.DEF_1-2") || strings.Contains(p.Detail, "fire") {
		t.Errorf("%+v; log %s", p, &log)
	}
	seen := map[string]bool{}
	for _, sent := range []string{"", "a b", "a\"b", "é", strings.Repeat("x", 65)} {
		log.Reset()
		res := f.Get(path, "X-Request-Id", sent)
		id := res.Header.Get("X-Request-Id")
		if p := servertest.WantProblem(t, res, 500, "internal"); !requestName.MatchString(id) || id == sent || seen[id] ||
			p.RequestID != id || !strings.Contains(log.String(), "request_id="+id+" ") {
			t.Errorf("%q: %q, %+v; log %s", sent, id, p, &log)
		}
		seen[id] = true
	}
	// A client is not a proxy, whatever it sends.
	f.Config.TrustedProxies = nil
	f.Serve()
	if p := servertest.WantProblem(t, f.Get(path, "X-Request-Id", "mine"), 500, "internal"); p.RequestID == "mine" || p.RequestID == "" {
		t.Errorf("%+v", p)
	}
	// A request that is not logged needs no id. The access log has an id for every request.
	if res := f.Get("/nowhere"); res.Header.Get("X-Request-Id") != "" {
		t.Errorf("404: %v", res.Header)
	}
	f.Config.AccessLog = f.Config.Log
	f.Serve()
	for _, path := range []string{"/healthz", "/nowhere", "/tiles/country/0/0/9.mvt"} {
		log.Reset()
		res := f.Get(path)
		if id := res.Header.Get("X-Request-Id"); id == "" || strings.Count(log.String(), "request_id="+id+" ") != 1 {
			t.Errorf("%s: %q in %s", path, id, &log)
		}
	}
}
