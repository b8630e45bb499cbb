package pointinfo

import (
	"errors"
	"slices"
	"testing"
	"time"

	"quadrille/ask"
	"quadrille/ask/localtime"
	"quadrille/cellstore/published"
	"quadrille/internal/must"
	"quadrille/internal/smallworld"
	"quadrille/quadkey"
	"quadrille/tiles"
)

func TestAsk(t *testing.T) {
	at := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	dir := t.TempDir()
	must.Do(t, smallworld.Publish(t.Context(), dir))
	c := must.Get(published.OpenCatalog(dir)).In(t)
	all := ask.PublishedSets(c.Generations)
	must.Do(t, all.Poll(t.Context()))
	must.Close(t, &all)
	var a Answer
	do := func(sets ask.Sets, q Query) error {
		t.Helper()
		v := ask.NewViews(sets).Take(at)
		defer v.Release()
		local := localtime.ViewOf(v)
		return a.Ask(t.Context(), &local, q)
	}
	must.Do(t, do(all, Query{Lat: 47.37, Lon: 8.54, At: at, Types: []string{"state"}, Lang: "de"}))
	if len(a.Regions) != 1 || a.Regions[0].ID != "ch-zh" || a.Place == nil || a.Airport == nil || a.Station == nil || len(a.Missing) > 0 {
		t.Errorf("%+v", a)
	}
	// The memory of an answer contains nothing of the previous answer.
	must.Do(t, do(ask.Sets{TimeZones: all.TimeZones}, Query{At: at}))
	missing := []string{ask.BoundariesName, ask.PlacesName, ask.AirportsName, ask.StationsName}
	if a.Regions != nil || a.Zone.ID != "" || a.Place != nil || a.PlaceName != "" || a.Airport != nil || a.Station != nil ||
		!slices.Equal(a.Missing, missing) || !a.Lacks(ask.PlacesName) {
		t.Errorf("%+v", a)
	}
	for _, c := range []struct {
		sets ask.Sets
		q    Query
		want error
	}{
		{ask.Sets{}, Query{At: at}, ask.ErrMissing},
		{all, Query{Lat: 91, At: at}, quadkey.ErrCoordinate},
		{all, Query{At: at, Types: []string{"county"}}, tiles.ErrUnknownType},
	} {
		if err := do(c.sets, c.q); !errors.Is(err, c.want) {
			t.Errorf("%v, want %v", err, c.want)
		}
	}
}
