package points_test

import (
	"testing"

	"quadrille/cellstore/pebblestore"
	"quadrille/feature"
	"quadrille/internal/must"
	"quadrille/places/points"
	"quadrille/quadkey"
)

// BenchmarkColumns asks a million points for filtered tiles and for tallies, once their columns are made.
func BenchmarkColumns(b *testing.B) {
	store := must.Get(pebblestore.Open(b.TempDir(), &pebblestore.Options{Cache: pebblestore.NewCache(256 << 20)})).In(b)
	b.Cleanup(func() { store.Close() })
	meta := buildMany(b, store, 1_000_000)
	c := must.Get(points.Open(b.Context(), store, meta)).In(b)
	for name, terms := range map[string][]feature.Term{
		"cafes":  {{Name: "category", Values: []string{"cafe"}}},
		"rare":   {{Name: "price", Op: feature.OpLess, Values: []string{"0.2"}}, {Name: "open", Values: []string{"true"}}},
		"prefix": {{Name: "name", Op: feature.OpPrefix, Values: []string{"A"}}},
	} {
		by := must.Get(feature.ParseFilter(c.Info().Schema, terms)).In(b)
		b.Run(name+"/first", func(b *testing.B) {
			for b.Loop() {
				points.SetColumnBytes(points.DefaultColumnBytes)
				for _, err := range c.Tile(b.Context(), quadkey.Tile{}, by) {
					must.Do(b, err)
				}
			}
		})
		for _, tile := range []quadkey.Tile{{}, {Z: 4, X: 8, Y: 5}, {Z: 8, X: 134, Y: 89}, {Z: 12, X: 2145, Y: 1434}} {
			b.Run(name+"/"+tile.String(), func(b *testing.B) {
				n := 0
				for b.Loop() {
					n = 0
					for _, err := range c.Tile(b.Context(), tile, by) {
						must.Do(b, err)
						n++
					}
				}
				b.ReportMetric(float64(n), "items")
			})
		}
	}
	for name, tally := range map[string]*feature.Tally{
		"category":      {By: []feature.Grouping{{Property: "category"}}},
		"category, sum": {By: []feature.Grouping{{Property: "category"}}, Measures: []feature.Measure{{Op: feature.OpSum, Property: "price"}}},
		"city":          {By: []feature.Grouping{{Property: "address.city"}, {Property: "category"}}},
		"name":          {By: []feature.Grouping{{Property: "name"}}},
		"tile":          {By: []feature.Grouping{{Place: feature.TilePlacer(8)}}},
	} {
		b.Run("by/"+name, func(b *testing.B) {
			ask := func() {
				a := tally.Begin(c.Info().Schema)
				must.Do(b, a.Run(b.Context(), c, &feature.Query{}))
				if n := a.Totals(20).Count; n != 1_000_000 {
					b.Fatal(n)
				}
			}
			ask() // makes the columns
			for b.Loop() {
				ask()
			}
		})
	}
}
