package layers

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"quadrille/ask"
	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/problems"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
	"quadrille/feature/layertest"
	"quadrille/quadkey"
)

// faulty is a layer that fails, or waits, just before the feature with a given number.
type faulty struct {
	*layertest.Memory
	before int
	err    error // nil waits until the context ends
}

func (l *faulty) Get(ctx context.Context, _ string, _ time.Time, _ *feature.Feature) error {
	if l.err != nil {
		return l.err
	}
	<-ctx.Done()
	return ctx.Err()
}

func (l *faulty) Features(ctx context.Context, q *feature.Query) iter.Seq2[*feature.Feature, error] {
	return func(yield func(*feature.Feature, error) bool) {
		for f, err := range l.Memory.Features(ctx, q) {
			if err == nil && f.ID == fmt.Sprint("t-", l.before) {
				yield(nil, l.Get(ctx, "", time.Time{}, nil))
				return
			}
			if !yield(f, err) {
				return
			}
		}
	}
}

func serve(t *testing.T, l feature.Layer, about *feature.Info) *httptest.Server {
	t.Helper()
	live := dataset.NewFixedLive(l, dataset.Manifest{Dataset: about.Name, Generation: 1})
	sets := ask.Sets{ExtraLayers: []ask.LayerKind{ask.SingleLayer(about.Name,
		func(*ask.Sets) *dataset.Live[feature.Layer] { return live })}}
	cfg := web.Config{Views: ask.NewViews(sets), Kinds: slices.Concat(problems.Kinds, problems.LayerProblems),
		RequestTimeout: 200 * time.Millisecond}
	k := web.New(&cfg)
	handlers := New(k, Config{StreamTimeout: 200 * time.Millisecond})
	s := httptest.NewServer(k.Handler(handlers.Endpoints()))
	t.Cleanup(s.Close)
	return s
}

func toys(n int) *layertest.Memory {
	m := &layertest.Memory{LayerInfo: feature.Info{
		Name:      "toys",
		AllPoints: true,
		Bounds:    quadkey.World,
		Schema:    feature.Schema{{Name: "name", Kind: feature.Text}},
	}}
	for i := range n {
		m.List = append(m.List, feature.Feature{
			ID: fmt.Sprint("t-", i), Position: quadkey.Position{Lat: 1, Lon: float64(i % 100)},
			Properties: feature.PropertiesOf(feature.Property{Name: "name", Value: feature.TextValue([]byte(strings.Repeat("x", 2000)))}),
		})
	}
	return m
}

// A layer that fails in the middle, or stalls, gives an error and never a shorter answer. If lines
// have already been sent, the connection is closed.
func TestFailingLayers(t *testing.T) {
	for _, tt := range []struct {
		err    error
		status int
	}{
		{fmt.Errorf("row 7: %w", cellstore.ErrCorrupt), 500},
		{fmt.Errorf("it is down: %w", cellstore.ErrUnavailable), 503},
		{nil, 503},
	} {
		for _, before := range []int{0, 7, 900} {
			m := toys(1000)
			s := serve(t, &faulty{m, before, tt.err}, &m.LayerInfo)
			for _, path := range []string{
				"/toys/nearby?lat=1&lon=1&limit=1000", "/toys/within?bbox=-180,-90,180,90&limit=1000&format=geojson",
				"/toys/within?tile=0/0/0&limit=1000",
				"/toys/within?tile=0/0/0&format=ndjson", "/toys/count", "/toys/count?name.prefix=x", "/toys/t-1",
			} {
				res, err := http.Get(s.URL + path)
				if err != nil {
					t.Fatal(err)
				}
				text, err := io.ReadAll(res.Body)
				res.Body.Close()
				if strings.HasSuffix(path, "ndjson") && before == 900 {
					if res.StatusCode != 200 || err == nil {
						t.Errorf("%v before %d: %s: %d, whole: %v", tt.err, before, path, res.StatusCode, err == nil)
					}
					continue
				}
				if res.StatusCode != tt.status || err != nil || strings.Contains(string(text), "row 7") {
					t.Errorf("%v before %d: %s: %d %v %.300s, want %d", tt.err, before, path, res.StatusCode, err, text, tt.status)
				}
			}
		}
	}
}

// counting is a layer that counts how many of its answers are currently read.
type counting struct {
	*layertest.Memory
	open, answers int
}

