package airports

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
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
	{Name: "country", Kind: feature.Text, Upper: true},
	{Name: "elevation_m", Kind: feature.Number},
	{Name: "iata", Kind: feature.Text, Upper: true},
	{Name: "icao", Kind: feature.Text, Upper: true},
	{Name: "id", Kind: feature.Integer},
	{Name: "ident", Kind: feature.Text, Upper: true},
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
	return f.geo.Features(ctx, q)
}

// Count implements feature.Counter, as places.Finder.Count does.
func (f *Finder) Count(ctx context.Context, q *feature.Query) (int64, error) {
	return f.geo.Count(ctx, q)
}

// Tile implements feature.Tiler, as places.Finder.Tile does. Closed airports are not shown.
func (f *Finder) Tile(ctx context.Context, t quadkey.Tile, by feature.Filter) iter.Seq2[*feature.Feature, error] {
	return func(yield func(*feature.Feature, error) bool) {
		for of, err := range f.geo.Tile(ctx, t, by) {
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
func (f *Finder) Draw(ctx context.Context, t quadkey.Tile, by feature.Filter, pen feature.Pen) error {
	return feature.Each(f.Tile(ctx, t, by), func(a *feature.Feature) error {
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

// kindsOf returns the kinds of airports that fulfil a term on the type or the service.
func kindsOf(t *feature.Term) (names []string, known bool) {
	service := t.Name == "scheduled"
	if t.Op != feature.OpEquals || !service && t.Name != "type" {
		return nil, false
	}
	has := func(word string) bool {
		return slices.ContainsFunc(t.Values, func(v string) bool { return v == word || service && strings.EqualFold(v, word) })
	}
	names = make([]string, 0, 2*len(kinds))
	for i := range kinds {
		for scheduled, name := range kinds[i].names {
			if service && has(strconv.FormatBool(scheduled == 1)) || !service && has(kinds[i].typ) {
				names = append(names, name)
			}
		}
	}
	return names, true
}
