package points

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"quadrille/cellstore/pebblestore"
	"quadrille/feature"
	"quadrille/internal/must"
	"quadrille/internal/testrace"
	"quadrille/internal/testseed"
	"quadrille/quadkey"
)

// mover moves points at random, and records their positions.
type mover struct {
	c      *LiveCollection
	points map[string]string // in the form of shown
}

func shown(lat, lon float64, properties []byte) string {
	return fmt.Sprintf("%.7f %.7f %s", lat, lon, properties)
}

// move makes writes moves of random points among n.
func (m *mover) move(ctx context.Context, r *rand.Rand, writes, n int) error {
	list := make([]Write, writes)
	for i := range list {
		w := &list[i]
		w.ID = fmt.Sprint("p", r.IntN(n))
		if m.points[w.ID] != "" && r.IntN(8) == 0 {
			w.Kind = Delete
			delete(m.points, w.ID)
			continue
		}
		corner := r.IntN(4) // so that neighbours in the order of rows have different values
		w.Kind, w.Lat, w.Lon = Put, float64(corner/2*90-45)+float64(r.IntN(50))/1000, float64(corner%2*180-90)+float64(r.IntN(50))/1000
		w.Properties = fmt.Appendf(nil, `{"kind":"%d"}`, corner%2)
		m.points[w.ID] = shown(w.Lat, w.Lon, w.Properties)
	}
	outcomes := make([]Outcome, writes)
	err := m.c.Write(ctx, list, outcomes)
	for _, o := range outcomes {
		err = errors.Join(err, o.Err)
	}
	return err
}

// held is a slowly read answer.
type held struct {
	next  func() (Hit, error, bool)
	found map[string]string
	want  map[string]string
}

func (m *mover) ask(ctx context.Context, kind string) (*held, error) {
	f, err := feature.ParseFilter(feature.Schema{{Name: "kind", Kind: feature.Text}}, []feature.Term{{Name: "kind", Values: []string{kind}}})
	if err != nil {
		return nil, err
	}
	h := &held{found: map[string]string{}, want: maps.Clone(m.points)}
	maps.DeleteFunc(h.want, func(_, v string) bool { return !strings.Contains(v, `"`+kind+`"`) })
	h.next, _ = iter.Pull2(func(yield func(Hit, error) bool) {
		err := m.c.Each(ctx, WithinQuery{
			Area:   feature.Box(quadkey.Box{West: -179, South: -80, East: 179, North: 80}),
			Filter: f,
		}, func(hit *Hit) error {
			yield(*hit, nil)
			return nil
		})
		if err != nil {
			yield(Hit{}, err)
		}
	})
	return h, h.read(1)
}

// read reads n more points. At the end of the answer it compares all of them.
func (h *held) read(n int) error {
	for range n {
		hit, err, more := h.next()
		if err != nil {
			return err
		}
		if !more {
			h.next = nil
			if !maps.Equal(h.found, h.want) {
				return fmt.Errorf("%d points of %d, or not as they were", len(h.found), len(h.want))
			}
			return nil
		}
		if h.found[hit.ID] != "" {
			return fmt.Errorf("point %s is found twice", hit.ID)
		}
		h.found[hit.ID] = shown(hit.Lat, hit.Lon, hit.Properties)
	}
	return nil
}

// memoryCollection returns a live collection in memory. A view's queries continue without the tree
// once more than behind points have left.
func memoryCollection(t testing.TB, behind uint64) (c *LiveCollection, end func()) {
	t.Helper()
	store := must.Get(pebblestore.Open("live", &pebblestore.Options{FS: vfs.NewMem()})).In(t)
	l, err := OpenLive(t.Context(), store)
	if err == nil {
		c, err = l.Create(t.Context(), Meta{Name: "test"})
	}
	if err != nil {
		t.Fatal(err)
	}
	c.index().views.behind = behind
	return c, func() {
		if err := errors.Join(l.Close(), store.Close()); err != nil {
			t.Error(err)
		}
	}
}

