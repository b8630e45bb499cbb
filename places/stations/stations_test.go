package stations

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/feature"
	"quadrille/internal/buildtest"
	"quadrille/internal/must"
	"quadrille/internal/testrace"
	"quadrille/places/internal/near"
	"quadrille/quadkey"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func ptr(v float64) *float64 { return &v }

var zurich = Station{
	ID: ID([]byte("06660099999")), Name: `Zürich "Kloten" </script>`, Country: "CH", ICAO: "LSZH", Lat: 47.48, Lon: 8.5361,
	ElevationM: ptr(431.9), Begin: date("1931-01-01"), End: date("2025-05-29"),
}

func TestRecord(t *testing.T) {
	f := build(t, []Station{zurich, {ID: numbered(1), Lat: -90, Lon: 12}})
	got, err := f.Record(t.Context(), zurich.ID, []byte("{"))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"id":"06660099999","usaf":"066600","wban":"99999","name":"Zürich \"Kloten\" \u003c/script\u003e","country":"CH",` +
		`"icao":"LSZH","elevation_m":431.9,"begin":"1931-01-01","end":"2025-05-29","lat":47.48,"lon":8.5361`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, err = f.Record(t.Context(), numbered(1), nil); err != nil ||
		string(got) != `"id":"00000199999","usaf":"000001","wban":"99999","lat":-90,"lon":0` {
		t.Errorf("%s, %v", got, err)
	}
	if _, err = f.Record(t.Context(), numbered(2), nil); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	if _, err = f.Tiles(t.Context(), numbered(2)); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
}

func TestIDs(t *testing.T) {
	for _, text := range []string{"066600-99999", "06660099999", "a00001-03048", "A0000103048", "szm00006660", "AFI0000OAIX"} {
		id, err := ParseID(text)
		if want := strings.ToUpper(strings.ReplaceAll(text, "-", "")); err != nil || id.String() != want {
			t.Errorf("%s: %s, %v", text, id, err)
		}
	}
	for _, text := range []string{
		"",
		"066600",
		"066600_99999",
		"0666009999",
		"066600999999",
		"06660-099999",
		"06660é9999",
		"066600-9999\x00",
		strings.Repeat("1", 1000),
	} {
		if _, err := ParseID(text); !errors.Is(err, ErrInvalid) || len(err.Error()) > 300 {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// The id of a GHCN station tells its WBAN number only within that network.
func TestKindsOfIDs(t *testing.T) {
	for id, want := range map[string]struct {
		ghcn      bool
		wban, wmo string
	}{
		"06660099999": {false, "99999", "06660"},
		"A0000103048": {false, "03048", ""},
		"72530094846": {false, "94846", "72530"},
		"USW00094846": {true, "94846", ""},
		"SZM00006660": {true, "", ""},
	} {
		id := must.Get(ParseID(id)).In(t)
		if id.GHCN() != want.ghcn || id.WBAN() != want.wban || id.WMO() != want.wmo {
			t.Errorf("%s: %v, %q, %q", id, id.GHCN(), id.WBAN(), id.WMO())
		}
	}
}

func TestInvalidStationsAreRefused(t *testing.T) {
	for name, spoil := range map[string]func(*Station){
		"id":        func(s *Station) { s.ID[3] = 'x' },
		"latitude":  func(s *Station) { s.Lat = 90.0001 },
		"NaN":       func(s *Station) { s.Lon = math.NaN() },
		"UTF-8":     func(s *Station) { s.Name = "\xff" },
		"long":      func(s *Station) { s.State = strings.Repeat("x", maxText+1) },
		"country":   func(s *Station) { s.Country = "ch" },
		"elevation": func(s *Station) { s.ElevationM = ptr(math.Inf(1)) },
		"date":      func(s *Station) { s.End = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) },
	} {
		s := zurich
		spoil(&s)
		if _, _, err := Build(t.Context(), buildtest.NewStore(t), buildtest.SeqOf([]Station{s}),
			BuildOptions{}); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	failure := errors.New("the file ended")
	_, _, err := Build(t.Context(), buildtest.NewStore(t), func(yield func(Station, error) bool) { yield(Station{}, failure) },
		BuildOptions{})
	if !errors.Is(err, failure) {
		t.Error(err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err = Build(cancelled, buildtest.NewStore(t), buildtest.SeqOf([]Station{zurich}), BuildOptions{}); !errors.Is(err,
		context.Canceled) {
		t.Error(err)
	}
}

// TestDuplicates tests that of several records of a station, Build keeps the one that ends last, or
// the first of two that end at the same time.
func TestDuplicates(t *testing.T) {
	named := func(name, end string) Station {
		s := Station{ID: numbered(1), Name: name, Lat: 1}
		if end != "" {
			s.End = date(end)
		}
		return s
	}
	list := []Station{named("none", ""), named("first", "2000-01-02"), named("second", "2000-01-02"), named("old", "1999-01-01")}
	store := buildtest.NewStore(t)
	meta, stats, err := Build(t.Context(), store, buildtest.SeqOf(list), BuildOptions{})
	if err != nil || meta.Stations != 1 || stats != (Stats{Read: 4, Duplicates: 3}) {
		t.Fatalf("%+v, %+v, %v", meta, stats, err)
	}
	f := must.Get(Open(t.Context(), store, meta)).In(t)
	if got, err := f.Record(t.Context(), numbered(1), nil); err != nil || !strings.Contains(string(got), `"first"`) {
		t.Errorf("%s, %v", got, err)
	}
}

func sameHits(t *testing.T, got, want []Hit) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d hits, want %d", len(got), len(want))
	}
	for i := range got {
		g, w := got[i], want[i]
		if g.ID != w.ID || g.DistanceM != w.DistanceM || g.Lat != w.Lat || g.Lon != w.Lon || !strings.Contains(string(g.JSON), w.ID.String()) {
			t.Fatalf("hit %d: got %s %v, want %s %v", i, g.ID, g.DistanceM, w.ID, w.DistanceM)
		}
	}
}

func TestNearbyAgainstBruteForce(t *testing.T) {
	testrace.SkipUnderRace(t, "many questions")
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			list := scatter(11, rounds(700), shape)
			f := build(t, list)
			rng := rand.New(rand.NewPCG(5, 6))
			var dst []Hit
			for range rounds(300) {
				q := NearbyQuery{Limit: []int{0, 1, 3, 100, near.MaxLimit}[rng.IntN(5)]}
				q.Lat, q.Lon = points(rng, list)
				if rng.IntN(2) == 0 {
					q.RadiusM = math.Pow(10, rng.Float64()*8)
				}
				if rng.IntN(2) == 0 {
					q.At = date("1949-06-01").AddDate(0, 0, rng.IntN(30000)).Add(time.Duration(rng.IntN(86400)) * time.Second)
				}
				if rng.IntN(3) == 0 {
					q.Country = "CH"
				}
				dst = must.Get(f.Nearby(t.Context(), q, dst)).In(t)
				sameHits(t, dst, bruteNearby(list, q))
			}
		})
	}
}

func TestWithinAgainstBruteForce(t *testing.T) {
	testrace.SkipUnderRace(t, "many questions")
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			list := scatter(12, rounds(500), shape)
			f := build(t, list)
			rng := rand.New(rand.NewPCG(8, 9))
			for range rounds(60) {
				q := WithinQuery{Limit: 1 + rng.IntN(200)}
				q.Box = quadkey.Box{West: rng.Float64()*360 - 180, East: rng.Float64()*360 - 180}
				a, b := rng.Float64()*180-90, rng.Float64()*180-90
				q.Box.South, q.Box.North = min(a, b), max(a, b)
				if rng.IntN(4) == 0 {
					q.Box.East = 180
				}
				if rng.IntN(8) == 0 {
					q.Box = quadkey.World
				}
				if rng.IntN(3) == 0 {
					q.At = date("1970-01-01")
				}
				want := map[ID]bool{}
				for i := range list {
					lon, lat := positionOf(list[i].Lat, list[i].Lon).Degrees()
					if q.Box.Contains(lon, lat) && active(&list[i], q.At) {
						want[list[i].ID] = true
					}
				}
				got := map[ID]bool{}
				for {
					hits, next := must.Two(f.Within(t.Context(), q, nil)).In(t)
					for _, h := range hits {
						if got[h.ID] {
							t.Fatalf("%s twice", h.ID)
						}
						got[h.ID] = true
					}
					if next == "" {
						break
					}
					if len(hits) != q.Limit {
						t.Fatalf("page of %d, and another", len(hits))
					}
					q.Cursor = next
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("%v: %s", q.Box, diff)
				}
			}
		})
	}
}

func TestQueriesAreRefused(t *testing.T) {
	f := build(t, []Station{zurich})
	for name, q := range map[string]NearbyQuery{
		"latitude": {Lat: 91}, "radius": {RadiusM: -1}, "infinite": {RadiusM: math.Inf(1)}, "NaN": {RadiusM: math.NaN()},
		"limit": {Limit: near.MaxLimit + 1}, "negative": {Limit: -1},
		"date": {At: time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC)},
	} {
		if _, err := f.Nearby(t.Context(), q, nil); !errors.Is(err, near.ErrQuery) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := f.Within(t.Context(), WithinQuery{Box: quadkey.Box{South: 1}}, nil); !errors.Is(err, near.ErrQuery) {
		t.Errorf("box: %v", err)
	}
	// Filter values that no station can have are not an error.
	for _, country := range []string{"CHE", "X"} {
		if hits, err := f.Nearby(t.Context(), NearbyQuery{Country: country}, nil); err != nil || len(hits) > 0 {
			t.Errorf("%s: %v, %v", country, hits, err)
		}
		if hits, _, err := f.Within(t.Context(), WithinQuery{Box: quadkey.World, Country: country}, nil); err != nil || len(hits) > 0 {
			t.Errorf("%s: %v, %v", country, hits, err)
		}
	}
}

func TestCursors(t *testing.T) {
	list := scatter(1, 50, shapes["even"])
	f := build(t, list)
	q := WithinQuery{Box: quadkey.World, Limit: 7}
	_, next, err := f.Within(t.Context(), q, nil)
	if err != nil || next == "" {
		t.Fatal(next, err)
	}
	other := build(t, list[1:])
	check := func(f *Finder, q WithinQuery, want error) {
		t.Helper()
		if _, _, err := f.Within(t.Context(), q, nil); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
	q.Cursor = next
	check(f, q, nil)
	check(other, q, nil) // the order is by position, which other data does not change
	for i := range next {
		q.Cursor = next[:i] + string(next[i]^1) + next[i+1:]
		if q.Cursor[i] != next[i] {
			check(f, q, near.ErrCursor)
		}
	}
	q.Cursor = next
	q.Box.East = 179
	check(f, q, near.ErrCursor)
	// These marks are made by hand, for a missing station and for an impossible one.
	after := func(m feature.Mark) (err error) {
		for _, err = range f.Features(t.Context(), &feature.Query{After: m}) {
		}
		return err
	}
	id := list[0].ID
	if err := after(append(quadkey.Cell(7).AppendKey(nil), id[:]...)); err != nil {
		t.Error(err)
	}
	for _, m := range []feature.Mark{
		{1},
		id[:],
		append(quadkey.Cell(7).AppendKey(nil), id[1:]...),
		append(quadkey.Cell(7).AppendKey(nil), "??????????!"...),
	} {
		if err := after(m); !errors.Is(err, near.ErrCursor) {
			t.Errorf("%x: %v", m, err)
		}
	}
}

// The same stations in any order, and with any memory, give the same bytes.
func TestBuildIsDeterministic(t *testing.T) {
	list := scatter(5, 400, shapes["clustered"])
	first := buildtest.NewStore(t)
	_, meta := buildIn(t, first, list)
	slices.Reverse(list)
	second := buildtest.NewStore(t)
	if _, again := buildIn(t, second, list); !cmp.Equal(meta, again) {
		t.Errorf("%+v, then %+v", meta, again)
	}
	if buildtest.Checksum(t, first) != buildtest.Checksum(t, second) {
		t.Error("other bytes")
	}
	list[7].Name = "another"
	if _, other := buildIn(t, buildtest.NewStore(t), list); other.Fingerprint == meta.Fingerprint {
		t.Error("another name, the same fingerprint")
	}
}

func TestOpenRefuses(t *testing.T) {
	store := buildtest.NewStore(t)
	_, meta := buildIn(t, store, scatter(5, 40, shapes["even"]))
	changed := meta
	changed.SchemaVersion++
	if _, err := Open(t.Context(), store, changed); !errors.Is(err, cellstore.ErrNewer) {
		t.Error(err)
	}
	for _, n := range []int64{0, 39, 41, -1, math.MaxInt64} {
		changed = meta
		changed.Stations = n
		if _, err := Open(t.Context(), store, changed); !errors.Is(err, cellstore.ErrCorrupt) {
			t.Errorf("%d stations: %v", n, err)
		}
	}
	if _, err := Open(t.Context(), buildtest.NewStore(t), meta); !errors.Is(err, cellstore.ErrTableNotFound) {
		t.Error(err)
	}
	if _, err := OpenWeather(t.Context(), buildtest.NewStore(t), WeatherMeta{SchemaVersion: SchemaVersion + 1}); !errors.Is(err,
		cellstore.ErrNewer) {
		t.Error(err)
	}
}

// Damaged rows are reported, and never used for answers.
func TestDamage(t *testing.T) {
	list := scatter(5, 40, shapes["even"])
	overwrite := func(store cellstore.Store, name, family string, spoil func([]byte) []byte) {
		t.Helper()
		table := must.Get(store.Table(t.Context(), name)).In(t)
		var rows []*cellstore.Row
		for row := range must.All(t, table.Scan(t.Context(), cellstore.Scan{})) {
			rows = append(rows, row.Clone())
		}
		for _, row := range rows {
			for _, c := range row.Cells {
				if c.Family == family {
					m := cellstore.Mutation{Row: row.Key, Ops: []cellstore.Op{cellstore.PutAt(c.Family, c.Qualifier, c.Timestamp, spoil(c.Value))}}
					must.Do(t, table.Apply(t.Context(), m))
				}
			}
		}
	}
	cut := func(v []byte) []byte { return v[:len(v)-1] }
	for _, tc := range []struct {
		table, family string
		spoil         func([]byte) []byte
		ask           func(*Finder, Meta, cellstore.Store) error
	}{
		{tableTiles, famNear, cut, func(f *Finder, _ Meta, _ cellstore.Store) error {
			_, err := f.Nearest(t.Context(), 1, 2)
			return err
		}},
		{tableTiles, famNear, func([]byte) []byte { return nil }, func(f *Finder, _ Meta, _ cellstore.Store) error {
			_, err := f.Nearest(t.Context(), 1, 2)
			return err
		}},
		{tableInfo, famTiles, cut, func(f *Finder, _ Meta, _ cellstore.Store) error {
			_, err := f.Tiles(t.Context(), numbered(3))
			return err
		}},
		{tableInfo, famTiles, func(v []byte) []byte { v[1] ^= 1; v[5] = 0; return v }, func(f *Finder, _ Meta, _ cellstore.Store) error {
			_, err := f.Tiles(t.Context(), numbered(3))
			return err
		}},
		{tableIndex, famIndex, cut, func(_ *Finder, m Meta, s cellstore.Store) error {
			_, err := Open(t.Context(), s, m)
			return err
		}},
		{tableIndex, famIndex, func(v []byte) []byte { v[11] = 0x7f; return v }, func(_ *Finder, m Meta, s cellstore.Store) error {
			_, err := Open(t.Context(), s, m)
			return err
		}},
	} {
		store := buildtest.NewStore(t)
		f, meta := buildIn(t, store, list)
		overwrite(store, tc.table, tc.family, tc.spoil)
		if err := tc.ask(f, meta, store); !errors.Is(err, cellstore.ErrCorrupt) {
			t.Errorf("%s: %v", tc.table, err)
		}
	}
}

func TestMembersAreJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := zurich
		s.Name = rapid.String().Draw(t, "name")
		var got struct {
			Name      string  `json:"name"`
			Lat       float64 `json:"lat"`
			Lon       float64 `json:"lon"`
			Elevation float64 `json:"elevation_m"`
		}
		s.Lat = math.Round(rapid.Float64Range(-89, 89).Draw(t, "lat")*1e7) / 1e7
		b := append(appendMembers([]byte("{"), &s, positionOf(s.Lat, s.Lon)), '}')
		if err := json.Unmarshal(b, &got); err != nil || got.Name != s.Name || got.Lat != s.Lat || got.Lon != s.Lon || got.Elevation != 431.9 {
			t.Fatalf("%s: %+v, %v", b, got, err)
		}
		if strings.ContainsAny(string(b), "<>&\u2028") {
			t.Fatalf("%s", b)
		}
	})
}
