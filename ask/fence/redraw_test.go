package fence_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"quadrille/ask"
	"quadrille/ask/fence"
	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/internal/buildtest"
	"quadrille/internal/must"
	"quadrille/internal/tilestest"
	"quadrille/places/live"
	"quadrille/places/points"
	"quadrille/quadkey"
	"quadrille/tiles"
	"quadrille/tiles/build"
)

// strip is boundaries with a region "inner" east of a longitude, and optionally a region of another
// type.
type strip struct {
	East   float64
	Own    bool // of type beat, of a data set of its own
	Wards  bool // another type, with a region that has the id of the zone
	Broken bool // reading what is at 66 degrees east panics
}

// rows are the rows of a strip, which several generations may share.
type rows struct {
	store cellstore.Store
	meta  json.RawMessage
}

var made = map[strip]rows{}

func (s strip) rows() (r rows, err error) {
	s.Broken = false
	if r, ok := made[s]; ok {
		return r, nil
	}
	layer := func(typ string, east float64) build.Layer {
		return build.Layer{Type: typ, Features: []build.Feature{{ID: "inner", Name: "Inner", Geometry: tilestest.Square(east, 0.99, 90, 1.01)}}}
	}
	layers := []build.Layer{layer("zone", s.East)}
	if s.Own {
		layers = []build.Layer{layer("beat", s.East)}
	}
	if s.Wards {
		layers = append(layers, layer("ward", -10))
	}
	if r.store, err = buildtest.MemoryStore(); err != nil {
		return r, err
	}
	meta, _, err := build.Run(context.Background(), r.store, layers, build.Options{})
	if err != nil {
		return r, err
	}
	r.meta, err = json.Marshal(meta)
	made[s] = r
	return r, err
}

// emptyStore is the store of a build that writes nothing, because the rows of the strip exist already.
type emptyStore struct{ cellstore.Store }

func (emptyStore) Close() error { return nil }

// rig is a live collection over boundaries of several generations.
type rig struct {
	t          *testing.T
	catalog    *dataset.Catalog
	strips     map[string]strip // by the directory of a generation
	boundaries *dataset.Live[*tiles.Reader]
	sets       *ask.DatasetGroup[*ask.RegionSet]
	views      *ask.Views
	live       *live.Collection
	set        fence.Set
	last       fence.ID
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t}
	r.openBoundaries()
	t.Cleanup(func() { must.Do(t, r.boundaries.Close()) })
	store := must.Get(live.Open(t.Context(), buildtest.NewStore(t), points.LiveKind)).In(t)
	must.Close(t, store)
	r.live = must.Get(store.Create(t.Context(), live.Meta{Name: "vans"})).In(t)
	r.set = must.Get(fence.New(fence.Fences{
		Enter: []fence.Region{{Type: "zone"}, {Type: "ward"}, {Type: "beat"}},
		Leave: []fence.Region{{Type: "zone", ID: "inner"}, {Type: "ward"}, {Type: "beat"}},
	})).In(t)
	return r
}

// openBoundaries starts to follow the boundaries, like a server at its start.
func (r *rig) openBoundaries() {
	r.t.Helper()
	if r.boundaries != nil {
		must.Do(r.t, r.boundaries.Close())
	}
	if r.catalog == nil {
		r.catalog, r.strips = must.Get(dataset.Open(r.t.TempDir(), r.open)).In(r.t), map[string]strip{}
	}
	r.boundaries = ask.PublishedSets(r.catalog.Generations).Boundaries
	must.Do(r.t, r.boundaries.Poll(r.t.Context()))
	r.sets = new(ask.DatasetGroup[*ask.RegionSet])
	r.sets.AddAll(nil)
	r.views = ask.NewViews(ask.Sets{Boundaries: r.boundaries, RegionSets: r.sets})
}

