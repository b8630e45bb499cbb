//go:build !race

package tiles_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/feature"
	"quadrille/feature/layertest"
	"quadrille/internal/tilestest"
	"quadrille/quadkey"
	"quadrille/tiles"
	"quadrille/tiles/build"
	"quadrille/tiles/internal/layout"
)

// trickyLayer returns a layer with names and properties that look like other parts of a record.
func trickyLayer() build.Layer {
	const nested = `{"bbox":[9,9],"geometry":{"type":"Point","coordinates":[1,2]},"id":"x","deep":[{"bbox":[1,2,3,4]},"}"]}`
	return build.Layer{Type: "time_zone", Features: []build.Feature{
		{ID: "a", Name: `A "quoted" \ one, "bbox":[1,2,3,4],`, Geometry: tilestest.Square(0, 0, 10, 20), Properties: []build.Property{
			{Name: "postal", Value: "KS"}, {Name: "source", Value: json.RawMessage(nested)}, {Name: "pop",
				Value: int64(1 << 60)}, {Name: "share", Value: 0.25},
			{Name: "bbox", Value: "not ours"}, {Name: "geometry", Value: "not ours"}, {Name: `,"bbox":[`, Value: `","geometry":{}`},
		}},
		{ID: "b", Geometry: tilestest.Square(178, -4, 184, -1), Properties: []build.Property{
			{Name: "postal", Value: json.RawMessage("null")}, {Name: "seen", Value: "2026-03-01"}, {Name: "flag",
				Value: true}, {Name: "tags", Value: json.RawMessage(`["x","y"]`)},
		}},
		{
			ID:         "c-1",
			Name:       "Islet",
			Geometry:   tilestest.Square(30, 30, 30.000001, 30.000001),
			Properties: []build.Property{{Name: "flag", Value: "perhaps"}},
		},
		{ID: "d", Name: "<D>", Geometry: tilestest.Square(-20, -90, 20, -80)},
	}}
}

