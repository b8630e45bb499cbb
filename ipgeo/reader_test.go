package ipgeo

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"net/netip"
	"slices"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"quadrille/cellstore"
	"quadrille/cellstore/pebblestore"
	"quadrille/internal/must"
	"quadrille/internal/testrace"
)

var paris = Record{
	Continent: Continent{Code: "EU", Names: Names{"en": "Europe"}},
	Country:   Country{ISOCode: "FR", IsInEuropeanUnion: true, Names: Names{"en": "France"}},
}

func TestLookup(t *testing.T) {
	f, r, _, _ := built(t, []Range{
		{First: netip.MustParseAddr("80.0.0.5"), Last: netip.MustParseAddr("80.0.1.255"), Record: paris},
		{First: netip.MustParseAddr("2a00::"), Last: netip.MustParseAddr("2a00::ffff"), Record: Record{Continent: Continent{Code: "AS"}}},
	}, BuildOptions{})
	var res Result
	must.Do(t, r.Lookup(t.Context(), netip.MustParseAddr("::ffff:80.0.1.7"), &res))
	if want := `"continent":{"code":"EU","names":{"en":"Europe"}},"country":{"is_in_european_union":true,"iso_code":"FR","names":{"en":"France"}},"traits":{"network":"80.0.1.0/24"}`; string(res.JSON) != want {
		t.Errorf("JSON is\n%s, want\n%s", res.JSON, want)
	}
	if !json.Valid([]byte("{" + string(res.JSON) + "}")) {
		t.Error("JSON is not")
	}
	if want := string(res.JSON[:len(res.JSON)-len(`,"traits":{"network":"80.0.1.0/24"}`)]); string(res.CountryJSON()) != want {
		t.Errorf("CountryJSON is %s", res.CountryJSON())
	}
	rec, err := res.Record()
	if d := cmp.Diff(paris, rec); d != "" || err != nil {
		t.Error(err, d)
	}
	if res.Country != "FR" || res.Addr.String() != "80.0.1.7" || res.Network.String() != "80.0.1.0/24" ||
		res.First.String() != "80.0.0.5" || res.Last.String() != "80.0.1.255" {
		t.Errorf("%+v", res)
	}
	if f.nexts != 1 {
		t.Errorf("%d reads of the store", f.nexts)
	}

	// A miss clears the result of the previous hit.
	for _, miss := range []string{"80.0.0.4", "80.0.2.0", "2a00::1:0:0", "1.1.1.1", "::2", "10.0.0.1"} {
		if err := r.Lookup(t.Context(), netip.MustParseAddr(miss), &res); !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrReserved) {
			t.Errorf("%s: %v", miss, err)
		}
		if res.Country != "" || res.JSON != nil || res.CountryJSON() != nil || res.Network.IsValid() || res.First.IsValid() ||
			res.Addr.String() != miss {
			t.Errorf("%s: %+v", miss, res)
		}
	}
	if err := r.Lookup(t.Context(), netip.MustParseAddr("2a00::9%eth0"), &res); err != nil || res.Country != "" ||
		string(res.JSON) != `"continent":{"code":"AS"},"traits":{"network":"2a00::/112"}` {
		t.Errorf("%v, %s", err, res.JSON)
	}
	if err := r.Lookup(t.Context(), netip.Addr{}, &res); !errors.Is(err, ErrBadAddress) || res.Addr.IsValid() {
		t.Errorf("zero Addr: %v", err)
	}
}

// A failing or damaged store never gives "not found".
func TestLookupFailure(t *testing.T) {
	f, r, _, _ := built(t, rngs("80.0.0.0-80.0.0.255 AA", "2a00::-2a00::ff BB"), BuildOptions{})
	var res Result
	addr := netip.MustParseAddr("80.0.0.9")
	lookup := func() error {
		err := r.Lookup(t.Context(), addr, &res)
		if err == nil || errors.Is(err, ErrNotFound) || errors.Is(err, ErrReserved) {
			t.Errorf("%v", err)
		}
		return err
	}
	f.fail = errors.New("disk on fire")
	if err := lookup(); !errors.Is(err, f.fail) {
		t.Error(err)
	}
	f.fail = nil
	good := f.values[0]
	for _, bad := range [][]byte{
		{}, {1, 2, 3}, // no first address
		{81, 0, 0, 0},                                                                     // after the last
		append(slices.Clone(good[:4]), 1),                                                 // tag without a length
		append(slices.Clone(good[:4]), 1, 2, 'A'),                                         // cut off
		append(slices.Clone(good[:4]), 1, 2, 'a', '!'),                                    // no code
		append(slices.Clone(good[:4]), 1, 1, 'A'),                                         // no code
		binary.AppendUvarint(append(good[:4:4], 2), 1<<64-1),                              // absurd length
		append(good[:4:4], 2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff), // no varint
	} {
		f.values[0] = bad
		if err := lookup(); !errors.Is(err, cellstore.ErrCorrupt) {
			t.Errorf("value %x: %v", bad, err)
		}
	}
	f.values[0] = good
	f.keys[0] = append(f.keys[0], 0)
	if err := lookup(); !errors.Is(err, cellstore.ErrCorrupt) {
		t.Errorf("long key: %v", err)
	}
}

