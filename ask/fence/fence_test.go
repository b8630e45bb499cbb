package fence

import (
	"errors"
	"math"
	"testing"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/internal/buildtest"
	"quadrille/internal/must"
	"quadrille/internal/tilestest"
	"quadrille/places/live"
	"quadrille/quadkey"
	"quadrille/tiles"
	"quadrille/tiles/build"
)

func TestNew(t *testing.T) {
	many := make([]Region, MaxFences)
	for i := range many {
		many[i] = Region{Type: "state"}
	}
	for name, c := range map[string]struct {
		of   Fences
		want error
	}{
		"none":              {},
		"as many as may be": {Fences{Enter: many[:MaxFences/2], Leave: many[MaxFences/2:]}, nil},
		"one more":          {Fences{Enter: many, Circles: []Circle{{RadiusM: 1}}}, ErrTooMany},
		"no radius":         {Fences{Circles: []Circle{{}}}, ErrShape},
		"radius NaN":        {Fences{Circles: []Circle{{RadiusM: math.NaN()}}}, ErrShape},
		"no latitude":       {Fences{Circles: []Circle{{Lat: 91, RadiusM: 1}}}, ErrShape},
		"box upside down":   {Fences{Boxes: []Box{{Box: quadkey.Box{South: 2, North: 1}}}}, ErrShape},
	} {
		if set, err := New(c.of); !errors.Is(err, c.want) || set.EveryMove() != (name == "none" || err != nil) {
			t.Errorf("%s: %v, %v", name, set.EveryMove(), err)
		}
	}
}

// land returns two regions of the type state: the north and the south.
func land(t *testing.T) *dataset.Live[*tiles.Reader] {
	store := buildtest.NewStore(t)
	meta, _ := must.Two(build.Run(t.Context(), store, []build.Layer{{Type: "state", Features: []build.Feature{
		{ID: "north", Name: "North", Geometry: tilestest.Square(-3, 0, 3, 3)},
		{ID: "south", Name: "South", Geometry: tilestest.Square(-3, -3, 3, 0)},
	}}}, build.Options{})).In(t)
	reader := must.Get(tiles.Open(t.Context(), store, meta)).In(t)
	return dataset.NewFixedLive[*tiles.Reader](reader, dataset.Manifest{})
}

func TestCheck(t *testing.T) {
	boundaries := land(t)
	check := func(f Fences, boundaries *dataset.Live[*tiles.Reader]) error {
		set := must.Get(New(f)).In(t)
		return set.Check(t.Context(), ask.NewViews(ask.Sets{Boundaries: boundaries}))
	}
	if err := errors.Join(check(Fences{}, nil), check(Fences{Enter: []Region{{"state", ""}, {"state", "north"}}}, boundaries)); err != nil {
		t.Error(err)
	}
	if err := check(Fences{Enter: []Region{{"state", ""}}}, nil); !errors.Is(err, ask.ErrMissing) {
		t.Error(err)
	}
	for _, c := range []struct {
		region Region
		want   error
	}{{Region{"state", "east"}, tiles.ErrNotFound}, {Region{"county", ""}, tiles.ErrUnknownType}} {
		var unknown *UnknownError
		if err := check(Fences{Leave: []Region{c.region}}, boundaries); !errors.Is(err, c.want) || !errors.As(err, &unknown) ||
			unknown.EventType != Leave || unknown.Region != c.region {
			t.Error(err)
		}
	}
}

// TestEnds tests that a new point enters the fences around it, and a removed point leaves them. The
// ids of fences match in either letter case, and events have the ids as published.
func TestEnds(t *testing.T) {
	set := must.Get(New(Fences{
		Enter: []Region{{"state", ""}}, Leave: []Region{{"state", "NORTH"}},
		Boxes: []Box{{Name: "box", Box: quadkey.Box{West: 0, South: 0, East: 2, North: 2}}},
	})).In(t)
	views := ask.NewViews(ask.Sets{Boundaries: land(t)})
	north, south := &[2]float64{1, 1}, &[2]float64{1, -1}
	for _, c := range []struct {
		from, to *[2]float64
		want     string
	}{
		{nil, north, "enter state:north enter box "},
		{nil, south, "enter state:south "},
		{north, nil, "leave state:north leave box "},
		{south, nil, ""},
		{north, south, "leave state:north leave box enter state:south "},
		{north, north, ""},
	} {
		move := &live.Event{From: c.from, To: c.to}
		events, err := set.AppendCrossings(t.Context(), nil, move, views)
		got := ""
		for _, e := range events {
			if got += e.Type + " " + e.Fence + " "; e.Event != move {
				t.Error("it tells of another move")
			}
		}
		if err != nil || got != c.want {
			t.Errorf("%v to %v: %q, %v", c.from, c.to, got, err)
		}
	}
}
