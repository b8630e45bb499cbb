package places

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"quadrille/cellstore"
	"quadrille/feature"
	"quadrille/internal/buildtest"
	"quadrille/internal/must"
	"quadrille/internal/testrace"
	"quadrille/quadkey"
)

// nearestTo returns what a query for the nearest place yields, as texts that tell every bit, and its
// hits.
func nearestTo(t *testing.T, f *Finder, q feature.Query) (list []string, hits []Hit) {
	t.Helper()
	for found, err := range f.Features(t.Context(), &q) {
		if err != nil {
			t.Fatalf("%+v: %v", *q.Near, err)
		}
		list = append(list, fmt.Sprintf("%s %d %x %v %v %v %s", found.ID, found.Number, found.Mark, found.Lat, found.Lon,
			math.Float64bits(found.DistanceM), found.Properties.AppendMembers(nil)))
	}
	return list, must.Get(CollectHits(nil, f.Features(t.Context(), &q))).In(t)
}

// The nearest populated place by the leaf of a point is the same, to the bit, as that of the search
// that older generations need, and as that of measuring every place.
func TestNearestListed(t *testing.T) {
	testrace.SkipUnderRace(t, "many questions")
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list := scatter(21, 400, shape)
			f := build(t, list)
			searching := build(t, list)
			searching.nearest = nil
			rng := rand.New(rand.NewPCG(4, 8))
			for range 2_000 {
				of := queryNear(rng, list, shape)
				q := feature.Query{Near: feature.NearTo(of.Lat, of.Lon, of.RadiusM), Filter: OnlyPopulated, Limit: 1}
				got, gotHits := nearestTo(t, f, q)
				want, wantHits := nearestTo(t, searching, q)
				if d := cmp.Diff(want, got); d != "" {
					t.Fatalf("%+v: %s", *q.Near, d)
				}
				if d := cmp.Diff(wantHits, gotHits); d != "" {
					t.Fatalf("%+v: %s", *q.Near, d)
				}
				brute := bruteNearby(list, NearbyQuery{Lat: of.Lat, Lon: of.Lon, RadiusM: of.RadiusM, Classes: []string{"P"}})
				sameHits(t, gotHits, brute[:min(len(brute), 1)])
			}
		})
	}
}

// listedBy reports whether a query is answered from place_nearest.
func listedBy(f *Finder, q *feature.Query) bool {
	flt, rest, possible := filterOf(q.Filter, f.Kinds)
	after, err := parseMark(q.After)
	return err == nil && possible && rest == nil && f.nearest.answers(q, &flt, after)
}

