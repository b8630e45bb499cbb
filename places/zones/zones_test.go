package zones

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // for machines without a zone database

	"pgregory.net/rapid"

	"quadrille/cellstore"
	"quadrille/internal/buildtest"
	"quadrille/internal/must"
	"quadrille/internal/testrace"
)

// some has zones of every kind: ordinary zones, zones of the southern hemisphere, zones without
// rules, zones with daylight saving time below standard time or with offsets of odd minutes, zones
// that crossed the date line, and aliases.
var some = []string{
	"Africa/Casablanca", "Africa/El_Aaiun", "Africa/Monrovia", "America/Argentina/Buenos_Aires", "America/Caracas", "America/New_York",
	"America/Santiago", "Antarctica/Troll", "Asia/Calcutta", "Asia/Kathmandu", "Asia/Kolkata", "Asia/Manila",
	"Asia/Pyongyang", "Australia/Lord_Howe", "EST5EDT", "Etc/GMT+12", "Europe/Amsterdam", "Europe/Dublin",
	"Europe/Lisbon", "Europe/London", "Europe/Zurich", "GMT", "Pacific/Apia", "Pacific/Kiritimati", "US/Pacific", "UTC",
}

func newReader(t testing.TB, names []string) *Reader {
	t.Helper()
	store := buildtest.NewStore(t)
	meta, stats := must.Two(Build(t.Context(), store, names, nil)).In(t)
	if meta.Zones != int64(len(names)) || meta.Zones != stats.Zones || meta.Rules != stats.Rules || meta.Rules < meta.Zones ||
		meta.Fingerprint == "" {
		t.Fatalf("%+v, %+v of %d zones", meta, stats, len(names))
	}
	return must.Get(Open(t.Context(), store, meta)).In(t)
}

func location(t testing.TB, name string) *time.Location {
	t.Helper()
	return must.Get(time.LoadLocation(name)).In(t)
}

// check compares an answer with Go's database.
func check(t testing.TB, r *Reader, name string, loc *time.Location, at time.Time) {
	t.Helper()
	o := must.Get(r.Offset(t.Context(), name, at)).In(t)
	in := at.In(loc)
	abbreviation, seconds := in.Zone()
	if o.Seconds != seconds || o.Abbreviation != abbreviation || o.DST != in.IsDST() {
		t.Fatalf("%s at %s: %+v, Go has %d %s %t", name, at.UTC(), o, seconds, abbreviation, in.IsDST())
	}
	if got, want := Local(at, o).Format(time.RFC3339), in.Format(time.RFC3339); got != want {
		t.Fatalf("%s at %s: local time %s, want %s", name, at.UTC(), got, want)
	}
	if o.Since.IsZero() {
		return
	}
	if o.Since.After(at) {
		t.Fatalf("%s at %s: since %s", name, at.UTC(), o.Since)
	}
	// The offset holds since o.Since, and not before.
	now, before := ruleAt(o.Since.In(loc)), ruleAt(o.Since.Add(-time.Second).In(loc))
	if here := ruleAt(in); !now.same(&here) || before.same(&here) {
		t.Fatalf("%s at %s: %+v since %s, where Go changes from %+v to %+v", name, at.UTC(), here, o.Since, before, now)
	}
}

// checkZone compares random instants, and the seconds on both sides of every change. It finds
// changes by steps of the given length, without the reader's bounds.
func checkZone(t *testing.T, r *Reader, name string, random int, step time.Duration) {
	loc := location(t, name)
	rng := rand.New(rand.NewPCG(1, uint64(len(name))))
	for range random {
		check(t, r, name, loc, first.Add(time.Duration(rng.Int64N(int64(after.Sub(first)/time.Second)))*time.Second))
	}
	check(t, r, name, loc, first)
	check(t, r, name, loc, after.Add(-1))
	last := ruleAt(first.In(loc))
	for at := first; at.Before(after); at = at.Add(step) {
		here := ruleAt(at.In(loc))
		if here.same(&last) {
			continue
		}
		// Bisect the step to find the second of the change.
		lo, hi := at.Add(-step), at
		for hi.Sub(lo) > time.Second {
			mid := lo.Add(hi.Sub(lo) / 2).Truncate(time.Second)
			if m := ruleAt(mid.In(loc)); m.same(&last) {
				lo = mid
			} else {
				hi = mid
			}
		}
		for _, d := range []time.Duration{-time.Second, 0, time.Second} {
			check(t, r, name, loc, hi.Add(d))
		}
		check(t, r, name, loc, hi.Add(-1)) // a nanosecond before
		last = here
	}
}

