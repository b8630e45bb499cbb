package webhook

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/cellstore/pebblestore"
	"quadrille/internal/testseed"
	"quadrille/places/live"
	"quadrille/places/points"
)

// failingStore is a store that cannot be opened, read or written while fails is set.
type failingStore struct {
	*pebblestore.Store
	fails atomic.Bool
}

func (s *failingStore) err() error {
	if s.fails.Load() {
		return syscall.EIO
	}
	return nil
}

func (s *failingStore) Table(ctx context.Context, name string) (cellstore.Table, error) {
	if err := s.err(); err != nil {
		return nil, err
	}
	t, err := s.Store.Table(ctx, name)
	return &failingTable{t, s}, err
}

type failingTable struct {
	cellstore.Table
	s *failingStore
}

func (t *failingTable) Scan(ctx context.Context, scan cellstore.Scan) iter.Seq2[*cellstore.Row, error] {
	if err := t.s.err(); err != nil {
		return func(yield func(*cellstore.Row, error) bool) { yield(nil, err) }
	}
	return t.Table.Scan(ctx, scan)
}

func (t *failingTable) Apply(ctx context.Context, mutations ...cellstore.Mutation) error {
	if err := t.s.err(); err != nil {
		return err
	}
	return t.Table.Apply(ctx, mutations...)
}

func openStore(t *testing.T, dir string) *failingStore {
	t.Helper()
	store, err := pebblestore.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &failingStore{Store: store}
}

func openLive(t *testing.T, dir string) (*live.Store, func()) {
	t.Helper()
	return openLiveOf(t, openStore(t, dir))
}

func openLiveOf(t *testing.T, store *failingStore) (*live.Store, func()) {
	t.Helper()
	opened, err := live.Open(t.Context(), store, points.LiveKind)
	if err != nil {
		t.Fatal(err)
	}
	return opened, sync.OnceFunc(func() {
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
}

func newCollection(t *testing.T, events time.Duration) (*live.Store, *live.Collection) {
	t.Helper()
	store, shut := openLive(t, t.TempDir())
	t.Cleanup(shut)
	l, err := store.Create(t.Context(), live.Meta{Name: "taxis", EventRetention: live.Duration(events)})
	if err != nil {
		t.Fatal(err)
	}
	return store, l
}

func start(t *testing.T, cfg Config) *Sender {
	t.Helper()
	cfg.FirstRetry, cfg.LastRetry = time.Millisecond, 5*time.Millisecond
	s := Start(context.Background(), cfg)
	t.Cleanup(s.Close)
	return s
}

func put(t *testing.T, s *Sender, l *live.Collection, name string, d Definition) State {
	t.Helper()
	st, _, err := s.Put(t.Context(), l, name, d)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func move(t *testing.T, l *live.Collection, id string, lat, lon float64) {
	t.Helper()
	var o [1]live.Outcome
	err := l.Write(context.Background(), []live.Write{{Kind: live.Put, ID: id, Lat: lat, Lon: lon, Properties: []byte("{}")}}, o[:])
	if err != nil || o[0].Err != nil {
		t.Error(err, o[0].Err)
	}
}

// until waits until done returns true.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it never came about that", what)
		}
	}
}

// sent is an event in the form that a receiver gets.
type sent struct {
	ID, Type, Point, Fence string
	Lat, Lon               float64
	Gone                   bool
	From                   *struct{ Lat, Lon float64 }
}

// receiver takes the requests of one hook and checks them.
type receiver struct {
	t      *testing.T
	server *httptest.Server
	answer func(w http.ResponseWriter, n int) bool // reports whether it takes the request

	mu     sync.Mutex
	secret string
	asked  int
	bodies map[string]string // by webhook-id
	taken  []sent
}