// open opens the store of a generation.
func (r *rig) open(_, dir string, readOnly bool) (cellstore.Store, error) {
	if !readOnly {
		return emptyStore{}, nil
	}
	s := r.strips[generationOf(filepath.Dir(dir))]
	of, err := s.rows()
	if err != nil {
		return nil, err
	}
	faults := new(buildtest.Faults)
	if s.Broken {
		tile, err := quadkey.TileAt(66, 1, 8)
		if err != nil {
			return nil, err
		}
		bad := tile.Key()
		faults.BeforeRead = func(_ context.Context, _ string, key []byte) error {
			if bytes.Equal(key, bad[:]) {
				panic("the bytes are wrong")
			}
			return nil
		}
	}
	return faults.Store(of.store)
}

// generationOf returns the directory of a finished or unfinished generation.
func generationOf(dir string) string { return strings.TrimSuffix(dir, ".unfinished") }

// publish publishes boundaries and takes them into service.
func (r *rig) publish(of strip) {
	r.t.Helper()
	r.publishAs(ask.BoundariesName, of)
	must.Do(r.t, r.boundaries.Poll(r.t.Context()))
}

func (r *rig) publishAs(name string, of strip) {
	r.t.Helper()
	b := must.Get(r.catalog.Begin(r.t.Context(), name)).In(r.t)
	r.strips[generationOf(b.Dir())] = of
	m := dataset.Manifest{SchemaVersion: tiles.SchemaVersion, Built: time.Now(), Meta: must.Get(of.rows()).In(r.t).meta}
	must.Get(b.Publish(r.t.Context(), m)).In(r.t)
}

