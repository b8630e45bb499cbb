package collection

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"quadrille/ask"
	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/tileserver/internal/quota"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/internal/buildtest"
	"quadrille/internal/must"
	"quadrille/internal/tilestest"
	"quadrille/places/live"
	"quadrille/tiles"
	"quadrille/tiles/build"
)

// halves returns a store with the rows of boundaries of two states, west and east of Greenwich, and
// of a country north of the equator.
var halves = sync.OnceValues(func() (store cellstore.Store, meta tiles.Meta) {
	region := func(id string, west, south, east, north float64) build.Feature {
		return build.Feature{ID: id, Name: id, Geometry: tilestest.Square(west, south, east, north)}
	}
	store, err := buildtest.MemoryStore()
	if err == nil {
		meta, _, err = build.Run(context.Background(), store, []build.Layer{
			{Type: "country", Features: []build.Feature{region("north", -10, 0, 120, 20)}},
			{Type: "state", Features: []build.Feature{region("west", -10, -10, 0, 20), region("east", 0, -10, 120, 20)}},
		}, build.Options{})
	}
	if err != nil {
		panic(err)
	}
	return store, meta
})

// withHalves publishes the boundaries of halves.
func withHalves(t *testing.T, faults *buildtest.Faults) func(*web.Config, *ask.Sets, *Config) {
	t.Helper()
	rows, meta := halves()
	store := must.Get(faults.Store(rows)).In(t)
	reader := must.Get(tiles.Open(t.Context(), store, meta)).In(t)
	live := dataset.NewFixedLive[*tiles.Reader](reader, dataset.Manifest{Built: built, Digest: "0123456789abcdef"})
	return func(_ *web.Config, s *ask.Sets, _ *Config) { s.Boundaries = live }
}

// event is a server-sent event.
type event struct {
	id, name, data string
}

// follower reads a stream of events.
type follower struct {
	t     *testing.T
	lines *bufio.Reader
	end   func()
}

func begin(t *testing.T, server *httptest.Server, query, last string) *follower {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/points/taxis/events"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Api-Key", rootKey)
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	f := &follower{t: t, lines: bufio.NewReader(res.Body), end: func() { cancel(); res.Body.Close() }}
	t.Cleanup(f.end)
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" ||
		res.Header.Get("Cache-Control") != "private, no-store" {
		text, _ := io.ReadAll(res.Body)
		t.Fatalf("%s %v %s", res.Status, res.Header, text)
	}
	if e := f.next(); e.name != "" {
		t.Errorf("the stream begins with %+v", e)
	}
	return f
}

// next returns the next event, or the beginning of the stream.
func (f *follower) next() (e event) {
	f.t.Helper()
	for {
		line, err := f.lines.ReadString('\n')
		if err != nil {
			f.t.Fatal(err)
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "id":
			e.id = value
		case "event":
			e.name = value
		case "data":
			e.data = value
		case "":
			return e
		}
	}
}

func (f *follower) want(name, data string) event {
	f.t.Helper()
	e := f.next()
	if cut, _, _ := strings.Cut(e.data, `,"version":`); e.name != name || cut != data || e.id == "" {
		f.t.Errorf("%+v, want %s %s", e, name, data)
	}
	return e
}

func (s *service) move(id string, lon, lat float64) {
	s.t.Helper()
	if w := s.send(rootKey, "PUT", "/points/taxis/"+id, pointFeature(id, lon, lat, "{}")); w.Code >= 300 {
		s.t.Fatalf("%d %s", w.Code, w.Body)
	}
}