func receive(t *testing.T, answer func(w http.ResponseWriter, n int) bool) *receiver {
	t.Helper()
	r := &receiver{t: t, answer: answer, bodies: map[string]string{}}
	r.server = httptest.NewServer(r)
	t.Cleanup(r.server.Close)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return // cut off
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked++
	id, at := q.Header.Get("webhook-id"), q.Header.Get("webhook-timestamp")
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(r.secret, "whsec_"))
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", id, at, body)
	if want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); err != nil ||
		!slices.Contains(strings.Split(q.Header.Get("webhook-signature"), " "), want) || strings.Contains(id, ".") {
		r.t.Errorf("%s: signature %q, want %q", id, q.Header.Get("webhook-signature"), want)
	}
	if _, err := strconv.ParseInt(at, 10, 64); err != nil || q.Method != "POST" || q.Header.Get("content-type") != "application/json" {
		r.t.Errorf("%s %v", q.Method, q.Header)
	}
	if was, there := r.bodies[id]; there && was != string(body) {
		r.t.Errorf("%s has two bodies", id)
	}
	r.bodies[id] = string(body)
	var doc struct {
		Collection, Hook string
		Events           []sent
	}
	if err := json.Unmarshal(body, &doc); err != nil || doc.Collection != "taxis" || len(doc.Events) == 0 || len(doc.Events) > maxEvents {
		r.t.Errorf("%s: %v", body, err)
	}
	if r.answer == nil || r.answer(w, r.asked) {
		r.taken = append(r.taken, doc.Events...)
	}
}

// once returns the accepted events without duplicates.
func (r *receiver) once() (list []sent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := map[string]bool{}
	for _, e := range r.taken {
		if !seen[e.ID] {
			list = append(list, e)
		}
		seen[e.ID] = true
	}
	return list
}

func (r *receiver) hook(t *testing.T, s *Sender, l *live.Collection, name string, d Definition) State {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock() // a request waits for the secret
	d.URL = r.server.URL
	st := put(t, s, l, name, d)
	r.secret = st.Secret
	return st
}

// However often the server ends and the receiver fails, the receiver gets every event in the order
// of the writes.
func TestRestarts(t *testing.T) {
	// A receiver accepts one request at a time.
	unreliable := func() func(http.ResponseWriter, int) bool {
		random := testseed.Rand(t)
		return func(w http.ResponseWriter, _ int) bool {
			switch random.IntN(6) {
			case 0:
				w.WriteHeader(500)
				return false
			case 1: // accepts it, but its answer is lost
				panic(http.ErrAbortHandler)
			case 2:
				w.WriteHeader(302)
				return false
			}
			return true
		}
	}
	all := receive(t, unreliable())
	box := receive(t, unreliable())
	dir := t.TempDir()
	store, shut := openLive(t, dir)
	t.Cleanup(func() { shut() })
	l, err := store.Create(t.Context(), live.Meta{Name: "taxis"})
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, Config{Live: store, AllowPrivate: true})
	all.hook(t, s, l, "all", Definition{})
	box.hook(t, s, l, "box", Definition{BBox: []string{"0,0,10,10"}, Within: []string{"20,20,1000", "-20,-20,1000"}})
	const rounds, moves = 20, 60
	for round := range rounds {
		var wg sync.WaitGroup
		wg.Go(func() {
			for i := range moves {
				n := round*moves + i
				switch lon := float64(n) / 10000; n % 2 { // each move but the first crosses
				case 0:
					move(t, l, "a", 5, lon)
				case 1:
					move(t, l, "a", 15, lon)
				}
			}
		})
		if round%4 == 3 { // the collections are closed, too
			wg.Wait()
			s.Close()
			shut()
			store, shut = openLive(t, dir)
			l = store.Collection("taxis")
		} else {
			before := len(box.once())
			until(t, "events come", func() bool { return len(box.once()) > before || len(all.once()) == (round+1)*moves })
			s.Close()
		}
		s = start(t, Config{Live: store, AllowPrivate: true})
		wg.Wait()
	}
	for name, r := range map[string]*receiver{"all": all, "box": box} {
		until(t, "all events have come", func() bool { return len(r.once()) >= rounds*moves })
		for i, e := range r.once() {
			want := sent{Type: "move", Point: "a", Lat: 5, Lon: float64(i) / 10000}
			if want.Lat += float64(i % 2 * 10); name == "box" {
				want.Type, want.Fence = []string{"enter", "leave"}[i%2], "bbox:0,0,10,10"
			}
			want.ID, want.From, e.From = e.ID, nil, nil
			if e != want {
				t.Fatalf("%s: event %d is %+v, want %+v", name, i, e, want)
			}
		}
	}
	until(t, "the state tells it", func() bool {
		st, err := s.Get(l, "all")
		last := all.once()[rounds*moves-1].ID
		return err == nil && st.Delivered == last && st.Failures == 0 && st.Error == "" && st.Next == nil && st.Secret == ""
	})
}

