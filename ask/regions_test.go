package ask_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cellstore/published"
	"quadrille/internal/buildtest"
	"quadrille/internal/must"
	"quadrille/internal/smallworld"
	"quadrille/places/names"
	"quadrille/places/search"
	"quadrille/tiles"
	"quadrille/tiles/build"
)

// districts publishes a separate data set with one region, and takes it into service.
func districts(t *testing.T, c *dataset.Catalog, live *dataset.Live[*ask.RegionSet], set, typ, name string) uint64 {
	b := must.Get(c.Begin(t.Context(), ask.RegionSetOf(set).Name)).In(t)
	square := orb.Polygon{{{8.5, 47.3}, {8.6, 47.3}, {8.6, 47.4}, {8.5, 47.4}, {8.5, 47.3}}}
	of, _, err := build.Run(t.Context(), b.Store(), []build.Layer{{
		Type:     typ,
		Features: []build.Feature{{ID: name, Name: name, Geometry: square}},
	}}, build.Options{})
	must.Do(t, err)
	index := must.Get(names.Build(t.Context(), b.Store(), buildtest.SeqOf([]names.Feature{
		{Kind: names.Region, Type: typ, ID: name, Name: name, Lat: 47.35, Lon: 8.55},
	}), names.Options{TempDir: t.TempDir()})).In(t)
	meta := must.Get(json.Marshal(ask.RegionSetMeta{Meta: of, Names: &index})).In(t)
	m := must.Get(b.Publish(t.Context(), dataset.Manifest{
		SchemaVersion: tiles.SchemaVersion,
		Meta:          meta,
		Records:       map[string]int64{typ: 1},
	})).In(t)
	if live != nil {
		must.Do(t, live.Poll(t.Context()))
	}
	return m.Generation
}

// Regions come from any number of data sets. Each appears, is renewed, rolled back and dropped
// independently, and answers that depend on the others stay the same.
func TestRegionsOfSeveralDataSets(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, smallworld.Publish(t.Context(), dir))
	c := must.Get(published.OpenCatalog(dir)).In(t)
	sets := ask.PublishedSets(c.Generations)
	sets.RegionSets = new(ask.DatasetGroup[*ask.RegionSet])
	must.Do(t, sets.Poll(t.Context()))
	must.Close(t, &sets)
	views := ask.NewViews(sets)

	look := func(want ...string) ask.View {
		t.Helper()
		v := views.Take(time.Time{})
		t.Cleanup(v.Release)
		b := must.Get(v.Boundaries.Get()).In(t)
		var got []string
		for _, r := range must.Get(b.At(t.Context(), 47.35, 8.55)).In(t) {
			got = append(got, r.Type+":"+r.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("at the point: %v, want %v", got, want)
		}
		return v
	}
	found := func(v ask.View, text string) bool {
		t.Helper()
		hits := must.Get(must.Get(v.Names.Get()).In(t).Search(t.Context(), search.Query{Text: text}, nil)).In(t)
		return len(hits) > 0 && hits[0].Name == text
	}
	before := look("country:ch", "state:ch-zh")

	follow := func(set string) *dataset.Live[*ask.RegionSet] {
		live := ask.RegionSetOf(set).Live(c.Generations)
		must.Close(t, live)
		sets.RegionSets.Add(set, live)
		return live
	}
	sales, parks := follow("sales"), follow("parks")
	districts(t, c, sales, "sales", "district", "North")
	first := look("country:ch", "state:ch-zh", "district:North")
	districts(t, c, parks, "parks", "park", "Hill")
	v := look("country:ch", "state:ch-zh", "park:Hill", "district:North")
	if got := []bool{
		found(v, "North"),
		found(v, "Hill"),
		found(v, "Switzerland"),
		found(before, "North"),
	}; !slices.Equal(got, []bool{true, true, true, false}) {
		t.Errorf("names of regions that are found: %v", got)
	}
	if l := must.Get(v.Layer("district")).In(t); l.Manifest.Dataset != "boundaries-sales" ||
		l.ID() != v.Boundaries.IDOf([]string{"district"}) {
		t.Errorf("the layer is of %s, %d", l.Manifest.Dataset, l.ID())
	}

	// Answers that depend on other data sets stay the same.
	for _, same := range [][]string{{"country"}, {"country", "state"}, {"district"}} {
		if a, b := first.Boundaries.IDOf(same), v.Boundaries.IDOf(same); a != b || a&1 != 1 {
			t.Errorf("%v: %d before, and %d after another data set came", same, a, b)
		}
	}
	if v.Boundaries.IDOf([]string{"country"}) != before.Boundaries.ID || first.Boundaries.ID == v.Boundaries.ID {
		t.Error("a data set alone has its own identity, and all together another one when one comes")
	}
	districts(t, c, sales, "sales", "district", "South")
	now := look("country:ch", "state:ch-zh", "park:Hill", "district:South")
	if now.Boundaries.IDOf([]string{"district"}) == v.Boundaries.IDOf([]string{"district"}) ||
		now.Boundaries.IDOf([]string{"park", "country"}) != v.Boundaries.IDOf([]string{"park", "country"}) {
		t.Error("a data set that is renewed has another identity, and the others do not")
	}
	must.Get(c.Rollback(t.Context(), "boundaries-sales")).In(t)
	must.Do(t, sales.Poll(t.Context()))
	look("country:ch", "state:ch-zh", "park:Hill", "district:North")

	// Older generations of some data sets, and none of the data sets that are not named.
	older := views.TakeGenerations(map[string]uint64{"boundaries": 1, "boundaries-sales": 2}, time.Time{})
	defer older.Release()
	if b := must.Get(older.Boundaries.Get()).In(t); b.Has("park") || !b.Has("state") ||
		string(must.Get(b.Region(t.Context(), "district", "South", false)).In(t)) == "" {
		t.Error("older generations are not those named")
	}
	if got := now.Boundaries.Manifests([]string{"park", "state", "district", "country"}); len(got) != 3 ||
		got[0].Dataset != "boundaries" || got[1].Dataset != "boundaries-parks" {
		t.Error(got)
	}

	// A type in two data sets is read from the first, and TypesOf lists it as hidden.
	districts(t, c, parks, "parks", "country", "Hill")
	v = look("country:ch", "state:ch-zh", "district:North")
	_, hidden := v.Boundaries.TypesOf("boundaries-parks")
	if types, none := v.Boundaries.TypesOf("boundaries-sales"); !slices.Equal(hidden, []string{"country"}) || len(types) != 1 || none != nil {
		t.Errorf("hidden: %v, %v", hidden, none)
	}
	sets.RegionSets.Remove("parks")
	sets.RegionSets.Remove("sales")
	if v = look("country:ch", "state:ch-zh"); v.Boundaries.ID != before.Boundaries.ID {
		t.Error("without the others all is as before")
	}
}

