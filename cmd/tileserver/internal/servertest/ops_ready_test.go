//go:build !race

package servertest_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/cmd/tileserver/internal/ops"
	"quadrille/cmd/tileserver/internal/servertest"
)

// If a generation cannot be opened, the old one stays in service. If no generation of a data set
// can be opened, the server is not ready: the data set's endpoints return an error, but not that
// the data set is missing.
func TestReadiness(t *testing.T) {
	f := servertest.New(t, nil, ask.Places.Name)
	bounds := f.Config.Boundaries
	state := func() string {
		var doc ops.Status
		if err := json.Unmarshal([]byte(servertest.Body(t, f.Get("/status"))), &doc); err != nil {
			t.Fatal(err)
		}
		return doc.Datasets[0].State
	}
	check := func(when, wantState string, ready bool) {
		t.Helper()
		if got := state(); got != wantState {
			t.Errorf("%s: state %s, want %s", when, got, wantState)
		}
		res := f.Get("/readyz")
		if ready && res.StatusCode != 200 {
			t.Errorf("%s: not ready: %s", when, servertest.Body(t, res))
		}
		if !ready {
			if p := servertest.WantProblem(t, res, 503, "not-ready"); !strings.Contains(p.Detail, "boundaries") {
				t.Errorf("%s: %+v", when, p)
			}
		}
	}
	check("nothing published", "missing", true)

	f.Publish(ask.Boundaries.Name)
	f.Boundaries.OpenErr = errors.New("secret path of a damaged file")
	if bounds.Poll(context.Background()) == nil {
		t.Fatal("a broken generation was taken into service")
	}
	check("first is broken", "failed", false)
	for _, path := range []string{"/tiles/country/0/0/0.mvt", "/tiles/all/0/0/0.mvt", "/regions/at?lat=1&lon=1"} {
		if p := servertest.WantProblem(t, f.Get(path), 503, "dataset-unavailable"); strings.Contains(p.Detail, "secret") {
			t.Errorf("internals shown: %+v", p)
		}
	}
	if b := servertest.Body(t, f.Get("/status")); strings.Contains(b, "secret") {
		t.Errorf("internals shown: %s", b)
	}

	f.Boundaries.OpenErr = nil
	if err := bounds.Poll(context.Background()); err != nil {
		t.Fatal(err)
	}
	check("mended", "serving", true)

	f.Publish(ask.Boundaries.Name)
	f.Boundaries.OpenErr = errors.New("again")
	_ = bounds.Poll(context.Background())
	check("second is broken", "stale", true)
	if res := f.Get("/tiles/country/0/0/0.mvt"); res.StatusCode != 200 {
		t.Errorf("the old generation does not serve: %d", res.StatusCode)
	}

	bounds.Close()
	servertest.WantProblem(t, f.Get("/tiles/country/0/0/0.mvt"), 503, "dataset-unavailable")
}

// A server is ready only if it serves the required data sets. While the data directory is missing,
// a server that serves nothing is not ready.
func TestRequired(t *testing.T) {
	var missing error
	f := servertest.New(t, func(c *httpapi.Config) {
		c.Require = []string{ask.Boundaries.Name, ask.Places.Name}
		c.NoData = func() error { return missing }
	})
	ready := func(want string) {
		t.Helper()
		res := f.Get("/readyz")
		if want == "" {
			if res.StatusCode != 200 {
				t.Errorf("%d: %s", res.StatusCode, servertest.Body(t, res))
			}
			return
		}
		if p := servertest.WantProblem(t, res, 503, "not-ready"); !strings.Contains(p.Detail, want) || strings.Contains(p.Detail, "secret") {
			t.Errorf("%+v does not say %s", p, want)
		}
	}
	ready("boundaries, places")
	f.Publish(ask.Places.Name)
	f.Poll()
	ready("by ingest: boundaries;")
	f.Publish(ask.Boundaries.Name)
	f.Poll()
	ready("")
	missing = errors.New("stat /secret/path: no such file or directory")
	ready("") // open files go on being served

	f = servertest.New(t, func(c *httpapi.Config) { c.NoData = func() error { return missing } })
	ready("data directory")
	missing = nil
	ready("")
}

func TestDraining(t *testing.T) {
	stop := make(chan struct{})
	f := servertest.New(t, func(c *httpapi.Config) { c.Draining = stop }, servertest.DefaultDatasets...)
	if res := f.Get("/readyz"); res.StatusCode != http.StatusOK {
		t.Errorf("before: %d", res.StatusCode)
	}
	close(stop)
	servertest.WantProblem(t, f.Get("/readyz"), 503, "draining")
	if res := f.Get("/healthz"); res.StatusCode != http.StatusOK {
		t.Errorf("healthz: %d", res.StatusCode)
	}
}