// A slow reader gets the points of the moment of its query, however many have moved since.
func TestHeldAnswers(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c, end := memoryCollection(t, rapid.Uint64Range(1, 300).Draw(rt, "behind"))
		defer end()
		m := &mover{c, map[string]string{}}
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		var all []*held
		check := func(err error) {
			if err != nil {
				rt.Fatal(err)
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"move": func(t *rapid.T) {
				check(m.move(context.Background(), r, rapid.IntRange(1, 150).Draw(t, "writes"), 200))
			},
			"ask": func(t *rapid.T) {
				h, err := m.ask(context.Background(), rapid.SampledFrom([]string{"0", "1"}).Draw(t, "kind"))
				check(err)
				all = append(all, h)
			},
			"read": func(t *rapid.T) {
				all = slices.DeleteFunc(all, func(h *held) bool { return h.next == nil })
				if len(all) == 0 {
					t.Skip("none asks")
				}
				check(rapid.SampledFrom(all).Draw(t, "answer").read(rapid.IntRange(1, 60).Draw(t, "points")))
			},
		})
		for _, h := range all {
			for h.next != nil {
				check(h.read(1))
			}
		}
	})
}

// The memory that a collection keeps for a slow reader is bounded, and the reader's answer is
// right.
func TestSlowReaderIsBounded(t *testing.T) {
	testrace.SkipUnderRace(t, "one question or write after the other, which others do at once")
	const behind, moves = 2000, 100
	c, end := memoryCollection(t, behind)
	defer end()
	m := &mover{c, map[string]string{}}
	r := rand.New(rand.NewPCG(testseed.Of(t), 0))
	move := func() {
		t.Helper()
		must.Do(t, m.move(t.Context(), r, moves, 500))
	}
	for range 20 {
		move()
	}
	slow := must.Get(m.ask(t.Context(), "0")).In(t)
	most := uint32(0)
	for range 10 * behind / moves {
		move()
		most = max(most, c.index().tree.root().held)
		quick, err := m.ask(t.Context(), "1")
		if err == nil {
			err = quick.read(1000)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if most < behind/2 || most > behind {
		t.Errorf("up to %d points are held, at most %d should be", most, behind)
	}
	if err := slow.read(1000); err != nil || slow.next != nil {
		t.Error(err)
	}
	move()
	if n := c.index().tree.root().held; n > 0 {
		t.Errorf("%d points are held for nobody", n)
	}
}

// BenchmarkSlowReader moves a million points while an answer is read slowly, and then ends the
// answer. It reports the longest times that another answer waited to begin and to end, and the
// number of points that the tree kept. It reports the times of the best round, because a busy
// machine makes others longer.
func BenchmarkSlowReader(b *testing.B) {
	const n, moves, batch = 100_000, 1_000_000, 1000
	r := rand.New(rand.NewPCG(1, 1))
	random := func() counted {
		return counted{position: positionOf(int32(r.IntN(1_600_000_000)-800_000_000), int32(r.IntN(2_000_000_000)-1_000_000_000))}
	}
	list := make([]counted, n)
	for i := range list {
		list[i] = random()
	}
	slices.SortFunc(list, func(a, b counted) int { return cmp.Compare(a.key, b.key) })
	least := time.Duration(math.MaxInt64)
	held := uint32(0)
	for b.Loop() {
		b.StopTimer()
		p := newPlanter()
		for i := range list {
			p.add(&list[i])
		}
		b.StartTimer()
		v := newViews(emptyTable{}, p.tree)
		stop, stopped := make(chan struct{}), make(chan struct{})
		worst := time.Duration(0)
		go func() {
			defer close(stopped)
			for {
				select {
				case <-stop:
					return
				default:
				}
				begin := time.Now()
				w, _ := v.acquire(b.Context())
				p.tree.root()
				v.release(w)
				worst = max(worst, time.Since(begin))
				time.Sleep(50 * time.Microsecond)
			}
		}()
		slow, _ := v.acquire(b.Context())
		commit := func(i int) {
			arrived, left := make([]counted, batch), make([]counted, batch)
			for j := range left {
				k := (i*batch + j) % n
				left[j], list[k] = list[k], random()
				arrived[j] = list[k]
			}
			p.tree.expect(arrived)
			p.tree.settle(arrived, left, nil)
			v.committed(left)
			v.sweep()
			held = max(held, p.tree.root().held)
		}
		for i := range moves / batch {
			commit(i)
		}
		v.release(slow)
		commit(0)
		close(stop)
		<-stopped
		slices.SortFunc(list, func(a, b counted) int { return cmp.Compare(a.key, b.key) })
		least = min(least, worst)
	}
	b.ReportMetric(float64(least.Microseconds())/1e3, "longest-wait-ms")
	b.ReportMetric(float64(held), "held")
}
