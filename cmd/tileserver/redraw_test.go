package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/internal/toyworld"
	"quadrille/internal/must"
	"quadrille/tiles/build"
)

// publishDistrict publishes boundaries with one district, east of a longitude.
func publishDistrict(t *testing.T, data string, west float64) {
	t.Helper()
	c := must.Get(dataset.Open(data, toyworld.Open)).In(t)
	b := must.Get(c.Begin(t.Context(), ask.Boundaries.Name)).In(t)
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	layers := []build.Layer{{Type: "district", Features: []build.Feature{{
		ID: "E1", Name: "Harbour", Geometry: orb.Polygon{{{west, 0}, {20, 0}, {20, 10}, {west, 10}, {west, 0}}},
	}}}}
	meta, _, err := build.Run(t.Context(), b.Store(), layers, build.Options{Timestamp: at.UnixMilli()})
	must.Do(t, err)
	must.Get(b.Publish(t.Context(), dataset.Manifest{
		SchemaVersion: ask.Boundaries.Schema,
		Built:         at,
		Meta:          must.Get(json.Marshal(meta)).In(t),
		Sources:       []dataset.Source{{Name: "toy", Modified: at}},
	})).In(t)
}

// The border of a district is redrawn across a point that does not move. Each event is sent once,
// even if the server was not running meanwhile.
func TestRedrawnDistrict(t *testing.T) {
	data, dir := t.TempDir(), t.TempDir()
	keys := filepath.Join(dir, "keys")
	var key strings.Builder
	must.Do(t, run(t.Context(), []string{"keys", "new", "fleet", "--keys", keys, "--scope", "write:*"}, &key, io.Discard))
	args := []string{"--data", data, "--live", filepath.Join(dir, "live"), "--keys", keys}
	publishDistrict(t, data, 10)
	url, _, stop := start(t, args...)
	ask := func(method, path, body string) *http.Response {
		t.Helper()
		r := must.Get(http.NewRequestWithContext(t.Context(), method, url+path, strings.NewReader(body))).In(t)
		r.Header.Set("X-Api-Key", strings.TrimSpace(key.String()))
		return must.Get(http.DefaultClient.Do(r)).In(t)
	}
	put := func(path, body string) {
		t.Helper()
		res := ask(http.MethodPut, path, body)
		defer res.Body.Close()
		if text, _ := io.ReadAll(res.Body); res.StatusCode != http.StatusCreated {
			t.Fatalf("%s: %s %s", path, res.Status, text)
		}
	}
	put("/points/vans", "")
	put("/points/vans/v-1", `{"type":"Feature","geometry":{"type":"Point","coordinates":[5,5]}}`)
	last := ""
	// follow opens a stream, and returns a function that returns its next event without the
	// version.
	follow := func() (next func() string) {
		t.Helper()
		res := ask(http.MethodGet, "/points/vans/events?enter=district:e1&leave=district"+last, "")
		timeout := time.AfterFunc(time.Minute, func() { res.Body.Close() })
		t.Cleanup(func() { timeout.Stop(); res.Body.Close() })
		lines := bufio.NewScanner(res.Body)
		return func() (event string) {
			for lines.Scan() {
				switch name, value, _ := strings.Cut(lines.Text(), ": "); name {
				case "id":
					last = "&last_event_id=" + value
				case "event":
					event = value
				case "data":
					value, _, _ = strings.Cut(value, `,"version"`)
					return event + " " + value
				}
			}
			return "the end"
		}
	}
	want := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
	next := follow()
	publishDistrict(t, data, 0)
	want(next(), `enter {"id":"v-1","fence":"district:E1","lat":5,"lon":5,"redrawn":true`)
	stop()
	publishDistrict(t, data, 10)
	url, _, _ = start(t, args...)
	next = follow()
	want(next(), `leave {"id":"v-1","fence":"district:E1","lat":5,"lon":5,"redrawn":true`)
	put("/points/vans/v-2", `{"type":"Feature","geometry":{"type":"Point","coordinates":[15,5]}}`)
	want(next(), `enter {"id":"v-2","fence":"district:E1","lat":5,"lon":15`)
}
