package recipes_test

import (
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/cellstore/recipes"
	"quadrille/cellstore/storetest"
)

// The suite of storetest runs the recipes on every driver; here is what it
// need not repeat for each.

const noon = 1_292_155_200_000 // 2010-12-12 12:00 UTC

func TestNamesAreUnique(t *testing.T) {
	names, tables := map[string]bool{}, map[string]bool{}
	for _, r := range recipes.All() {
		if names[r.Name] {
			t.Errorf("two recipes are named %q", r.Name)
		}
		names[r.Name] = true
		for _, s := range r.Schemas {
			if tables[s.Table] {
				t.Errorf("two tables are named %s", s.Table)
			}
			tables[s.Table] = true
		}
	}
}

// TestChecksNotice: a check fails when its design is spoilt.
func TestChecksNotice(t *testing.T) {
	tests := []struct {
		name, table string
		spoil       func(f *cellstore.Family)
	}{
		{"visit log", "visits", func(f *cellstore.Family) { f.MaxVersions = cellstore.Unlimited }},
		{"hits", "hits", func(f *cellstore.Family) { f.TTL = 0 }},
		{"hits", "hits", func(f *cellstore.Family) { f.TTL = 48 * time.Hour }},
		{"favourites", "favourites", func(f *cellstore.Family) { f.TTL = time.Hour }},
		{"rolling mean", "samples", func(f *cellstore.Family) { f.MaxVersions = 1 }},
		{"rolling mean", "samples", func(f *cellstore.Family) { f.TTL -= time.Millisecond }},
	}
	for _, test := range tests {
		clock := recipes.NewClock(noon)
		s, err := storetest.ModelBackend(t).Open(storetest.OpenOptions{Clock: clock.Now})
		if err != nil {
			t.Fatal(err)
		}
		noticed := false
		for _, r := range recipes.All() {
			if r.Name != test.name {
				continue
			}
			for i := range r.Schemas {
				if r.Schemas[i].Table != test.table {
					continue
				}
				for f := range r.Schemas[i].Families {
					test.spoil(&r.Schemas[i].Families[f])
				}
			}
			noticed = r.Run(t.Context(), s, clock) != nil
		}
		if !noticed {
			t.Errorf("the check of %s passes with table %s spoilt", test.name, test.table)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
