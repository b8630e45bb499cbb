package airports

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"quadrille/cellstore"
	"quadrille/feature"
	"quadrille/internal/buildtest"
	"quadrille/internal/must"
	"quadrille/internal/testrace"
	"quadrille/places"
	"quadrille/quadkey"
)

var released = time.Date(2026, 5, 11, 0, 0, 0, 0, time.UTC)

func newFinder(t testing.TB, list []Airport) (*Finder, Stats) {
	t.Helper()
	store := buildtest.NewStore(t)
	meta, stats := must.Two(Build(t.Context(), store, buildtest.SeqOf(list), BuildOptions{TempDir: t.TempDir(), Modified: released})).In(t)
	if meta.Airports != int64(len(list)) || meta.Places.Places != meta.Airports || meta.Codes != stats.Codes {
		t.Fatalf("%+v, %+v of %d", meta, stats, len(list))
	}
	// The metadata passes through JSON, as in a manifest.
	text := must.Get(json.Marshal(meta)).In(t)
	var read Meta
	must.Do(t, json.Unmarshal(text, &read))
	f := must.Get(Open(t.Context(), store, read)).In(t)
	return f, stats
}

func metres(v float64) *float64 { return &v }

// few are invented airports, but with real kinds of values.
var few = []Airport{
	{ID: 1,
		Ident:        "LSZZ",
		IATA:         "ZZH",
		ICAO:         "LSZZ",
		GPS:          "LSZZ",
		Type:         Large,
		Name:         `Zürich "Ost" <b>`,
		Municipality: "Zürich",
		Country:      "CH",
		Region:       "CH-ZH",
		Lat:          47.4647, Lon: 8.5492, ElevationM: metres(431.59), Scheduled: true, Keywords: []string{"Kloten", "ZRH"},
		Home: "https://example.org/?a=1&b=2", Wikipedia: "https://en.example.org/w", TimeZone: "Europe/Zurich"},
	{
		ID:             2,
		Ident:          "US-0001",
		Local:          "ZZH",
		Type:           Small,
		Name:           "Same code",
		Country:        "US",
		Lat:            40,
		Lon:            -100,
		TimeZone:       "America/Chicago",
		TimeZoneSource: "nearest",
	},
	{ID: 3, Ident: "01TA", Type: Closed, Name: "Closed pad", Country: "US", Lat: 30, Lon: -97},
	{ID: 4, Ident: "US-0002", GPS: "01TA", Local: "01TA", Type: Heliport, Name: "Its successor", Country: "US", Lat: 30.1, Lon: -97},
	{ID: 5, Ident: "NZXX", ICAO: "NZXX", IATA: "XXN", Type: Medium, Name: "Dateline", Country: "NZ", Lat: -43.8, Lon: 180, Scheduled: true},
	{ID: 6, Ident: "PAXX", Type: Seaplane, Name: "Bay", Country: "US", Lat: 51, Lon: -179.9999999},
	{ID: 7, Ident: "AQ-0001", Type: Balloon, Name: "South Pole", Lat: -90, Lon: 0, ElevationM: metres(-0.04)},
}

func TestLookup(t *testing.T) {
	f, stats := newFinder(t, few)
	if want := (Stats{Airports: 7, Codes: 12, Conflicts: 1}); stats != want {
		t.Errorf("%+v, want %+v", stats, want)
	}
	for code, want := range map[string]uint32{
		"ZZH": 1, "zzh": 1, "LSZZ": 1, "lszz": 1, "US-0001": 2, "us-0001": 2, "01TA": 4, "US-0002": 4,
		"NZXX": 5, "XXN": 5, "PAXX": 6, "AQ-0001": 7,
		"XXX": 0, "ZZHH": 0, "X": 0, "-": 0, strings.Repeat("A", MaxCodeBytes): 0,
	} {
		var r Record
		switch err := f.Lookup(t.Context(), code, &r); {
		case want == 0:
			if !errors.Is(err, ErrNotFound) {
				t.Errorf("%s: %v", code, err)
			}
		case err != nil || r.ID != want:
			t.Errorf("%s: %d, %v", code, r.ID, err)
		}
	}
	for _, tt := range []struct {
		kind CodeKind
		code string
		want uint32
	}{{IATA, "ZZH", 1}, {Local, "zzh", 2}, {ICAO, "LSZZ", 1}, {ICAO, "ZZH", 0}, {IATA, "LSZZ", 0}, {Local, "LSZZ", 1}} {
		var r Record
		if err := f.ByCode(t.Context(), tt.kind, tt.code, &r); tt.want == 0 && !errors.Is(err, ErrNotFound) ||
			tt.want != 0 && (err != nil || r.ID != tt.want) {
			t.Errorf("%c %s: %d, %v", tt.kind, tt.code, r.ID, err)
		}
	}
	for _, code := range []string{"", "S FO", "SFO\x00", "Ü", "SFO/", strings.Repeat("A", MaxCodeBytes+1), strings.Repeat("A", 1<<20)} {
		if err := f.Lookup(t.Context(), code, new(Record)); !errors.Is(err, ErrBadCode) || len(err.Error()) > 200 {
			t.Errorf("%.20q: %v", code, err)
		}
	}
	if err := f.ByCode(t.Context(), 'x', "SFO", new(Record)); !errors.Is(err, ErrBadCode) {
		t.Errorf("kind: %v", err)
	}
}

