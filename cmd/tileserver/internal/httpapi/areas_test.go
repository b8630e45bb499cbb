//go:build !race

package httpapi_test

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"iter"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"quadrille/ask"
	"quadrille/ask/fence"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/feature"
	"quadrille/feature/layertest"
	"quadrille/places/live"
	"quadrille/quadkey"
)

// yards is a live layer of areas: boxes in degrees, by their ids. It is a feature.Encloser, so
// requests for the areas around a point query it in addition to the boundaries.
type yards struct {
	mu      sync.Mutex
	boxes   map[string]quadkey.Box
	private bool // for those with a key
	flat    bool // it cannot be asked for the nearest
}

func (y *yards) set(id string, b quadkey.Box) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.boxes[id] = b
}

// Info implements feature.Layer.
func (y *yards) Info() *feature.Info {
	return &feature.Info{
		Name: "yards", Title: "Yards", Schema: feature.Schema{{Name: "name", Kind: feature.Text}}, Bounds: quadkey.World, Count: -1,
		Live: true, Private: y.private, Can: feature.Abilities{Near: !y.flat},
	}
}

// list returns the yards in the order of their ids.
func (y *yards) list() (list []feature.Feature) {
	y.mu.Lock()
	defer y.mu.Unlock()
	for id, b := range y.boxes {
		list = append(list, feature.Feature{
			ID: id, Bounds: b, Position: quadkey.Position{Lat: (b.South + b.North) / 2, Lon: (b.West + b.East) / 2},
			Geometry:   feature.OrbGeometry(orb.Bound{Min: orb.Point{b.West, b.South}, Max: orb.Point{b.East, b.North}}.ToPolygon()),
			Properties: feature.PropertiesOf(feature.Property{Name: "name", Value: feature.TextValue([]byte("Yard " + id))}),
			Mark:       feature.Mark(id),
			Version:    1,
		})
	}
	slices.SortFunc(list, func(a, b feature.Feature) int { return strings.Compare(a.ID, b.ID) })
	return list
}

// Get implements feature.Layer.
func (y *yards) Get(_ context.Context, id string, _ time.Time, f *feature.Feature) error {
	list := y.list()
	i := slices.IndexFunc(list, func(f feature.Feature) bool { return f.ID == id })
	if i < 0 {
		return feature.NotFound("there is no yard of this id: list them")
	}
	*f = list[i]
	return nil
}

// Features implements feature.Layer. For queries by distance, a mark has the distance before the
// id.
func (y *yards) Features(ctx context.Context, q *feature.Query) iter.Seq2[*feature.Feature, error] {
	if err := y.Info().Check(q); err != nil {
		return feature.SeqOfError(err)
	}
	list := y.list()
	for i := range list {
		if f := &list[i]; q.Near != nil {
			b := f.Bounds
			nearest := quadkey.Position{Lat: min(max(q.Near.Lat, b.South), b.North), Lon: min(max(q.Near.Lon, b.West), b.East)}
			f.DistanceM = nearest.Distance(q.Near.Position)
			f.Mark = append(binary.BigEndian.AppendUint64(nil, math.Float64bits(f.DistanceM)), f.Mark...)
		}
	}
	slices.SortFunc(list, func(a, b feature.Feature) int { return strings.Compare(string(a.Mark), string(b.Mark)) })
	return q.Select(ctx, func(consider func(*feature.Feature, bool) error) error {
		for i := range list {
			f := &list[i]
			if string(f.Mark) <= string(q.After) {
				continue
			}
			box, boxed := q.In.(feature.Box)
			in := !boxed || meet(quadkey.Box(box), f.Bounds)
			if n := q.Near; n != nil && (f.DistanceM < n.MinM || n.MaxM > 0 && f.DistanceM > n.MaxM) {
				in = false
			}
			if err := consider(f, in); err != nil {
				return err
			}
		}
		return nil
	})
}

// meet reports whether two boxes have a point in common.
func meet(a, b quadkey.Box) bool {
	lat := max(a.South, b.South)
	return lat <= min(a.North, b.North) && (a.Contains(b.West, lat) || b.Contains(a.West, lat))
}

