package cql2

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"quadrille/feature"
	"quadrille/internal/must"
	"quadrille/quadkey"
)

// BenchmarkFilter passes 10,000 features through filters: a filter of a list with MatchCompact and
// with Match, and a filter in CQL2.
func BenchmarkFilter(b *testing.B) {
	schema := feature.Schema{{Name: "category", Kind: feature.Text}, {Name: "closed", Kind: feature.Boolean},
		{Name: "name", Kind: feature.Text}, {Name: "price", Kind: feature.Number}, {Name: "tags", Kind: feature.Texts}}
	r := rand.New(rand.NewPCG(1, 2))
	features := make([]feature.Feature, 10_000)
	objects := make([][]byte, len(features))
	for i := range features {
		members := fmt.Appendf(nil,
			`"name":"The name of %d","street":"A street of some length","category":"%s","price":%d.5,"closed":%t,"tags":["a","b%d"]`,
			i, []string{"cafe", "bar", "zoo", "bakery"}[r.IntN(4)], r.IntN(100), r.IntN(2) == 0, r.IntN(9))
		features[i] = feature.Feature{
			Position:   quadkey.Position{Lat: r.Float64() * 80, Lon: r.Float64() * 80},
			Properties: feature.CompactProperties(members),
		}
		objects[i] = append(append([]byte{'{'}, members...), '}')
	}
	term := func(name, op string, values ...string) feature.Term {
		return feature.Term{Name: name, Op: op, Values: values}
	}
	for name, terms := range map[string][]feature.Term{
		"terms/one": {term("category", "", "zoo")},
		"terms/four": {
			term("category", "", "cafe", "bar"),
			term("price", "lt", "50"),
			term("closed", "ne", "true"),
			term("tags", "", "b3", "b4"),
		},
	} {
		filter := must.Get(feature.ParseFilter(schema, terms)).In(b)
		benchmark(b, name, features, filter)
		rows := filter.(interface{ MatchCompact(object []byte) bool })
		b.Run(name+"/rows", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for _, o := range objects {
					rows.MatchCompact(o)
				}
			}
		})
	}
	for name, text := range map[string]string{
		"cql2/one":  "category = 'zoo'",
		"cql2/four": "category IN ('cafe', 'bar') AND price < 50 AND closed <> TRUE AND A_OVERLAPS(tags, ('b3', 'b4'))",
		"cql2/tree": "(category = 'zoo' OR name LIKE '%7' OR price BETWEEN 20 AND 30) AND NOT (closed = TRUE AND gone IS " +
			"NULL) AND S_INTERSECTS(geometry, BBOX(0,0,60,60))",
	} {
		benchmark(b, name, features, must.Get(Parse(text)).In(b).Expression(schema, nil, nil))
	}
}

func benchmark(b *testing.B, name string, features []feature.Feature, filter feature.Filter) {
	b.Run(name, func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for i := range features {
				if _, err := filter.Match(b.Context(), &features[i]); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}