// A move that crosses more fences than a request can contain continues in the next request.
func TestManyCrossings(t *testing.T) {
	store, l := newCollection(t, 0)
	var failing atomic.Bool
	failing.Store(true)
	r := receive(t, func(w http.ResponseWriter, n int) bool {
		if failing.Load() {
			w.WriteHeader(503)
		}
		return !failing.Load()
	})
	s := start(t, Config{Live: store, AllowPrivate: true})
	var d Definition
	for i := range 80 {
		d.Within = append(d.Within, fmt.Sprintf("%d,10,1000", i%2*20))
		d.BBox = nil
	}
	move(t, l, "a", 0, 10)
	r.hook(t, s, l, "many", d)
	for i := range 5 {
		move(t, l, "a", float64((i+1)%2*20), 10)
	}
	until(t, "it fails", func() bool { st, _ := s.Get(l, "many"); return st.Failures > 2 })
	failing.Store(false)
	until(t, "all have come", func() bool { return len(r.once()) == 5*80 })
	list := r.once()
	for i, e := range list {
		if want := []string{"leave", "enter"}[i/40%2]; e.Type != want ||
			i%80 != 79 && strings.Split(e.ID, ".")[1] != strconv.Itoa(i%80+1) || i%80 == 79 && strings.Contains(e.ID, ".") {
			t.Fatalf("event %d: %+v", i, e)
		}
	}
	r.hook(t, s, l, "many", Definition{}) // goes on where it was
	move(t, l, "a", 1, 1)
	until(t, "the next move has come", func() bool { return len(r.once()) == 5*80+1 })
}

func TestGone(t *testing.T) {
	store, l := newCollection(t, 0)
	var gone atomic.Bool
	gone.Store(true)
	r := receive(t, func(w http.ResponseWriter, n int) bool {
		if gone.Load() {
			w.WriteHeader(410)
		}
		return !gone.Load()
	})
	s := start(t, Config{Live: store, AllowPrivate: true})
	created := r.hook(t, s, l, "h", Definition{}).Created
	move(t, l, "a", 1, 1)
	until(t, "the hook is disabled", func() bool { st, _ := s.Get(l, "h"); return st.Disabled })
	s.Close()
	s = start(t, Config{Live: store, AllowPrivate: true})
	if st, err := s.Get(l, "h"); err != nil || !st.Disabled {
		t.Errorf("%+v: %v", st, err)
	}
	s.Deliveries(func(outcome string, n int64) {
		if n > 0 {
			t.Errorf("a disabled hook has requests: %s", outcome)
		}
	})
	gone.Store(false)
	if st := r.hook(t, s, l, "h", Definition{}); st.Disabled || !st.Created.Equal(created) {
		t.Errorf("%+v", st)
	}
	until(t, "the event has come", func() bool { return len(r.once()) == 1 })
	if err := s.Delete(t.Context(), l, "h"); err != nil {
		t.Error(err)
	}
	if err := s.Delete(t.Context(), l, "h"); err != ErrNoHook {
		t.Error(err)
	}
	if notes, err := l.Notes(t.Context(), ""); err != nil || len(notes) != 0 {
		t.Errorf("%v is left: %v", notes, err)
	}
}

// Events that are no longer stored are skipped, and the state reports this.
func TestLost(t *testing.T) {
	store, l := newCollection(t, time.Second)
	var failing atomic.Bool
	failing.Store(true)
	r := receive(t, func(w http.ResponseWriter, n int) bool {
		if failing.Load() {
			w.WriteHeader(500)
		}
		return !failing.Load()
	})
	s := start(t, Config{Live: store, AllowPrivate: true})
	r.hook(t, s, l, "h", Definition{})
	move(t, l, "old", 1, 1)
	until(t, "it is lost", func() bool { st, _ := s.Get(l, "h"); return st.Lost != nil })
	st, _ := s.Get(l, "h")
	if !strings.Contains(st.Lost.Error, "500") {
		t.Errorf("%+v", st.Lost)
	}
	failing.Store(false)
	until(t, "a later one comes", func() bool { move(t, l, "new", 1, 1); return len(r.once()) > 0 }) // one may be lost too
	if e := r.once()[0]; e.Point != "new" {
		t.Errorf("%+v", e)
	}
	until(t, "all is counted", func() bool {
		counts := map[string]int64{}
		s.Deliveries(func(outcome string, n int64) { counts[outcome] = n })
		return counts["lost"] > 0 && counts["rejected"] > 0 && counts["delivered"] > 0
	})
}