// Enclosing implements feature.Encloser.
func (y *yards) Enclosing(_ context.Context, at quadkey.Position) iter.Seq2[*feature.Feature, error] {
	list := slices.DeleteFunc(y.list(), func(f feature.Feature) bool { return !f.Bounds.Contains(at.Lon, at.Lat) })
	slices.SortStableFunc(list, func(a, b feature.Feature) int {
		size := func(b quadkey.Box) float64 { return (b.East - b.West) * (b.North - b.South) }
		return cmp.Compare(size(a.Bounds), size(b.Bounds))
	})
	return feature.SeqOf(func(fn func(*feature.Feature) error) error {
		if err := at.Check(); err != nil {
			return err
		}
		for i := range list {
			list[i].Geometry = feature.NoGeometry
			if err := fn(&list[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// Ground implements feature.Encloser.
func (y *yards) Ground(id string) feature.Area { return yard{y, id} }

type yard struct {
	of *yards
	id string
}

func (a yard) String() string { return "yard " + a.id }

func (a yard) Cover(ctx context.Context, from quadkey.Cell, fn func(*feature.AreaPart) error) error {
	var f feature.Feature
	if err := a.of.Get(ctx, a.id, time.Time{}, &f); err != nil {
		return err
	}
	return feature.Box(f.Bounds).Cover(ctx, from, fn)
}

// Every request for the areas around a point also queries a layer of areas, and the next request
// sees changes of the layer.
func TestAreasOfTheCallers(t *testing.T) {
	of := &yards{boxes: map[string]quadkey.Box{
		"a":   {West: 3, South: 46, East: 6, North: 48},
		"b":   {West: 4, South: 46.5, East: 5, North: 47.5},
		"far": {West: 100, South: 0, East: 101, North: 1},
	}}
	layertest.Test(t, of, layertest.Options{})
	fixed := dataset.NewFixedLive[feature.Encloser](of, dataset.Manifest{Dataset: "yards", Generation: 7})
	more := []ask.LayerKind{ask.SingleLayer("yards", func(*ask.Sets) *dataset.Live[feature.Encloser] { return fixed })}
	w := servertest.NewWhole(t)
	w.Config.ExtraLayers = more
	w.Serve()
	get := func(path string, status int) (*http.Response, string) {
		t.Helper()
		res := w.Get(path)
		text := servertest.Body(t, res)
		if res.StatusCode != status {
			t.Errorf("%s: %d %s", path, res.StatusCode, text)
		}
		return res, text
	}
	const b, a = `{"type":"yards","id":"b","name":"Yard b"`, `{"type":"yards","id":"a","name":"Yard a"`
	for path, want := range map[string]string{
		"/regions/at?lat=47&lon=4.5":                              b + `},` + a + `}]`,
		"/regions/at?lat=47&lon=4.5&types=yards":                  `"regions":[` + b + `},` + a + `}]`,
		"/regions/at?lat=47&lon=6.1&types=yards&snap=50000":       a + `,"match":"snapped","distance_m":7`,
		"/regions/at?lat=-40&lon=6.1&types=yards&snap=50":         `"none":[{"type":"yards","match":"none"}]`,
		"/regions/yards/b":                                        b + `,"bbox":[4,46.5,5,47.5],"version":1}`,
		"/regions/yards/b?geometry=true":                          `"geometry":{"type":"Polygon"`,
		"/regions/nearby?lat=47&lon=4.5&types=yards&limit=1":      `{"regions":[` + a + `,"bbox":[3,46,6,48],"distance_m":0.0}],"next":"`,
		"/regions/within?bbox=4,46,5,47&types=yards":              a + `,"bbox":[4,46,5,47]},` + b,
		"/regions/within?bbox=-180,-90,180,90":                    a,
		"/regions/count?types=yards":                              `{"count":3,"types":{"yards":3}}`,
		"/at?lat=47&lon=4.5":                                      b,
		"/at?lat=47&lon=4.5&types=yards&at=2026-11-29T00:00:00Z":  `"regions":[` + b,
		"/reverse?lat=47&lon=4.5":                                 `"name":"Yard b"`,
		"/photon/reverse?lat=47&lon=4.5":                          `Yard b`,
		"/places/within/yards/b":                                  `"places":[{`,
		"/places/count?region=yards:b":                            `{"count":`,
		"/points/shops/within/yards/far":                          `{"points":[]`,
		"/yards/nearby?lat=47&lon=4.5":                            `Yard a`,
		"/nominatim/reverse?lat=47&lon=4.5&format=jsonv2&zoom=10": `Westland`,
	} {
		if _, text := get(path, http.StatusOK); !strings.Contains(text, want) {
			t.Errorf("%s: %s, want %s", path, text, want)
		}
	}
	for _, path := range []string{
		"/regions/at?lat=47&lon=4.5", "/at?lat=47&lon=4.5&at=2026-11-29T00:00:00Z", "/reverse?lat=47&lon=4.5", "/photon/reverse?lat=47&lon=4.5",
		"/nominatim/reverse?lat=47&lon=4.5&format=jsonv2", "/places/within/yards/b", "/regions/yards/b",
	} {
		if res, _ := get(path, http.StatusOK); res.Header.Get("Etag") != "" || res.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s may be kept: %v", path, res.Header)
		}
	}
	for _, path := range []string{"/regions/at?lat=47&lon=4.5&types=country", "/nominatim/search?q=place", "/regions/country/wl"} {
		if res, _ := get(path, http.StatusOK); res.Header.Get("Etag") == "" {
			t.Errorf("%s may not be kept: %v", path, res.Header)
		}
	}
	for path, status := range map[string]int{
		"/regions/yards/none": 404, "/places/within/yards/none": 404, "/regions/within?bbox=4,46,5,47&types=yards&id=b": 400,
	} {
		get(path, status)
	}
	if _, text := get("/regions/at?lat=47&lon=4.5&types=planet", 404); !strings.Contains(text, "yards") {
		t.Errorf("an unknown type is refused without a layer of areas: %s", text)
	}
	of.set("b", quadkey.Box{West: -5, South: -5, East: -4, North: -4})
	if _, text := get("/regions/at?lat=47&lon=4.5", 200); strings.Contains(text, b) || !strings.Contains(text, a) {
		t.Errorf("a yard has moved: %s", text)
	}
}

// A layer of areas does not replace missing boundaries, and its Info may change.
func TestAreasAlone(t *testing.T) {
	of := &yards{boxes: map[string]quadkey.Box{"a": {West: 3, South: 46, East: 6, North: 48}}}
	fixed := dataset.NewFixedLive[feature.Encloser](of, dataset.Manifest{Dataset: "yards", Generation: 7})
	w := servertest.New(t, func(c *httpapi.Config) {
		c.ExtraLayers = []ask.LayerKind{ask.SingleLayer("yards", func(*ask.Sets) *dataset.Live[feature.Encloser] { return fixed })}
	}, ask.PlacesName)
	want := func(path string, status int, text string) {
		t.Helper()
		res := w.Get(path)
		if got := servertest.Body(t, res); res.StatusCode != status || !strings.Contains(got, text) {
			t.Errorf("%s: %d %s, want %s", path, res.StatusCode, got, text)
		}
	}
	const yard = `{"type":"yards","id":"a","name":"Yard a"`
	want("/regions/at?lat=47&lon=4", 200, yard)
	want("/at?lat=47&lon=4", 200, yard)
	want("/at?lat=47&lon=4&types=country", 200, `"missing":["boundaries"`)
	want("/reverse?lat=47&lon=4", 200, `"label":"Yard a"`)
	want("/regions/at?lat=47&lon=4&types=country", 404, "dataset-missing")
	want("/regions/country/wl", 404, "dataset-missing")
	want("/regions/yards/none", 404, "region-not-found")
	want("/regions/nearby?lat=47&lon=4&types=yards", 200, yard)
	want("/regions/at?lat=47&lon=7&types=yards&snap=-1", 400, "snap")
	of.flat = true
	want("/regions/nearby?lat=47&lon=4&types=yards", 400, "ask for those in a box")
	want("/regions/nearby?lat=47&lon=4", 200, `{"regions":[]`)
	want("/regions/at?lat=47&lon=7&types=yards&snap=50", 200, `"none":[{"type":"yards","match":"none","truncated":true}]`)
	of.private = true
	want("/regions/at?lat=47&lon=4&types=yards", 404, "dataset-missing")
	want("/at?lat=47&lon=4", 200, `"missing":["boundaries"`)
	of.private = false
	want("/regions/at?lat=47&lon=4", 200, yard)
}

// If a layer of areas cannot be read, the request fails, because this layer might have the answer.
func TestAreasThatCannotBeRead(t *testing.T) {
	fixed := dataset.NewFixedLive[feature.Encloser](&yards{}, dataset.Manifest{Dataset: "yards", Generation: 7})
	if err := fixed.Close(); err != nil {
		t.Fatal(err)
	}
	w := servertest.NewWhole(t)
	w.Config.ExtraLayers = []ask.LayerKind{ask.SingleLayer("yards", func(*ask.Sets) *dataset.Live[feature.Encloser] { return fixed })}
	w.Serve()
	for path, status := range map[string]int{
		"/regions/at?lat=47&lon=4.5":             503,
		"/regions/at?lat=47&lon=4.5&types=yards": 503,
		"/at?lat=47&lon=4.5":                     503,
		"/reverse?lat=47&lon=4.5":                503,
		"/places/within/yards/a":                 503, "/regions/at?lat=47&lon=4.5&types=country": 200, "/at?lat=47&lon=4.5&types=country": 200,
	} {
		if res := w.Get(path); res.StatusCode != status {
			t.Errorf("%s: %d %s, want %d", path, res.StatusCode, servertest.Body(t, res), status)
		}
	}
}

// TestFencesOfTheCallers tests that fences of an added layer of areas work like those of regions,
// whatever generation of the boundaries a move was compared with.
func TestFencesOfTheCallers(t *testing.T) {
	of := &yards{boxes: map[string]quadkey.Box{"a": {West: 3, South: 46, East: 6, North: 48}}}
	fixed := dataset.NewFixedLive[feature.Encloser](of, dataset.Manifest{Dataset: "yards", Generation: 7})
	views := ask.NewViews(ask.Sets{ExtraLayers: []ask.LayerKind{ask.SingleLayer("yards",
		func(*ask.Sets) *dataset.Live[feature.Encloser] { return fixed })}})
	set, err := fence.New(fence.Fences{Enter: []fence.Region{{Type: "yards"}}, Leave: []fence.Region{{Type: "yards", ID: "a"}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := set.Check(t.Context(), views); err != nil {
		t.Error(err)
	}
	out, in := [2]float64{0, 0}, [2]float64{4, 47}
	for _, c := range []struct {
		move live.Event
		want string
	}{
		{live.Event{From: &out, To: &in}, "enter yards:a"},
		{live.Event{From: &in, To: &out}, "leave yards:a"},
		{live.Event{From: &in, To: &out, EditionSuffix: "wards.2"}, "leave yards:a"},
		{live.Event{From: &in, To: &in}, ""},
	} {
		events, err := set.AppendCrossings(t.Context(), nil, &c.move, views)
		got := ""
		if len(events) > 0 {
			got = events[0].Type + " " + events[0].Fence
		}
		if err != nil || got != c.want || len(events) > 1 {
			t.Errorf("%+v: %v, %v, want %s", c.move, events, err, c.want)
		}
	}
	unknown, err := fence.New(fence.Fences{Enter: []fence.Region{{Type: "yards", ID: "none"}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := unknown.Check(t.Context(), views); !errors.Is(err, feature.ErrNotFound) {
		t.Error(err)
	}
}
