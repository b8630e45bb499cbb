package points

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"quadrille/cellstore"
	"quadrille/cellstore/pebblestore"
	"quadrille/feature"
	"quadrille/internal/must"
	"quadrille/internal/testrace"
	"quadrille/quadkey"
)

// clockRig is a store of live collections on a machine whose clock is set at will.
type clockRig struct {
	*testing.T
	fs vfs.FS

	mu           sync.Mutex
	wall, steady int64 // ms

	store *pebblestore.Store
	live  *LiveStore
	c     *LiveCollection
}

const (
	clockSkew = cellstore.DefaultClockSkew
	twoDays   = 48 * time.Hour
	oneYear   = 365 * 24 * time.Hour
)

func newClockRig(t *testing.T, meta Meta) *clockRig {
	r := &clockRig{T: t, fs: vfs.NewMem(), wall: 1_700_000_000_000}
	r.open()
	t.Cleanup(r.shut)
	meta.Name = "test"
	r.c = must.Get(r.live.Create(t.Context(), meta)).In(t)
	return r
}

func (r *clockRig) open() {
	r.Helper()
	clock := cellstore.NewClock(cellstore.ClockOptions{Skew: clockSkew, Wall: r.now, Monotonic: func() time.Duration {
		r.mu.Lock()
		defer r.mu.Unlock()
		return time.Duration(r.steady) * time.Millisecond
	}})
	r.store = must.Get(pebblestore.Open("s", &pebblestore.Options{FS: r.fs, Clock: clock})).In(r)
	r.live = must.Get(OpenLive(context.Background(), r.store)).In(r)
	r.c = r.live.Collection("test")
}

func (r *clockRig) shut() {
	if err := errors.Join(r.live.Close(), r.store.Close()); err != nil {
		r.Error(err)
	}
}

func (r *clockRig) now() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.wall
}

// set sets the clock, and pass lets time go by.
func (r *clockRig) set(by time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wall += by.Milliseconds()
}

func (r *clockRig) pass(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wall += d.Milliseconds()
	r.steady += d.Milliseconds()
}

// upkeep does the work that a collection otherwise does every second or hour.
func (r *clockRig) upkeep() {
	r.Helper()
	for range 2 {
		must.Get(prune(r.c)).In(r)
	}
	must.Do(r, r.store.Compact(r.Context(), tablePrefix+"test"))
}

func (r *clockRig) write(w Write) (int64, error) {
	r.Helper()
	o := make([]Outcome, 1)
	must.Do(r, r.c.Write(r.Context(), []Write{w}, o))
	return o[0].Version, o[0].Err
}

func (r *clockRig) put(id string, lat float64) int64 {
	r.Helper()
	return must.Get(r.write(Write{Kind: Put, ID: id, Lat: lat})).In(r)
}

// events returns the latitudes that points have moved to, in order.
func (r *clockRig) events(n int) (lats []float64) {
	r.Helper()
	enough := errors.New("enough")
	ctx, cancel := context.WithTimeout(r.Context(), time.Minute)
	defer cancel()
	last := uint64(0)
	if err := r.c.Follow(ctx, 0, func(e *Event) error {
		if e.Seq <= last || e.Before != last && last != 0 {
			r.Errorf("event %d comes after %d and names %d", e.Seq, last, e.Before)
		}
		last = e.Seq
		if lats = append(lats, -1); e.To != nil {
			lats[len(lats)-1] = e.To[1]
		}
		if len(lats) == n {
			return enough
		}
		return nil
	}); !errors.Is(err, enough) {
		r.Errorf("%d events, want %d: %v", len(lats), n, err)
	}
	return lats
}