func TestRecord(t *testing.T) {
	f, _ := newFinder(t, few)
	var r Record
	for code, want := range map[string]string{
		"ZZH": `{"id":1,"ident":"LSZZ","iata":"ZZH","icao":"LSZZ","gps":"LSZZ","name":"Zürich \"Ost\" \u003cb\u003e","type":"large_airport",` +
			`"municipality":"Zürich","country":"CH","region":"CH-ZH","scheduled":true,"lat":47.4647,"lon":8.5492,"elevation_m":431.6,` +
			`"timezone":"Europe/Zurich","keywords":["Kloten","ZRH"],"home":"https://example.org/?a=1\u0026b=2","wikipedia":"https://en.example.org/w"}`,
		"US-0001": `{"id":2,"ident":"US-0001","local":"ZZH","name":"Same code","type":"small_airport","country":"US","scheduled":false,` +
			`"lat":40,"lon":-100,"timezone":"America/Chicago","timezone_source":"nearest"}`,
		"AQ-0001": `{"id":7,"ident":"AQ-0001","name":"South Pole","type":"balloonport","scheduled":false,"lat":-90,"lon":0,"elevation_m":0}`,
	} {
		if err := f.Lookup(t.Context(), code, &r); err != nil || string(r.JSON) != want {
			t.Errorf("%s: %v\n got %s\nwant %s", code, err, r.JSON, want)
		}
	}
	if err := f.Lookup(t.Context(), "ZZH", &r); err != nil || r.Lat != 47.4647 || r.Lon != 8.5492 || r.TimeZone != "Europe/Zurich" {
		t.Errorf("%+v, %v", r, err)
	}
	if err := f.Lookup(t.Context(), "PAXX", &r); err != nil || r.TimeZone != "" {
		t.Errorf("%+v, %v", r, err)
	}
}

func ids(hits []places.Hit) (list []uint32) {
	for _, h := range hits {
		list = append(list, h.ID)
	}
	return list
}

