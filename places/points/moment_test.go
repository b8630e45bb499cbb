package points_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"quadrille/feature"
	"quadrille/internal/must"
	"quadrille/internal/testseed"
	"quadrille/places/points"
)

// moment is a state of the points of one mover. When the writes that lead to the next state begin,
// that state is added to the list.
type moment struct {
	ref  reference
	next atomic.Pointer[moment]
}

// mover changes its own points.
type mover struct {
	acknowledged atomic.Pointer[moment]
}

// move writes batches until stop, each in one atomic step.
func (m *mover) move(ctx context.Context, c *points.LiveCollection, r *rand.Rand, first int,
	at func(*rand.Rand) (float64, float64), stop <-chan struct{}) error {
	model := map[string]points.Point{}
	for _, p := range m.acknowledged.Load().ref {
		model[p.ID] = p
	}
	for {
		select {
		case <-stop:
			return nil
		default:
		}
		writes := make([]points.Write, 1+r.IntN(40))
		for i := range writes {
			writes[i] = randomWrite(r, randomPoint(r, first+r.IntN(moverPoints), at), model)
		}
		after := &moment{ref: inOrder(model)}
		m.acknowledged.Load().next.Store(after)
		outcomes := make([]points.Outcome, len(writes))
		if err := c.Write(ctx, writes, outcomes); err != nil {
			return err
		}
		for i, o := range outcomes {
			if failed(&writes[i], o.Err) {
				return o.Err
			}
		}
		m.acknowledged.Store(after)
	}
}

// moverPoints is the number of points of a mover.
const moverPoints = 300

// world is a collection of points that several movers change.
type world struct {
	c       *points.LiveCollection
	movers  []*mover
	filters []feature.Filter // parsed filters
}

// once runs a query. It returns an error unless the answer is right for a state of the points
// during the query: for each mover, a state between the last acknowledged one at the start and the
// last begun one at the end.
func (w *world) once(ask func() error, right func(ref reference) bool) error {
	moments := make([]*moment, len(w.movers))
	for i, m := range w.movers {
		moments[i] = m.acknowledged.Load()
	}
	if err := ask(); err != nil {
		return err
	}
	// The combinations are tried one by one: on a busy machine there may be millions.
	states := 0
	var some func(before reference, rest []*moment) bool
	some = func(before reference, rest []*moment) bool {
		if len(rest) == 0 {
			states++
			return right(before)
		}
		for m := rest[0]; m != nil; m = m.next.Load() {
			if some(slices.Concat(before, m.ref), rest[1:]) {
				return true
			}
		}
		return false
	}
	if !some(nil, moments) {
		return fmt.Errorf("wrong for each of %d states", states)
	}
	return nil
}

// questions makes random queries, and counts the remaining ones down.
func (w *world) questions(ctx context.Context, r *rand.Rand, at func(*rand.Rand) (float64, float64), left *atomic.Int64) error {
	for left.Load() > 0 {
		i := r.IntN(len(filters))
		f, parsed := &filters[i], w.filters[i]
		if r.IntN(2) == 0 {
			q := randomNearby(r, at)
			q.Filter = parsed
			err := w.pages(q.Limit, left, func(ref reference) []ranked { return ref.nearby(&q, f) },
				func(cursor string) ([]points.Hit, string, error) {
					q.Cursor = cursor
					return w.c.Nearby(ctx, q, nil)
				})
			if err != nil {
				return fmt.Errorf("nearby %+v, filter %d: %w", q, i, err)
			}
			continue
		}
		areas, _ := randomAreas(r, at)
		for name, a := range areas {
			q := points.WithinQuery{Area: a.area, Filter: parsed, Limit: 1 + r.IntN(100), Name: name, Sort: randomSort(r)}
			err := w.pages(q.Limit, left, func(ref reference) []ranked { return ref.within(&q, f, a.in) },
				func(cursor string) ([]points.Hit, string, error) {
					q.Cursor = cursor
					return w.c.Within(ctx, q, nil)
				})
			if err == nil {
				q.Sort = feature.Sort{}
				err = w.whole(ctx, &q, f, a.in, left)
			}
			if err != nil {
				return fmt.Errorf("%s %+v, filter %d: %w", name, q, i, err)
			}
		}
	}
	return nil
}

