package web

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labstack/echo/v4"
	"pgregory.net/rapid"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/quota"
)

// In every class one client cannot take all places. On a server with keys some places are reserved
// for clients with a key.
func TestPlacesAreShared(t *testing.T) {
	keys, err := quota.ReadKeys(strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	s := New(&Config{MaxConcurrent: 64, Guard: &Guard{Keys: func() *quota.Keys { return keys }, Anonymous: true}})
	for class, p := range map[string]*places{"all": &s.running, "heavy": &s.HeavyPlaces, "streams": &s.streams, "followers": &s.followers} {
		fill := func(name func(i int) Client) (n int) {
			for i := 0; p.beginFew() || p.begin(name(i)); i++ {
				n++
			}
			return n
		}
		one := httptest.NewRequest(http.MethodGet, "/", nil)
		one.RemoteAddr = "192.0.2.1:1"
		attacker := s.ClientOf(echo.New().NewContext(one, nil))
		if n := int64(fill(func(int) Client { return attacker })); n != p.share {
			t.Errorf("%s: one client has %d places, want %d", class, n, p.share)
		}
		many := fill(func(i int) Client {
			return Client{Addr: quota.ClientAddrOf(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}))}
		})
		if many < 1 {
			t.Errorf("%s: one client has kept all others out", class)
		}
		if n := fill(func(i int) Client { return Client{Key: strconv.Itoa(i)} }); int64(n) != p.keys || n < 1 {
			t.Errorf("%s: of all places %d are left to keys, want %d", class, n, p.keys)
		}
		if p.Taken() != p.most {
			t.Errorf("%s: %d places are taken of %d", class, p.Taken(), p.most)
		}
	}
}

// One client cannot exceed its share of the heavy places. Its share includes the few places that
// are given without identifying the client. Each place is released once; a stream releases it
// before its end.
func TestHeavyPlacesOfOneClient(t *testing.T) {
	s := New(&Config{MaxConcurrent: 64}) // 16 are heavy, 4 of them one client's, 2 unasked
	route := &endpoint.Endpoint{Path: "/heavy", Cost: endpoint.Heavy}
	s.heavy[[2]string{http.MethodGet, route.Path}] = true
	var deepest int
	var ask func(depth int) error
	ask = func(depth int) error {
		c := echo.New().NewContext(httptest.NewRequest(http.MethodGet, "/heavy", nil), httptest.NewRecorder())
		c.SetPath(route.Path)
		return s.guard(route, &s.HeavyPlaces, func(c echo.Context) error {
			deepest = depth
			if n := s.HeavyPlaces.Taken(); n != int64(depth) {
				t.Errorf("%d places are taken by %d requests", n, depth)
			}
			refused := ask(depth + 1)
			free, err := s.beginStream(c)
			if err != nil {
				t.Fatal(err)
			}
			free()
			if n := s.HeavyPlaces.Taken(); n != int64(depth-1) {
				t.Errorf("%d places are taken by %d requests and a stream", n, depth-1)
			}
			return refused
		})(c)
	}
	for range 2 { // the second time too: bytes given back no longer count for the client
		if err := ask(1); !errors.Is(err, ErrBusy) || deepest != 4 || s.HeavyPlaces.Taken() != 0 {
			t.Errorf("%d requests at once, then %v; %d places are taken in the end", deepest, err, s.HeavyPlaces.Taken())
		}
	}
}

// Every request takes a place, so taking one must not allocate.
func TestPlacesAllocateNothing(t *testing.T) {
	s := New(&Config{})
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	c := echo.New().NewContext(r, httptest.NewRecorder())
	nothing := func(echo.Context) error { return nil }
	for class, h := range map[string]echo.HandlerFunc{
		"light":    s.guard(&endpoint.Endpoint{}, &s.running, nothing),
		"heavy":    s.guard(&endpoint.Endpoint{}, &s.HeavyPlaces, nothing),
		"streamed": s.guard(&endpoint.Endpoint{}, &s.streams, nothing),
	} {
		if n := testing.AllocsPerRun(100, func() { _ = h(c) }); n > 0 {
			t.Errorf("%s: %v allocations", class, n)
		}
	}
}

