package airports

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"quadrille/feature"
	"quadrille/feature/layertest"
	"quadrille/internal/must"
	"quadrille/internal/testrace"
	"quadrille/places"
	"quadrille/quadkey"
)

func TestLayer(t *testing.T) {
	testrace.Plain(t, "many questions")
	f, _ := newFinder(t, scatter(5, 300))
	layertest.Test(t, f, layertest.Options{Seed: 4, Rounds: 40})
	f, _ = newFinder(t, few)
	layertest.Test(t, f, layertest.Options{})
	var into feature.Feature
	if err := f.Get(t.Context(), "99", time.Time{}, &into); !errors.Is(err, ErrNotFound) || !errors.Is(err, feature.ErrNotFound) {
		t.Error(err)
	}
}

// unindexed is a filter of which the index knows nothing.
type unindexed struct{ feature.Filter }

func (unindexed) Terms() ([]feature.Term, bool) { return nil, false }

// listOf collects an answer.
func listOf(t *testing.T, l feature.Layer, q feature.Query) (all []feature.Feature) {
	t.Helper()
	for of, err := range l.Features(t.Context(), &q) {
		if err != nil {
			t.Fatalf("%+v: %v", q, err)
		}
		all = append(all, of.Clone())
	}
	return all
}

func sameAsHits(t *testing.T, what any, got []feature.Feature, want []places.Hit) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%+v: %d features, want %d", what, len(got), len(want))
	}
	for i := range got {
		if got[i].ID != strconv.Itoa(int(want[i].ID)) || got[i].Distance != want[i].DistanceM || !bytes.Equal(got[i].Properties.AppendMembers(nil), want[i].JSON) {
			t.Fatalf("%+v: feature %d is %+v, want %d", what, i, got[i], want[i].ID)
		}
	}
}

// Terms on type, scheduled and country find what Filter does, with the index and without.
func TestFeaturesAgainstQueries(t *testing.T) {
	testrace.Plain(t, "many questions")
	f, _ := newFinder(t, scatter(6, 500))
	rng := rand.New(rand.NewPCG(3, 3))
	for i := range 150 {
		fl := Filter{Closed: i%3 > 0, Scheduled: rng.IntN(3) == 0}
		var terms []feature.Term
		if i%3 == 2 {
			fl.Types = Types()[rng.IntN(4) : 4+rng.IntN(3)]
			fl.Closed = false
			terms = append(terms, feature.Term{Name: "type", Values: fl.Types})
		} else if !fl.Closed {
			terms = append(terms, feature.Term{Name: "type", Values: slices.DeleteFunc(Types(), func(s string) bool { return s == Closed })})
		}
		if fl.Scheduled {
			terms = append(terms, feature.Term{Name: "scheduled", Values: []string{"TRUE"}})
		}
		if rng.IntN(2) == 0 {
			fl.Countries = []string{"US", "DE"}
			terms = append(terms, feature.Term{Name: "country", Values: fl.Countries})
		}
		filter := must.Get(feature.ParseFilter(f.Info().Schema, terms)).In(t)
		if i%2 == 1 && filter != nil {
			filter = unindexed{filter}
		}
		near := NearbyQuery{Lat: rng.Float64()*180 - 90, Lon: rng.Float64()*360 - 180, Limit: 1 + rng.IntN(300), Filter: fl}
		hits, _ := must.Two(f.Nearby(t.Context(), near, nil)).In(t)
		q := feature.Query{Near: &feature.Near{Position: quadkey.Position{Lat: near.Lat, Lon: near.Lon}}, Limit: near.Limit, Filter: filter}
		sameAsHits(t, near, listOf(t, f, q), hits)

		box := WithinQuery{Box: quadkey.Box{West: near.Lon, South: -60, East: rng.Float64()*360 - 180, North: 60}, Limit: near.Limit, Filter: fl}
		hits, _ = must.Two(f.Within(t.Context(), box, hits)).In(t)
		q = feature.Query{In: feature.Box(box.Box), Order: feature.Order{Importance: true}, Limit: box.Limit, Filter: filter}
		sameAsHits(t, box, listOf(t, f, q), hits)
	}
	for _, terms := range [][]feature.Term{
		{{Name: "type", Values: []string{"Closed"}}}, {{Name: "type", Values: []string{Closed}}, {Name: "type", Values: []string{Large}}},
		{{Name: "scheduled", Values: []string{"true"}}, {Name: "scheduled", Values: []string{"false"}}},
		{{Name: "type", Op: feature.OpDiffers, Values: []string{Closed}}, {Name: "scheduled", Values: []string{"false", "true"}}},
		{{Name: "country", Values: []string{"us"}}}, {{Name: "country", Values: []string{"US"}}, {Name: "country", Values: []string{"DE", "US"}}},
	} {
		filter := must.Get(feature.ParseFilter(f.Info().Schema, terms)).In(t)
		for _, q := range []feature.Query{{}, {Near: &feature.Near{}, Limit: 501}} {
			q.Filter = filter
			got := listOf(t, f, q)
			q.Filter = unindexed{filter}
			if want := listOf(t, f, q); !slices.EqualFunc(got, want, func(a, b feature.Feature) bool { return a.ID == b.ID }) {
				t.Errorf("%+v: %d features with the index and %d without", terms, len(got), len(want))
			}
		}
	}
}
