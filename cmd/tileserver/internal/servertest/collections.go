package servertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"testing"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/internal/toyworld"
	"quadrille/places/live"
	"quadrille/places/points"
)

// publishPoints publishes a collection of points.
func publishPoints(t testing.TB, c *dataset.Catalog, name string, seq iter.Seq[points.Point]) {
	t.Helper()
	b, err := c.Begin(t.Context(), ask.CollectionPrefix+name)
	if err != nil {
		t.Fatal(err)
	}
	meta, err := points.Build(t.Context(), b.Store(), func(yield func(points.Point, error) bool) {
		for p := range seq {
			if !yield(p, nil) {
				return
			}
		}
	}, points.BuildOptions{Name: name, TempDir: t.TempDir(), Timestamp: 1})
	if err != nil {
		t.Fatal(err)
	}
	meta.Title = "The " + name
	meta.Private = name == "secret"
	raw, err := json.Marshal(meta)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Publish(t.Context(), dataset.Manifest{
		SchemaVersion: points.SchemaVersion, Meta: raw, Bounds: meta.Bounds[:], Built: toyworld.Modified,
		Sources: []dataset.Source{{Name: name, Attribution: "<b>Us</b>"}},
	}); err != nil {
		t.Fatal(err)
	}
}

// scattered returns random points around a centre.
func scattered(n int, lat, lon, spread float64) iter.Seq[points.Point] {
	return func(yield func(points.Point) bool) {
		r := rand.New(rand.NewPCG(1, uint64(n)))
		for i := range n {
			p := points.Point{
				ID: fmt.Sprintf("p%d", i), Lat: lat + r.NormFloat64()*spread, Lon: lon + r.NormFloat64()*spread,
				Properties: fmt.Appendf(nil, `{"name":"Shop %d","open":%v,"stars":%v,"tags":["a"]}`, i, i%2 == 0, float64(i%10)/2),
			}
			if !yield(p) {
				return
			}
		}
	}
}

const HostileName = `<img src=x onerror=alert(1)>","x":"`

// hostile yields points with malicious texts, and with texts that collide with the layer's own
// names.
func hostile(yield func(points.Point) bool) {
	properties, err := json.Marshal(map[string]any{
		"name": HostileName, "id": "not mine", "cluster": true, "point_count": 7, "long": strings.Repeat("ü", 300),
		"big": 1e300, "whole": json.Number("-42"), "nothing": nil, "inner": map[string]int{"a": 1},
	})
	if err != nil {
		panic(err)
	}
	many := []byte(`{"a":1`)
	for i := range 100 {
		many = fmt.Appendf(many, `,"m%d":%d`, i, i)
	}
	_ = yield(points.Point{ID: `"><script>`, Lat: 0.5, Lon: 20, Properties: properties}) &&
		yield(points.Point{ID: "many", Lat: 0.4, Lon: 20, Properties: append(many, `,"name":"last"}`...)})
}

// NewCollections returns the toy world with collections. shops is published, secret is published
// and private, and cars is live.
func NewCollections(t *testing.T) (w *World, cars *live.Collection) {
	t.Helper()
	w = NewWorld(t)
	c, err := dataset.Open(t.TempDir(), toyworld.Open)
	if err != nil {
		t.Fatal(err)
	}
	w.Config.Collections = &ask.Collections{}
	for name, seq := range map[string]iter.Seq[points.Point]{
		"shops":       scattered(5000, 1, 20, 3),
		"shops_label": hostile,
		"secret":      scattered(3, 1, 20, 1),
	} {
		publishPoints(t, c, name, seq)
		live := ask.CollectionOf(name).Live(c.Generations)
		if err := live.Poll(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := live.Close(); err != nil {
				t.Error(err)
			}
		})
		w.Config.Collections.Add(name, live)
	}
	store, err := toyworld.Open("live", t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	if w.Config.Collections.Live, err = live.Open(t.Context(), store, points.LiveKind); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(w.Config.Collections.Live.Close(), store.Close()); err != nil {
			t.Error(err)
		}
	})
	if cars, err = w.Config.Collections.Live.Create(t.Context(), live.Meta{Name: "cars"}); err != nil {
		t.Fatal(err)
	}
	Drive(t, cars, "one", 1, 20)
	w.Config.ResponseCacheBytes = 1 << 20
	w.Serve()
	return w, cars
}

func Drive(t *testing.T, cars *live.Collection, id string, lat, lon float64) {
	t.Helper()
	write := []live.Write{{Kind: live.Put, ID: id, Lat: lat, Lon: lon, Properties: []byte(`{"speed":3.5}`)}}
	if err := cars.Write(context.Background(), write, make([]live.Outcome, 1)); err != nil {
		t.Fatal(err)
	}
}
