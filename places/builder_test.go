package places

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"quadrille/cellstore"
	"quadrille/internal/buildtest"
	"quadrille/internal/must"
	"quadrille/internal/testrace"
	"quadrille/quadkey"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func date(text string) time.Time {
	d, err := time.Parse(time.DateOnly, text)
	if err != nil {
		panic(err)
	}
	return d
}

func ptr(n int) *int { return &n }

var bern = Place{
	ID: 2661552, Name: `Bern "BE"`, ASCIIName: "Bern", AlternateNames: "BRN, Berna,,Bärn", Lat: 46.94809, Lon: 7.44744,
	Class: "P", Code: "PPLC", Country: "CH", CC2: "CH,LI", Admin1: "BE", Admin2: "246", Admin3: "351", Admin4: "x",
	Population: 121631, Elevation: ptr(540), DEM: ptr(0), TimeZone: "Europe/Zurich", Modified: date("2019-09-05"),
}

func TestPlaceRecord(t *testing.T) {
	f := build(t, []Place{bern, {ID: 1, Name: "bare"}})
	got, err := f.Place(t.Context(), bern.ID)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"id":2661552,"name":"Bern \"BE\"","country":"CH","class":"P","code":"PPLC","population":121631,` +
		`"admin1":"BE","timezone":"Europe/Zurich","lat":46.94809,"lon":7.44744,"ascii_name":"Bern",` +
		`"alternate_names":["BRN","Berna","Bärn"],"cc2":["CH","LI"],"country_name":"Switzerland","admin2":"246","admin3":"351","admin4":"x",` +
		`"elevation_m":540,"dem_m":0,"modified":"2019-09-05"}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, err = f.Place(t.Context(), 1); err != nil || string(got) != `{"id":1,"name":"bare","lat":0,"lon":0}` {
		t.Errorf("%s, %v", got, err)
	}
	if _, err = f.Place(t.Context(), 2); !errors.Is(err, ErrNotFound) {
		t.Errorf("id 2: %v", err)
	}
}

// columnsOf encodes a place in the form for sorting, and decodes it.
func columnsOf(t *testing.T, p *Place) *columns {
	t.Helper()
	c := &columns{id: p.ID}
	must.Do(t, c.parse(string(appendColumns(nil, p))))
	return c
}

