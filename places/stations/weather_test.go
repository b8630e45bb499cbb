package stations

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/internal/buildtest"
	"quadrille/internal/must"
	"quadrille/internal/testrace"
	"quadrille/places/internal/near"
	"quadrille/quadkey"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return t
}

func observed(t testing.TB, id ID, when string, values map[Quantity]int) Observation {
	t.Helper()
	o := Observation{Station: id, Time: at(when)}
	for q, v := range values {
		must.Do(t, o.Set(q, v))
	}
	return o
}

// weatherOf makes n observations of the stations, some twice.
func weatherOf(seed uint64, n int, list []Station) []Observation {
	rng := rand.New(rand.NewPCG(seed, 2))
	out := make([]Observation, n)
	for i := range out {
		o := &out[i]
		if i > 0 && rng.IntN(10) == 0 {
			*o = out[rng.IntN(i)]
			o.values[Temperature]++ // a duplicate with another value
			continue
		}
		o.Station = list[rng.IntN(len(list))].ID
		// Times are around the epoch, where the sign changes.
		o.Time = time.Unix(0, 0).UTC().Add(time.Duration(rng.IntN(24*60)-12*60) * time.Minute)
		for q := range Quantity(quantities) {
			if rng.IntN(3) > 0 {
				k := known[q]
				if err := o.Set(q, int(k.min)+rng.IntN(int(k.max)-int(k.min)+1)); err != nil {
					panic(err)
				}
			}
		}
	}
	return out
}

func buildWeather(t testing.TB, store cellstore.Store, f *Finder, list []Observation, memory int64) (*Weather, WeatherMeta) {
	t.Helper()
	meta, stats := must.Two(BuildWeather(t.Context(), store, f, buildtest.SeqOf(list),
		BuildOptions{TempDir: t.TempDir(), Memory: memory})).In(t)
	if stats.Read != int64(len(list)) || stats.Read-stats.Duplicates != meta.Observations {
		t.Fatalf("%d given: %+v, %+v", len(list), stats, meta)
	}
	w := must.Get(OpenWeather(context.WithoutCancel(t.Context()), store, meta)).In(t)
	return w, meta
}

// distinct keeps the first observation of each station and minute.
func distinct(list []Observation) []Observation {
	type key struct {
		id ID
		at int64
	}
	seen := map[key]bool{}
	var out []Observation
	for _, o := range list {
		if k := (key{o.Station, o.Time.Unix()}); !seen[k] {
			seen[k] = true
			out = append(out, o)
		}
	}
	return out
}

var equalObservations = cmp.AllowUnexported(Observation{})