func TestOffset(t *testing.T) {
	testrace.SkipUnderRace(t, "many questions")
	r := newReader(t, some)
	step := 10 * 24 * time.Hour
	if os.Getenv("QUADRILLE_FULL") != "" {
		step = 12 * time.Hour
	}
	for _, name := range some {
		t.Run(name, func(t *testing.T) { checkZone(t, r, name, 100, step) })
	}
}

// TestEveryZone makes the checks of TestOffset for all of the machine's zones, or for one in forty
// unless QUADRILLE_FULL is set.
func TestEveryZone(t *testing.T) {
	testrace.SkipUnderRace(t, "many questions")
	names := machineZones(t)
	if os.Getenv("QUADRILLE_FULL") == "" {
		var few []string
		for i := 0; i < len(names); i += 40 {
			few = append(few, names[i])
		}
		r := newReader(t, few)
		for _, name := range few {
			checkZone(t, r, name, 100, 30*24*time.Hour)
		}
		return
	}
	r := newReader(t, names)
	most := 0
	for _, name := range names {
		checkZone(t, r, name, 500, 12*time.Hour)
		most = max(most, len(rulesOf(location(t, name))))
	}
	if most > maxRules/2 {
		t.Errorf("%d rules of a zone", most)
	}
	t.Logf("%d zones, at most %d rules of one", len(names), most)
}

// machineZones returns the names in the source of the machine's zone database.
func machineZones(t *testing.T) (names []string) {
	const path = "/usr/share/zoneinfo/tzdata.zi"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Skipf("%v: only the zones in the list of this test are checked", err)
	}
	for line := range strings.Lines(string(text)) {
		switch f := strings.Fields(line); {
		case len(f) > 1 && f[0] == "Z":
			names = append(names, f[1])
		case len(f) > 2 && f[0] == "L":
			names = append(names, f[2])
		}
	}
	return names
}

func TestOffsetProperty(t *testing.T) {
	testrace.SkipUnderRace(t, "many questions")
	r := newReader(t, some)
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.SampledFrom(some).Draw(rt, "zone")
		at := time.Unix(rapid.Int64Range(first.Unix(), after.Unix()-1).Draw(rt, "at"), rapid.Int64Range(0, 999_999_999).Draw(rt, "ns"))
		check(t, r, name, location(t, name), at)
	})
}

// TestKnownOffsets compares Offset with offsets that are generally known, so that the test does not
// depend on the zone database.
func TestKnownOffsets(t *testing.T) {
	testrace.SkipUnderRace(t, "many questions")
	r := newReader(t, some)
	for _, tt := range []struct {
		zone, at     string
		seconds      int
		dst          bool
		abbreviation string
		since        string
	}{
		{"Europe/Zurich", "2026-07-01T12:00:00Z", 7200, true, "CEST", "2026-03-29T01:00:00Z"},
		{"Europe/Zurich", "2026-12-01T12:00:00Z", 3600, false, "CET", "2026-10-25T01:00:00Z"},
		{"US/Pacific", "2026-01-01T00:00:00Z", -28800, false, "PST", "2025-11-02T09:00:00Z"},
		{"Asia/Calcutta", "2026-01-01T00:00:00Z", 19800, false, "IST", "1945-10-14T17:30:00Z"},
		{"Asia/Kathmandu", "1980-01-01T00:00:00Z", 19800, false, "+0530", ""},
		{"Europe/Dublin", "2026-07-01T00:00:00Z", 3600, false, "IST", ""},
		{"Europe/Dublin", "2026-01-01T00:00:00Z", 0, true, "GMT", ""},
		{"Pacific/Apia", "2011-12-30T09:59:59Z", -36000, true, "-10", ""},
		{"Pacific/Apia", "2011-12-30T10:00:00Z", 50400, true, "+14", "2011-12-30T10:00:00Z"},
		{"UTC", "1900-01-01T00:00:00Z", 0, false, "UTC", ""},
		{"Europe/Zurich", "2100-07-01T12:00:00Z", 7200, true, "CEST", "2100-03-28T01:00:00Z"},
	} {
		at := must.Get(time.Parse(time.RFC3339, tt.at)).In(t)
		o := must.Get(r.Offset(t.Context(), tt.zone, at)).In(t)
		if o.Seconds != tt.seconds || o.DST != tt.dst || o.Abbreviation != tt.abbreviation ||
			tt.since != "" && o.Since.Format(time.RFC3339) != tt.since {
			t.Errorf("%s at %s: %+v", tt.zone, tt.at, o)
		}
	}
}