// Any valid place is read back unchanged, as valid JSON without null or empty values.
func TestPlaceRoundTrip(t *testing.T) {
	text := rapid.StringOf(rapid.OneOf(rapid.Rune(), rapid.RuneFrom([]rune("\x00\x1f\"\\\u2028\x7f,ü"))))
	rapid.Check(t, func(rt *rapid.T) {
		p := Place{
			ID: rapid.Uint32Min(1).Draw(rt, "id"), Name: "n" + text.Draw(rt, "name"), ASCIIName: text.Draw(rt, "ascii"),
			AlternateNames: text.Draw(rt, "alternates"), TimeZone: text.Draw(rt, "zone"),
			Lat: rapid.Float64Range(-90, 90).Draw(rt, "lat"), Lon: rapid.Float64Range(-180, 180).Draw(rt, "lon"),
			Population: rapid.Int64Min(0).Draw(rt, "population"), Class: "P", Code: "PPL",
		}
		if err := p.Validate(); err != nil {
			if utf8.ValidString(p.Name + p.ASCIIName + p.AlternateNames + p.TimeZone) {
				rt.Fatal(err)
			}
			rt.Skip(err)
		}
		c := columnsOf(t, &p)
		value := appendValue(nil, c, "")
		var got struct {
			ID             uint32   `json:"id"`
			Name           string   `json:"name"`
			ASCIIName      string   `json:"ascii_name"`
			AlternateNames []string `json:"alternate_names"`
			TimeZone       string   `json:"timezone"`
			Lat, Lon       float64
			Population     int64
		}
		members := append(value[atMembers:], appendDetails(nil, c, &nameTables{}, &attributes{})...)
		record := slices.Concat([]byte{'{'}, members, []byte{'}'})
		if err := json.Unmarshal(record, &got); err != nil {
			rt.Fatalf("%v in %s", err, record)
		}
		s := settled(p)
		if got.ID != p.ID || got.Name != p.Name || got.ASCIIName != p.ASCIIName || got.TimeZone != p.TimeZone ||
			got.Lat != s.Lat || got.Lon != s.Lon || got.Population != p.Population {
			rt.Fatalf("%+v became %s", p, record)
		}
		var names []string
		for n := range strings.SplitSeq(p.AlternateNames, ",") {
			if n = strings.TrimSpace(n); n != "" {
				names = append(names, n)
			}
		}
		if !slices.Equal(names, got.AlternateNames) {
			rt.Fatalf("%q became %q", names, got.AlternateNames)
		}
		var fields map[string]any
		must.Do(rt, json.Unmarshal(record, &fields))
		for k, v := range fields {
			if v == nil || v == "" {
				rt.Fatalf("%s is %v in %s", k, v, record)
			}
		}

		row := cellstore.Row{}
		row.SetKey(appendTileKey(nil, 7, p.ID))
		row.AppendCell("low", []byte("P.PPL"), 0, value)
		x := must.Get(parsePlace(&row)).In(rt)
		if name, err := nameOf(x.properties); err != nil || name != p.Name {
			rt.Fatalf("name %q is read as %q, %v", p.Name, name, err)
		}
		if list := features(t, appendFeature(nil, &x)); list[0].ID != p.ID || list[0].Geometry.Coordinates != [2]float64{s.Lon, s.Lat} ||
			list[0].Properties["name"] != p.Name || list[0].Properties["lat"] != nil || list[0].Properties["id"] != nil {
			rt.Fatalf("%+v", list[0])
		}
	})
}

func TestDuplicates(t *testing.T) {
	at := func(id uint32, name, modified string) Place {
		p := Place{ID: id, Name: name, Lat: float64(len(name)), Lon: 1}
		if modified != "" {
			p.Modified = date(modified)
		}
		return p
	}
	f := build(t, []Place{
		at(1, "old", "2020-01-01"), at(1, "newest", "2022-01-01"), at(1, "between", "2021-01-01"),
		at(2, "first given", "2020-01-01"), at(2, "second given", "2020-01-01"),
		at(3, "undated", ""), at(3, "before 1970", "1969-01-01"),
		at(4, "undated4", ""), at(4, "dated", "1970-01-02"),
	})
	for id, want := range map[uint32]string{1: "newest", 2: "second given", 3: "before 1970", 4: "dated"} {
		record := must.Get(f.Place(t.Context(), id)).In(t)
		if got := object(t, record[1:len(record)-1])["name"]; got != want {
			t.Errorf("place %d is %v, want %s", id, got, want)
		}
	}
	hits, _, err := f.Nearby(t.Context(), NearbyQuery{Limit: 100}, nil)
	if err != nil || len(hits) != 4 {
		t.Errorf("%d places, %v: a duplicate is found", len(hits), err)
	}
}

