package airports

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"quadrille/feature"
	"quadrille/feature/layertest"
	"quadrille/internal/must"
	"quadrille/internal/testrace"
	"quadrille/quadkey"
)

func TestLayer(t *testing.T) {
	testrace.SkipUnderRace(t, "many questions")
	f, _ := newFinder(t, scatter(5, 300))
	layertest.Test(t, f, layertest.Options{Seed: 4, Rounds: 40})
	f, _ = newFinder(t, few)
	layertest.Test(t, f, layertest.Options{})
	var into feature.Feature
	if err := f.Get(t.Context(), "99", time.Time{}, &into); !errors.Is(err, ErrNotFound) || !errors.Is(err, feature.ErrNotFound) {
		t.Error(err)
	}
}

// Terms on type, scheduled and country find what Filter does, with the index and without.
func TestFeaturesAgainstQueries(t *testing.T) {
	testrace.SkipUnderRace(t, "many questions")
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
			filter = layertest.Unindexed{Filter: filter}
		}
		at := quadkey.Position{Lat: rng.Float64()*180 - 90, Lon: rng.Float64()*360 - 180}
		for _, q := range []feature.Query{
			{Near: &feature.Near{Position: at}},
			{In: feature.Box{West: at.Lon, South: -60, East: rng.Float64()*360 - 180, North: 60}, Order: feature.Order{Importance: true}},
		} {
			q.Filter = must.Get(fl.FeatureFilter()).In(t)
			want := layertest.Pages(t, f, q, 300)
			q.Filter = filter
			if got := layertest.Pages(t, f, q, 300); !reflect.DeepEqual(got, want) {
				t.Fatalf("%+v: %d features by terms, %d by the filter", fl, len(got), len(want))
			}
		}
	}
	for _, terms := range [][]feature.Term{
		{{Name: "type", Values: []string{"Closed"}}}, {{Name: "type", Values: []string{Closed}}, {Name: "type", Values: []string{Large}}},
		{{Name: "scheduled", Values: []string{"true"}}, {Name: "scheduled", Values: []string{"false"}}},
		{{Name: "type", Op: feature.OpDiffers, Values: []string{Closed}}, {Name: "scheduled", Values: []string{"false", "true"}}},
		{{Name: "country", Values: []string{"us"}}}, {{Name: "country", Values: []string{"US"}}, {Name: "country", Values: []string{"DE", "US"}}},
	} {
		for _, q := range []feature.Query{{}, {Near: &feature.Near{}}} {
			layertest.SameWithoutIndex(t, f, q, 501, terms...)
		}
	}
}
