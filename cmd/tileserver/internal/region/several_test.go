package region

import (
	"errors"
	"strings"
	"testing"
	"time"

	"quadrille/feature"
	"quadrille/internal/tilestest"
	"quadrille/quadkey"
	"quadrille/tiles"
	"quadrille/tiles/build"
)

// data is a generation of boundaries of some types. Each has the regions a and b but for zone.
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

// page is a page as type:id, separated by spaces.
func page(t *testing.T, b *tiles.Reader, types []string, q feature.Query, limit int, cursor string) (ids, next string, err error) {
	t.Helper()
	of, err := layersOf(b, types)
	if err == nil {
		err = q.Continue(of.Info(), cursor)
	}
	if err != nil {
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

// Types are answered in the data set's order, each once, and pages of any length join.
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
		"the same":                {b, nil, quadkey.Box{East: 2, North: 1}, next, "land:b zone:z"},
		"types in another order":  {b, []string{"land", "zone", "zone"}, quadkey.Box{East: 2, North: 1}, ofTypes, "zone:z"},
		"a newer data set":        {newer, nil, quadkey.Box{East: 2, North: 1}, next, "land:b zone:z"},
		"its type is gone":        {without, nil, quadkey.Box{East: 2, North: 1}, next, ""},
		"another box":             {b, nil, quadkey.World, next, ""},
		"other types":             {b, []string{"zone"}, quadkey.Box{East: 2, North: 1}, next, ""},
		"all and not some":        {b, nil, quadkey.Box{East: 2, North: 1}, ofTypes, ""},
		"no cursor":               {b, nil, quadkey.Box{East: 2, North: 1}, "x", ""},
		"its first letter lacks":  {b, nil, quadkey.Box{East: 2, North: 1}, next[1:], ""},
		"a letter is behind it":   {b, nil, quadkey.Box{East: 2, North: 1}, next + "A", ""},
		"a cursor without a type": {b, nil, quadkey.Box{East: 2, North: 1}, box.Cursor(&feature.Info{Name: "regions of "}, feature.Mark("land")), ""},
		"a cursor without an id":  {b, nil, quadkey.Box{East: 2, North: 1}, box.Cursor(&feature.Info{Name: "regions of "}, feature.Mark("land:")), ""},
		"a cursor of no region":   {b, nil, quadkey.Box{East: 2, North: 1}, box.Cursor(&feature.Info{Name: "regions of "}, feature.Mark("land:~")), ""},
	} {
		got, _, err := page(t, c.of, c.types, feature.Query{In: feature.Box(c.box)}, 10, c.cursor)
		if got != c.want || (err == nil) != (c.want != "") || err != nil && !errors.Is(err, feature.ErrCursor) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	of, err := layersOf(b, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := of.Get(t.Context(), "a", time.Time{}, new(feature.Feature)); !feature.IsUnsupported(err) {
		t.Errorf("an id of one type: %v", err)
	}
}
