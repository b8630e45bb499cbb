package ask

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"quadrille/cellstore/dataset"
	"quadrille/cellstore/published"
	"quadrille/feature"
	"quadrille/feature/layertest"
	"quadrille/internal/must"
)

// TestIdentityOf tests that a generation keeps its identity in a store to which it is pushed. The
// same data published again is another generation.
func TestIdentityOf(t *testing.T) {
	digest := func(c string) string { return strings.Repeat(c, 64) }
	first := &dataset.Manifest{Digest: digest("a")}
	pushed := &dataset.Manifest{Digest: digest("b"), Origin: first.Digest}
	anew := &dataset.Manifest{Digest: digest("b")}
	if IdentityOf(nil) != 0 || IdentityOf(first) == 0 || IdentityOf(pushed) != IdentityOf(first) || IdentityOf(anew) == IdentityOf(first) {
		t.Error(IdentityOf(nil), IdentityOf(first), IdentityOf(pushed), IdentityOf(anew))
	}
}

// A data set without fields in Sets and Moment is followed and pinned like one with fields.
func TestDataSetWithoutFields(t *testing.T) {
	c := must.Get(published.OpenCatalog(t.TempDir())).In(t)
	meadows := layered(&DatasetOf[feature.Layer]{
		Dataset: Dataset{Name: "meadows", Schema: 1},
		open: func(*dataset.Generation) (feature.Layer, error) {
			return &layertest.Memory{LayerInfo: feature.Info{AllPoints: true}}, nil
		},
	})
	before := builtIn
	t.Cleanup(func() { builtIn = before })
	builtIn = append(before[:len(before):len(before)], meadows)
	sets := PublishedSets(c.Generations)
	must.Close(t, &sets)
	views := NewViews(sets)
	none := views.Take(time.Time{})
	if _, err := meadows.PinnedIn(none.Moment).Get(); !errors.Is(err, ErrMissing) {
		t.Errorf("before it is published: %v", err)
	}
	none.Release()
	b := must.Get(c.Begin(t.Context(), "meadows")).In(t)
	must.Get(b.Publish(t.Context(), dataset.Manifest{
		SchemaVersion: 1,
		Meta:          json.RawMessage(`{}`),
		Records:       map[string]int64{"meadows": 1},
	})).In(t)
	must.Do(t, sets.Poll(t.Context()))
	v := views.Take(time.Time{})
	defer v.Release()
	l := must.Get(v.Layer("meadows")).In(t)
	if of, err := meadows.PinnedIn(v.Moment).Get(); err != nil || l.Layer != of || l.LayerInfo.Title != "Meadows" ||
		l.Manifest.Generation != 1 {
		t.Errorf("%+v, %v", l, err)
	}
	if got := sets.OpenLayerNames(); !slices.Contains(got, "meadows") {
		t.Errorf("listed by their names: %v", got)
	}
}