func (l *counting) Features(ctx context.Context, q *feature.Query) iter.Seq2[*feature.Feature, error] {
	return func(yield func(*feature.Feature, error) bool) {
		l.open++
		l.answers++
		defer func() { l.open-- }()
		l.Memory.Features(ctx, q)(yield)
	}
}

// watched is a client that records whether a read of the store is open during a write to the
// client.
type watched struct {
	*httptest.ResponseRecorder
	of     *counting
	during int
}

func (w *watched) Write(b []byte) (int, error) {
	w.during = max(w.during, w.of.open)
	return w.ResponseRecorder.Write(b)
}

// A published layer is read in parts, and lines are sent to the client between the parts, so that a
// slow client does not keep a read of the store open.
func TestSlowReadersHoldNothing(t *testing.T) {
	l := &counting{Memory: toys(2000)}
	live := dataset.NewFixedLive[feature.Layer](l, dataset.Manifest{Dataset: "toys", Generation: 1})
	sets := ask.Sets{ExtraLayers: []ask.LayerKind{ask.SingleLayer("toys", func(*ask.Sets) *dataset.Live[feature.Layer] { return live })}}
	k := web.New(&web.Config{Views: ask.NewViews(sets), Kinds: slices.Concat(problems.Kinds, problems.LayerProblems)})
	handlers := New(k, Config{})
	w := &watched{ResponseRecorder: httptest.NewRecorder(), of: l}
	k.Handler(handlers.Endpoints()).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/toys/within?tile=0/0/0&format=ndjson", nil))
	lines := strings.Split(strings.TrimSuffix(w.Body.String(), "\n"), "\n")
	if w.Code != 200 || len(lines) != 2000 || w.during != 0 || l.answers < 3 {
		t.Errorf("%d, %d lines in %d parts, %d reads open while they were written", w.Code, len(lines), l.answers, w.during)
	}
	for i, line := range lines {
		if !strings.Contains(line, fmt.Sprintf(`"id":"t-%d"`, i)) {
			t.Fatalf("line %d: %.100s", i, line)
		}
	}
}

// TestNamesOfLayers tests which names a layer can have: they become parts of paths and of the names
// of operations.
func TestNamesOfLayers(t *testing.T) {
	handlers := func(name string) *Handlers {
		live := dataset.NewFixedLive[feature.Layer](toys(1), dataset.Manifest{Dataset: name, Generation: 1})
		sets := ask.Sets{ExtraLayers: []ask.LayerKind{ask.SingleLayer(name, func(*ask.Sets) *dataset.Live[feature.Layer] { return live })}}
		return New(web.New(&web.Config{Views: ask.NewViews(sets)}), Config{})
	}
	for _, name := range []string{"bus_stops", "a-b-1", "x"} {
		if err := endpoint.Check(handlers(name).Endpoints(), func(string) bool { return true }); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"Bus", "a b", "", "a/b"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q is taken for a layer's name", name)
				}
			}()
			handlers(name)
		}()
	}
}

// TestCursorsOfOthers tests that a cursor is valid only for the layer and the parameters for which
// it was made. Any other cursor is refused.
func TestCursorsOfOthers(t *testing.T) {
	m := toys(30)
	s := serve(t, m, &m.LayerInfo)
	other := toys(30)
	other.LayerInfo.Name = "games"
	o := serve(t, other, &other.LayerInfo)
	get := func(url string) (int, string) {
		res, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(text)
	}
	_, first := get(s.URL + "/toys/within?tile=0/0/0&limit=10")
	_, next, found := strings.Cut(first, `"next":"`)
	if !found {
		t.Fatal(first)
	}
	next = strings.TrimSuffix(next, `"}`)
	if status, text := get(s.URL + "/toys/within?tile=0/0/0&limit=5&cursor=" + next); status != 200 || !strings.Contains(text, `"id":"t-10"`) {
		t.Errorf("the next page: %d %s", status, text)
	}
	for _, url := range []string{
		o.URL + "/games/within?tile=0/0/0&cursor=" + next, s.URL + "/toys/within?tile=1/0/0&cursor=" + next,
		s.URL + "/toys/nearby?lat=1&lon=1&cursor=" + next,
		s.URL + "/toys/within?tile=0/0/0&name=x&cursor=" + next,
	} {
		if status, text := get(url); status != 400 {
			t.Errorf("%s: %d %s", url, status, text)
		}
	}
}