// TestUnknownSections tests rows with sections that a later version has added: they are read
// without these sections.
func TestUnknownSections(t *testing.T) {
	f, r, _, _ := built(t, rngs("80.0.0.0-80.0.0.255 AA"), BuildOptions{})
	f.values[0] = appendSection(f.values[0], 99, "from the future")
	var res Result
	if err := r.Lookup(t.Context(), netip.MustParseAddr("80.0.0.9"), &res); err != nil || res.Country != "AA" {
		t.Errorf("%v, %s", err, res.Country)
	}
}

func TestOpenRefuses(t *testing.T) {
	f, _, meta, _ := built(t, nil, BuildOptions{})
	for _, layout := range []int{0, Layout + 1} {
		if _, err := Open(t.Context(), f, Meta{Layout: layout}); !errors.Is(err, cellstore.ErrLayout) {
			t.Errorf("layout %d: %v", layout, err)
		}
	}
	if _, err := Open(t.Context(), &fakeStore{}, meta); !errors.Is(err, cellstore.ErrTableNotFound) {
		t.Errorf("no table: %v", err)
	}
}

// openStore returns an empty store in memory.
func openStore(t testing.TB) *pebblestore.Store {
	t.Helper()
	s, err := pebblestore.Open("store", &pebblestore.Options{FS: vfs.NewMem()})
	must.Do(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

// A lookup takes one seek of the store, and a reused result allocates nothing.
func TestLookupCost(t *testing.T) {
	s := openStore(t)
	meta, _, err := Build(t.Context(), s, seqOf(rngs("80.0.0.0-80.0.0.255 AA", "2a00::-2a00::ff BB", "2a01::-2a01::ff BB")), BuildOptions{})
	must.Do(t, err)
	r, err := Open(t.Context(), s, meta)
	must.Do(t, err)
	var res Result
	for _, tc := range []struct {
		addr  string
		want  error
		seeks int64
	}{
		{"80.0.0.9", nil, 1}, {"2a00::9", nil, 1}, {"::ffff:80.0.0.9", nil, 1}, {"2002:5000:9::", nil, 1},
		{"2a01::", nil, 1}, {"2a00:1::", ErrNotFound, 1}, {"9.9.9.9", ErrNotFound, 1}, {"99.9.9.9", ErrNotFound, 1},
		{"10.0.0.1", ErrReserved, 0}, {"fe80::1%eth0", ErrReserved, 0},
	} {
		addr := netip.MustParseAddr(tc.addr)
		lookup := func() {
			if err := r.Lookup(t.Context(), addr, &res); !errors.Is(err, tc.want) {
				t.Fatalf("%s: %v", addr, err)
			}
		}
		lookup()
		before := s.Stats().Seeks
		lookup()
		if got := s.Stats().Seeks - before; got != tc.seeks {
			t.Errorf("%s: %d seeks, want %d", addr, got, tc.seeks)
		}
		if n := testing.AllocsPerRun(100, lookup); n != 0 && !testrace.Enabled {
			t.Errorf("%s: %v allocations", addr, n)
		}
	}
}

func TestLookupConcurrent(t *testing.T) {
	s := openStore(t)
	meta, _, err := Build(t.Context(), s, seqOf(rngs("80.0.0.0-80.0.0.255 AA", "80.0.1.0-80.0.1.255 BB")), BuildOptions{})
	must.Do(t, err)
	r, err := Open(t.Context(), s, meta)
	must.Do(t, err)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			var res Result
			for i := range 500 {
				b := byte((i + g) % 2)
				if err := r.Lookup(t.Context(), netip.AddrFrom4([4]byte{80, 0, b, byte(i)}), &res); err != nil ||
					res.Country != []string{"AA", "BB"}[b] {
					t.Errorf("%v, %s", err, res.Country)
					return
				}
			}
		})
	}
	wg.Wait()
}