// A stream of a heavy route releases its heavy place, because its client may be slow.
func TestStreamsKeepNoHeavyPlace(t *testing.T) {
	s := New(&Config{})
	route := endpoint.Endpoint{Path: "/", Cost: endpoint.Heavy, Handle: func(c echo.Context, _ *endpoint.Params) error {
		if s.HeavyPlaces.Taken() != 1 {
			t.Error("no heavy place is taken")
		}
		return s.Stream(c, Answer{Format: FormatNDJSON}, nil, s.Timeout, func(_ context.Context, out *Stream) error {
			if s.HeavyPlaces.Taken() != 0 || s.streams.Taken() != 1 {
				t.Errorf("a stream has %d heavy places and %d of streams", s.HeavyPlaces.Taken(), s.streams.Taken())
			}
			return out.Line()
		})
	}}
	w := httptest.NewRecorder()
	s.Handler([]endpoint.Endpoint{route}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	if w.Code != http.StatusOK || s.HeavyPlaces.Taken() != 0 || s.streams.Taken() != 0 || s.running.Taken() != 0 {
		t.Errorf("%d, and places are kept", w.Code)
	}
}

// TestProcessorsRest tests that Processors pause between turns if all of them are occupied: after
// each turn if requests begin meanwhile, and otherwise sometimes.
func TestProcessorsRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, n := range []int{1, 2} {
			p := NewCPUScheduler(n)
			who := Client{Key: "a"}
			waited := func() time.Duration {
				start := time.Now()
				if err := p.take(t.Context(), who); err != nil {
					t.Fatal(err)
				}
				p.give(who, turnTime)
				return time.Since(start)
			}
			for _, traffic := range []bool{true, false} {
				var all time.Duration
				for range 10 * idleTurns {
					if traffic {
						p.begun.Add(1)
					}
					all += waited()
				}
				rests := 10 // of the last turn nobody waits for the rest
				if traffic {
					rests *= idleTurns
				}
				if n > 1 {
					rests = 0
				}
				if got := int((all + restTime/2) / restTime); got < rests-1 || got > rests {
					t.Errorf("%d processors, traffic %v: %v of rest, want %d times %v", n, traffic, all, rests, restTime)
				}
			}
		}
	})
}

// Whatever clients request, release and abandon, no processor is given twice or lost, and no client
// exceeds its share. A waiting client gets a processor before any other client gets two.
func TestProcessorsAreTakenByTurns(t *testing.T) {
	type turn struct {
		who Client
		had chan struct{}
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "processors")
		p := NewCPUScheduler(n)
		var held, queue []turn
		since := map[Client]map[Client]int{} // how often others had a turn while one waited
		settle := func() {
			for i := 0; i < len(queue); {
				select {
				case <-queue[i].had:
				default:
					i++
					continue
				}
				got := queue[i]
				held, queue = append(held, got), slices.Delete(queue, i, i+1)
				delete(since, got.who)
				seen := map[Client]bool{}
				for _, w := range queue {
					if seen[w.who] {
						continue
					}
					seen[w.who] = true
					of := 0
					for _, h := range held {
						if h.who == w.who {
							of++
						}
					}
					if of >= p.share || w.who == got.who {
						delete(since, w.who) // it may not have one yet
						continue
					}
					if since[w.who] == nil {
						since[w.who] = map[Client]int{}
					}
					if since[w.who][got.who]++; since[w.who][got.who] > 1 {
						t.Fatalf("%v had two turns while %v waited", got.who, w.who)
					}
				}
			}
		}
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 2).Draw(t, "step") {
			case 0:
				who := Client{Key: rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "who")}
				queue = append(queue, turn{who, p.ask(who)})
			case 1:
				if len(held) > 0 {
					i := rapid.IntRange(0, len(held)-1).Draw(t, "gives")
					who := held[i].who
					held = slices.Delete(held, i, i+1)
					p.give(who, 0)
				}
			case 2:
				if len(queue) > 0 {
					i := rapid.IntRange(0, len(queue)-1).Draw(t, "leaves")
					if !p.leave(queue[i].who, queue[i].had) {
						t.Fatal("a client that waits is not in the queue")
					}
					who := queue[i].who
					queue = slices.Delete(queue, i, i+1)
					if !slices.ContainsFunc(queue, func(w turn) bool { return w.who == who }) {
						delete(since, who)
					}
				}
			}
			settle()
			of := map[Client]int{}
			for _, h := range held {
				if of[h.who]++; of[h.who] > p.share {
					t.Fatalf("%v has %d processors", h.who, of[h.who])
				}
			}
			if len(held)+p.free != n || len(p.of) != len(of) {
				t.Fatalf("%d are held and %d free of %d", len(held), p.free, n)
			}
			for _, w := range queue {
				if p.free > 0 && of[w.who] < p.share {
					t.Fatalf("%v waits beside a free processor", w.who)
				}
			}
		}
	})
}

// A request that gives up stops waiting and keeps no processor.
func TestProcessorIsGivenUp(t *testing.T) {
	p := NewCPUScheduler(1)
	if err := p.take(t.Context(), Client{Key: "a"}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.take(ctx, Client{Key: "b"}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	p.give(Client{Key: "a"}, 0)
	if len(p.queue) != 0 || p.free != 1 || len(p.of) != 0 {
		t.Errorf("%+v", p)
	}
}

// TestTurn tests that work that is not cancelled occupies a processor from its first Step on, and
// none after Pause.
func TestTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewCPUScheduler(1)
		work := p.Turn(Client{Key: "a"})
		work.Pause()
		work.Step()
		asked := time.Now()
		had := make(chan time.Duration)
		go func() {
			if err := p.take(t.Context(), Client{Key: "b"}); err != nil {
				t.Error(err)
			}
			had <- time.Since(asked)
			p.give(Client{Key: "b"}, 0)
		}()
		synctest.Wait()
		work.Step() // is within the turn
		time.Sleep(turnTime)
		go work.Step()
		if waited := <-had; waited < turnTime || waited > turnTime+restTime {
			t.Errorf("another client waited for %v", waited)
		}
		synctest.Wait()
		work.Pause()
		work.Pause()
		time.Sleep(restTime)
		if p.free != 1 || len(p.of) != 0 {
			t.Errorf("%+v", p)
		}
	})
}