func TestObservationsAgainstBruteForce(t *testing.T) {
	testrace.SkipUnderRace(t, "many questions")
	stations := scatter(4, 30, shapes["even"])
	given := weatherOf(1, 4000, stations)
	w, meta := buildWeather(t, buildtest.NewStore(t), build(t, stations), given, 0)
	list := distinct(given)
	first, last := w.Span()
	if meta.Stations != 30 || !first.Equal(slices.MinFunc(list, byTime).Time) || !last.Equal(slices.MaxFunc(list, byTime).Time) {
		t.Errorf("%+v", meta)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for range rounds(200) {
		q := ObservationQuery{Station: stations[rng.IntN(30)].ID, Limit: 1 + rng.IntN(80)}
		moment := func() time.Time {
			return time.Unix(0, 0).UTC().Add(time.Duration(rng.IntN(26*3600)-13*3600) * time.Second)
		}
		if rng.IntN(3) > 0 {
			q.From = moment()
		}
		if rng.IntN(3) > 0 {
			q.To = moment()
		}
		var want []Observation
		for _, o := range list {
			if o.Station == q.Station && (q.From.IsZero() || !o.Time.Before(q.From)) && (q.To.IsZero() || !o.Time.After(q.To)) {
				want = append(want, o)
			}
		}
		slices.SortFunc(want, func(a, b Observation) int { return byTime(b, a) })
		var got, page []Observation
		var next string
		var err error
		for {
			if page, next, err = w.Observations(t.Context(), q, page); err != nil {
				break
			}
			got = append(got, page...)
			if next == "" {
				break
			}
			if len(page) != q.Limit {
				t.Fatalf("page of %d, and another", len(page))
			}
			q.Cursor = next
		}
		if !q.From.IsZero() && !q.To.IsZero() && q.From.After(q.To) {
			if !errors.Is(err, near.ErrQuery) {
				t.Fatal(err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			want[i].values = onlyThose(&want[i])
		}
		if diff := cmp.Diff(want, got, equalObservations); diff != "" {
			t.Fatal(diff)
		}
	}
}

// onlyThose returns the values of set quantities. A duplicate may have left others in unset ones.
func onlyThose(o *Observation) (v [quantities]int16) {
	for q := range v {
		if o.has>>q&1 != 0 {
			v[q] = o.values[q]
		}
	}
	return v
}

func byTime(a, b Observation) int { return a.Time.Compare(b.Time) }

// Every tile of every hour agrees with the sum of its observations.
func TestTilesAgainstBruteForce(t *testing.T) {
	testrace.SkipUnderRace(t, "many questions")
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			stations := scatter(4, 25, shape)
			given := weatherOf(2, 1500, stations)
			w, _ := buildWeather(t, buildtest.NewStore(t), build(t, stations), given, 0)
			list := distinct(given)
			where := map[ID]quadkey.Tile{}
			for i := range stations {
				lon, lat := positionOf(stations[i].Lat, stations[i].Lon).Degrees()
				tile := must.Get(quadkey.TileAt(lon, lat, partZoom)).In(t)
				where[stations[i].ID] = tile
			}
			var got TileWeather
			rng := rand.New(rand.NewPCG(3, 4))
			for range rounds(150) {
				some := list[rng.IntN(len(list))]
				tile := where[some.Station].Ancestor(uint8(rng.IntN(MaxWeatherZoom + 1)))
				must.Do(t, w.Tile(t.Context(), tile, some.Time, &got))
				hour := some.Time.Truncate(time.Hour)
				side := min(4, 1<<(MaxWeatherZoom-tile.Z))
				want := TileWeather{Hour: hour, PartsPerSide: side}
				depth := map[int]uint8{4: 2, 2: 1, 1: 0}[side]
				first, _ := tile.AtZoom(tile.Z + depth)
				for y := range side {
					for x := range side {
						part := quadkey.Tile{Z: first.Z, X: first.X + uint32(x), Y: first.Y + uint32(y)}
						var s Sums
						for i := range list {
							o := &list[i]
							if o.Time.Truncate(time.Hour).Equal(hour) && part.Contains(where[o.Station]) {
								s.add(o)
							}
						}
						if s.Observations > 0 {
							want.Parts = append(want.Parts, WeatherPart{X: x, Y: y, Sums: s})
							want.Total.merge(&s)
						}
					}
				}
				if diff := cmp.Diff(want, got, cmp.AllowUnexported(Sums{}, accumulated{})); diff != "" {
					t.Fatalf("%v %v: %s", tile, hour, diff)
				}
			}
		})
	}
}

// Memory and the order of observations change no byte, except that the order of duplicates counts.
func TestWeatherIsDeterministic(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine goes through much data")
	stations := scatter(4, 50, shapes["even"])
	list := distinct(weatherOf(9, 60_000, stations))
	f := build(t, stations)
	first, second := buildtest.NewStore(t), buildtest.NewStore(t)
	_, meta := buildWeather(t, first, f, list, 0)
	rng := rand.New(rand.NewPCG(1, 1))
	rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	// With the smallest memory the build spills to disk.
	again, stats := must.Two(BuildWeather(t.Context(), second, f, buildtest.SeqOf(list),
		BuildOptions{TempDir: t.TempDir(), Memory: 1})).In(t)
	if diff := cmp.Diff(meta, again); diff != "" || buildtest.Checksum(t, first) != buildtest.Checksum(t, second) {
		t.Error(diff)
	}
	t.Logf("%d observations, %d tiles, %d bytes spilled", again.Observations, again.Tiles, stats.Spilled)
	if stats.Spilled == 0 {
		t.Error("nothing spilled")
	}
}

