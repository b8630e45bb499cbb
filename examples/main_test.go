package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"quadrille/cellstore"
	"quadrille/cellstore/pebblestore"
	"quadrille/cellstore/storetest"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// TestDesigns runs every design on pebblestore, and on the model with which all drivers are
// compared. It compares the output with testdata.
func TestDesigns(t *testing.T) {
	for _, d := range designs {
		t.Run(d.name, func(t *testing.T) {
			golden := filepath.Join("testdata", d.name+".txt")
			got := printed(t, d, onPebble, nil)
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("go run ./examples %s prints:\n%swant:\n%s", d.name, got, want)
			}
			if got := printed(t, d, onModel, nil); !bytes.Equal(got, want) {
				t.Errorf("on the model it prints:\n%swant:\n%s", got, want)
			}
		})
	}
	files, err := os.ReadDir("testdata")
	if err != nil || len(files) != len(designs) {
		t.Errorf("testdata holds %d files of %d designs (%v): remove what no design prints", len(files), len(designs), err)
	}
}

// TestPlayAll runs named designs, and tests that unknown names are refused.
func TestPlayAll(t *testing.T) {
	for _, test := range []struct {
		names []string
		want  error
		heads []string
	}{
		{[]string{"ids", "follows"}, nil, []string{"== follows ==", "== ids =="}},
		{nil, nil, []string{"== visits ==", "== follows ==", "== series ==", "== ids ==", "== articles ==", "== salted-keys =="}},
		{[]string{"ids", "moon"}, errors.New("no design is called moon: run without a name to see them all"), nil},
	} {
		s, err := onPebble(t)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := playAll(t.Context(), s, &out, test.names); fmt.Sprint(err) != fmt.Sprint(test.want) {
			t.Errorf("%q: %v, want %v", test.names, err, test.want)
		}
		if heads := regexp.MustCompile("(?m)^==.*==$").FindAllString(out.String(), -1); !slices.Equal(heads, test.heads) {
			t.Errorf("%q plays %q, want %q", test.names, heads, test.heads)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestDesignsNeedTheirOptions tests that a design prints something else if an option of its
// families is wrong. Thus the golden files also test the options.
func TestDesignsNeedTheirOptions(t *testing.T) {
	for _, test := range []struct {
		design, table string
		spoil         func(f *cellstore.Family)
	}{
		{"visits", "visits", func(f *cellstore.Family) { f.MaxVersions = cellstore.Unlimited }},
		{"articles", "articles", func(f *cellstore.Family) { f.MaxVersions = 4 }},
	} {
		d := designs[slices.IndexFunc(designs, func(d design) bool { return d.name == test.design })]
		want, err := os.ReadFile(filepath.Join("testdata", d.name+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		spoil := func(s *cellstore.Schema) {
			for i := range s.Families {
				if s.Table == test.table {
					test.spoil(&s.Families[i])
				}
			}
		}
		if got := printed(t, d, onModel, spoil); bytes.Equal(got, want) {
			t.Errorf("%s prints the same with table %s spoilt", test.design, test.table)
		}
	}
}

type opener func(t *testing.T) (cellstore.Store, error)

func onPebble(t *testing.T) (cellstore.Store, error) { return pebblestore.Open(t.TempDir(), nil) }

func onModel(t *testing.T) (cellstore.Store, error) {
	return storetest.ModelBackend(t).Open(storetest.OpenOptions{})
}

// printed runs a design on a new store and returns its output.
func printed(t *testing.T, d design, open opener, spoil func(*cellstore.Schema)) []byte {
	t.Helper()
	s, err := open(t)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	d.play(&demo{t.Context(), spoilt{s, spoil}, &out})
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	return out.Bytes()
}

// spoilt is a store that declares tables with other options than requested.
type spoilt struct {
	cellstore.Store
	spoil func(*cellstore.Schema)
}

func (s spoilt) CreateTable(ctx context.Context, schema cellstore.Schema) error {
	if s.spoil != nil {
		s.spoil(&schema)
	}
	return s.Store.CreateTable(ctx, schema)
}