func TestInvalidPlacesAreRefused(t *testing.T) {
	for name, change := range map[string]func(*Place){
		"id 0":                func(p *Place) { p.ID = 0 },
		"latitude NaN":        func(p *Place) { p.Lat = math.NaN() },
		"latitude":            func(p *Place) { p.Lat = 90.00001 },
		"longitude":           func(p *Place) { p.Lon = -180.00001 },
		"no name":             func(p *Place) { p.Name = "" },
		"long name":           func(p *Place) { p.Name = strings.Repeat("x", maxName+1) },
		"name not UTF-8":      func(p *Place) { p.Name = "\xff" },
		"alternates":          func(p *Place) { p.AlternateNames = strings.Repeat("x", maxAlternates+1) },
		"class":               func(p *Place) { p.Class = "p" },
		"class of two":        func(p *Place) { p.Class = "PP" },
		"code":                func(p *Place) { p.Code = "P.L" },
		"long code":           func(p *Place) { p.Code = strings.Repeat("X", maxCode+1) },
		"country":             func(p *Place) { p.Country = "CHE" },
		"country lower":       func(p *Place) { p.Country = "ch" },
		"negative population": func(p *Place) { p.Population = -1 },
	} {
		p := bern
		change(&p)
		if err := p.Validate(); !errors.Is(err, ErrInvalidPlace) {
			t.Errorf("%s: %v", name, err)
		}
		if _, _, err := Build(t.Context(), buildtest.NewStore(t), source([]Place{bern, p}),
			BuildOptions{}); !errors.Is(err, ErrInvalidPlace) {
			t.Errorf("%s: Build: %v", name, err)
		}
	}
}