// pages reads some pages of a query. Each page must be right for some state.
func (w *world) pages(limit int, left *atomic.Int64, all func(reference) []ranked,
	ask func(cursor string) ([]points.Hit, string, error)) error {
	var hits []points.Hit
	next := ""
	for page := range 4 {
		begin := func(list []ranked) []ranked { return list }
		if page > 0 {
			last := all(reference{pointOf(&hits[len(hits)-1])})[0]
			begin = func(list []ranked) []ranked {
				return slices.DeleteFunc(list, func(r ranked) bool { return r.compare(last) <= 0 })
			}
		}
		left.Add(-1)
		err := w.once(func() (err error) {
			hits, next, err = ask(next)
			return err
		}, func(ref reference) bool {
			list := begin(all(ref))
			return (next != "") == (len(list) > limit) && same(hits, list[:min(limit, len(list))])
		})
		if err != nil || next == "" {
			return err
		}
	}
	return nil
}

// whole reads all points of an area, and counts them.
func (w *world) whole(ctx context.Context, q *points.WithinQuery, f *filter, in func(lat, lon float64) bool, left *atomic.Int64) error {
	left.Add(-1)
	var hits []points.Hit
	err := w.once(func() error {
		return w.c.Each(ctx, *q, func(h *points.Hit) error {
			hits = append(hits, *h)
			hits[len(hits)-1].Properties = slices.Clone(h.Properties)
			return nil
		})
	}, func(ref reference) bool { return same(hits, ref.within(q, f, in)) })
	if err != nil {
		return fmt.Errorf("each: %w", err)
	}
	left.Add(-1)
	var n int64
	err = w.once(func() (err error) {
		n, err = w.c.CountIn(ctx, q.Area, q.Filter, time.Time{})
		return err
	}, func(ref reference) bool { return n == int64(len(ref.passing(f, in))) })
	if err != nil {
		return fmt.Errorf("count %d: %w", n, err)
	}
	return nil
}

func pointOf(h *points.Hit) points.Point {
	return points.Point{ID: h.ID, Lat: h.Lat, Lon: h.Lon, Properties: h.Properties}
}

// same reports whether hits are the points of a list, in their order.
func same(hits []points.Hit, list []ranked) bool {
	return slices.EqualFunc(hits, list, func(h points.Hit, r ranked) bool {
		p := r.point
		return h.ID == p.ID && h.Lat == p.Lat && h.Lon == p.Lon && string(h.Properties) == string(p.Properties)
	})
}

// While points are put, moved, changed and deleted, every answer is right for some moment during
// its query.
func TestAnswersWhilePointsChange(t *testing.T) {
	questions := 2000
	switch {
	case testing.Short():
		questions = 700
	case os.Getenv("QUADRILLE_FULL") != "":
		questions = 100_000
	}
	each := questions / len(distributions)
	for name, at := range distributions {
		t.Run(name, func(t *testing.T) { testMoments(t, at, 0, 0, each) })
		t.Run(name+" without the tree", func(t *testing.T) { testMoments(t, at, 5, 0, each/4) })
		// With a history every move adds a row to read, so fewer queries are made.
		t.Run(name+" with history", func(t *testing.T) { testMoments(t, at, 0, points.Duration(time.Hour), each/20) })
	}
}

func testMoments(t *testing.T, at func(*rand.Rand) (float64, float64), behind uint64, history points.Duration, questions int) {
	const movers, askers = 2, 2
	t.Cleanup(decoded.Clear)
	l, _ := openLive(t)
	c := must.Get(l.Create(t.Context(), points.Meta{Name: "moving", HistoryRetention: history})).In(t)
	if behind > 0 {
		c.SetBehind(behind)
	}
	w := &world{c: c}
	seed := testseed.Of(t)
	random := func(turn int) *rand.Rand { return rand.New(rand.NewPCG(seed, uint64(turn))) }
	r := random(0)
	for i := range movers {
		model := map[string]points.Point{}
		var writes []points.Write
		for id := range moverPoints {
			p := randomPoint(r, i*moverPoints+id, at)
			model[p.ID] = p
			writes = append(writes, putOf(p))
		}
		write(t, c, writes...)
		m := &mover{}
		m.acknowledged.Store(&moment{ref: inOrder(model)})
		w.movers = append(w.movers, m)
	}
	for i := range filters {
		w.filters = append(w.filters, filters[i].parse(t, c.Meta().Schema))
	}
	stop := make(chan struct{})
	var moving, asking sync.WaitGroup
	for i, m := range w.movers {
		moving.Go(func() {
			if err := m.move(t.Context(), c, random(1+i), i*moverPoints, at, stop); err != nil {
				t.Error(err)
			}
		})
	}
	var left atomic.Int64
	left.Store(int64(questions))
	for i := range askers {
		asking.Go(func() {
			if err := w.questions(t.Context(), random(1+movers+i), at, &left); err != nil {
				t.Error(err)
			}
		})
	}
	asking.Wait()
	close(stop)
	moving.Wait()
}