func TestWeatherJSON(t *testing.T) {
	id := numbered(1)
	stations := []Station{{ID: id, Lat: 47.4, Lon: 8.5}, {ID: numbered(2), Lat: 47.5, Lon: 8.6}}
	list := []Observation{
		observed(t, id, "2024-01-01T06:00:00Z", map[Quantity]int{
			Temperature:     -12,
			DewPoint:        -30,
			Pressure:        10132,
			WindDirection:   350,
			WindSpeed:       40,
			SkyCover:        8,
			Precipitation1h: TraceAmount,
			Precipitation6h: 5,
		}),
		observed(t, numbered(2), "2024-01-01T06:30:00Z", map[Quantity]int{
			Temperature:     5,
			WindDirection:   10,
			WindSpeed:       40,
			SkyCover:        12,
			Precipitation1h: 14,
		}),
		observed(t, id, "2024-01-01T07:00:00Z", nil),
		observed(t, id, "1931-05-01T07:00:00Z", map[Quantity]int{WindSpeed: 0, WindDirection: 0}),
	}
	w, _ := buildWeather(t, buildtest.NewStore(t), build(t, stations), list, 0)
	got, next, err := w.Observations(t.Context(), ObservationQuery{Station: id}, nil)
	if err != nil || next != "" || len(got) != 3 {
		t.Fatal(got, next, err)
	}
	var text []byte
	for i := range got {
		text = append(got[i].AppendJSON(text), '\n')
	}
	const want = `{"time":"2024-01-01T07:00:00Z"}
{"time":"2024-01-01T06:00:00Z","temperature_c":-1.2,"dew_point_c":-3,"pressure_hpa":1013.2,"wind_speed_ms":4,"wind_direction_deg":350,"sky_code":8,"cloud_okta":8,"precipitation_1h_mm":0,"precipitation_1h_trace":true,"precipitation_6h_mm":0.5}
{"time":"1931-05-01T07:00:00Z","wind_speed_ms":0,"wind_direction_deg":0}
`
	if string(text) != want {
		t.Errorf("%s", text)
	}
	if !got[0].Empty() || got[1].Empty() {
		t.Error("what is empty")
	}
	for _, tc := range []struct {
		tile quadkey.Tile
		when string
		want string
	}{
		{quadkey.Tile{}, "2024-01-01T06:59:59Z",
			`"observations":2,"temperature_c":-0.35,"temperature_min_c":-1.2,"temperature_max_c":0.5,"dew_point_c":-3,"pressure_hpa":1013.2,` +
				`"wind_speed_ms":4,"wind_speed_max_ms":4,"wind_direction_deg":0,"precipitation_mm":0.7,"precipitation_max_mm":1.4,"cloud_okta":8`},
		{quadkey.Tile{}, "2024-01-01T07:00:00+00:00", `"observations":1`},
		{quadkey.Tile{}, "2024-01-01T08:00:00Z", `"observations":0`},
		{quadkey.Tile{}, "1931-05-01T07:10:00Z", `"observations":1,"wind_speed_ms":0,"wind_speed_max_ms":0`},
	} {
		var tw TileWeather
		must.Do(t, w.Tile(t.Context(), tc.tile, at(tc.when), &tw))
		if got := string(tw.Total.AppendMembers(nil)); got != tc.want || !json.Valid([]byte("{"+got+"}")) {
			t.Errorf("%s: %s", tc.when, got)
		}
	}
}