func TestRefusals(t *testing.T) {
	r := newReader(t, []string{"UTC", "Europe/Zurich"})
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, zone := range []string{
		"",
		"europe/zurich",
		"Europe/Zuric",
		"Europe/Zurich ",
		"Europe",
		"Europe/Zurich\x00",
		"Local",
		strings.Repeat("x", 1<<20),
	} {
		if _, err := r.Offset(t.Context(), zone, now); !errors.Is(err, ErrNotFound) {
			t.Errorf("%.40q: %v", zone, err)
		}
		if _, _, _, err := r.YearOffsets(t.Context(), zone, 2026); !errors.Is(err, ErrNotFound) {
			t.Errorf("%.40q: %v", zone, err)
		}
	}
	for _, at := range []time.Time{
		{}, first.Add(-1), after, time.Unix(math.MaxInt64, 0), time.Unix(math.MinInt64, 0),
		time.Date(292277026, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		if _, err := r.Offset(t.Context(), "UTC", at); !errors.Is(err, ErrTimeRange) {
			t.Errorf("%s: %v", at, err)
		}
	}
	for _, year := range []int{1899, 2101, math.MinInt, math.MaxInt} {
		if _, _, _, err := r.YearOffsets(t.Context(), "UTC", year); !errors.Is(err, ErrTimeRange) {
			t.Errorf("%d: %v", year, err)
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Offset(cancelled, "UTC", now); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := Open(t.Context(), buildtest.NewStore(t), Meta{SchemaVersion: SchemaVersion + 1}); !errors.Is(err, cellstore.ErrNewer) {
		t.Errorf("newer: %v", err)
	}
	if _, err := Open(t.Context(), buildtest.NewStore(t), Meta{SchemaVersion: SchemaVersion}); !errors.Is(err, cellstore.ErrTableNotFound) {
		t.Errorf("no table: %v", err)
	}
}

func TestBuildRefusals(t *testing.T) {
	for _, names := range [][]string{
		{""},
		{"Local"},
		{"Nowhere/Atall"},
		{"../etc/passwd"},
		{"UTC", "Europe/Rome", "UTC"},
		{strings.Repeat("A", 100)},
	} {
		if _, _, err := Build(t.Context(), buildtest.NewStore(t), names, nil); err == nil {
			t.Errorf("%q: no error", names)
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := Build(cancelled, buildtest.NewStore(t), some, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestFingerprint tests that the fingerprint depends on the names of the zones, but not on their
// order.
func TestFingerprint(t *testing.T) {
	sum := func(names ...string) string {
		meta, _ := must.Two(Build(t.Context(), buildtest.NewStore(t), names, nil)).In(t)
		return meta.Fingerprint
	}
	if sum("UTC", "Asia/Tokyo") != sum("Asia/Tokyo", "UTC") {
		t.Error("the order of names changes the fingerprint")
	}
	if sum("UTC") == sum("Etc/UTC") {
		t.Error("names do not change the fingerprint")
	}
}

func TestYear(t *testing.T) {
	testrace.SkipUnderRace(t, "many questions")
	r := newReader(t, some)
	const h = 3600
	for _, tt := range []struct {
		zone                string
		year, jan, jul, raw int
	}{
		{"Europe/Zurich", 2026, h, 2 * h, h},
		{"Europe/Dublin", 2026, 0, h, 0},
		{"America/Santiago", 2026, -3 * h, -4 * h, -4 * h},
		{"Africa/Casablanca", 2026, h, h, 0},
		{"Antarctica/Troll", 2026, 0, 2 * h, 0},
		{"Australia/Lord_Howe", 2026, 11 * h, 10*h + h/2, 10*h + h/2},
		{"UTC", 1900, 0, 0, 0},
		{"UTC", 2100, 0, 0, 0},
		{"Asia/Kathmandu", 1986, 5*h + h*3/4, 5*h + h*3/4, 5*h + h*3/4},
	} {
		jan, jul, raw, err := r.YearOffsets(t.Context(), tt.zone, tt.year)
		if err != nil || jan != tt.jan || jul != tt.jul || raw != tt.raw {
			t.Errorf("%s %d: %d %d %d, %v", tt.zone, tt.year, jan, jul, raw, err)
		}
	}
	// Compare with the results of package time for every 6 hours of the year.
	for _, name := range some {
		loc := location(t, name)
		for year := 1900; year <= 2100; year += 13 {
			jan, jul, raw, err := r.YearOffsets(t.Context(), name, year)
			if err != nil {
				t.Fatal(err)
			}
			seconds := func(at time.Time) int { _, s := at.In(loc).Zone(); return s }
			begin := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
			least := math.MaxInt
			for at := begin; at.Year() == year; at = at.Add(6 * time.Hour) {
				least = min(least, seconds(at))
			}
			if jan != seconds(begin) || jul != seconds(begin.AddDate(0, 6, 0)) || raw != least {
				t.Errorf("%s %d: %d %d %d, want raw %d", name, year, jan, jul, raw, least)
			}
		}
	}
}

func TestDamaged(t *testing.T) {
	store := buildtest.NewStore(t)
	must.Do(t, store.CreateTable(t.Context(), schema()))
	table := must.Get(store.Table(t.Context(), table)).In(t)
	at := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	must.Do(t, table.Apply(t.Context(),
		cellstore.Mutation{Row: []byte("Short"), Ops: []cellstore.Op{cellstore.PutAt(family, nil, bias, []byte{1, 2, 3, 4})}},
		cellstore.Mutation{Row: []byte("Late"), Ops: []cellstore.Op{cellstore.PutAt(family, nil, timestamp(at), appendValue(nil, &rule{}))}}))
	r := must.Get(Open(t.Context(), store, Meta{SchemaVersion: SchemaVersion})).In(t)
	if _, err := r.Offset(t.Context(), "Short", at); !errors.Is(err, cellstore.ErrCorrupt) {
		t.Errorf("short value: %v", err)
	}
	if _, _, _, err := r.YearOffsets(t.Context(), "Late", 2026); !errors.Is(err, cellstore.ErrCorrupt) {
		t.Errorf("a row that does not reach back: %v", err)
	}
}

func TestAppend(t *testing.T) {
	for seconds, want := range map[int]string{
		0: "+00:00", 7200: "+02:00", -12600: "-03:30", 50400: "+14:00", 2048: "+00:34:08", -2670: "-00:44:30", -60: "-00:01",
	} {
		if got := string(AppendOffset(nil, seconds)); got != want {
			t.Errorf("%d: %s, want %s", seconds, got, want)
		}
	}
	at := time.Date(2026, 12, 31, 23, 30, 15, 999, time.UTC)
	for seconds, want := range map[int]string{
		3600: "2027-01-01T00:30:15+01:00", -2670: "2026-12-31T22:45:45-00:44:30",
	} {
		if got := string(AppendLocal(nil, at, Offset{Seconds: seconds})); got != want {
			t.Errorf("%d: %s, want %s", seconds, got, want)
		}
	}
}

func TestCountryZone(t *testing.T) {
	testrace.SkipUnderRace(t, "many questions")
	store := buildtest.NewStore(t)
	countries := map[string]string{"CH": "Europe/Zurich", "NP": "Asia/Kathmandu"}
	meta, _, err := Build(t.Context(), store, some, countries)
	if err != nil || meta.Countries != 2 {
		t.Fatalf("%+v, %v", meta, err)
	}
	r := must.Get(Open(t.Context(), store, meta)).In(t)
	for code, want := range map[string]string{
		"CH":   "Europe/Zurich",
		"NP":   "Asia/Kathmandu",
		"US":   "",
		"":     "",
		"ch":   "",
		"C":    "",
		"CHE":  "",
		"\x00": "",
	} {
		if zone, err := r.CountryZone(t.Context(), code); zone != want || err != nil {
			t.Errorf("%q: %q, %v", code, zone, err)
		}
	}
	// Other countries change the content.
	other, _, err := Build(t.Context(), buildtest.NewStore(t), some, map[string]string{"CH": "Europe/Zurich"})
	if err != nil || other.Fingerprint == meta.Fingerprint {
		t.Errorf("%+v, %v", other, err)
	}
	// An older table has no countries.
	before, _, err := Build(t.Context(), buildtest.NewStore(t), some, nil)
	if err != nil || before.Countries != 0 || before.Fingerprint == other.Fingerprint {
		t.Errorf("%+v, %v", before, err)
	}
	if zone, err := newReader(t, some).CountryZone(t.Context(), "CH"); zone != "" || err != nil {
		t.Errorf("without countries: %q, %v", zone, err)
	}
	for code, zone := range map[string]string{
		"ch":  "Europe/Zurich",
		"CHE": "Europe/Zurich",
		"":    "Europe/Zurich",
		"CH":  "Europe/Nowhere",
		"DE":  "",
	} {
		if _, _, err := Build(t.Context(), buildtest.NewStore(t), some, map[string]string{code: zone}); err == nil {
			t.Errorf("%q with %q was taken", code, zone)
		}
	}
	// The manifest declares a table that is missing.
	meta.Countries = 1
	if _, err := Open(t.Context(), buildtest.NewStore(t), meta); err == nil {
		t.Error("opened without its tables")
	}
}
