package points_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/cellstore/pebblestore"
	"quadrille/internal/damagetest"
	"quadrille/internal/must"
	"quadrille/internal/testrace"
	"quadrille/internal/testseed"
	"quadrille/places/points"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestDamagedAtRandom changes one file of a store of two collections, either after a clean close or
// after a kill. Each collection has all acknowledged points, or is reported as damaged. The other
// is not affected, and no file is lost.
func TestDamagedAtRandom(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine damages, opens and reads again and again")
	cases := 1000
	switch {
	case os.Getenv("QUADRILLE_FULL") != "":
		cases = 10_000
	case testing.Short():
		cases = 60
	}
	r := testseed.Rand(t)
	mem := vfs.NewMem()
	store := must.Get(pebblestore.Open("s", &pebblestore.Options{FS: mem})).In(t)
	l := must.Get(points.OpenLive(t.Context(), store)).In(t)
	want := map[string]map[string]string{}
	for _, meta := range []points.Meta{{Name: "cars"}, {Name: "carts", HistoryRetention: points.Duration(time.Hour)}} {
		c := must.Get(l.Create(t.Context(), meta)).In(t)
		model := map[string]string{}
		want[meta.Name] = model
		for range 150 {
			id, value := fmt.Sprint("p", r.IntN(60)), fmt.Sprintf(`{"v":%d}`, r.Int64())
			w := points.Write{Kind: points.Put, ID: id, Lat: r.Float64()*170 - 85, Lon: r.Float64()*360 - 180, Properties: []byte(value)}
			if model[id] != "" && r.IntN(3) == 0 {
				w = points.Write{Kind: points.Delete, ID: id}
			}
			if o := write(t, c, w); o[0].Err != nil {
				t.Fatal(o[0].Err)
			}
			if model[id] = value; w.Kind == points.Delete {
				delete(model, id)
			}
		}
		if meta.Name == "cars" { // so that a part is in sorted files
			must.Do(t, store.Compact(t.Context(), "points_cars"))
		}
	}
	killed, err := damagetest.ReadImage(mem, "s")
	if err == nil {
		err = errors.Join(l.Close(), store.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	closed := must.Get(damagetest.ReadImage(mem, "s")).In(t)
	told := 0
	for range cases {
		whole := []damagetest.Image{killed, closed}[r.IntN(2)]
		damaged, what := whole.Damage(r)
		disk := must.Get(damaged.Mount(whole)).In(t)
		refused := 0
		for name, model := range readLive(t, disk, what, slices.Collect(maps.Keys(want))) {
			switch {
			case model == nil:
				refused++
			case !maps.Equal(model, want[name]):
				t.Errorf("%s: %s has %d points, acknowledged were %d", what, name, len(model), len(want[name]))
			}
		}
		if refused > 0 {
			told++
		}
		if refused > 1 && damagedFiles(damaged, whole) < 2 {
			t.Errorf("%s: both collections are damaged", what)
		}
	}
	t.Logf("%d of %d damages were told", told, cases)
}

func damagedFiles(a, b damagetest.Image) (n int) {
	for name := range b {
		if string(a[name]) != string(b[name]) {
			n++
		}
	}
	return n
}

// readLive opens a store and returns the points of its collections, or nil for damaged ones. A
// missing collection is an error.
func readLive(t *testing.T, disk vfs.FS, what string, names []string) map[string]map[string]string {
	t.Helper()
	all := map[string]map[string]string{}
	store, err := pebblestore.Open("s", &pebblestore.Options{FS: disk, CacheBytes: 1 << 16})
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	defer store.Close()
	l, err := points.OpenLive(t.Context(), store)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	defer l.Close()
	for _, name := range names {
		all[name] = nil
		c := l.Collection(name)
		if c == nil {
			if !slices.ContainsFunc(l.Troubles(), func(tr points.Trouble) bool { return tr.Name == name && tr.Err != nil }) {
				t.Errorf("%s: collection %s is gone, and nobody says so", what, name)
			}
			continue
		}
		model := map[string]string{}
		var h points.Hit
		for i := range 60 {
			id := fmt.Sprint("p", i)
			err := c.GetAt(t.Context(), id, time.Time{}, &h)
			if errors.Is(err, cellstore.ErrCorrupt) {
				model = nil
				break
			}
			if err == nil {
				model[id] = string(h.Properties)
			} else if !errors.Is(err, points.ErrNotFound) {
				t.Errorf("%s: %v", what, err)
			}
		}
		all[name] = model
	}
	return all
}
