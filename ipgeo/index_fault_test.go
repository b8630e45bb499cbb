//go:build unix

package ipgeo

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"testing"

	"quadrille/cellstore"
	"quadrille/internal/must"
)

// If a file is truncated under a running server, lookups that need the lost pages return an error,
// and the process survives.
func TestIndexLosesPages(t *testing.T) {
	f := &fakeStore{}
	ranges := []Range{{
		First:  netip.MustParseAddr("20.0.0.0"),
		Last:   netip.MustParseAddr("20.0.0.255"),
		Source: 0,
		Record: Record{Country: Country{ISOCode: "CH"}},
	}}
	meta, _, err := Build(context.Background(), f, seqOf(ranges), BuildOptions{})
	must.Do(t, err)
	r, err := Open(context.Background(), f, meta)
	must.Do(t, err)
	ix, path := indexed(t, r)
	var res Result
	must.Do(t, ix.Lookup(t.Context(), ranges[0].First, &res))
	must.Do(t, os.Truncate(path, 0))
	for range 3 {
		if err := ix.Lookup(t.Context(), ranges[0].First, &res); !errors.Is(err, cellstore.ErrCorrupt) {
			t.Fatalf("got %v", err)
		}
	}
	if _, _, _, ok := ix.Bounds(ranges[0].First); ok {
		t.Error("bounds without a page")
	}
	if err := ix.Verify(t.Context()); !errors.Is(err, cellstore.ErrCorrupt) {
		t.Errorf("Verify: %v", err)
	}
	if err := CheckIndex(t.Context(), r, ix, nil); !errors.Is(err, cellstore.ErrCorrupt) {
		t.Errorf("CheckIndex: %v", err)
	}
	// A bug of this package still panics.
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	_ = ix.Lookup(t.Context(), ranges[0].First, nil)
}