// Crossings of fences are sent in the order of the writes, and a broken stream resumes with the
// next crossing.
func TestEvents(t *testing.T) {
	var faults buildtest.Faults
	var mu sync.Mutex
	asked, done := map[string]bool{}, false
	faults.BeforeRead = func(_ context.Context, _ string, key []byte) error {
		mu.Lock()
		defer mu.Unlock()
		if asked[string(key)] && !done {
			t.Errorf("a place was read again: ask for both types at once")
		}
		asked[string(key)] = true
		return nil
	}
	s := newService(t, withHalves(t, &faults))
	s.make("taxis", "")
	server := httptest.NewServer(s.handler)
	t.Cleanup(server.Close)
	const query = "?enter=state,state:east,country:north&leave=state:west&within=10,10,5000&bbox=100,0,120,20"
	f := begin(t, server, query, "")
	s.move("a", -5, -1)
	f.want("enter", `{"id":"a","fence":"state:west","lat":-1,"lon":-5`)
	s.move("a", -6, -1) // crosses nothing
	s.move("a", 10, 10)
	first := f.want("leave", `{"id":"a","fence":"state:west","lat":10,"lon":10`)
	second := f.want("enter", `{"id":"a","fence":"country:north","lat":10,"lon":10`)
	f.want("enter", `{"id":"a","fence":"state:east","lat":10,"lon":10`)
	last := f.want("enter", `{"id":"a","fence":"within:10,10,5000","lat":10,"lon":10`)
	if strings.Contains(last.id, ".") || !strings.HasSuffix(second.id, ".2") || !strings.HasPrefix(first.id, last.id) {
		t.Errorf("ids %s, %s, %s", first.id, second.id, last.id)
	}
	s.move("a", 110, 10)
	f.want("leave", `{"id":"a","fence":"within:10,10,5000","lat":10,"lon":110`)
	f.want("enter", `{"id":"a","fence":"bbox:100,0,120,20","lat":10,"lon":110`)
	if w := s.send(rootKey, "DELETE", "/points/taxis/a", ""); w.Code != 204 {
		t.Fatal(w.Body)
	}
	f.want("leave", `{"id":"a","fence":"bbox:100,0,120,20","gone":true`)
	f.end()
	mu.Lock()
	if done = true; len(asked) == 0 {
		t.Error("nothing was read")
	}
	mu.Unlock()

	f = begin(t, server, query, second.id)
	f.want("enter", `{"id":"a","fence":"state:east","lat":10,"lon":10`)
	f.want("enter", `{"id":"a","fence":"within:10,10,5000","lat":10,"lon":10`)
	f.end()
	f = begin(t, server, query+"&last_event_id="+last.id, "")
	f.want("leave", `{"id":"a","fence":"within:10,10,5000","lat":10,"lon":110`)
	f.end()

	f = begin(t, server, "", "")
	s.move("b", 1, 2)
	f.want("move", `{"id":"b","lat":2,"lon":1`)
	s.move("b", 1.5, 2)
	f.want("move", `{"id":"b","from":{"lat":2,"lon":1},"lat":2,"lon":1.5`)
	if err := s.live.Drop(t.Context(), "taxis"); err != nil {
		t.Fatal(err)
	}
	if _, err := f.lines.ReadByte(); err != io.EOF {
		t.Errorf("the stream of a dropped collection ends with %v", err)
	}
}

func TestEventsRefuse(t *testing.T) {
	s := newService(t, withHalves(t, new(buildtest.Faults)))
	s.make("shops", `{"private":true}`)
	s.make("taxis", "")
	for _, tt := range []struct {
		target string
		status int
		typ    string
	}{
		{"/points/none/events", 404, "collection-not-found"},
		{"/points/shops/events", 404, "collection-not-found"},
		{"/points/taxis/events?enter=", 400, "bad-parameter"},
		{"/points/taxis/events?enter=state:", 400, "bad-parameter"},
		{"/points/taxis/events?enter=planet", 404, "unknown-layer"},
		{"/points/taxis/events?leave=state:north-west", 404, "region-not-found"},
		{"/points/taxis/events?within=1,2", 400, "bad-parameter"},
		{"/points/taxis/events?within=1,2,0", 400, "bad-parameter"},
		{"/points/taxis/events?within=100,2,5", 400, "bad-parameter"},
		{"/points/taxis/events?within=1,nan,5", 400, "bad-parameter"},
		{"/points/taxis/events?bbox=1,5,2,4", 400, "bad-parameter"},
		{"/points/taxis/events?within=" + strings.TrimSuffix(strings.Repeat("1,2,3,", 101), ","), 400, "bad-parameter"},
		{"/points/taxis/events?enter=" + strings.TrimSuffix(strings.Repeat("state,", 200), ","), 400, "bad-parameter"},
		{"/points/taxis/events?last_event_id=x", 400, "bad-parameter"},
		{"/points/taxis/events?last_event_id=5.x", 400, "bad-parameter"},
		{"/points/taxis/events?last_event_id=1", 410, "events-gone"},
		{"/points/taxis/events?near=1", 400, "bad-parameter"},
	} {
		s.want(s.send("", "GET", tt.target, ""), tt.status, tt.typ)
	}
	s.want(s.send(rootKey, "POST", "/points/shops/events", ""), 405, "")
	s = newService(t, nil)
	s.make("taxis", "")
	s.want(s.send("", "GET", "/points/taxis/events?enter=state", ""), 404, "dataset-missing")
}