func layerOf(t testing.TB, r *tiles.Reader, typ string) feature.Layer {
	t.Helper()
	l, err := r.Layer(typ)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// listed joins the ids of an answer.
func listed(t testing.TB, l feature.Layer, q feature.Query) string {
	t.Helper()
	var ids []string
	for f, err := range l.Features(t.Context(), &q) {
		if err != nil {
			t.Fatalf("%+v: %v", q, err)
		}
		ids = append(ids, f.ID)
	}
	return strings.Join(ids, " ")
}

func TestLayerReadsRecords(t *testing.T) {
	r, _, _ := buildReader(t, trickyLayer())
	l := layerOf(t, r, "time_zone")
	want := map[string]string{
		"a": `"type":"time_zone","id":"a","name":"A \"quoted\" \\ one, \"bbox\":[1,2,3,4],","map_color":3,"postal":"KS",` +
			`"source":{"bbox":[9,9],"geometry":{"type":"Point","coordinates":[1,2]},"id":"x","deep":[{"bbox":[1,2,3,4]},"}"]},"pop":1152921504606846976,"share":0.25,",\"bbox\":[":"\",\"geometry\":{}"`,
		"b":   `"type":"time_zone","id":"b","map_color":0,"postal":null,"seen":"2026-03-01","flag":true,"tags":["x","y"]`,
		"c-1": `"type":"time_zone","id":"c-1","name":"Islet","map_color":3,"flag":"perhaps"`,
		"d":   `"type":"time_zone","id":"d","name":"\u003cD\u003e","map_color":2`,
	}
	// c-1 is smaller than the grid, so its box is a square.
	boxes := map[string]quadkey.Box{
		"a": {East: 10, North: 20}, "b": {West: 178, South: -4, East: -176, North: -1},
		"c-1": {West: 30, South: 30, East: 30.000032, North: 30.000032}, "d": {West: -20, South: -90, East: 20, North: -80},
	}
	middles := map[string]quadkey.Position{
		"a":   {Lat: 10, Lon: 5},
		"b":   {Lat: -2.5, Lon: -179},
		"c-1": {Lat: 30.000016, Lon: 30.000016},
		"d":   {Lat: -85},
	}
	for _, detail := range []feature.Detail{feature.WithGeometry, feature.WithoutGeometry} {
		n := 0
		for f, err := range l.Features(t.Context(), &feature.Query{Detail: detail}) {
			if err != nil {
				t.Fatal(err)
			}
			n++
			var got feature.Feature
			if err := l.Get(t.Context(), f.ID, time.Time{}, &got); err != nil {
				t.Fatal(err)
			}
			for _, g := range []*feature.Feature{f, &got} {
				if text := string(g.Properties.AppendMembers(nil)); text != want[f.ID] {
					t.Errorf("%s has the properties\n%s, want\n%s", f.ID, text, want[f.ID])
				}
				if g.Bounds != boxes[f.ID] || g.Position != middles[f.ID] || string(g.Mark) != f.ID {
					t.Errorf("%s with bounds %v is at %v, mark %q", f.ID, g.Bounds, g.Position, g.Mark)
				}
			}
			shape, err := f.Orb()
			if whole := detail == feature.WithGeometry; err != nil || (shape != nil) != whole {
				t.Errorf("%s: geometry %v, %v", f.ID, shape, err)
			}
		}
		if n != len(want) {
			t.Errorf("%d regions", n)
		}
	}
	in := l.Info()
	if in.Title != "Time zone" || in.Description != "Regions of the layer time_zone." || in.Count != 4 || in.AllPoints ||
		in.Fingerprint != "" ||
		in.Bounds != (quadkey.Box{West: -180, South: -90, East: 180, North: 30 + 3*360.0/(1<<25)}) {
		t.Errorf("%+v", in)
	}
	for name, kind := range map[string]feature.Kind{
		"type":      feature.Text,
		"id":        feature.RegionID,
		"name":      feature.Text,
		"map_color": feature.Number,
		"postal":    feature.Text,
		"source":    feature.Any,
		"pop":       feature.Number,
		"seen":      feature.Time,
		"flag":      feature.Any,
		"tags":      feature.Texts,
		`,"bbox":[`: feature.Text,
		"bbox":      feature.Null,
		"geometry":  feature.Null,
	} {
		if got, _ := in.Schema.Lookup(name); got.Kind != kind {
			t.Errorf("%q is %v, want %v", name, got.Kind, kind)
		}
	}
}

func TestLayer(t *testing.T) {
	r, _, _ := buildReader(t, toyLayer(), build.Layer{
		Type:     "zone",
		Features: slices.DeleteFunc(trickyLayer().Features, func(f build.Feature) bool { return f.ID == "c-1" }),
	})
	for _, typ := range []string{"land", "zone"} {
		l := layerOf(t, r, typ)
		for _, l := range []feature.Layer{l, feature.DecodedLayer(l)} {
			layertest.Test(t, l, layertest.Options{Rounds: 20})
		}
	}
}

// A query for a box can continue after any mark.
func TestLayerGoesOnInABox(t *testing.T) {
	r, store, _ := buildReader(t, toyLayer())
	ref, l := newStoredWorld(t, store, "land"), layerOf(t, r, "land")
	rnd := rand.New(rand.NewPCG(35, 36))
	for range 300 {
		b := randomBox(rnd, ref)
		want := inBox(t, r, b)
		if got := listed(t, l, feature.Query{In: feature.Box(b), Detail: feature.Detail(rnd.IntN(2))}); got != strings.Join(want, " ") {
			t.Fatalf("%v: %v, in pages: %v", b, got, want)
		}
		if len(want) == 0 {
			continue
		}
		i := rnd.IntN(len(want))
		if got := listed(t, l, feature.Query{In: feature.Box(b), After: feature.Mark(want[i])}); got != strings.Join(want[i+1:], " ") {
			t.Fatalf("%v after %s: %v, in pages: %v", b, want[i], got, want)
		}
	}
}

func TestLayerRefuses(t *testing.T) {
	r, _, _ := buildReader(t, trickyLayer())
	if _, err := r.Layer("sea"); !errors.Is(err, tiles.ErrUnknownType) {
		t.Errorf("unknown type: %v", err)
	}
	l := layerOf(t, r, "time_zone")
	now := time.Unix(1, 0)
	for _, c := range []struct {
		q    feature.Query
		want error
	}{
		{feature.Query{Near: &feature.Near{}, In: feature.Box{}}, errors.ErrUnsupported},
		{feature.Query{Near: &feature.Near{}, Order: feature.Order{Importance: true}}, feature.ErrQuery},
		{feature.Query{Order: feature.Order{Importance: true}, Limit: 1, After: feature.Mark("a")}, feature.ErrCursor},
		{feature.Query{At: now}, errors.ErrUnsupported},
		{feature.Query{In: feature.Tile{X: 1}}, feature.ErrQuery},
		{feature.Query{In: feature.Box{North: -1}}, feature.ErrQuery},
		{feature.Query{In: feature.Box{North: -1}}, quadkey.ErrBox},
		{feature.Query{In: feature.Box{West: math.NaN()}}, quadkey.ErrBox},
		{feature.Query{After: feature.Mark("~a")}, feature.ErrCursor},
	} {
		n := 0
		var err error
		for _, err = range l.Features(t.Context(), &c.q) {
			n++
		}
		if n != 1 || !errors.Is(err, c.want) {
			t.Errorf("%+v: %v, want %v", c.q, err, c.want)
		}
	}
	var f feature.Feature
	for id, want := range map[string]error{"zz": tiles.ErrNotFound, "": feature.ErrNotFound, strings.Repeat("a", 1<<20): tiles.ErrNotFound} {
		if err := l.Get(t.Context(), id, time.Time{}, &f); !errors.Is(err, want) || !errors.Is(err, feature.ErrNotFound) {
			t.Errorf("%.20q: %v", id, err)
		}
	}
	if err := l.Get(t.Context(), "a", now, &f); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("in the past: %v", err)
	}
}