// Dropping a collection removes its hooks, and a new collection with the same name begins without
// hooks.
func TestDrop(t *testing.T) {
	store, l := newCollection(t, 0)
	s := start(t, Config{Live: store, AllowPrivate: true})
	r := receive(t, func(w http.ResponseWriter, n int) bool { w.WriteHeader(500); return false })
	r.hook(t, s, l, "h", Definition{})
	move(t, l, "a", 1, 1)
	until(t, "it fails", func() bool { st, _ := s.Get(l, "h"); return st.Failures > 0 })
	if err := store.Drop(t.Context(), "taxis"); err != nil {
		t.Fatal(err)
	}
	until(t, "the hooks have gone", func() bool { _, err := s.List(l); return errors.Is(err, live.ErrClosed) })
	if _, _, err := s.Put(t.Context(), l, "h", Definition{URL: r.server.URL}); err == nil {
		t.Error("a dropped collection takes hooks")
	}
	l, err := store.Create(t.Context(), live.Meta{Name: "taxis"})
	if list, lerr := s.List(l); err != nil || lerr != nil || len(list) != 0 {
		t.Error(list, err, lerr)
	}
	if err := l.SetNote(t.Context(), "hook:broken", []byte("{"), cellstore.Sync); err != nil {
		t.Fatal(err)
	}
	s.Close()
	s = start(t, Config{Live: store, AllowPrivate: true})
	if st, err := s.Get(l, "broken"); err != nil || !st.Disabled || !strings.Contains(st.Error, "PUT it again") {
		t.Errorf("a hook that cannot be read: %+v, %v", st, err)
	}
	if st, isNew, err := s.Put(t.Context(), l, "broken", Definition{URL: r.server.URL}); err != nil || isNew || st.Disabled ||
		st.EarlierUntil != nil {
		t.Errorf("PUT again: %+v, new %v, %v", st, isNew, err)
	}
	for i := 1; i <= MaxHooks; i++ {
		_, isNew, err := s.Put(t.Context(), l, fmt.Sprint("h", i), Definition{URL: r.server.URL})
		if i < MaxHooks && (err != nil || !isNew) || i == MaxHooks && err != ErrTooManyHooks {
			t.Errorf("hook %d: %v", i, err)
		}
	}
	if list, err := s.List(l); err != nil || len(list) != MaxHooks ||
		!slices.IsSortedFunc(list, func(a, b State) int { return strings.Compare(a.Name, b.Name) }) {
		t.Errorf("%+v", list)
	}
}

// Whatever a receiver answers, reading the answer takes bounded time and memory, and stops when the
// hook ends.
func TestHostileReceivers(t *testing.T) {
	for name, tt := range map[string]struct {
		answer  http.HandlerFunc
		outcome string
	}{
		"header": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Large", strings.Repeat("x", 10<<20))
		}, "unreachable"},
		"body": {func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 64<<10)); err != nil {
					return
				}
			}
		}, "delivered"},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/other" {
				t.Error("a redirect is followed")
			}
			http.Redirect(w, r, "/other", http.StatusTemporaryRedirect)
		}, "rejected"},
		"interim": {func(w http.ResponseWriter, r *http.Request) {
			for range 1000 {
				w.WriteHeader(http.StatusEarlyHints)
			}
			w.WriteHeader(500)
		}, ""},
		"cut": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "unreachable"},
		"silent": {func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		}, "-"},
	} {
		t.Run(name, func(t *testing.T) {
			store, l := newCollection(t, 0)
			asked := make(chan bool, 100)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				select {
				case asked <- true:
				default:
				}
				tt.answer(w, r)
			}))
			t.Cleanup(server.Close)
			s := start(t, Config{Live: store, AllowPrivate: true})
			put(t, s, l, "h", Definition{URL: server.URL})
			move(t, l, "a", 1, 1)
			<-asked
			if tt.outcome != "-" {
				until(t, "it is counted", func() (done bool) {
					s.Deliveries(func(outcome string, n int64) { done = done || n > 0 && (outcome == tt.outcome || tt.outcome == "") })
					return done
				})
			}
			s.Close() // without grace, at once
		})
	}
}