// The clock is far off for a moment. No event, history or expiring point is lost, and nothing gets
// a time in the future.
func TestClockIsOffForAMoment(t *testing.T) {
	for name, off := range map[string]time.Duration{"48 h ahead": twoDays, "a year ahead": oneYear, "48 h behind": -twoDays} {
		t.Run(name, func(t *testing.T) {
			r := newClockRig(t, Meta{HistoryRetention: Duration(time.Hour), EventRetention: Duration(time.Hour)})
			expires := time.UnixMilli(r.now()).Add(30 * time.Minute)
			var versions []int64
			put := func() {
				t.Helper()
				v := must.Get(r.write(Write{Kind: Put, ID: "van", Lat: float64(len(versions)), Expires: expires})).In(t)
				versions = append(versions, v)
			}
			put()
			r.pass(2 * clockSkew)
			put()
			x := &expirer{c: r.c}
			if got := x.expired(); got != nil {
				t.Errorf("points are to be removed: %+v", got.writes)
			}
			r.set(off)
			put()
			must.Get(r.write(Write{Kind: Put, ID: "short"})).In(t)
			must.Get(r.write(Write{Kind: Delete, ID: "short"})).In(t)
			r.pass(3 * time.Second)
			if got := x.expired(); got != nil {
				t.Errorf("points are to be removed while the clock is off: %+v", got.writes)
			}
			r.upkeep()
			r.set(-off)
			r.upkeep()
			put()
			if !slices.IsSorted(versions) || versions[3] > r.now()+clockSkew.Milliseconds() {
				t.Errorf("versions %v, and it is %d", versions, r.now())
			}
			if got, want := r.events(6), []float64{0, 1, 2, 0, -1, 3}; !slices.Equal(got, want) {
				t.Errorf("events go to %v, want %v", got, want)
			}
			stops, _, err := r.c.Track(t.Context(), "van", time.Time{}, time.Time{}, 10)
			if err != nil || len(stops) != 4 || stops[0].Version != versions[0] {
				t.Errorf("track %+v: %v", stops, err)
			}
			if v := r.put("new", 5); v > r.now()+clockSkew.Milliseconds() {
				t.Errorf("a new point is %d ms ahead", v-r.now())
			}
			var h Hit
			if err := r.c.GetAt(t.Context(), "new", time.UnixMilli(r.now()), &h); err != nil {
				t.Errorf("a new point as of now: %v", err)
			}
		})
	}
}

// The clock was ahead when the collection was opened, or for a long time. Once it is right, new
// points and events are as usual.
func TestClockWasAhead(t *testing.T) {
	for name, was := range map[string]func(r *clockRig){
		"at the start": func(r *clockRig) {
			r.shut()
			r.set(oneYear)
			r.open()
		},
		"for long": func(r *clockRig) {
			r.set(oneYear)
			_ = r.c.Now()
			r.pass(clockSkew)
		},
	} {
		for _, history := range []Duration{0, maxHistory} {
			t.Run(fmt.Sprint(name, " ", time.Duration(history)), func(t *testing.T) {
				r := newClockRig(t, Meta{HistoryRetention: history, EventRetention: Duration(time.Hour)})
				r.pass(time.Hour)
				was(r)
				if v := r.put("a", 1); v < r.now() {
					t.Fatalf("%d, though the clock says %d: nothing is tested", v, r.now())
				}
				must.Get(r.write(Write{Kind: Delete, ID: "a"})).In(t)
				r.set(-oneYear)
				v := r.put("b", 2)
				if v > r.now()+clockSkew.Milliseconds() {
					t.Errorf("a new point is %d ms ahead", v-r.now())
				}
				if history > 0 {
					r.pass(time.Second)
					var h Hit
					if err := r.c.GetAt(t.Context(), "b", time.UnixMilli(r.now()), &h); err != nil {
						t.Errorf("a new point as of now: %v", err)
					}
				}
				if got, want := r.events(3), []float64{1, -1, 2}; !slices.Equal(got, want) {
					t.Errorf("events go to %v, want %v", got, want)
				}
				// Events that were written while the clock was right expire by that time, although
				// their sequence number is ahead.
				r.pass(2 * clockSkew)
				_ = r.c.Now()
				r.pass(clockSkew)
				r.put("b", 3)
				r.pass(2 * time.Hour)
				last, _ := r.c.LastEvent(t.Context())
				if list, err := r.c.events(t.Context(), last-1, last, 10); err != nil || len(list) != 0 {
					t.Errorf("%d events are kept too long: %v", len(list), err)
				}
			})
		}
	}
}