// prune removes all generations of a data set but the newest and those in use. A generation must go that is not used any
// more, but perhaps still open: after its last use it is closed in another goroutine.
func (r *rig) prune(name string, generation uint64) {
	r.t.Helper()
	for {
		pruned := must.Get(r.catalog.Prune(r.t.Context(), 1, 0, name)).In(r.t)
		if !slices.ContainsFunc(pruned.InUse, func(in dataset.GenerationInfo) bool { return in.Generation == generation }) {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func (r *rig) put(id string, lon float64) {
	r.t.Helper()
	var o [1]live.Outcome
	must.Do(r.t, r.live.Write(r.t.Context(), []live.Write{{ID: id, Lat: 1, Lon: lon, Properties: []byte("{}")}}, o[:]))
	must.Do(r.t, o[0].Err)
}

func (r *rig) redraw() {
	r.t.Helper()
	for done := false; !done; {
		done = must.Get(fence.Redraw(r.t.Context(), r.live, r.views, new(ask.Regions))).In(r.t) // nothing is held yet
	}
}

// told lists the events since the last call, each as its type, fence and point.
func (r *rig) told() string {
	r.t.Helper()
	var all []string
	from := r.set.Follow(r.live, r.last, r.views)
	for range 3 {
		for _, e := range must.Get(from.Append(r.t.Context(), nil)).In(r.t) {
			all = append(all, e.Type+" "+e.Fence+" "+e.Event.ID)
		}
	}
	r.last = from.Last
	return strings.Join(all, ", ")
}

func (r *rig) want(what, want string) {
	r.t.Helper()
	if got := r.told(); got != want {
		r.t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func TestRedraw(t *testing.T) {
	r := newRig(t)
	r.redraw() // nothing is published yet
	r.publish(strip{East: 10})
	r.redraw()
	r.put("a", 5)
	r.put("b", 15)
	r.want("first", "enter zone:inner b")
	r.redraw()
	r.want("no change", "")

	r.publish(strip{East: 0, Wards: true}) // a is inside now
	r.put("c", 7)                          // judged by the old borders, until events are out
	r.redraw()
	r.want("redrawn", "enter zone:inner a, enter ward:inner a, enter ward:inner b, enter zone:inner c, enter ward:inner c")
	r.put("a", 6)
	r.redraw()
	r.want("a move within", "")

	r.publish(strip{East: 10})
	r.put("a", 12) // inside: before by the last borders, and afterwards by both
	r.redraw()
	r.want("moved meanwhile, and a type is gone", "leave ward:inner a, leave ward:inner b, leave zone:inner c, leave ward:inner c")
	r.put("a", -1)
	r.want("later moves", "leave zone:inner a")

	// A reader of all moves gets only moves.
	all := new(fence.Set).Follow(r.live, fence.ID{}, r.views)
	moves := 0
	for range 3 {
		events := must.Get(all.Append(t.Context(), nil)).In(t)
		for _, e := range events {
			if moves++; e.PreviousEdition != 0 {
				t.Errorf("%+v", e.Event)
			}
		}
	}
	if moves != 6 {
		t.Errorf("%d moves", moves)
	}
}

func TestRedrawByRollback(t *testing.T) {
	r := newRig(t)
	r.publish(strip{East: 10})
	r.put("a", 5)
	r.redraw()
	r.publish(strip{East: 0})
	r.redraw()
	must.Get(r.catalog.Rollback(t.Context(), ask.BoundariesName)).In(t)
	must.Do(t, r.boundaries.Poll(t.Context()))
	r.redraw()
	r.want("there and back", "enter zone:inner a, leave zone:inner a")
}

// A follower that is behind gets events by the generations that were in service when the points
// moved. If such a generation is gone, the next one replaces it. So a point leaves each region that
// it has entered, and does not enter a region twice.
func TestFollowerBehind(t *testing.T) {
	for keep, want := range map[int]string{
		5: "enter zone:inner a, leave zone:inner a, enter zone:inner a, leave zone:inner a",
		2: "enter zone:inner a, leave zone:inner a",
		1: "",
	} {
		r := newRig(t)
		r.publish(strip{East: 10})
		r.redraw()
		r.put("a", 15) // inside by all generations but the next
		r.publish(strip{East: 20})
		r.redraw()
		r.publish(strip{East: 12})
		r.redraw()
		r.put("a", 5)
		if keep == 1 {
			r.publish(strip{East: 20})
		}
		r.openBoundaries() // closes the open generations
		must.Get(r.catalog.Prune(t.Context(), keep, 0, ask.BoundariesName)).In(t)
		r.want(fmt.Sprint("keep ", keep), want)
	}
}

// TestRedrawTwice publishes another generation while Redraw still compares points with the one
// before.
func TestRedrawTwice(t *testing.T) {
	r := newRig(t)
	r.publish(strip{East: 10})
	r.redraw()
	const ids = 600
	for i := range ids {
		r.put(fmt.Sprint("p", i), 15)
	}
	r.publish(strip{East: 20})
	if done := must.Get(fence.Redraw(t.Context(), r.live, r.views, nil)).In(t); done {
		t.Fatal("all points fit into one step")
	}
	r.publish(strip{East: 12})
	r.redraw()
	crossings := map[string]int{}
	for text := r.told(); text != ""; text = r.told() {
		for one := range strings.SplitSeq(text, ", ") {
			what, _, _ := strings.Cut(one, " ")
			crossings[what]++
		}
	}
	if crossings["enter"] != 2*ids || crossings["leave"] != ids {
		t.Errorf("%v", crossings)
	}
}

// TestRedrawInAnotherDirectory recreates the data directory. Its generations count from 1 again,
// but must not be mistaken for the earlier ones with these numbers.
func TestRedrawInAnotherDirectory(t *testing.T) {
	r := newRig(t)
	r.publish(strip{East: 10})
	r.redraw()
	r.put("a", 15)
	r.catalog = nil
	r.openBoundaries()
	r.publish(strip{East: 11})
	if _, err := fence.Redraw(t.Context(), r.live, r.views, nil); !errors.Is(err, fence.ErrRedrawEventsLost) {
		t.Fatal(err)
	}
	r.redraw()
}

// A damaged older generation counts as gone. A damaged generation in service is tried again.
func TestRedrawDamaged(t *testing.T) {
	r := newRig(t)
	r.publish(strip{East: 10, Broken: true})
	r.redraw()
	r.put("a", 66)
	r.publish(strip{East: 70})
	_, err := fence.Redraw(t.Context(), r.live, r.views, nil)
	if !errors.Is(err, fence.ErrRedrawEventsLost) || !strings.Contains(err.Error(), "panic") {
		t.Fatal(err)
	}
	r.redraw()
	r.put("a", 71)
	r.want("a was outside by what can be read", "enter zone:inner a")
	for range 3 { // no slot for older ones
		r.publish(strip{East: 1})
	}
	other := must.Get(r.boundaries.AcquireGeneration(3)).In(t) // beside 1, which the reader asked for
	defer other.Release()
	if _, err := fence.Redraw(t.Context(), r.live, r.views, nil); !errors.Is(err, dataset.ErrOlderBusy) {
		t.Fatal(err)
	}
	if now, next := r.live.Editions(); now.Number != 2 || next.Number != 0 {
		t.Errorf("%v and %v", now, next)
	}
}

// TestRedrawUntold tests that Redraw returns an error if it cannot make all events, because the
// generation of the points is gone. The collection then continues with the current generation.
func TestRedrawUntold(t *testing.T) {
	r := newRig(t)
	r.publish(strip{East: 10})
	r.put("a", 15)
	r.redraw()
	for range 4 {
		r.publish(strip{East: 20})
	}
	r.prune(ask.BoundariesName, 1)
	_, err := fence.Redraw(t.Context(), r.live, r.views, nil)
	if !errors.Is(err, fence.ErrRedrawEventsLost) || !strings.Contains(err.Error(), "generation 1 ") {
		t.Fatal(err)
	}
	r.redraw()
	r.put("a", 25)
	r.want("a move afterwards", "enter zone:inner a")

	r.publish(strip{East: 13, Broken: true})
	r.put("b", 66)
	if _, err := fence.Redraw(t.Context(), r.live, r.views, nil); err == nil || !strings.Contains(err.Error(), "the bytes are wrong") {
		t.Fatal(err)
	}
	r.put("b", 1)
	r.redraw()

	must.Get(r.catalog.Unpublish(t.Context(), ask.BoundariesName)).In(t)
	must.Do(t, r.boundaries.Poll(t.Context()))
	r.redraw() // nothing is published: wait
	if now, _ := r.live.Editions(); now.Number != 6 {
		t.Errorf("judged by %v", now)
	}
}

// follow publishes a separate data set with regions of the type beat and follows it. It puts a
// point into a beat and into a zone.
func (r *rig) follow() *dataset.Live[*ask.RegionSet] {
	r.t.Helper()
	beats := ask.RegionSetOf("beats").Live(r.catalog.Generations)
	must.Close(r.t, beats)
	r.publish(strip{East: 10})
	r.publishAs(beatsName, strip{Own: true, East: 10})
	must.Do(r.t, beats.Poll(r.t.Context()))
	r.sets.Add("beats", beats)
	r.redraw()
	r.put("a", 15)
	r.want("first", "enter zone:inner a, enter beat:inner a")
	return beats
}

const beatsName = "boundaries-beats"

// Regions of a separate data set give the same events as regions of boundaries: when the data set
// appears, is renewed, is rolled back or goes, together with moves in all data sets, and for a
// follower that is behind.
func TestRedrawOwnRegions(t *testing.T) {
	r := newRig(t)
	r.publish(strip{East: 10})
	r.redraw()
	r.put("a", 15)
	r.put("b", 5)
	r.want("first", "enter zone:inner a")

	const name = beatsName
	beats := ask.RegionSetOf("beats").Live(r.catalog.Generations)
	must.Close(t, beats)
	renew := func(of strip) {
		r.publishAs(name, of)
		must.Do(t, beats.Poll(t.Context()))
	}
	r.publishAs(name, strip{Own: true, East: 10})
	must.Do(t, beats.Poll(t.Context()))
	r.sets.Add("beats", beats)
	r.redraw()
	r.want("it comes", "enter beat:inner a")

	before := r.last
	renew(strip{Own: true, East: 0})
	r.put("a", 12) // judged by the previous generation, which also holds it
	r.redraw()
	r.want("renewed", "enter beat:inner b")
	r.put("b", 20)
	r.want("a move", "enter zone:inner b")
	r.publish(strip{East: 16})
	r.redraw()
	r.want("boundaries are renewed", "leave zone:inner a")
	must.Get(r.catalog.Rollback(t.Context(), name)).In(t)
	must.Do(t, beats.Poll(t.Context()))
	r.put("b", 5)
	r.redraw()
	r.want("rolled back", "leave zone:inner b, leave beat:inner b")

	after := r.last
	r.last = before
	r.want("behind", "enter beat:inner b, enter zone:inner b, leave zone:inner a, leave zone:inner b, leave beat:inner b")
	if r.last != after {
		t.Errorf("the last event is %v, want %v", r.last, after)
	}

	held := r.views.HoldRegions()
	defer held.Release()
	must.Get(r.catalog.Unpublish(t.Context(), name)).In(t)
	must.Do(t, beats.Poll(t.Context()))
	for done := false; !done; {
		done = must.Get(fence.Redraw(t.Context(), r.live, r.views, held)).In(t)
	}
	r.want("it goes", "leave beat:inner a")
	r.put("a", 30)
	r.want("without it", "enter zone:inner a")
	r.prune(name, 2)
	r.last = before
	if got := r.told(); !strings.HasPrefix(got, "enter zone:inner b, leave zone:inner a, leave zone:inner b") {
		t.Errorf("behind, and it is removed: %s", got)
	}
}

// The boundaries are dropped while a data set of other regions stays. Points then leave the dropped
// regions. Later publishes give events again.
func TestRedrawWithoutBoundaries(t *testing.T) {
	r := newRig(t)
	beats := r.follow()
	held := r.views.HoldRegions()
	must.Get(r.catalog.Unpublish(t.Context(), ask.BoundariesName)).In(t)
	must.Do(t, r.boundaries.Poll(t.Context()))
	for done := false; !done; {
		done = must.Get(fence.Redraw(t.Context(), r.live, r.views, held)).In(t)
	}
	held.Release()
	r.want("dropped", "leave zone:inner a")
	r.publishAs(beatsName, strip{Own: true, East: 20})
	must.Do(t, beats.Poll(t.Context()))
	r.redraw()
	r.want("what is left is renewed", "leave beat:inner a")
	must.Get(r.catalog.Rollback(t.Context(), ask.BoundariesName)).In(t)
	must.Do(t, r.boundaries.Poll(t.Context()))
	r.redraw()
	r.want("they are back", "enter zone:inner a")
}

// Before the published data sets are known, no region counts as gone.
func TestRedrawBeforeAllIsLookedUp(t *testing.T) {
	r := newRig(t)
	r.follow()
	family := new(ask.DatasetGroup[*ask.RegionSet])
	r.views = ask.NewViews(ask.Sets{Boundaries: r.boundaries, RegionSets: family})
	undecided := func(what string) {
		t.Helper()
		if done, err := fence.Redraw(t.Context(), r.live, r.views, nil); done || !errors.Is(err, ask.ErrFailed) {
			t.Errorf("%s: %v, %v", what, done, err)
		}
	}
	undecided("not listed")
	again := ask.RegionSetOf("beats").Live(r.catalog.Generations)
	must.Close(t, again)
	family.Add("beats", again)
	undecided("not polled")
	must.Do(t, again.Poll(t.Context()))
	r.redraw()
	r.want("after all", "")
}

// A data set that cannot be read does not count as gone.
func TestRedrawWithoutADataSet(t *testing.T) {
	r := newRig(t)
	r.follow()
	broken := ask.RegionSetOf("beats").Live(r.catalog.Generations)
	must.Close(t, broken)
	r.sets.Add("beats", broken) // not polled yet, so it may be published
	must.Do(t, os.WriteFile(filepath.Join(r.catalog.Dir(), beatsName, "g0000000001", "manifest.json"), []byte("{"), 0o600))
	_ = broken.Poll(t.Context())
	if done, err := fence.Redraw(t.Context(), r.live, r.views, nil); done || !errors.Is(err, ask.ErrFailed) {
		t.Errorf("%v, %v", done, err)
	}
	if events := must.Get(r.set.Follow(r.live, r.last, r.views).Append(t.Context(), nil)).In(t); len(events) > 0 {
		t.Errorf("told is %+v", events)
	}
}