// A row with any damage gives an error, and is never skipped.
func TestLayerTellsOfDamage(t *testing.T) {
	good := func(record string) string { return strings.Replace(record, "%", `"bbox":[0,0,10,20]`, 1) }
	for name, c := range map[string]struct{ family, value string }{
		"empty":             {layout.FamilyRecord, ""},
		"no object":         {layout.FamilyRecord, "[]"},
		"cut off":           {layout.FamilyRecord, good(`{"type":"time_zone","id":"a",%,"x":"y`)},
		"without a brace":   {layout.FamilyRecord, good(`{"type":"time_zone","id":"a",%,"x":1`)},
		"not from a brace":  {layout.FamilyRecord, good(`["type":"time_zone","id":"a",%}`)},
		"no bounds":         {layout.FamilyRecord, `{"type":"time_zone","id":"a","x":{"bbox":[0,0,10,20]}}`},
		"half of bounds":    {layout.FamilyRecord, `{"type":"time_zone","id":"a","bbox":[0,0]}`},
		"more than bounds":  {layout.FamilyRecord, `{"type":"time_zone","id":"a","bbox":[0,0,1,1,1]}`},
		"bounds of text":    {layout.FamilyRecord, `{"type":"time_zone","id":"a","bbox":["0",0,10,20]}`},
		"empty bounds":      {layout.FamilyRecord, `{"type":"time_zone","id":"a","bbox":[,,,]}`},
		"bounds of no box":  {layout.FamilyRecord, `{"type":"time_zone","id":"a","bbox":[0,0,10,200]}`},
		"bounds first":      {layout.FamilyRecord, good(`{%,"id":"a"}`)},
		"another's":         {layout.FamilyRecord, good(`{"type":"time_zone","id":"b",%}`)},
		"nobody's":          {layout.FamilyRecord, good(`{"type":"time_zone",%}`)},
		"geometry cut off":  {layout.FamilyGeometry, `{"type":"Polygon"`},
		"geometry is empty": {layout.FamilyGeometry, ""},
	} {
		r, store, _ := buildReader(t, trickyLayer())
		l := layerOf(t, r, "time_zone")
		table, err := store.Table(t.Context(), layout.TableRegions)
		if err == nil {
			err = table.Apply(t.Context(), cellstore.Mutation{
				Row: layout.RegionKey(0, "a"),
				Ops: []cellstore.Op{cellstore.PutAt(c.family, nil, 2, []byte(c.value))},
			})
		}
		if err != nil {
			t.Fatal(err)
		}
		var f feature.Feature
		if err := l.Get(t.Context(), "a", time.Time{}, &f); !errors.Is(err, feature.ErrDamaged) || !errors.Is(err, tiles.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
		for _, area := range []feature.Area{nil, feature.Box{East: 0.1, North: 0.1}, feature.Box{West: -1, South: -1, East: 100, North: 80}} {
			var err error
			for _, err = range l.Features(t.Context(), &feature.Query{In: area}) {
			}
			if !errors.Is(err, feature.ErrDamaged) {
				t.Errorf("%s, in %v: %v", name, area, err)
			}
		}
	}
}

// The layer returns a geometry that is not valid as it is stored. Decoding it gives the error.
func TestLayerTellsOfAGeometryThatIsNone(t *testing.T) {
	r, store, _ := buildReader(t, trickyLayer())
	table, err := store.Table(t.Context(), layout.TableRegions)
	if err == nil {
		err = table.Apply(t.Context(), cellstore.Mutation{
			Row: layout.RegionKey(0, "a"),
			Ops: []cellstore.Op{cellstore.PutAt(layout.FamilyGeometry, nil, 2, []byte(`{"type":"Blob"}`))},
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	for f, err := range layerOf(t, r, "time_zone").Features(t.Context(), &feature.Query{Limit: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Orb(); !errors.Is(err, feature.ErrDamaged) {
			t.Errorf("%s: %v", f.ID, err)
		}
	}
}

// A data set of an older program has no schema, so the attributes of tiles are used as the schema.
func TestLayerOfOlderData(t *testing.T) {
	_, store, _ := buildReader(t, trickyLayer())
	meta := tiles.Meta{SchemaVersion: tiles.SchemaVersion, Types: []tiles.TypeMeta{
		{
			Name:    "time_zone",
			Regions: 4,
			Fields:  map[string]string{"name": "String", "map_color": "Number", "merged": "Number", "ok": "Boolean", "odd": "Matrix"},
		},
	}}
	r, err := tiles.Open(t.Context(), store, meta)
	if err != nil {
		t.Fatal(err)
	}
	l := layerOf(t, r, "time_zone")
	want := feature.Schema{{Name: "id", Kind: feature.RegionID}, {Name: "map_color", Kind: feature.Number},
		{Name: "name", Kind: feature.Text}, {Name: "odd", Kind: feature.Any}, {Name: "ok", Kind: feature.Boolean},
		{Name: "type", Kind: feature.Text}}
	if in := l.Info(); !slices.Equal(in.Schema, want) || in.Bounds != quadkey.World {
		t.Errorf("%+v", in)
	}
	if got := listed(t, l, feature.Query{}); got != "a b c-1 d" {
		t.Errorf("%s", got)
	}
}

// A search calls Query.Step regularly and ends with its error. It also ends, with TooMuchWork,
// after it has examined Query.Examine regions.
func TestLayerTakesTurns(t *testing.T) {
	r, _, _ := buildReader(t, toyLayer())
	l := layerOf(t, r, "land")
	turns := errors.New("no more turns")
	steps := 0
	q := feature.Query{In: feature.Box{West: 10, South: 10, East: 10.5, North: 10.5}, Step: func(context.Context) error {
		if steps++; steps == 3 {
			return turns
		}
		return nil
	}}
	var err error
	for _, err = range l.Features(t.Context(), &q) {
	}
	if !errors.Is(err, turns) || steps != 3 {
		t.Errorf("%d steps, %v", steps, err)
	}
	var much *feature.TooMuchWork
	for _, err = range l.Features(t.Context(), &feature.Query{MaxExamined: 2}) {
	}
	if !errors.As(err, &much) || string(much.After) != "big" {
		t.Errorf("%v", err)
	}
}

// Borders are read only for regions that pass the filter's terms on properties.
func TestLayerReadsFewBorders(t *testing.T) {
	r, store, _ := buildReader(t, trickyLayer())
	table, err := store.Table(t.Context(), layout.TableRegions)
	if err == nil {
		err = table.Apply(t.Context(), cellstore.Mutation{
			Row: layout.RegionKey(0, "b"),
			Ops: []cellstore.Op{cellstore.PutAt(layout.FamilyGeometry, nil, 2, []byte("broken"))},
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	l := layerOf(t, r, "time_zone")
	filter, err := feature.ParseFilter(l.Info().Schema, []feature.Term{{Name: "postal", Values: []string{"KS", "XX"}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, area := range []feature.Area{nil, feature.Box(quadkey.World)} {
		for f, err := range l.Features(t.Context(), &feature.Query{In: area, Filter: filter}) {
			if err != nil {
				t.Fatal(err)
			}
			if shape, err := f.Orb(); f.ID != "a" || shape == nil {
				t.Errorf("%s: %v, %v", f.ID, shape, err)
			}
		}
	}
}

// TestAreaOfLine tests that the area of a line covers nothing. An unknown line is an error.
func TestAreaOfLine(t *testing.T) {
	r, _, _ := buildReader(t, sharingLayers()...)
	none := func(p *feature.AreaPart) error { return fmt.Errorf("it has %v", p.Cells) }
	if err := r.QueryArea("line", "through").Cover(t.Context(), 0, none); err != nil {
		t.Error(err)
	}
	if err := r.QueryArea("line", "nowhere").Cover(t.Context(), 0, none); !errors.Is(err, feature.ErrNotFound) {
		t.Errorf("no line: %v", err)
	}
}

// TestArea tests that the result of Reader.Area holds a point if and only if At finds the region
// there.
func TestArea(t *testing.T) {
	r, store, _ := buildReader(t, toyLayer())
	ref := newStoredWorld(t, store, "land")
	rnd := rand.New(rand.NewPCG(37, 38))
	points := awkwardPoints(rnd, ref, 61)
	for _, id := range []string{"west", "dateline", "hat"} {
		area := r.QueryArea("land", id)
		if area.String() != "region land/"+id {
			t.Errorf("%s", area)
		}
		inside := make([]bool, len(points))
		last := -1
		err := area.Cover(t.Context(), 0, func(p *feature.AreaPart) error {
			if int(p.Cells.First) <= last {
				t.Fatalf("%s: %v comes after %d", id, p.Cells, last)
			}
			last = int(p.Cells.Last)
			for i, at := range points {
				cell, err := quadkey.CellOf(at[0], at[1])
				if err == nil && p.Cells.Contains(cell) {
					inside[i], err = p.Holds(quadkey.Position{Lat: at[1], Lon: at[0]})
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, at := range points {
			if want := slices.Contains(strings.Fields(ids(t, r, at[1], at[0])), id); inside[i] != want {
				t.Fatalf("%s at %v: %v", id, at, inside[i])
			}
		}
	}
	none := func(*feature.AreaPart) error { return nil }
	if err := r.QueryArea("sea", "a").Cover(t.Context(), 0, none); !errors.Is(err, tiles.ErrUnknownType) {
		t.Errorf("unknown type: %v", err)
	}
	if err := r.QueryArea("land", "nowhere").Cover(t.Context(), 0, none); !errors.Is(err, feature.ErrNotFound) {
		t.Errorf("no region: %v", err)
	}
}