// Whenever an expired point is removed, its track ends at its expiry time: before the removal,
// after a restart, and when another point takes the id first.
func TestTrackOfExpiry(t *testing.T) {
	for name, then := range map[string]func(r *clockRig) []feature.Stop{
		"not removed yet": func(*clockRig) []feature.Stop { return nil },
		"a restart": func(r *clockRig) []feature.Stop {
			r.shut()
			r.pass(22 * time.Second)
			r.open()
			x := &expirer{c: r.c}
			if gone := x.expired(); gone != nil {
				r.Errorf("points are removed right after a start: %+v", gone.writes)
			}
			r.pass(clockSkew)
			if gone := x.expired(); gone != nil { // otherwise the collection has done it meanwhile
				must.Do(r, r.c.Write(r.Context(), gone.writes, gone.outcomes))
			}
			return nil
		},
		"put again": func(r *clockRig) []feature.Stop {
			return []feature.Stop{{Position: quadkey.Position{Lat: 7}, Version: r.put("van", 7)}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newClockRig(t, Meta{HistoryRetention: Duration(time.Hour)})
			r.pass(2 * clockSkew)
			expires := r.now() + 2000
			first := must.Get(r.write(Write{Kind: Put, ID: "van", Lat: 1, Expires: time.UnixMilli(expires)})).In(t)
			r.pass(10 * time.Second)
			after := then(r)
			want := append([]feature.Stop{{Position: quadkey.Position{Lat: 1}, Version: first}, {Version: expires, Gone: true}}, after...)
			got, next, err := r.c.Track(t.Context(), "van", time.Time{}, time.Time{}, 10)
			if err != nil || !slices.Equal(got, want) || !next.IsZero() {
				t.Fatalf("%+v, want %+v: %v", got, want, err)
			}
			from := time.Time{}
			for i := range want {
				got, next, err := r.c.Track(t.Context(), "van", from, time.Time{}, 1)
				if err != nil || !slices.Equal(got, want[i:i+1]) || next.IsZero() != (i == len(want)-1) {
					t.Errorf("page %d: %+v, %v, want %+v: %v", i, got, next, want[i], err)
				}
				from = next
			}
			if got, _, err := r.c.Track(t.Context(), "van", time.Time{}, time.UnixMilli(expires-1), 10); err != nil || len(got) != 1 {
				t.Errorf("before it expired: %+v: %v", got, err)
			}
		})
	}
}

// clockEntry is a version in the model.
type clockEntry struct {
	version, expires int64
	there            bool
	lat              float64
}

// For any changes of the clock, between runs too, the versions of a point rise. None is further
// ahead than the skew, except the direct successor of an earlier version. Queries as of an instant
// answer by the versions.
func TestClockIsSetAtRandom(t *testing.T) {
	testrace.SkipUnderRace(t, "one question or write after the other, which others do at once")
	runs, steps := 30, 80
	if testing.Short() {
		runs = 6
	}
	for seed := range runs {
		random := rand.New(rand.NewPCG(uint64(seed), 11))
		r := newClockRig(t, Meta{HistoryRetention: maxHistory})
		model := map[string][]clockEntry{}
		off := time.Duration(0)
		for range steps {
			id := fmt.Sprint("p", random.IntN(4))
			list := model[id]
			switch random.IntN(9) {
			case 0, 1, 2, 3:
				w := Write{Kind: Put, ID: id, Lat: float64(random.IntN(80)), Lon: float64(random.IntN(3))}
				if random.IntN(2) == 0 {
					w.Expires = r.c.Now().Add(time.Duration(random.IntN(100)-10) * time.Second)
				}
				if random.IntN(4) == 0 {
					w = Write{Kind: Delete, ID: id}
				}
				v, err := r.write(w)
				if errors.Is(err, ErrNotFound) && w.Kind == Delete {
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				last := int64(0)
				if len(list) > 0 {
					e := list[len(list)-1]
					last = e.version
					if v <= last {
						t.Fatalf("seed %d: version %d after %d", seed, v, last)
					}
				}
				if most := r.now() + clockSkew.Milliseconds(); v > most && v > last+2 {
					t.Fatalf("seed %d: version %d is %d ms further ahead than may be", seed, v, v-most)
				}
				model[id] = append(list, clockEntry{v, expiresOf(w.Expires), w.Kind == Put, w.Lat})
			case 4, 5:
				r.pass(time.Duration(random.IntN(100_000)) * time.Millisecond)
			case 6:
				next := [...]time.Duration{0, 0, twoDays, -twoDays, oneYear, off + 30*time.Second}[random.IntN(6)]
				r.set(next - off)
				off = next
			case 7:
				r.upkeep()
			case 8:
				r.shut()
				if random.IntN(2) == 0 {
					r.set(-off)
					off = 0
				}
				r.open()
			}
			at := r.c.Now().Add(-time.Duration(random.IntN(200_000)) * time.Millisecond)
			for id, list := range model {
				var want clockEntry
				for _, e := range list {
					if e.version <= at.UnixMilli() {
						want = e
					}
				}
				want.there = want.there && (want.expires == 0 || want.expires > at.UnixMilli())
				var h Hit
				err := r.c.GetAt(t.Context(), id, at, &h)
				if want.there != (err == nil) || err != nil && !errors.Is(err, ErrNotFound) ||
					want.there && (h.Lat != want.lat || h.Version != want.version) {
					t.Fatalf("seed %d: %s as of %d is %+v, %v; want %+v of %+v", seed, id, at.UnixMilli(), h, err, want, list)
				}
			}
		}
	}
}
