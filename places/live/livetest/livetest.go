// Package livetest checks the parts of live collections: a log, and an index of a kind. Only
// tests import it.
package livetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/feature"
	"quadrille/internal/must"
	"quadrille/places/live"
)

// Disk contains a store.
type Disk struct {
	// Open opens the store.
	Open func() (cellstore.Store, error)
	// Crash closes the store and discards all data that is not durable, like a crash at this
	// moment.
	Crash func()
}

// TestIndex checks an index against a model of random writes, with failures of the log or the index
// between any two steps, and with logs that do not fit. newDisk makes an empty disk.
func TestIndex(t *testing.T, kind *live.Kind, newDisk func(t testing.TB) Disk) {
	for name, judge := range map[string]func(r *rig){
		"model": model, "two writers": twoWriters, "ahead of its log": ahead, "a log whose end is torn": torn,
		"a log whose last row is torn": tornEvent, "a failure of the index": indexFails,
	} {
		t.Run(name, func(t *testing.T) { judge(newRig(t, kind, newDisk(t))) })
	}
	t.Run("failures", func(t *testing.T) {
		for at := 1; ; at++ {
			r := newRig(t, kind, newDisk(t))
			failed := r.fails(at)
			if r.shut(); !failed {
				t.Logf("%d steps", at-1)
				return
			}
		}
	})
}

// name is the name of a test's collection.
const name = "judged"

// rig is a collection on a Disk.
type rig struct {
	*testing.T
	kind  *live.Kind
	disk  Disk
	cut   *cut
	by    uint64 // added to the result of LastSeq
	store cellstore.Store
	all   *live.Store
	c     *live.Collection
	rand  *rand.Rand
	seq   uint64                // of the last event read
	moved map[string][2]float64 // where features are by the events
}

func newRig(t *testing.T, kind *live.Kind, disk Disk) *rig {
	r := &rig{T: t, kind: kind, disk: disk, cut: &cut{}, rand: rand.New(rand.NewPCG(1, 2)), moved: map[string][2]float64{}}
	t.Cleanup(r.shut)
	r.open()
	r.c = must.Get(r.all.Create(t.Context(), live.Meta{Name: name})).In(t)
	return r
}

// open opens the collection, which is nil if it is damaged.
func (r *rig) open() {
	r.Helper()
	r.store = must.Get(r.disk.Open()).In(r)
	kind := *r.kind
	kind.NewLog = func(table cellstore.Table) live.Log { return &cutLog{r.kind.OpenLog(table), r.cut} }
	kind.Open = func(ctx context.Context, o *live.OpenOptions) (live.Index, error) {
		index, err := r.kind.Open(ctx, o)
		if _, is := index.(live.TableIndex); !is && err == nil {
			index = &cutIndex{index, r.cut, r.by}
		}
		return index, err
	}
	r.all = must.Get(live.Options{RetryInterval: time.Millisecond}.Open(r.Context(), r.store, &kind)).In(r)
	r.c = r.all.Collection(name)
}

func (r *rig) shut() {
	r.Helper()
	if r.all != nil {
		must.Do(r, errors.Join(r.all.Close(), r.store.Close()))
	}
	r.all = nil
}

// reopen reopens the collection, like a restarted program.
func (r *rig) reopen() {
	r.Helper()
	r.shut()
	r.open()
}

// crash opens the collection in the state after a crash.
func (r *rig) crash() {
	r.Helper()
	r.disk.Crash()
	_ = errors.Join(r.all.Close(), r.store.Close()) // nothing can be written any more
	r.cut = &cut{}
	r.open()
}

// place is a feature of the model.
type place struct {
	lat, lon   float64
	properties string
}

// some returns random writes of few ids. A write has succeeded once the model contains it.
func (r *rig) some(of map[string]place) (writes []live.Write, after map[string]place) {
	after = maps.Clone(of)
	for range 1 + r.rand.IntN(4) {
		w := live.Write{ID: fmt.Sprint("f", r.rand.IntN(12)), Lat: float64(r.rand.IntN(160) - 80), Lon: float64(r.rand.IntN(300) - 150)}
		_, there := after[w.ID]
		switch r.rand.IntN(5) {
		case 0:
			if w.Kind = live.Delete; there {
				delete(after, w.ID)
			} else {
				w.Kind = live.Put
				after[w.ID] = place{w.Lat, w.Lon, `{}`}
			}
		case 1:
			if was := after[w.ID]; there {
				w.Kind, w.Properties = live.Patch, []byte(`{"n":null}`)
				after[w.ID] = place{was.lat, was.lon, `{}`}
				break
			}
			fallthrough
		default:
			w.Properties = fmt.Appendf(nil, `{"n":%d}`, r.rand.IntN(9))
			after[w.ID] = place{w.Lat, w.Lon, string(w.Properties)}
		}
		writes = append(writes, w)
	}
	return writes, after
}

