package region

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"quadrille/feature"
	"quadrille/feature/layertest"
	"quadrille/internal/tilestest"
	"quadrille/quadkey"
	"quadrille/tiles"
	"quadrille/tiles/build"
)

// data returns a generation of boundaries with some types. Each type except zone has the regions a
// and b.
func data(t *testing.T, types ...string) *tiles.Reader {
	t.Helper()
	var layers []build.Layer
	for _, typ := range types {
		l := build.Layer{Type: typ, Features: []build.Feature{
			{ID: "a", Name: "A", Geometry: tilestest.Square(0, 0, 1, 1)}, {ID: "b", Geometry: tilestest.Square(1, 0, 2, 1)},
		}}
		if typ == "zone" {
			l.Features = []build.Feature{{ID: "z", Geometry: tilestest.Square(0, 0, 2, 1)}}
		}
		layers = append(layers, l)
	}
	store := tilestest.OpenStore(t)
	meta, _, err := build.Run(t.Context(), store, layers, build.Options{Timestamp: 1})
	if err != nil {
		t.Fatal(err)
	}
	r, err := tiles.Open(t.Context(), store, meta)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var box = feature.Query{In: feature.Box{East: 2, North: 1}}

// page returns a page as a text of type:id entries, separated by spaces.
func page(t *testing.T, b *tiles.Reader, types []string, q feature.Query, limit int, cursor string) (ids, next string, err error) {
	t.Helper()
	of := layersOf(b.Layers(types...), types)
	if err := q.Continue(of.Info(), cursor); err != nil {
		return "", "", err
	}
	next, err = feature.Page(t.Context(), of, q, limit, func(f *feature.Feature) error {
		if string(f.Mark) != f.Properties.Text("type")+":"+f.ID {
			t.Errorf("%s has the mark %s", f.ID, f.Mark)
		}
		ids += " " + string(f.Mark)
		return nil
	})
	return strings.TrimSpace(ids), next, err
}

// Types come in the order of the data set, each once, and joined pages of any length give the same
// list.
func TestSeveralTypes(t *testing.T) {
	b := data(t, "land", "zone", "park")
	for _, c := range []struct {
		types []string
		want  string
	}{
		{nil, "land:a land:b zone:z park:a park:b"},
		{[]string{"park", "land", "park"}, "land:a land:b park:a park:b"},
		{[]string{"zone"}, "zone:z"},
	} {
		for limit := 1; limit <= 6; limit++ {
			var got []string
			for cursor := ""; ; {
				ids, next, err := page(t, b, c.types, box, limit, cursor)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, ids)
				if cursor = next; next == "" {
					break
				}
				if n := len(strings.Fields(ids)); n != limit {
					t.Errorf("%v: %d regions on a page of %d, and another", c.types, n, limit)
				}
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("%v, %d each: %q, want %q", c.types, limit, got, c.want)
			}
		}
	}
}