// A running request may finish when the server ends, and its events are not sent again.
func TestGrace(t *testing.T) {
	store, l := newCollection(t, 0)
	running, end := make(chan bool), make(chan bool)
	r := receive(t, func(_ http.ResponseWriter, n int) bool {
		if n == 1 {
			running <- true
			<-end
		}
		return true
	})
	s := start(t, Config{Live: store, AllowPrivate: true, Grace: time.Hour})
	r.hook(t, s, l, "h", Definition{})
	move(t, l, "a", 1, 1)
	<-running
	closed := make(chan bool)
	go func() { s.Close(); close(closed) }()
	<-s.ctx.Done()
	end <- true
	<-closed
	s = start(t, Config{Live: store, AllowPrivate: true})
	move(t, l, "b", 1, 1)
	until(t, "the next one has come", func() bool { return len(r.once()) == 2 })
	if len(r.taken) != 2 {
		t.Errorf("%d events, want 2", len(r.taken))
	}
}

func TestRetryAfter(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"": 0, "5": 5 * time.Second, "-1": 0, "x": 0, "999999999": maxRetryAfter, "99999999999999999999": 0,
		"Wed, 21 Oct 2015 07:28:00 GMT": 0, "Wed, 21 Oct 2099 07:28:00 GMT": maxRetryAfter,
	} {
		if got := askedPause(http.Header{"Retry-After": {text}}); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// Hooks that cannot be read are not treated as missing: they run once they can be read. The test
// has two cases: at the start the collection cannot be opened, or only its hooks cannot be read.
func TestUnreadHooks(t *testing.T) {
	dir := t.TempDir()
	store, shut := openLive(t, dir)
	l, err := store.Create(t.Context(), live.Meta{Name: "taxis"})
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, Config{Live: store, AllowPrivate: true})
	r := receive(t, nil)
	r.hook(t, s, l, "h", Definition{})
	s.Close()
	shut()
	for n, late := range []bool{true, false} {
		disk := openStore(t, dir)
		disk.fails.Store(late)
		store, shut := openLiveOf(t, disk)
		disk.fails.Store(true)
		s := start(t, Config{Live: store, AllowPrivate: true})
		if !late {
			l := store.Collection("taxis")
			_, got := s.Get(l, "h")
			_, _, putErr := s.Put(t.Context(), l, "h", Definition{URL: r.server.URL})
			_, listed := s.List(l)
			for _, err := range []error{got, putErr, listed, s.Delete(t.Context(), l, "none")} {
				if !errors.Is(err, errUnread) || !errors.Is(err, syscall.EIO) {
					t.Error(err)
				}
			}
		}
		disk.fails.Store(false)
		until(t, "the collection is served", func() bool { return store.Collection("taxis") != nil })
		l := store.Collection("taxis")
		if late {
			if _, err := s.Get(l, "h"); err != nil {
				t.Error(err)
			}
		}
		move(t, l, "a", float64(n+1), 1)
		until(t, "the event comes", func() bool { return len(r.once()) == n+1 })
		runs, _ := s.find(l, "h")
		if err := s.load(l); err != nil {
			t.Fatal(err)
		}
		if now, _ := s.find(l, "h"); now != runs {
			t.Error("it runs twice")
		}
		s.Close()
		shut()
	}
}

// If the disk refuses to store the position of a hook, the position is stored when the hook ends.
func TestDeliveredWhileRefused(t *testing.T) {
	dir := t.TempDir()
	disk := openStore(t, dir)
	store, shut := openLiveOf(t, disk)
	l, err := store.Create(t.Context(), live.Meta{Name: "taxis"})
	if err != nil {
		t.Fatal(err)
	}
	r := receive(t, func(_ http.ResponseWriter, n int) bool { disk.fails.Store(n == 1); return true })
	s := start(t, Config{Live: store, AllowPrivate: true})
	r.hook(t, s, l, "h", Definition{})
	move(t, l, "a", 1, 1)
	until(t, "it is delivered", func() bool { st, _ := s.Get(l, "h"); return st.Delivered != "" })
	disk.fails.Store(false)
	s.Close()
	s = start(t, Config{Live: store, AllowPrivate: true})
	move(t, l, "b", 1, 1)
	until(t, "the next one comes", func() bool { return len(r.once()) == 2 })
	s.Close()
	if len(r.taken) != 2 {
		t.Errorf("%d events are sent, want 2", len(r.taken))
	}
	shut()
}
