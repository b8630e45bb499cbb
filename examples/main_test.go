package main

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/cellstore/pebblestore"
	"quadrille/cellstore/storetest"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// TestDesigns plays every design on pebblestore, and on the model that judges
// all drivers, and compares what is printed with testdata.
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

// TestDesignsNeedTheirOptions: with an option of its families spoilt a design
// prints something else, so the golden files judge the options too.
func TestDesignsNeedTheirOptions(t *testing.T) {
	for _, test := range []struct {
		design, table string
		spoil         func(f *cellstore.Family)
	}{
		{"visits", "visits", func(f *cellstore.Family) { f.MaxVersions = cellstore.Unlimited }},
		{"hits", "hits", func(f *cellstore.Family) { f.TTL = 0 }},
		{"hits", "hits", func(f *cellstore.Family) { f.TTL = 48 * time.Hour }},
		{"favourites", "favourites", func(f *cellstore.Family) { f.TTL = time.Hour }},
		{"rolling-mean", "samples", func(f *cellstore.Family) { f.MaxVersions = 1 }},
		{"rolling-mean", "samples", func(f *cellstore.Family) { f.TTL -= time.Millisecond }},
		{"stream", "stream", func(f *cellstore.Family) { f.TTL -= time.Millisecond }},
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

type opener func(t *testing.T, clock func() int64) (cellstore.Store, error)

func onPebble(t *testing.T, clock func() int64) (cellstore.Store, error) {
	return pebblestore.Open(t.TempDir(), &pebblestore.Options{Clock: cellstore.ClockOf(clock)})
}

func onModel(t *testing.T, clock func() int64) (cellstore.Store, error) {
	return storetest.ModelBackend(t).Open(storetest.OpenOptions{Clock: clock})
}

// printed plays a design on a new store and returns what it prints.
func printed(t *testing.T, d design, open opener, spoil func(*cellstore.Schema)) []byte {
	t.Helper()
	clock := newClock()
	s, err := open(t, clock.Load)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	d.play(&demo{t.Context(), spoilt{s, spoil}, clock, &out})
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	return out.Bytes()
}

// spoilt is a store that declares other tables than it is asked to.
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

// TestNumberKeys: numbers from the edges of their kind and at random sort as
// their keys do, and come back.
func TestNumberKeys(t *testing.T) {
	ints := []int64{math.MinInt64, -257, -256, -2, -1, 0, 1, 2, 7, 12, 69, 119, 255, 256, math.MaxInt64}
	floats := []float64{math.Inf(-1), -math.MaxFloat64, -1.5, -1, -math.SmallestNonzeroFloat64, 0, math.SmallestNonzeroFloat64, 1, 1.5, math.MaxFloat64, math.Inf(1)}
	naturals := []uint64{0, 1, 2, 7, 12, 69, 119, math.MaxUint64}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		ints = append(ints, int64(rnd.Uint64())>>rnd.IntN(64))
		floats = append(floats, rnd.NormFloat64()*math.Pow(10, float64(rnd.IntN(40)-20)))
		naturals = append(naturals, rnd.Uint64()>>rnd.IntN(64))
	}
	inOrder(t, ints, signedKey)
	inOrder(t, floats, func(f float64) []byte { return must(floatKey(f)) })
	inOrder(t, naturals, func(n uint64) []byte { return []byte(must(textKey(n, 20))) })
	for _, n := range ints {
		if got := signedOf(signedKey(n)); got != n {
			t.Errorf("%d comes back as %d", n, got)
		}
	}
	for _, f := range floats {
		if got := floatOf(must(floatKey(f))); got != f {
			t.Errorf("%g comes back as %g", f, got)
		}
	}
}

func inOrder[N cmp.Ordered](t *testing.T, numbers []N, key func(N) []byte) {
	t.Helper()
	slices.Sort(numbers)
	for i := range len(numbers) - 1 {
		a, b := numbers[i], numbers[i+1]
		if got := bytes.Compare(key(a), key(b)); got != cmp.Compare(a, b) {
			t.Errorf("the keys of %v and %v compare as %d", a, b, got)
		}
	}
}