// A data set that cannot be read does not hide the others, and its layers are not reported as
// unknown.
func TestRegionsOfADamagedDataSet(t *testing.T) {
	dir := t.TempDir()
	c := must.Get(published.OpenCatalog(dir)).In(t)
	districts(t, c, nil, "sales", "district", "North")
	districts(t, c, nil, "parks", "park", "Hill")
	must.Do(t, os.WriteFile(filepath.Join(dir, "boundaries-sales", "g0000000001", "manifest.json"), []byte("{"), 0o600))
	group := new(ask.DatasetGroup[*ask.RegionSet])
	for _, set := range []string{"sales", "parks"} {
		live := ask.RegionSetOf(set).Live(c.Generations)
		must.Close(t, live)
		_ = live.Poll(context.Background()) // one fails
		group.Add(set, live)
	}
	views := ask.NewViews(ask.Sets{RegionSets: group})
	v := views.Take(time.Time{})
	defer v.Release()
	b := must.Get(v.Boundaries.ReaderOf("park")).In(t)
	if at := must.Get(b.At(t.Context(), 47.35, 8.55, "park")).In(t); len(at) != 1 || at[0].ID != "Hill" {
		t.Error(at)
	}
	if l := must.Get(v.Layer("park")).In(t); l.ID() != v.Boundaries.IDOf([]string{"park"}) || l.ID()&1 != 1 {
		t.Errorf("the layer that can be read is %d", l.ID())
	}
	for what, err := range map[string]error{
		"all types":       second(v.Boundaries.Get()),
		"an unknown type": second(v.Boundaries.ReaderOf("park", "district")),
		"a layer":         second(v.Layer("district")),
	} {
		if !errors.Is(err, ask.ErrFailed) || errors.Is(err, tiles.ErrUnknownType) || errors.Is(err, ask.ErrNoLayer) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }
