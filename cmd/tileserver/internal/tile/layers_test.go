package tile

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/internal/bytecache"
	"quadrille/tiles"
)

// TestRefusedListsAreNotKept tests that a refused list of layers is not cached, however often it is
// requested.
func TestRefusedListsAreNotKept(t *testing.T) {
	s := &Handlers{Kit: &web.Kit{}, layerSets: bytecache.NewOfLarge[layerKey, *layerSet](layerSetBytes)}
	s.Timeout = time.Second
	v := viewOf(ask.NewViews(ask.Sets{}).Take(time.Now()))
	for i := range 50 {
		if _, err := s.resolveLayers(t.Context(), v, fmt.Sprintf("points:x%d", i)); !errors.Is(err, tiles.ErrUnknownType) {
			t.Fatal(err)
		}
	}
	if n := s.layerSets.Stats().Entries; n != 0 {
		t.Errorf("%d refused lists are kept", n)
	}
}

// TestLayerSetsAreBounded tests that the cache of lists of layers is bounded in bytes.
func TestLayerSetsAreBounded(t *testing.T) {
	c := bytecache.NewOfLarge[layerKey, *layerSet](layerSetBytes)
	for i := range 5000 {
		key := layerKey{list: strings.Repeat("a", 900) + fmt.Sprint(i)}
		_, _ = c.Do(t.Context(), key, func() (*layerSet, error) { return &layerSet{canonical: key.list, regions: []string{key.list}}, nil })
	}
	if s := c.Stats(); s.Bytes > layerSetBytes || s.Entries < 100 {
		t.Errorf("%d bytes of %d entries", s.Bytes, s.Entries)
	}
}
