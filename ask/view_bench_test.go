package ask_test

import (
	"fmt"
	"testing"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/internal/buildtest"
	"quadrille/internal/must"
	"quadrille/places/points"
)

// BenchmarkRenew measures the cost of a change of one data set among many unchanged ones.
func BenchmarkRenew(b *testing.B) {
	store := buildtest.NewStore(b)
	meta := must.Get(points.Build(b.Context(), store, buildtest.SeqOf([]points.Point{{ID: "a"}}), points.BuildOptions{Name: "c"})).In(b)
	c := must.Get(points.Open(b.Context(), store, meta)).In(b)
	for _, n := range []int{1, 1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			all := map[string]*dataset.Live[*points.Collection]{}
			for i := range n {
				name := fmt.Sprint("c", i)
				all[name] = dataset.NewFixedLive(c, dataset.Manifest{Dataset: ask.CollectionPrefix + name})
			}
			sets := ask.Sets{Collections: new(ask.Collections)}
			sets.Collections.AddAll(all)
			ask.NewViews(sets)
			for b.Loop() {
				sets.Collections.Remove("none")
			}
		})
	}
}