func TestWeatherRefuses(t *testing.T) {
	f := build(t, []Station{{ID: numbered(1)}})
	store := buildtest.NewStore(t)
	w, meta := buildWeather(t, store, f, []Observation{observed(t, numbered(1), "2024-01-01T06:00:00Z", nil)}, 0)
	if meta.First != meta.Last || meta.First.IsZero() {
		t.Errorf("%+v", meta)
	}
	var tw TileWeather
	for _, tile := range []quadkey.Tile{{Z: MaxWeatherZoom + 1}, {Z: 2, X: 4}} {
		if err := w.Tile(t.Context(), tile, time.Now(), &tw); !errors.Is(err, near.ErrQuery) {
			t.Errorf("%v: %v", tile, err)
		}
	}
	far := time.Date(7000, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := w.Tile(t.Context(), quadkey.Tile{}, far, &tw); !errors.Is(err, near.ErrQuery) {
		t.Error(err)
	}
	for _, q := range []ObservationQuery{
		{Limit: -1}, {Limit: near.MaxLimit + 1}, {From: far}, {To: far}, {From: at("2024-01-02T00:00:00Z"), To: at("2024-01-01T00:00:00Z")},
	} {
		if _, _, err := w.Observations(t.Context(), q, nil); !errors.Is(err, near.ErrQuery) {
			t.Errorf("%+v: %v", q, err)
		}
	}
	if _, _, err := w.Observations(t.Context(), ObservationQuery{Cursor: "x"}, nil); !errors.Is(err, near.ErrCursor) {
		t.Error(err)
	}
	for name, o := range map[string]Observation{
		"unknown": observed(t, numbered(2), "2024-01-01T06:00:00Z", nil),
		"time":    {Station: numbered(1), Time: far},
	} {
		if _, _, err := BuildWeather(t.Context(), buildtest.NewStore(t), f, buildtest.SeqOf([]Observation{o}),
			BuildOptions{}); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var o Observation
	for q, k := range known {
		for _, v := range []int{int(k.min) - 1, int(k.max) + 1, math.MaxInt} {
			if err := o.Set(Quantity(q), v); !errors.Is(err, ErrInvalid) || !o.Empty() {
				t.Errorf("%v of %d: %v", Quantity(q), v, err)
			}
		}
	}
	if _, ok := o.Value(99); ok || o.Set(99, 0) == nil {
		t.Error("a quantity that is none")
	}
}

func TestValuesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var o, got Observation
		for q := range Quantity(quantities) {
			if rapid.Bool().Draw(t, "there") {
				v := rapid.IntRange(int(known[q].min), int(known[q].max)).Draw(t, "v")
				must.Do(t, o.Set(q, v))
			}
		}
		b := o.appendValue(nil)
		if !got.parseValue(b) || got != o {
			t.Fatalf("%+v, %+v", o, got)
		}
		if len(b) > 2 && got.parseValue(b[:len(b)-1]) || got.parseValue(append(b, 0)) {
			t.Fatal("cut or lengthened values are taken")
		}
		if text := o.AppendJSON(nil); !json.Valid(text) {
			t.Fatalf("%s", text)
		}
	})
}

func TestTimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		when := time.Unix(rapid.Int64Range(-62135596800, 128849018880-1).Draw(t, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")).UTC()
		m, ok := minutesOf(when)
		if !ok || !minuteTime(m).Equal(when.Truncate(time.Minute)) || !hourTime(hourOf(m)).Equal(when.Truncate(time.Hour)) {
			t.Fatalf("%v: %d, %v", when, m, ok)
		}
	})
}

// Tiles are numbered in the order of their keys.
func TestTileNumbers(t *testing.T) {
	type numbered struct {
		n uint16
		t quadkey.Tile
	}
	var all []numbered
	for z := range rowZoom + 1 {
		for x := range 1 << z {
			for y := range 1 << z {
				tile := quadkey.Tile{Z: uint8(z), X: uint32(x), Y: uint32(y)}
				n := tileNumber(tile)
				if got := numberedTile(n); got != tile {
					t.Fatalf("%v is %v", tile, got)
				}
				all = append(all, numbered{n, tile})
			}
		}
	}
	slices.SortFunc(all, func(a, b numbered) int { return int(a.n) - int(b.n) })
	if !slices.IsSortedFunc(all, func(a, b numbered) int {
		ka, kb := a.t.Key(), b.t.Key()
		return slices.Compare(ka[:], kb[:])
	}) {
		t.Error("numbers and keys sort differently")
	}
}

func FuzzParseParts(f *testing.F) {
	var parts [partsPerTile]Sums
	f.Add([]byte{})
	f.Add(appendParts(nil, &parts))
	o := Observation{}
	for q, k := range known {
		must.Do(f, o.Set(Quantity(q), int(k.max)))
	}
	parts[3].add(&o)
	parts[15].add(&o)
	parts[15].add(&Observation{})
	f.Add(appendParts(nil, &parts))
	f.Fuzz(func(t *testing.T, b []byte) {
		if !parseParts(b, &parts) {
			return
		}
		for i := range parts {
			if text := "{" + string(parts[i].AppendMembers(nil)) + "}"; !json.Valid([]byte(text)) {
				t.Fatalf("%x: %s", b, text)
			}
		}
	})
}

func FuzzParseValue(f *testing.F) {
	f.Add([]byte{0, 0})
	f.Add([]byte{0, 3, 1, 2, 3, 4})
	f.Fuzz(func(t *testing.T, b []byte) {
		var o Observation
		if o.parseValue(b) {
			if again := o.appendValue(nil); string(again) != string(b) {
				t.Fatalf("%x became %x", b, again)
			}
		}
	})
}