func (r *rig) write(writes ...live.Write) error {
	outcomes := make([]live.Outcome, len(writes))
	err := r.c.Write(r.Context(), writes, outcomes)
	for i := range outcomes {
		err = errors.Join(err, outcomes[i].Err)
	}
	return err
}

// is returns the present features, checked by lists and by ids.
func (r *rig) is() map[string]place {
	r.Helper()
	if r.c == nil {
		r.Fatalf("it cannot be opened: %v", r.all.Troubles())
	}
	found := map[string]place{}
	for f := range must.All(r, r.c.Features(r.Context(), &feature.Query{})) {
		p := place{f.Lat, f.Lon, string(f.Properties.AppendMembers([]byte{'{'})) + "}"}
		var byID feature.Feature
		must.Do(r, r.c.Get(r.Context(), f.ID, time.Time{}, &byID))
		if byID.Position != f.Position || byID.Version != f.Version || byID.Version == 0 {
			r.Errorf("%s is %+v in a list, and %+v by its id", f.ID, f, byID)
		}
		if _, twice := found[f.ID]; twice {
			r.Errorf("%s is in a list twice", f.ID)
		}
		found[f.ID] = p
	}
	return found
}

// check compares the features with a model, and follows the events. Each event begins where the
// previous one of its feature ended, and the last one ends at the feature's position.
func (r *rig) check(want map[string]place) {
	r.Helper()
	if got := r.is(); !maps.Equal(got, want) {
		r.Fatalf("there is\n%v, want\n%v", got, want)
	}
	for f := r.c.Follower(r.seq); f.HasMore(); {
		for _, e := range must.Get(f.Next(r.Context())).In(r) {
			at, known := r.moved[e.ID]
			if e.Seq <= r.seq || known != (e.From != nil) || known && *e.From != at {
				r.Fatalf("event %+v after %d, and it was at %v", e, r.seq, at)
			}
			if r.seq = e.Seq; e.To != nil {
				r.moved[e.ID] = *e.To
			} else {
				delete(r.moved, e.ID)
			}
		}
	}
	r.seq = must.Get(r.c.LastEvent(r.Context())).In(r)
	by := map[string][2]float64{}
	for id, p := range want {
		by[id] = [2]float64{p.lon, p.lat}
	}
	if !maps.Equal(by, r.moved) {
		r.Fatalf("by the events features are at\n%v, want\n%v", r.moved, by)
	}
}

func model(r *rig) {
	of := map[string]place{}
	for n := range 200 {
		writes, after := r.some(of)
		must.Do(r, r.write(writes...))
		if of = after; n%7 == 0 {
			r.check(of)
		}
		switch n % 40 {
		case 20:
			r.reopen()
		case 39:
			r.crash()
		}
	}
	r.reopen()
	r.check(of)
	if fields := r.c.Meta().Schema; len(fields) != 1 || fields[0].Name != "n" {
		r.Errorf("the properties are %v", fields)
	}
}

// fails cuts the store off at a step, counted from 1. Afterwards all acknowledged writes are there,
// a failed write is there wholly or not at all, and the collection takes writes. fails reports
// whether there was such a step.
func (r *rig) fails(at int) (failed bool) {
	r.Helper()
	models := []map[string]place{{}}
	r.cut.at(at)
	for range 6 {
		writes, after := r.some(models[len(models)-1])
		models = append(models, after)
		if r.write(writes...) != nil {
			break
		}
	}
	last := models[len(models)-1]
	if failed = r.cut.done; failed {
		r.crash()
		if before := models[len(models)-2]; !maps.Equal(r.is(), last) {
			last = before
		}
	}
	r.cut.at(0)
	r.check(last)
	writes, after := r.some(last)
	must.Do(r, r.write(writes...))
	r.check(after)
	return failed
}