func TestSearches(t *testing.T) {
	f, _ := newFinder(t, few)
	world := quadkey.Box{West: -180, South: -90, East: 180, North: 90}
	for _, tt := range []struct {
		name string
		Filter
		want []uint32 // in a box of the world
	}{
		{"default", Filter{}, []uint32{1, 5, 2, 6, 4, 7}},
		{"closed too", Filter{Closed: true}, []uint32{1, 5, 2, 6, 4, 7, 3}},
		{"closed", Filter{Types: []string{Closed}}, []uint32{3}},
		{"scheduled", Filter{Scheduled: true}, []uint32{1, 5}},
		{"scheduled or closed", Filter{Scheduled: true, Closed: true}, []uint32{1, 5}},
		{"types", Filter{Types: []string{Heliport, Medium}}, []uint32{5, 4}},
		{"types, closed too", Filter{Types: []string{Heliport}, Closed: true}, []uint32{4, 3}},
		{"scheduled of type", Filter{Types: []string{Medium, Small}, Scheduled: true}, []uint32{5}},
		{"country", Filter{Countries: []string{"us"}}, []uint32{2, 6, 4}},
		{"countries", Filter{Countries: []string{"CH", "NZ"}, Closed: true}, []uint32{1, 5}},
		{"none", Filter{Countries: []string{"CH"}, Types: []string{Balloon}}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			hits, next, err := f.Within(t.Context(), WithinQuery{Box: world, Filter: tt.Filter, Limit: 100}, nil)
			if err != nil || next != "" {
				t.Fatal(next, err)
			}
			if diff := gocmp.Diff(tt.want, ids(hits)); diff != "" {
				t.Error(diff)
			}
			near, _ := must.Two(f.Nearby(t.Context(), NearbyQuery{Lat: 40, Lon: -100, Filter: tt.Filter, Limit: 100}, nil)).In(t)
			got := ids(near)
			slices.Sort(got)
			want := slices.Sorted(slices.Values(tt.want))
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	// The box crosses ±180°, and its edge is included.
	hits, _, err := f.Within(t.Context(), WithinQuery{Box: quadkey.Box{West: 180, South: -60, East: -179, North: 60}}, nil)
	if diff := gocmp.Diff([]uint32{5, 6}, ids(hits)); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if _, _, err := f.Nearby(t.Context(), NearbyQuery{Lat: 91}, nil); !errors.Is(err, places.ErrQuery) {
		t.Errorf("%v", err)
	}
	// A filter for a value that no airport can have is no error.
	for _, fl := range []Filter{{Types: []string{"spaceport"}}, {Types: []string{""}}, {Countries: []string{"USA"}}} {
		if hits, _, err := f.Nearby(t.Context(), NearbyQuery{Filter: fl}, nil); err != nil || len(hits) > 0 {
			t.Errorf("%+v: %v, %v", fl, hits, err)
		}
		if hits, _, err := f.Within(t.Context(), WithinQuery{Box: world, Filter: fl}, nil); err != nil || len(hits) > 0 {
			t.Errorf("%+v: %v, %v", fl, hits, err)
		}
	}
}

func TestHitJSON(t *testing.T) {
	f, _ := newFinder(t, few)
	hits, _ := must.Two(f.Nearby(t.Context(), NearbyQuery{Lat: 47, Lon: 8, Limit: 1}, nil)).In(t)
	const want = `"id":1,"name":"Zürich \"Ost\" \u003cb\u003e","country":"CH","timezone":"Europe/Zurich","type":"large_airport","scheduled":true,` +
		`"ident":"LSZZ","iata":"ZZH","icao":"LSZZ","municipality":"Zürich","region":"CH-ZH","elevation_m":431.6,"lat":47.4647,"lon":8.5492`
	if got := string(hits[0].JSON); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

// scatter makes airports with few distinct codes, so that several airports claim the same code.
func scatter(seed uint64, n int) []Airport {
	rng := rand.New(rand.NewPCG(seed, 7))
	pick := func(list ...string) string { return list[rng.IntN(len(list))] }
	list := make([]Airport, n)
	for i := range list {
		a := Airport{
			ID: uint32(i + 1), Ident: fmt.Sprintf("%s-%04d", pick("US", "DE", "X"), i), Type: pick(Types()...), Name: fmt.Sprintf("Field %d", i),
			Country: pick("US", "DE", "NA", ""), Lat: rng.Float64()*180 - 90, Lon: rng.Float64()*360 - 180, Scheduled: rng.IntN(4) == 0,
		}
		if rng.IntN(3) == 0 {
			a.IATA = fmt.Sprintf("A%02d", rng.IntN(100))
		}
		if rng.IntN(3) == 0 {
			a.ICAO = fmt.Sprintf("B%03d", rng.IntN(100))
		}
		if rng.IntN(2) == 0 {
			a.GPS = fmt.Sprintf("A%02d", rng.IntN(100))
		}
		if rng.IntN(2) == 0 {
			a.Local = fmt.Sprintf("B%03d", rng.IntN(100))
		}
		list[i] = a
	}
	return list
}

// better decides by a list of conditions what outranks decides by weights.
func better(a, b *Airport) bool {
	if (a.Type == Closed) != (b.Type == Closed) {
		return b.Type == Closed
	}
	return a.weight() > b.weight()
}

// TestCodesAgainstList compares lookups of codes with a search through all airports.
func TestCodesAgainstList(t *testing.T) {
	list := scatter(1, 1000)
	f, stats := newFinder(t, list)
	columns := map[CodeKind]func(a *Airport) []string{
		IATA:  func(a *Airport) []string { return []string{a.IATA} },
		ICAO:  func(a *Airport) []string { return []string{a.ICAO} },
		Local: func(a *Airport) []string { return []string{a.Ident, a.GPS, a.Local} },
	}
	type row struct {
		kind CodeKind
		code string
	}
	having := map[row][]*Airport{}
	for kind, codes := range columns {
		for i := range list {
			of := codes(&list[i])
			slices.Sort(of)
			for _, code := range slices.Compact(of) {
				if code != "" {
					having[row{kind, code}] = append(having[row{kind, code}], &list[i])
				}
			}
		}
	}
	disputed := int64(0)
	for at, all := range having {
		if len(all) > 1 {
			disputed++
		}
		var r Record
		must.Do(t, f.ByCode(t.Context(), at.kind, at.code, &r))
		found := &list[r.ID-1]
		if !slices.Contains(all, found) {
			t.Errorf("%c %s finds %+v", at.kind, at.code, found)
		}
		for _, a := range all {
			if better(a, found) {
				t.Errorf("%c %s finds %+v rather than %+v", at.kind, at.code, found, a)
			}
		}
	}
	if stats.Codes != int64(len(having)) || stats.Conflicts != disputed || disputed == 0 {
		t.Errorf("%+v: %d codes, %d disputed", stats, len(having), disputed)
	}
}

// TestSearchProperty compares searches with a search through all airports.
func TestSearchProperty(t *testing.T) {
	testrace.SkipUnderRace(t, "many questions")
	list := scatter(2, 500)
	f, _ := newFinder(t, list)
	passes := func(fl *Filter, a *Airport) bool {
		if a.Type == Closed && !fl.Closed && !slices.Contains(fl.Types, Closed) {
			return false
		}
		return (len(fl.Types) == 0 || slices.Contains(fl.Types, a.Type) || a.Type == Closed && fl.Closed) &&
			(len(fl.Countries) == 0 || slices.Contains(fl.Countries, a.Country)) && (!fl.Scheduled || a.Scheduled)
	}
	rapid.Check(t, func(rt *rapid.T) {
		fl := Filter{
			Types:     rapid.SliceOfN(rapid.SampledFrom(Types()), 0, 3).Draw(rt, "types"),
			Countries: rapid.SliceOfN(rapid.SampledFrom([]string{"US", "DE", "NA"}), 0, 2).Draw(rt, "countries"),
			Scheduled: rapid.Bool().Draw(rt, "scheduled"), Closed: rapid.Bool().Draw(rt, "closed"),
		}
		q := NearbyQuery{
			Lat:    rapid.Float64Range(-90, 90).Draw(rt, "lat"),
			Lon:    rapid.Float64Range(-180, 180).Draw(rt, "lon"),
			Limit:  rapid.IntRange(1, 40).Draw(rt, "limit"),
			Filter: fl,
		}
		type hit struct {
			d  float64
			id uint32
		}
		var want []hit
		for i := range list {
			if a := &list[i]; passes(&fl, a) {
				lat, lon := float64(int32(roundUnits(a.Lat)))/unitsPerDegree, float64(int32(roundUnits(a.Lon)))/unitsPerDegree
				want = append(want, hit{quadkey.Distance(q.Lon, q.Lat, lon, lat), a.ID})
			}
		}
		slices.SortFunc(want, func(a, b hit) int { return cmp.Or(cmp.Compare(a.d, b.d), cmp.Compare(a.id, b.id)) })
		hits, next := must.Two(f.Nearby(context.Background(), q, nil)).In(rt)
		if len(hits) != min(len(want), q.Limit) || (next != "") != (len(want) > q.Limit) {
			rt.Fatalf("%d hits, next %q of %d", len(hits), next, len(want))
		}
		for i := range hits {
			if hits[i].ID != want[i].id {
				rt.Fatalf("hit %d is %d, want %d", i, hits[i].ID, want[i].id)
			}
		}
		box := quadkey.Box{West: q.Lon, South: -50, East: rapid.Float64Range(-180, 180).Draw(rt, "east"), North: q.Lat}
		if box.South > box.North {
			box.South = -90
		}
		seen := map[uint32]bool{}
		for cursor := ""; ; {
			page, more := must.Two(f.Within(context.Background(), WithinQuery{Box: box, Limit: q.Limit, Filter: fl, Cursor: cursor}, nil)).In(rt)
			for _, h := range page {
				if seen[h.ID] || !passes(&fl, &list[h.ID-1]) || !box.Contains(h.Lon, h.Lat) {
					rt.Fatalf("%+v is in %v", h, box)
				}
				seen[h.ID] = true
			}
			if cursor = more; more == "" {
				break
			}
		}
		for i := range list {
			a := &list[i]
			lat, lon := float64(int32(roundUnits(a.Lat)))/unitsPerDegree, float64(int32(roundUnits(a.Lon)))/unitsPerDegree
			if passes(&fl, a) && box.Contains(lon, lat) && !seen[a.ID] {
				rt.Fatalf("%+v is missing in %v", a, box)
			}
		}
	})
}

// Tiles show airports by importance, and never show closed ones.
func TestTiles(t *testing.T) {
	testrace.SkipUnderRace(t, "many questions")
	list := scatter(3, 1500)
	f, _ := newFinder(t, list)
	w := feature.Writer{GeoJSON: true, NumericIDs: true}
	for _, tile := range []quadkey.Tile{{}, {Z: 1, X: 1}, {Z: 3, X: 4, Y: 3}, {Z: 6, X: 30, Y: 25}, {Z: 16, X: 3, Y: 7}} {
		rank, n := 0, 0
		for of := range must.All(t, f.Tile(t.Context(), tile, nil)) {
			n++
			a := &list[of.Number-1]
			if a.Type == Closed || of.ID != strconv.Itoa(int(a.ID)) || quadkey.Distance(of.Lon, of.Lat, a.Lon, a.Lat) > 1 {
				t.Errorf("%v: %+v of %+v", tile, of, a)
			}
			object := must.Get(w.Append(nil, of, "")).In(t)
			var shown struct{ Properties map[string]any }
			if err := json.Unmarshal(object, &shown); err != nil {
				t.Fatalf("%v: %s", err, object)
			}
			p := shown.Properties
			text := func(name string) string { s, _ := p[name].(string); return s }
			if p["type"] != a.Type || p["scheduled"] != a.Scheduled || p["name"] != a.Name || p["ident"] != a.Ident ||
				text("iata") != a.IATA || text("icao") != a.ICAO ||
				p["class"] != nil || p["code"] != nil || p["kind"] != nil {
				t.Errorf("%v: %+v of %+v", tile, p, a)
			}
			r := Rank(a.Type, a.Scheduled, a.IATA)
			if r < rank {
				t.Errorf("%v: %+v has rank %d after %d", tile, a, r, rank)
			}
			rank = r
		}
		if tile.Z < 3 && n == 0 {
			t.Errorf("%v is empty", tile)
		}
	}
	for range f.Tile(t.Context(), quadkey.Tile{}, nil) {
		break
	}
}

func TestRank(t *testing.T) {
	for _, tt := range []struct {
		typ       string
		scheduled bool
		iata      string
		want      int
	}{
		{Large, true, "ZRH", 0}, {Large, true, "", 0}, {Large, false, "", 8},
		{Medium, true, "BRN", 19}, {Medium, false, "", 179}, {Small, true, "", 149},
		{Small, false, "", 899}, {Heliport, false, "", 4499}, {Closed, false, "", 899_999}, {"spaceport", false, "", math.MaxInt32},
	} {
		if got := Rank(tt.typ, tt.scheduled, tt.iata); got != tt.want {
			t.Errorf("%+v has rank %d", tt, got)
		}
	}
}

func TestBuildRefusals(t *testing.T) {
	good := few[0]
	change := func(fn func(a *Airport)) Airport { a := good; fn(&a); return a }
	for name, a := range map[string]Airport{
		"id":        change(func(a *Airport) { a.ID = 0 }),
		"ident":     change(func(a *Airport) { a.Ident = "" }),
		"name":      change(func(a *Airport) { a.Name = "" }),
		"long name": change(func(a *Airport) { a.Name = strings.Repeat("n", maxName+1) }),
		"UTF-8":     change(func(a *Airport) { a.Name = "\xff" }),
		"type":      change(func(a *Airport) { a.Type = "spaceport" }),
		"IATA":      change(func(a *Airport) { a.IATA = "ZZ" }),
		"iata":      change(func(a *Airport) { a.IATA = "zzh" }),
		"ICAO":      change(func(a *Airport) { a.ICAO = "L<ZZ" }),
		"country":   change(func(a *Airport) { a.Country = "CHE" }),
		"latitude":  change(func(a *Airport) { a.Lat = 91 }),
		"elevation": change(func(a *Airport) { a.ElevationM = metres(1e9) }),
		"link":      change(func(a *Airport) { a.Home = "javascript:alert(1)" }),
		"keywords":  change(func(a *Airport) { a.Keywords = make([]string, maxKeywords+1) }),
		"keyword":   change(func(a *Airport) { a.Keywords = []string{"\xff"} }),
		"zone":      change(func(a *Airport) { a.TimeZone = strings.Repeat("z", 65) }),
	} {
		if _, _, err := Build(t.Context(), buildtest.NewStore(t), buildtest.SeqOf([]Airport{a}), BuildOptions{}); !errors.Is(err,
			ErrInvalidAirport) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, list := range map[string][]Airport{
		"none": nil, "same id": {good, change(func(a *Airport) { a.Ident = "X" })}, "same ident": {good, change(func(a *Airport) { a.ID = 99 })},
	} {
		if _, _, err := Build(t.Context(), buildtest.NewStore(t), buildtest.SeqOf(list), BuildOptions{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	broken := errors.New("broken")
	_, _, err := Build(t.Context(), buildtest.NewStore(t), func(yield func(Airport, error) bool) { yield(Airport{}, broken) },
		BuildOptions{})
	if !errors.Is(err, broken) {
		t.Error(err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := Build(cancelled, buildtest.NewStore(t), buildtest.SeqOf(few), BuildOptions{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := Open(t.Context(), buildtest.NewStore(t), Meta{SchemaVersion: SchemaVersion + 1}); !errors.Is(err, cellstore.ErrNewer) {
		t.Error(err)
	}
	if _, err := Open(t.Context(), buildtest.NewStore(t),
		Meta{SchemaVersion: SchemaVersion - 1}); !errors.Is(err, cellstore.ErrOlder) || !strings.Contains(err.Error(), "run ingest airports") {
		t.Error(err)
	}
	if _, err := Open(t.Context(), buildtest.NewStore(t), Meta{SchemaVersion: SchemaVersion}); !errors.Is(err, cellstore.ErrTableNotFound) {
		t.Error(err)
	}
}

func TestDamaged(t *testing.T) {
	f, _ := newFinder(t, few)
	must.Do(t, f.codes.Apply(t.Context(), cellstore.Mutation{
		Row: []byte("fBAD"),
		Ops: []cellstore.Op{cellstore.Put(family, nil, []byte("short"))},
	},
		cellstore.Mutation{Row: []byte("fBAD2"), Ops: []cellstore.Op{cellstore.Put(family, nil, append(make([]byte, 12), 200, 'x'))}}))
	for _, code := range []string{"BAD", "BAD2"} {
		if err := f.Lookup(t.Context(), code, new(Record)); !errors.Is(err, cellstore.ErrCorrupt) {
			t.Errorf("%s: %v", code, err)
		}
	}
}

// An airport with any name is found, and shown with that name.
func FuzzShown(f *testing.F) {
	f.Add(`,"class":"S"`, 3)
	f.Add("\",\"type\":\"closed\"", 1)
	f.Fuzz(func(t *testing.T, name string, kind int) {
		a := few[0]
		a.Name, a.Municipality, a.Type = "n"+name, name, Types()[uint(kind)%uint(len(kinds))]
		if a.Validate() != nil {
			return
		}
		found, _ := newFinder(t, []Airport{a})
		hits, _, err := found.Nearby(t.Context(), NearbyQuery{Filter: Filter{Closed: true}}, nil)
		if err != nil || len(hits) != 1 {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal([]byte("{"+string(hits[0].JSON)+"}"), &got); err != nil {
			t.Fatalf("%v: %s", err, hits[0].JSON)
		}
		if got["name"] != a.Name || got["code"] != nil || got["class"] != nil || got["type"] != a.Type {
			t.Fatalf("%s", hits[0].JSON)
		}
		shown := 0
		for of, err := range found.Tile(t.Context(), quadkey.Tile{}, nil) {
			if shown++; err != nil || of.Name() != a.Name || of.Properties.Text("type") != a.Type {
				t.Errorf("%+v, %v", of, err)
			}
		}
		if (shown == 0) != (a.Type == Closed) {
			t.Fatal(shown)
		}
	})
}