// A server that is about to stop ends its streams.
func TestEventsDrain(t *testing.T) {
	draining := make(chan struct{})
	s := newService(t, func(_ *web.Config, _ *ask.Sets, c *Config) { c.Draining = draining })
	s.make("taxis", "")
	server := httptest.NewServer(s.handler)
	t.Cleanup(server.Close)
	f := begin(t, server, "", "")
	close(draining)
	if _, err := f.lines.ReadByte(); err != io.EOF {
		t.Errorf("the stream ends with %v", err)
	}
}

// Each move is sent once, however often the stream breaks.
func TestEventsOnce(t *testing.T) {
	s := newService(t, nil)
	l := s.make("taxis", "")
	server := httptest.NewServer(s.handler)
	t.Cleanup(server.Close)
	f := begin(t, server, "", "")
	s.move("a", 0, 0)
	last := f.next().id
	const n = 300
	written := make(chan error, 1)
	go func() {
		var err error
		for i := 1; i <= n && err == nil; i++ {
			var o [1]live.Outcome
			if err = l.Write(context.Background(), []live.Write{{
				Kind:       live.Put,
				ID:         "a",
				Lat:        float64(i) / 10,
				Properties: noProperties,
			}}, o[:]); err == nil {
				err = o[0].Err
			}
		}
		written <- err
	}()
	for i := 1; i <= n; i++ {
		if i%50 == 0 {
			f.end()
			f = begin(t, server, "", last)
		}
		e := f.next()
		var d struct{ Lat float64 }
		if err := json.Unmarshal([]byte(e.data), &d); err != nil || d.Lat != float64(i)/10 {
			t.Fatalf("%+v, want move %d, %v", e, i, err)
		}
		last = e.id
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
}

// A key that is revoked, or loses its scope, ends its streams of private collections.
func TestEventsOfRevokedKey(t *testing.T) {
	for _, line := range []string{
		quota.FormatLine("other", quota.HashOf(plainKey), nil),
		quota.FormatLine("root", quota.HashOf(rootKey), nil, quota.Scope{Collection: "shops"}),
	} {
		revoked, err := quota.ReadKeys(strings.NewReader(line))
		if err != nil {
			t.Fatal(err)
		}
		var later atomic.Pointer[quota.Keys]
		s := newService(t, func(c *web.Config, _ *ask.Sets, _ *Config) {
			first := c.Guard.Keys
			c.Guard.Keys = func() *quota.Keys {
				if keys := later.Load(); keys != nil {
					return keys
				}
				return first()
			}
		})
		s.handlers.heartbeat = time.Millisecond
		s.make("taxis", `{"private":true}`)
		server := httptest.NewServer(s.handler)
		t.Cleanup(server.Close)
		f := begin(t, server, "", "")
		s.move("a", 1, 2)
		e := f.next()
		for e == (event{}) { // the stream is alive
			e = f.next()
		}
		if e.name != "move" {
			t.Errorf("%+v", e)
		}
		later.Store(revoked)
		if _, err := io.Copy(io.Discard, f.lines); err != nil {
			t.Errorf("the stream ends with %v", err)
		}
	}
}