// indexFails makes an index fail after its log has a step. The write counts, since the log is the
// truth, and the index later gets it from the log.
func indexFails(r *rig) {
	if _, is := r.c.Index().(live.TableIndex); is {
		r.Skip("it is written together with its log")
	}
	must.Do(r, r.write(live.Write{ID: "a", Lat: 1}))
	r.cut.index = true
	writes := make([]live.Write, 4097) // one more than a step has
	for i := range writes {
		writes[i] = live.Write{ID: "a", Lat: 2}
	}
	outcomes := make([]live.Outcome, len(writes))
	must.Do(r, r.c.Write(r.Context(), writes, outcomes))
	for i, o := range outcomes {
		if made := i < 4096; (o.Err == nil) != made || !made && !errors.Is(o.Err, live.ErrWritesRefused) ||
			errors.Is(o.Err, cellstore.ErrUnknownOutcome) {
			r.Fatalf("write %d: %v", i, o.Err)
		}
	}
	if r.c.Index() != nil {
		r.Errorf("the write was answered before the index has it: %v", r.is())
	}
	if err := r.write(live.Write{ID: "b"}); !errors.Is(err, live.ErrWritesRefused) || errors.Is(err, cellstore.ErrUnknownOutcome) {
		r.Error(err)
	}
	r.cut.mend()
	of := map[string]place{"a": {2, 0, "{}"}}
	for range 10_000 {
		if r.c.Index() != nil && maps.Equal(r.is(), of) {
			break
		}
		time.Sleep(time.Millisecond)
	}
	r.check(of)
	must.Do(r, r.write(live.Write{ID: "a", Kind: live.Delete}))
	r.check(map[string]place{})
}

// twoWriters lets another program append to the log. This is reported at once, and does no harm.
func twoWriters(r *rig) {
	must.Do(r, r.write(live.Write{ID: "a", Lat: 1}))
	other := r.kind.OpenLog(must.Get(r.store.Table(r.Context(), r.kind.Table(name))).In(r))
	end := must.Get(other.End(r.Context())).In(r)
	end.Step++
	must.Do(r, other.Append(r.Context(), &live.LogStep{LogEnd: end}))
	if err := r.write(live.Write{ID: "a", Lat: 2}); !errors.Is(err, live.ErrOtherWriter) {
		r.Fatal(err)
	}
	for {
		err := r.write(live.Write{ID: "a", Lat: 3})
		if err == nil {
			break
		}
		if !errors.Is(err, live.ErrOtherWriter) {
			r.Fatal(err)
		}
	}
	r.check(map[string]place{"a": {3, 0, "{}"}})
}

// ahead makes an index newer than its log.
func ahead(r *rig) {
	if _, is := r.c.Index().(live.TableIndex); is {
		r.Skip("it is written together with its log")
	}
	must.Do(r, r.write(live.Write{ID: "a", Lat: 1}))
	r.by = 1 << 60
	r.reopen()
	r.damaged("restore the log")
	r.by = 0
	r.reopen()
	r.check(map[string]place{"a": {1, 0, "{}"}})
}

func (r *rig) damaged(todo string) {
	r.Helper()
	all := r.all.Troubles()
	if len(all) != 1 || !errors.Is(all[0].Err, live.ErrDamaged) || !strings.Contains(all[0].Err.Error(), todo) {
		r.Fatalf("troubles: %v", all)
	}
}

// torn truncates the row with the end of the log.
func torn(r *rig) {
	must.Do(r, r.write(live.Write{ID: "a", Lat: 1}))
	r.spoil([]byte("ms"), "meta", 1)
	r.reopen()
	r.damaged("tileserver live verify")
}

// tornEvent truncates the last event.
func tornEvent(r *rig) {
	must.Do(r, r.write(live.Write{ID: "a", Lat: 1}))
	last := must.Get(r.c.LastEvent(r.Context())).In(r)
	table := must.Get(r.store.Table(r.Context(), r.kind.Table(name))).In(r)
	for row := range must.All(r, table.Scan(r.Context(), cellstore.Scan{Selection: cellstore.Selection{Families: []string{"event"}}})) {
		r.spoil(row.Key, "event", row.Cells[0].Timestamp)
	}
	if r.reopen(); r.c == nil {
		r.damaged("tileserver live verify")
		return
	}
	if at := r.c.Index().LastSeq(); at != last {
		r.Errorf("the index has change %d, and the log ends with %d", at, last)
	}
	if err := r.c.CheckEventsAfter(r.Context(), last-1); !errors.Is(err, cellstore.ErrCorrupt) {
		r.Fatal(err)
	}
}

