package airports

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"quadrille/feature"
	"quadrille/quadkey"
)

var _ interface {
	feature.Counter
	feature.Drawer
} = (*Finder)(nil)

// schema is the schema of an airport in an answer.
var schema = feature.Schema{
	{Name: "country", Kind: feature.Text},
	{Name: "elevation_m", Kind: feature.Number},
	{Name: "iata", Kind: feature.Text},
	{Name: "icao", Kind: feature.Text},
	{Name: "id", Kind: feature.Integer},
	{Name: "ident", Kind: feature.Text},
	{Name: "lat", Kind: feature.Number},
	{Name: "local", Kind: feature.Text},
	{Name: "lon", Kind: feature.Number},
	{Name: "municipality", Kind: feature.Text},
	{Name: "name", Kind: feature.Text},
	{Name: "region", Kind: feature.Text},
	{Name: "scheduled", Kind: feature.Boolean},
	{Name: "timezone", Kind: feature.Text},
	{Name: "type", Kind: feature.Text},
}

// Info implements feature.Layer.
func (f *Finder) Info() *feature.Info { return &f.about }

// Get implements feature.Layer.
func (f *Finder) Get(ctx context.Context, id string, at time.Time, into *feature.Feature) error {
	err := f.geo.Get(ctx, id, at, into)
	if errors.Is(err, feature.ErrNotFound) {
		return fmt.Errorf("%w: id %.40q", ErrNotFound, id)
	}
	return err
}

// Features implements feature.Layer, as places.Finder.Features does. A query for all airports
// includes closed ones, and a term on the type leaves them out. The index can filter by type,
// scheduled and country.
func (f *Finder) Features(ctx context.Context, q *feature.Query) iter.Seq2[*feature.Feature, error] {
	return f.geo.Features(ctx, ofPlaces(q))
}

// Count implements feature.Counter, as places.Finder.Count does.
func (f *Finder) Count(ctx context.Context, q *feature.Query) (int64, error) {
	return f.geo.Count(ctx, ofPlaces(q))
}

// ofPlaces returns a query with its filter in the form of package places.
func ofPlaces(q *feature.Query) *feature.Query {
	inner := *q
	switch of := q.Filter.(type) {
	case nil:
	case *prepared:
		inner.Filter = of.places
	default:
		inner.Filter = newCoded(of)
	}
	return &inner
}

// Tile implements feature.Tiler, as places.Finder.Tile does. Closed airports are not shown.
func (f *Finder) Tile(ctx context.Context, t quadkey.Tile) iter.Seq2[*feature.Feature, error] {
	return func(yield func(*feature.Feature, error) bool) {
		for of, err := range f.geo.Tile(ctx, t) {
			if err == nil && of.Properties.Text("type") == Closed {
				continue
			}
			if !yield(of, err) {
				return
			}
		}
	}
}

// drawing says how maps show airports.
var drawing = feature.Drawing{
	Description: "Airports that are not closed, the most important first; rank 0 is for large ones with scheduled service",
	Attributes: feature.Schema{
		{Name: "name", Kind: feature.Text},
		{Name: "type", Kind: feature.Text},
		{Name: "iata", Kind: feature.Text},
		{Name: "icao", Kind: feature.Text},
		{Name: "scheduled", Kind: feature.Boolean},
		{Name: "rank", Kind: feature.Integer},
	},
	Look: feature.LookAirfields,
}

// Draw implements feature.Drawer.
func (f *Finder) Draw(ctx context.Context, t quadkey.Tile, pen feature.Pen) error {
	return feature.Each(f.Tile(ctx, t), func(a *feature.Feature) error {
		if err := pen.Begin(a.Number, a.Position); err != nil {
			return err
		}
		typ, iata := a.Properties.Text("type"), a.Properties.Text("iata")
		service, _ := a.Properties.Lookup("scheduled")
		scheduled, _ := service.Boolean()
		pen.Text("name", a.Name())
		pen.Text("type", typ)
		pen.Text("iata", iata)
		pen.Text("icao", a.Properties.Text("icao"))
		pen.Boolean("scheduled", scheduled)
		pen.Integer("rank", int64(Rank(typ, scheduled, iata)))
		pen.End()
		return nil
	})
}

// prepared is a filter with its translation by coded. It is cached because the same filter is often
// used again.
type prepared struct {
	feature.Filter
	places feature.Filter
}

// coded translates the filter of a query for airports into one for places, whose index has
// the type and the service of an airport as its kind.
type coded struct {
	feature.Filter
	terms []feature.Term
	all   bool
}

func newCoded(of feature.Filter) *coded {
	terms, all := of.Terms()
	c := &coded{Filter: of, all: all, terms: make([]feature.Term, 0, len(terms)+1)}
	var types [][]string
	services := [2]bool{true, true} // without and with
	for i := range terms {
		t := &terms[i]
		switch {
		case t.Op == feature.OpEquals && t.Name == "type":
			types = append(types, t.Values)
		case t.Op == feature.OpEquals && t.Name == "scheduled":
			has := func(word string) bool {
				return slices.ContainsFunc(t.Values, func(v string) bool { return strings.EqualFold(v, word) })
			}
			services[0], services[1] = services[0] && has("false"), services[1] && has("true")
		case t.Op == feature.OpEquals && t.Name == "country":
			c.terms = append(c.terms, *t)
		default:
			c.all = false
		}
	}
	names := make([]string, 0, 2*len(kinds))
	for i := range kinds {
		k := &kinds[i]
		if slices.ContainsFunc(types, func(of []string) bool { return !slices.Contains(of, k.typ) }) {
			continue
		}
		for i, name := range k.names {
			if services[i] {
				names = append(names, name)
			}
		}
	}
	if len(names) < 2*len(kinds) {
		c.terms = append(c.terms, feature.Term{Name: "kind", Values: names})
	}
	return c
}

// Terms implements feature.Filter.
func (c *coded) Terms() ([]feature.Term, bool) { return c.terms, c.all }