func TestBuildFails(t *testing.T) {
	broken := errors.New("broken")
	failing := iter.Seq2[Place, error](func(yield func(Place, error) bool) {
		_ = yield(bern, nil) && yield(Place{}, broken)
	})
	if _, _, err := Build(t.Context(), buildtest.NewStore(t), Source{Places: failing}, BuildOptions{}); !errors.Is(err, broken) {
		t.Errorf("error of the sequence: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := Build(ctx, buildtest.NewStore(t), source([]Place{bern}), BuildOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	store := buildtest.NewStore(t)
	build := func() error {
		_, _, err := Build(t.Context(), store, source([]Place{bern}), BuildOptions{})
		return err
	}
	must.Do(t, build())
	if err := build(); !errors.Is(err, cellstore.ErrTableExists) {
		t.Errorf("twice into one store: %v", err)
	}
}

func TestTooManyCodes(t *testing.T) {
	list := make([]Place, maxCodes+1)
	for i := range list {
		list[i] = Place{ID: uint32(i + 1), Name: "x", Code: fmt.Sprint(i)}
	}
	if _, _, err := Build(t.Context(), buildtest.NewStore(t), source(list), BuildOptions{}); !errors.Is(err, ErrInvalidPlace) {
		t.Error(err)
	}
}

func TestOpenRefuses(t *testing.T) {
	store := buildtest.NewStore(t)
	if _, err := Open(t.Context(), store, Meta{SchemaVersion: SchemaVersion}); !errors.Is(err, cellstore.ErrTableNotFound) {
		t.Errorf("empty store: %v", err)
	}
	meta, _ := must.Two(Build(t.Context(), store, source([]Place{bern}), BuildOptions{})).In(t)
	newer := meta
	newer.SchemaVersion++
	if _, err := Open(t.Context(), store, newer); !errors.Is(err, cellstore.ErrNewer) {
		t.Errorf("newer: %v", err)
	}
	older := meta
	older.SchemaVersion--
	if _, err := Open(t.Context(), store, older); !errors.Is(err, cellstore.ErrOlder) {
		t.Errorf("older: %v", err)
	}
	other := meta
	other.Places++
	if _, err := Open(t.Context(), store, other); !errors.Is(err, cellstore.ErrCorrupt) {
		t.Errorf("counts that differ: %v", err)
	}
}

// Equal places give equal cells, in any order and with any amount of memory, and no temporary
// file stays.
func TestBuildIsDeterministic(t *testing.T) {
	testrace.SkipUnderRace(t, "it builds much data; smaller builds run under the detector")
	list := scatter(4, 1200, clustered)
	for i := range list {
		list[i].AlternateNames = strings.Repeat(strings.Repeat("a long name ", 10)+",", 40)
		list[i].Admin1 = fmt.Sprint(i % 3) // several ADM1 rows have the code: always the same one names it
	}
	build := func(list []Place, spills bool) (string, Meta) {
		dir := t.TempDir()
		store := buildtest.NewStore(t)
		meta, stats := must.Two(Build(t.Context(), store, source(list), BuildOptions{TempDir: dir, Memory: 1})).In(t)
		if spills != (stats.Spilled > 0) {
			t.Errorf("%d places: %d bytes spilled", len(list), stats.Spilled)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
		return buildtest.Checksum(t, store), meta
	}
	want, wantMeta := build(list, true)
	rand.New(rand.NewPCG(8, 8)).Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	got, meta := build(list, true)
	if diff := cmp.Diff(wantMeta, meta); diff != "" || got != want {
		t.Errorf("another order gives other cells (%s, %s) or meta: %s", want, got, diff)
	}
	list[9].Population++
	if got, meta := build(list[:200], false); got == want || meta.Fingerprint == wantMeta.Fingerprint {
		t.Error("other places give the same cells or fingerprint")
	}
}

func TestMeta(t *testing.T) {
	list := scatter(4, 500, shapes["uniform"])
	store := buildtest.NewStore(t)
	var stages []string
	meta, stats := must.Two(Build(t.Context(), store, source(append(list, list[:20]...)), BuildOptions{
		NoNames:  true,
		Progress: func(stage string, done, total int64) { stages = append(stages, fmt.Sprint(stage, done, total)) },
	})).In(t)
	if stats.Read != 520 || stats.Stored != 500 || stats.Duplicates != 20 {
		t.Errorf("%+v", stats)
	}
	want := Meta{
		SchemaVersion: SchemaVersion,
		Places:        500,
		Unweighted:    true,
		Tiers:         map[string]int64{},
		Bounds:        []float64{180, 90, -180, -90},
		Fingerprint:   meta.Fingerprint,
	}
	if meta.Nearest == nil || meta.Nearest.Leaves == 0 {
		t.Fatalf("%+v", meta.Nearest)
	}
	nearest := *meta.Nearest
	nearest.Classes, nearest.Positions = "P", 0
	want.Nearest = &nearest
	for _, p := range list {
		p = settled(p)
		if p.Class == "P" {
			nearest.Positions++
		}
		want.Tiers[tierNames[tierOf(appendQualifier(nil, p.Class, p.Code), uint64(p.Population), 0)]]++
		want.Bounds[0], want.Bounds[1] = min(want.Bounds[0], p.Lon), min(want.Bounds[1], p.Lat)
		want.Bounds[2], want.Bounds[3] = max(want.Bounds[2], p.Lon), max(want.Bounds[3], p.Lat)
		if p.Modified.After(want.Modified) {
			want.Modified = p.Modified
		}
	}
	if diff := cmp.Diff(want, meta); diff != "" {
		t.Error(diff)
	}
	b := must.Get(json.Marshal(meta)).In(t)
	var back Meta
	must.Do(t, json.Unmarshal(b, &back))
	if diff := cmp.Diff(meta, back); diff != "" {
		t.Error(diff)
	}
	if got := fmt.Sprint(stages); got != "[writing places520 520 writing tiles of places500 500 listing nearest places244 244]" {
		t.Error(got)
	}
}

// Every row of tile_places has the family, key and timestamp of the documentation.
func TestTilePlacesRows(t *testing.T) {
	f := build(t, []Place{bern})
	n := 0
	for row := range must.All(t, f.tiles.Scan(t.Context(), cellstore.Scan{})) {
		n++
		cell := must.Get(quadkey.CellOf(bern.Lon, bern.Lat)).In(t)
		c := row.Cells[0]
		if string(row.Key) != string(appendTileKey(nil, cell, bern.ID)) || c.Family != "high" ||
			string(c.Qualifier) != "P.PPLC" || c.Timestamp != bern.Modified.UnixMilli() {
			t.Errorf("%x %s %s @%d", row.Key, c.Family, c.Qualifier, c.Timestamp)
		}
	}
	if n != 1 {
		t.Errorf("%d rows", n)
	}
}