func (r *rig) spoil(row []byte, family string, at int64) {
	r.Helper()
	table := must.Get(r.store.Table(r.Context(), r.kind.Table(name))).In(r)
	must.Do(r, table.Apply(r.Context(), cellstore.Mutation{
		Row: append([]byte(nil), row...),
		Ops: []cellstore.Op{cellstore.PutAt(family, nil, at, []byte("{"))},
	}))
}

// TestLog checks a log. open returns a new one on the same data each time, like another program's.
func TestLog(t *testing.T, open func() live.Log) {
	ctx := t.Context()
	first, second := open(), open()
	change := func(seq, before uint64) live.Change {
		return live.Change{ID: "a", Version: int64(seq), Is: &feature.Feature{ID: "a", Version: int64(seq)}, Seq: seq, Before: before}
	}
	end := live.LogEnd{Seq: 5, Floor: 3, Step: 1}
	must.Do(t, first.Append(ctx, &live.LogStep{LogEnd: end, Changes: []live.Change{change(4, 0), change(5, 4)}}))
	for _, log := range []live.Log{first, second, open()} {
		if got, err := log.End(ctx); got != end || err != nil {
			t.Fatalf("it ends at %+v, want %+v: %v", got, end, err)
		}
		if err := log.Append(ctx, &live.LogStep{
			LogEnd:  live.LogEnd{Seq: 9, Step: 1},
			Changes: []live.Change{change(9, 5)},
		}); !errors.Is(err, live.ErrOtherWriter) {
			t.Errorf("a number that is taken: %v", err)
		}
		if err := log.Append(ctx, &live.LogStep{LogEnd: live.LogEnd{Seq: 9, Step: 3}}); !errors.Is(err, live.ErrOtherWriter) {
			t.Errorf("a number that is left out: %v", err)
		}
	}
	end = live.LogEnd{Seq: 8, Floor: 3, Step: 2}
	must.Do(t, second.Append(ctx, &live.LogStep{LogEnd: end, Changes: []live.Change{change(8, 5)}}))
	must.Do(t, second.Sync(ctx))
	for _, c := range []struct {
		after, last uint64
		most        int
		want        []uint64
	}{{0, 8, 9, []uint64{4, 5, 8}}, {4, 8, 9, []uint64{5, 8}}, {0, 5, 9, []uint64{4, 5}}, {0, 8, 2, []uint64{4, 5}}, {8, 9, 9, nil}} {
		events, err := open().Read(ctx, c.after, c.last, c.most)
		var got []uint64
		for i := range events {
			if got = append(got, events[i].Seq); events[i].ID != "a" || events[i].Version != int64(events[i].Seq) || events[i].To == nil {
				t.Errorf("event %+v", events[i])
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) || err != nil {
			t.Errorf("%+v: %v: %v", c, got, err)
		}
	}
}

// cut makes all writes fail from a step on.
type cut struct {
	mu    sync.Mutex
	steps int
	end   int // the step that fails, 0 for none
	done  bool
	index bool // the next step of an index fails
}

var errCut = errors.New("cut off")

func (c *cut) at(step int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.steps, c.end = 0, step
}

func (c *cut) mend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done, c.index = false, false
}

// step is called before and after each step.
func (c *cut) step(index bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.steps++; c.steps == c.end {
		c.done = true
	}
	if c.done || index && c.index {
		return errCut
	}
	return nil
}

// cutLog is a log that fails before and after its writes.
type cutLog struct {
	live.Log
	cut *cut
}

func (l *cutLog) Append(ctx context.Context, s *live.LogStep) error {
	return l.around(func() error { return l.Log.Append(ctx, s) })
}

func (l *cutLog) Sync(ctx context.Context) error {
	return l.around(func() error { return l.Log.Sync(ctx) })
}

func (l *cutLog) around(write func() error) error {
	err := l.cut.step(false)
	if err == nil {
		err = write()
	}
	if err == nil {
		err = l.cut.step(false)
	}
	return err
}

type cutIndex struct {
	live.Index
	cut *cut
	by  uint64
}

func (x *cutIndex) LastSeq() uint64 { return x.Index.LastSeq() + x.by }

func (x *cutIndex) Apply(changes []live.Change) error {
	if err := x.cut.step(true); err != nil {
		return err
	}
	return x.Index.Apply(changes)
}