// TestWhatIsListed tests which queries the table answers: no other ones, because it has one answer.
func TestWhatIsListed(t *testing.T) {
	f := build(t, []Place{bern})
	filter := func(f Filter) feature.Filter { return must.Get(f.FeatureFilter()).In(t) }
	near := feature.NearTo(1, 2, 0)
	for name, tc := range map[string]struct {
		q    feature.Query
		want bool
	}{
		"populated":             {feature.Query{Filter: OnlyPopulated, Limit: 1}, true},
		"in a radius":           {feature.Query{Near: feature.NearTo(1, 2, 3), Filter: OnlyPopulated, Limit: 1}, true},
		"another filter for it": {feature.Query{Filter: filter(Filter{Classes: []string{"P"}}), Limit: 1}, true},
		"two":                   {feature.Query{Filter: OnlyPopulated, Limit: 2}, false},
		"any place":             {feature.Query{Limit: 1}, false},
		"two classes":           {feature.Query{Filter: filter(Filter{Classes: []string{"P", "A"}}), Limit: 1}, false},
		"a code":                {feature.Query{Filter: filter(Filter{Classes: []string{"P"}, Codes: []string{"PPL"}}), Limit: 1}, false},
		"a country":             {feature.Query{Filter: filter(Filter{Classes: []string{"P"}, Countries: []string{"CH"}}), Limit: 1}, false},
		"a population":          {feature.Query{Filter: filter(Filter{Classes: []string{"P"}, MinPopulation: 1}), Limit: 1}, false},
		"the next page": {feature.Query{Filter: OnlyPopulated, Limit: 1, After: appendMark(nil, math.Float64bits(7), 9)},
			false},
	} {
		if tc.q.Near == nil {
			tc.q.Near = near
		}
		if got := listedBy(f, &tc.q); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	q := feature.Query{Near: near, Filter: OnlyPopulated, Limit: 1}
	q.Near.MinM = 5
	_, got := nearestTo(t, f, q)
	if len(got) != 1 || got[0].ID != bern.ID {
		t.Errorf("%+v", got)
	}
	if _, got = nearestTo(t, f, feature.Query{Near: feature.NearTo(1, 2, 1000), Filter: OnlyPopulated, Limit: 1}); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

// A data set without populated places has none near a point, and an older generation, whose
// description lacks the table, is searched.
func TestNothingListed(t *testing.T) {
	peak := Place{ID: 5, Name: "Top", Class: "T", Code: "MT", Lat: 1, Lon: 2}
	q := feature.Query{Near: feature.NearTo(1, 2, 0), Filter: OnlyPopulated, Limit: 1}
	f := build(t, []Place{peak})
	if got, _ := nearestTo(t, f, q); len(got) != 0 || !listedBy(f, &q) {
		t.Errorf("%+v", got)
	}
	store := buildtest.NewStore(t)
	meta, _ := must.Two(Build(t.Context(), store, source([]Place{peak, bern}), BuildOptions{})).In(t)
	meta.Nearest = nil
	must.Do(t, store.DropTable(t.Context(), tableName("", tableNearest)))
	f = must.Get(Open(t.Context(), store, meta)).In(t)
	if _, got := nearestTo(t, f, q); len(got) != 1 || got[0].ID != bern.ID || listedBy(f, &q) {
		t.Errorf("%+v", got)
	}
}

// Places of given kinds may be listed instead. Other conditions are refused.
func TestNearestOfKinds(t *testing.T) {
	list := scatter(3, 300, shapes["uniform"])
	for i := range list {
		list[i].Class, list[i].Code, list[i].Kind = "", "", []string{"port", "pier/old", "dock"}[i%3]
	}
	kinds := Kinds(func(t *feature.Term) ([]string, bool) {
		return slices.Clone(t.Values), t.Name == "kind"
	})
	terms := []feature.Term{{Name: "kind", Values: []string{"port", "pier/old"}}}
	some := kinds.PrepareFilter(must.Get(feature.ParseFilter(feature.Schema{{Name: "kind", Kind: feature.Text}}, terms)).In(t))
	store := buildtest.NewStore(t)
	meta, _ := must.Two(Build(t.Context(), store, source(list), BuildOptions{Prefix: "ship_", NoNames: true, Nearest: some})).In(t)
	if n := meta.Nearest; n.Classes != "" || fmt.Sprint(n.Kinds) != "[pier/old port]" || n.Positions != 200 {
		t.Errorf("%+v", n)
	}
	f := must.Get(Open(t.Context(), store, meta)).In(t)
	f.Kinds = kinds
	rng := rand.New(rand.NewPCG(4, 8))
	for range 300 {
		lon, lat := shapes["uniform"](rng)
		q := feature.Query{Near: feature.NearTo(lat, lon, 0), Filter: some, Limit: 1}
		if !listedBy(f, &q) {
			t.Fatal("the table does not answer")
		}
		got, _ := nearestTo(t, f, q)
		q.Limit = 2
		if want, _ := nearestTo(t, f, q); len(got) != 1 || cmp.Diff(want[0], got[0]) != "" {
			t.Fatalf("%+v, want %+v", got, want)
		}
	}
	for _, bad := range []Filter{{Countries: []string{"CH"}}, {MinPopulation: 3}} {
		of := must.Get(bad.FeatureFilter()).In(t)
		if _, _, err := Build(t.Context(), buildtest.NewStore(t), source(list), BuildOptions{Nearest: of}); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

// A leaf that would list too many places sends the question to the search.
func TestNearestInACrowd(t *testing.T) {
	testrace.SkipUnderRace(t, "bounds are reached too slowly")
	list := make([]Place, 1100)
	for i := range list {
		list[i] = Place{ID: uint32(i + 1), Name: "x", Class: "P", Code: "PPL", Lat: 10 + float64(i%34)*1e-7, Lon: 10 + float64(i/34)*1e-7}
	}
	f := build(t, list)
	rng := rand.New(rand.NewPCG(4, 8))
	for range 200 {
		q := NearbyQuery{Lat: 10 + rng.Float64()*4e-6, Lon: 10 + rng.Float64()*4e-6}
		_, hits := nearestTo(t, f, feature.Query{Near: feature.NearTo(q.Lat, q.Lon, 0), Filter: OnlyPopulated, Limit: 1})
		sameHits(t, hits, bruteNearby(list, q)[:1])
	}
}

// TestDamagedNearest tests that damaged rows are reported, and give no wrong answer.
func TestDamagedNearest(t *testing.T) {
	world := quadkey.Tile{}.Key()
	row := func(id uint32, lat, lon int32, tier byte) []byte {
		b := binary.BigEndian.AppendUint32(nil, id)
		b = binary.BigEndian.AppendUint32(b, uint32(lat))
		return append(binary.BigEndian.AppendUint32(b, uint32(lon)), tier)
	}
	lat, lon := toUnits(bern.Lat), toUnits(bern.Lon)
	whole := row(bern.ID, lat, lon, high)
	for name, tc := range map[string]struct {
		value []byte // nil: no row
		fine  bool
	}{
		"whole":         {whole, true},
		"no row":        {nil, false},
		"cut short":     {whole[1:], false},
		"no such tier":  {row(bern.ID, lat, lon, tiers), false},
		"another tier":  {row(bern.ID, lat, lon, low), false},
		"another place": {row(bern.ID+1, lat, lon, high), false},
		"elsewhere":     {row(bern.ID, lat+1, lon, high), false},
		"no position":   {row(bern.ID, 1<<30, lon, high), false},
	} {
		store := buildtest.NewStore(t)
		meta, _ := must.Two(Build(t.Context(), store, source([]Place{bern}), BuildOptions{})).In(t)
		table := must.Get(store.Table(t.Context(), tableName("", tableNearest))).In(t)
		ops := []cellstore.Op{cellstore.Put(famNear, nil, tc.value)}
		if tc.value == nil {
			ops = []cellstore.Op{cellstore.DeleteRow(cellstore.MaxTimestamp)}
		}
		must.Do(t, table.Apply(t.Context(), cellstore.Mutation{Row: world[:], Ops: ops}))
		f := must.Get(Open(t.Context(), store, meta)).In(t)
		_, err := CollectHits(nil, f.Features(t.Context(), &feature.Query{Near: feature.NearTo(3, 4, 0), Filter: OnlyPopulated, Limit: 1}))
		if tc.fine != (err == nil) || !tc.fine && !errors.Is(err, cellstore.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNearestEndsWithItsContext(t *testing.T) {
	f := build(t, []Place{bern})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	q := feature.Query{Near: feature.NearTo(3, 4, 0), Filter: OnlyPopulated, Limit: 1}
	if _, err := CollectHits(nil, f.Features(ctx, &q)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// BenchmarkNearest compares the nearest populated place by its leaf with a search, and with the two
// reads alone.
func BenchmarkNearest(b *testing.B) {
	list := cities(100_000)
	f := build(b, list)
	searching := build(b, list)
	searching.nearest = nil
	rng := rand.New(rand.NewPCG(5, 6))
	points := make([]feature.Near, 4096)
	for i := range points {
		points[i].Lon, points[i].Lat = clustered(rng)
	}
	run := func(b *testing.B, f *Finder) {
		b.ReportAllocs()
		var dst []Hit
		q := feature.Query{Filter: OnlyPopulated, Limit: 1}
		for i := 0; b.Loop(); i++ {
			q.Near = &points[i%len(points)]
			var err error
			if dst, err = CollectHits(dst, f.Features(b.Context(), &q)); err != nil || len(dst) != 1 {
				b.Fatal(err, len(dst))
			}
		}
	}
	b.Run("listed", func(b *testing.B) { run(b, f) })
	b.Run("searched", func(b *testing.B) { run(b, searching) })
}