func TestSeveralTypesRefuse(t *testing.T) {
	b := data(t, "land", "zone")
	_, next, err := page(t, b, nil, box, 1, "")
	if err != nil || next == "" {
		t.Fatal(next, err)
	}
	_, ofTypes, err := page(t, b, []string{"zone", "land"}, box, 2, "")
	if err != nil || ofTypes == "" {
		t.Fatal(ofTypes, err)
	}
	newer, without := data(t, "park", "land", "zone"), data(t, "zone")
	for name, c := range map[string]struct {
		of     *tiles.Reader
		types  []string
		box    quadkey.Box
		cursor string
		want   string // regions, or those of an error
	}{
		"the same":               {b, nil, quadkey.Box{East: 2, North: 1}, next, "land:b zone:z"},
		"types in another order": {b, []string{"land", "zone", "zone"}, quadkey.Box{East: 2, North: 1}, ofTypes, "zone:z"},
		"a newer data set":       {newer, nil, quadkey.Box{East: 2, North: 1}, next, "land:b zone:z"},
		"its type is gone":       {without, nil, quadkey.Box{East: 2, North: 1}, next, ""},
		"another box":            {b, nil, quadkey.World, next, ""},
		"other types":            {b, []string{"zone"}, quadkey.Box{East: 2, North: 1}, next, ""},
		"all and not some":       {b, nil, quadkey.Box{East: 2, North: 1}, ofTypes, ""},
		"no cursor":              {b, nil, quadkey.Box{East: 2, North: 1}, "x", ""},
		"its first letter lacks": {b, nil, quadkey.Box{East: 2, North: 1}, next[1:], ""},
		"a letter is behind it":  {b, nil, quadkey.Box{East: 2, North: 1}, next + "A", ""},
		"a cursor without a type": {
			b,
			nil,
			quadkey.Box{East: 2, North: 1},
			box.Cursor(&feature.Info{Name: "regions of "}, feature.Mark("land")),
			"",
		},
		"a cursor without an id": {
			b,
			nil,
			quadkey.Box{East: 2, North: 1},
			box.Cursor(&feature.Info{Name: "regions of "}, feature.Mark("land:")),
			"",
		},
		"a cursor of no region": {
			b,
			nil,
			quadkey.Box{East: 2, North: 1},
			box.Cursor(&feature.Info{Name: "regions of "}, feature.Mark("land:~")),
			"",
		},
	} {
		got, _, err := page(t, c.of, c.types, feature.Query{In: feature.Box(c.box)}, 10, c.cursor)
		if got != c.want || (err == nil) != (c.want != "") || err != nil && !errors.Is(err, feature.ErrCursor) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	of := layersOf(b.Layers(), nil)
	if err := of.Get(t.Context(), "a", time.Time{}, new(feature.Feature)); !feature.IsUnsupported(err) {
		t.Errorf("an id of one type: %v", err)
	}
}

// The nearest regions of several types are the merged lists of each type, on pages of any length.
// Equally near regions are in the order of their types.
func TestNearestOfSeveralTypes(t *testing.T) {
	b := data(t, "land", "zone", "park")
	of := layersOf(b.Layers(), nil)
	for _, c := range []struct {
		near feature.Near
		want string
	}{
		{*feature.NearTo(0.5, 0.5, 0), "land:a@0 zone:z@0 park:a@0 land:b@56 park:b@56"},
		{*feature.NearTo(0.5, 3, 0), "land:b@111 zone:z@111 park:b@111 land:a@222 park:a@222"},
		{*feature.NearTo(0.5, 3, 150_000), "land:b@111 zone:z@111 park:b@111"},
		{feature.Near{Position: quadkey.Position{Lat: 0.5, Lon: 3}, MinM: 150_000}, "land:a@222 park:a@222"},
		{*feature.NearTo(0.5, 0.5, 1), "land:a@0 zone:z@0 park:a@0"},
	} {
		for size := 1; size <= 6; size++ {
			var got []string
			for f := range slices.Values(layertest.Pages(t, of, feature.Query{Near: &c.near}, size)) {
				got = append(got, fmt.Sprintf("%s:%s@%.0f", f.Properties.Text("type"), f.ID, math.Floor(f.DistanceM/1000+0.5)))
			}
			if text := strings.Join(got, " "); text != c.want {
				t.Errorf("%+v, %d at once: %s, want %s", c.near, size, text, c.want)
			}
		}
	}
	for _, mark := range []string{"land:a", "land:\xff\xff\xff\xff\xff\xff\xff\xffa", "land:\x00\x00\x00\x00\x00\x00\x00\x00",
		"sea:\x00\x00\x00\x00\x00\x00\x00\x00a"} {
		for _, err := range of.Features(t.Context(), &feature.Query{Near: &feature.Near{}, After: feature.Mark(mark)}) {
			if !errors.Is(err, feature.ErrCursor) {
				t.Errorf("%q: %v", mark, err)
			}
		}
	}
	for _, err := range of.Features(t.Context(), &feature.Query{Near: &feature.Near{MinM: 2, MaxM: 1}}) {
		if !errors.Is(err, feature.ErrQuery) {
			t.Errorf("a ring of nothing: %v", err)
		}
	}
}
