package hierarchy

import (
	"slices"
	"strings"
	"testing"

	"quadrille/feature"
	"quadrille/internal/buildtest"
	"quadrille/internal/must"
	"quadrille/internal/testrace"
	"quadrille/internal/tilestest"
	"quadrille/places"
	"quadrille/places/names"
	"quadrille/tiles"
	"quadrille/tiles/build"
)

// world returns a coarse map of two countries; one has states and counties. The border between
// Michigan and Ontario runs along 83° W, and that between Michigan and Wisconsin along 88° W. The
// land ends at 42° N.
func world(t *testing.T, list ...places.Place) *View {
	t.Helper()
	region := func(id, name string, w, s, e, n float64) build.Feature {
		return build.Feature{ID: id, Name: name, Geometry: tilestest.Square(w, s, e, n)}
	}
	store := buildtest.NewStore(t)
	meta, _ := must.Two(build.Run(t.Context(), store, []build.Layer{
		{
			Type: "country",
			Features: []build.Feature{
				region("us", "United States", -95, 42, -83, 48),
				region("ca", "Canada", -83, 42, -75, 48),
				region("va", "Vatican", -90, 44, -89.9, 44.1),
			},
		},
		{
			Type: "state",
			Features: []build.Feature{
				region("us-mi", "Michigan", -88, 42, -83, 48),
				region("us-wi", "Wisconsin", -95, 42, -88, 48),
				region("ca-on", "Ontario", -83, 42, -79, 48),
				region("ca-qc", "Québec", -79, 42, -75, 48),
			},
		},
		{
			Type: "county",
			Features: []build.Feature{
				region("26163", "Wayne", -84, 42, -83, 43),
				region("26115", "Monroe", -85, 42, -84, 43),
				region("55037", "Florence", -89, 45, -88, 46),
			},
		},
		{Type: "lake", Features: []build.Feature{region("erie", "Lake Erie", -83.5, 42, -82.5, 42.2)}},
		{Type: "timezone", Features: []build.Feature{region("z", "Z", -95, 42, -75, 48)}},
	}, build.Options{Timestamp: 1})).In(t)
	r := must.Get(tiles.Open(t.Context(), store, meta)).In(t)
	for i := range list {
		list[i].ID, list[i].Class = uint32(i+1), "P"
		if list[i].Code == "" {
			list[i].Code = "PPL"
		}
	}
	placesStore := buildtest.NewStore(t)
	divisions := places.Gazetteer{
		Countries: []places.Country{{Code: "CA", Name: "Canada"}},
		Admin1: []places.Division{
			{Code: "CA.08", Name: "Province of Ontario"},
			{Code: "US.MI", Name: "Michigan"},
			{Code: "US.WI", Name: "Wisconsin"},
		},
		Admin2: []places.Division{{Code: "US.MI.163", Name: "Wayne County"}, {Code: "US.WI.037", Name: "Florence County"}},
	}
	info, _ := must.Two(places.Build(t.Context(), placesStore, places.Source{Gazetteer: divisions, Places: buildtest.SeqOf(list)},
		places.BuildOptions{})).In(t)
	f := must.Get(places.Open(t.Context(), placesStore, info)).In(t)
	return &View{Places: f, Boundaries: r, Generations: Generations{1, 0, 1}, Layers: new(Layers)}
}

func ids(list []names.Parent) string {
	var all []string
	for _, p := range list {
		all = append(all, p.ID)
	}
	return strings.Join(all, " ")
}

// A country without a name on the map gets the gazetteer's, and other regions without a name are
// dropped.
func TestNamed(t *testing.T) {
	v := world(t)
	list := []names.Parent{
		{Type: County, ID: "26163"},
		{Type: State, ID: "us-mi", Name: "Michigan"},
		{Type: Country, ID: "ca"},
		{Type: Country, ID: "xx"},
		{Type: Country, ID: "2658434"},
	}
	got, err := v.DropUnnamed(t.Context(), list)
	if want := []names.Parent{
		{Type: State, ID: "us-mi", Name: "Michigan"},
		{Type: Country, ID: "ca", Name: "Canada"},
	}; err != nil || !slices.Equal(got, want) || list[2].Name != "" {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	if got, err := (&View{}).DropUnnamed(t.Context(), list[2:]); err != nil || len(got) != 0 {
		t.Errorf("without places: %v, %v", got, err)
	}
}

// A place is in the regions that its row names, wherever a coarse map draws the border.
func TestOf(t *testing.T) {
	testrace.SkipUnderRace(t, "one question after the other, which TestKeptConcurrently asks at once")
	list := []places.Place{
		{Name: "Detroit", Country: "US", Admin1: "MI", Admin2: "163", Lat: 42.33, Lon: -83.05},
		{Name: "River Rouge", Country: "US", Admin1: "MI", Admin2: "163", Lat: 42.5, Lon: -82.98},   // drawn in Canada
		{Name: "Windsor", Country: "CA", Admin1: "08", Lat: 42.6, Lon: -83.02},                      // drawn in the United States
		{Name: "Iron Mountain", Country: "US", Admin1: "MI", Admin2: "043", Lat: 45.8, Lon: -88.02}, // drawn in Wisconsin
		{Name: "Wyandotte", Country: "US", Admin1: "MI", Admin2: "163", Lat: 42.1, Lon: -83.4},      // drawn in Lake Erie
		{Name: "Offshore", Country: "US", Admin1: "MI", Admin2: "163", Lat: 41.98, Lon: -83.5},      // no region holds it
		{Name: "Far", Country: "US", Admin1: "MI", Admin2: "163", Lat: 41.5, Lon: -83.5},            // nor is one near
		{Name: "Cayenne", Country: "GF", Admin1: "GF", Lat: 44, Lon: -78},                           // drawn as a part of Canada
		{Name: "Enclave", Country: "VA", Lat: 44.05, Lon: -89.95},
		{Name: "Monroe", Country: "US", Admin1: "MI", Admin2: "115", Lat: 42.5, Lon: -83.99}, // drawn in Wayne
	}
	v := world(t, list...)
	for i, want := range []string{"26163 us-mi us", "us-mi us", "ca", "us-mi us", "26163 us-mi us", "us-mi", "", "ca", "va", "us-mi us"} {
		var hit places.Hit
		must.Do(t, v.Places.Hit(t.Context(), list[i].ID, &hit))
		got, err := v.ParentsOf(t.Context(), &hit)
		if err != nil || ids(got) != want {
			t.Errorf("%s: %q, want %q, %v", list[i].Name, ids(got), want, err)
		}
	}
}

// A point is described by a place of its own county, state or country if one is at most twice as
// far as the nearest place. Otherwise the place is marked as apart.
func TestNearest(t *testing.T) {
	testrace.SkipUnderRace(t, "one question after the other, which TestKeptConcurrently asks at once")
	v := world(t,
		places.Place{Name: "Windsor", Country: "CA", Admin1: "08", Lat: 42.5, Lon: -82.99},
		places.Place{Name: "Detroit", Country: "US", Admin1: "MI", Admin2: "163", Lat: 42.5, Lon: -83.03},
		places.Place{Name: "Lonely", Country: "CA", Admin1: "08", Lat: 47, Lon: -82.99},
		places.Place{Name: "Monroe", Country: "US", Admin1: "MI", Admin2: "115", Lat: 42.5, Lon: -84.02},
		places.Place{Name: "Wayne", Country: "US", Admin1: "MI", Admin2: "163", Lat: 42.5, Lon: -83.95},
		places.Place{Name: "Claimed", Country: "CA", Admin1: "08", Lat: 44, Lon: -86},   // by both countries
		places.Place{Name: "Coarse", Country: "CA", Admin1: "08", Lat: 45, Lon: -83.02}, // the border is drawn wrong
		places.Place{Name: "Misplaced", Country: "CA", Admin1: "08", Lat: 47, Lon: -90},
		places.Place{Name: "Ashland", Country: "US", Admin1: "WI", Lat: 47.1, Lon: -90},
		places.Place{Name: "Displaced", Country: "CA", Admin1: "08", Lat: 46.5, Lon: -88.02},
		places.Place{Name: "Marquette", Country: "US", Admin1: "MI", Lat: 46.5, Lon: -87.97},
	)
	for _, c := range []struct {
		lat, lon float64
		want     string
		first    Relation
	}{
		{42.5, -83.005, "Detroit Windsor", SameCounty}, // in the county of the point
		{42.5, -82.98, "Windsor Detroit", SameCounty},
		{47, -83.01, "Lonely", apartCountry},
		{44.01, -86, "Claimed", SameCounty},
		{45.01, -83.02, "Coarse", apartCountry},
		{47.048, -90, "Ashland Misplaced", SameCounty},     // in the point's country
		{47.01, -90, "Misplaced Ashland", SameCounty},      // far nearer
		{46.5, -88.001, "Displaced Marquette", SameCounty}, // in another state
		{42.5, -83.99, "Wayne Monroe", SameCounty},
		{42.5, -84.01, "Monroe Wayne", SameCounty},
	} {
		at := must.Get(v.At(t.Context(), c.lat, c.lon)).In(t)
		hits, first, err := v.Nearest(t.Context(), feature.Query{Near: feature.NearTo(c.lat, c.lon, 20_000), Limit: 2}, at)
		var got []string
		for i := range hits {
			got = append(got, hits[i].Name)
		}
		if err != nil || strings.Join(got, " ") != c.want || first.AcrossBorder() != c.first.AcrossBorder() {
			t.Errorf("%v, %v: %v, %v, want %s, %v; %v", c.lat, c.lon, got, first, c.want, c.first, err)
		}
	}
}

// TestSameIsInTheSame tests that Same is true only for two places in the same regions.
func TestSameIsInTheSame(t *testing.T) {
	testrace.SkipUnderRace(t, "one question after the other, which TestKeptConcurrently asks at once")
	var list []places.Place
	for lon := -94.95; lon < -75; lon += 0.7 {
		for lat := 42.05; lat < 48; lat += 0.7 {
			p := places.Place{Name: "x", Lat: lat, Lon: lon, Country: "CA", Admin1: "08"}
			if lon < -83 {
				p.Country, p.Admin1 = "US", "MI"
				if lon < -88 {
					p.Admin1 = "WI"
				} else if lat < 43 && lon > -85 {
					p.Admin2 = "115"
					if lon > -84 {
						p.Admin2 = "163"
					}
				}
			}
			list = append(list, p)
		}
	}
	v := world(t, list...)
	var hits []places.Hit
	for i := range list {
		var hit places.Hit
		must.Do(t, v.Places.Hit(t.Context(), list[i].ID, &hit))
		hits = append(hits, hit)
	}
	same := 0
	for i := range hits {
		at := must.Get(v.At(t.Context(), hits[i].Lat, hits[i].Lon)).In(t)
		for j := range hits {
			is := must.Get(v.Relate(t.Context(), &hits[j], at)).In(t)
			if is != SameRegions {
				continue
			}
			same++
			of, err := v.ParentsOf(t.Context(), &hits[j])
			if err != nil || !slices.Equal(of, AddressRegions(at)) {
				t.Fatalf("%+v is in %v, not %v, %v", hits[j], of, at, err)
			}
		}
	}
	if same == 0 {
		t.Error("no two places are in the same regions")
	}
}

// The city of a section is the largest place of its divisions, not the hamlet next to it.
func TestCity(t *testing.T) {
	testrace.SkipUnderRace(t, "one question after the other, which TestKeptConcurrently asks at once")
	list := []places.Place{
		{Name: "Hatert", Code: "PPLX", Country: "NL", Admin1: "03", Admin2: "0268", Population: 10_000, Lat: 51.81, Lon: 5.83},
		{Name: "Berendonck", Country: "NL", Admin1: "03", Admin2: "0296", Population: 10, Lat: 51.81, Lon: 5.82},
		{Name: "Hees", Country: "NL", Admin1: "03", Admin2: "0268", Population: 100, Lat: 51.81, Lon: 5.831},
		{Name: "Nijmegen", Country: "NL", Admin1: "03", Admin2: "0268", Population: 158_000, Lat: 51.84, Lon: 5.85},
		{Name: "Arnhem", Country: "NL", Admin1: "03", Admin2: "0202", Population: 400_000, Lat: 51.98, Lon: 5.91},
	}
	v := world(t, list...)
	for i, want := range []string{"Nijmegen", "", "", "", ""} {
		var hit places.Hit
		must.Do(t, v.Places.Hit(t.Context(), list[i].ID, &hit))
		city, ok, err := v.City(t.Context(), &hit)
		if err != nil || city.Name != want || ok != (want != "") {
			t.Errorf("%s: %q, %v, %v", list[i].Name, city.Name, ok, err)
		}
	}
}

// namesOf builds the index of names, with what rows of places reveal about the map.
func namesOf(t *testing.T, o names.Options, list ...names.Feature) *names.Reader {
	t.Helper()
	store := buildtest.NewStore(t)
	meta := must.Get(names.Build(t.Context(), store, buildtest.SeqOf(list), o)).In(t)
	return must.Get(names.Open(t.Context(), store, meta)).In(t)
}

// A filter by country accepts the code of the row and the country on the map. A territory belongs
// to the country that it is drawn in.
func TestFilters(t *testing.T) {
	testrace.SkipUnderRace(t, "one question after the other, which TestKeptConcurrently asks at once")
	list := []places.Place{
		{Name: "Detroit", Country: "US", Admin1: "MI", Admin2: "163", Lat: 42.33, Lon: -83.05},
		{Name: "Cayenne", Country: "GF", Lat: 44, Lon: -78},                // drawn as a part of Canada
		{Name: "Sevastopol", Country: "US", Lat: 44, Lon: -78.5},           // claimed by both
		{Name: "Lévis", Country: "CA", Admin1: "10", Lat: 44, Lon: -79.01}, // drawn in Ontario
		{Name: "Enclave", Country: "VA", Lat: 44.05, Lon: -89.95},          // drawn in the United States too
		{Name: "Unclaimed", Lat: 44.05, Lon: -89.95},
	}
	v := world(t, list...)
	v.Names = namesOf(t, names.Options{
		SourceCountryCodes: map[string][]string{"CA": {"GF", "US"}},
		Admin1Codes:        map[string]string{"ca-on": "CA.08", "ca-qc": "CA.10"},
	})
	if got := v.WidenCountries([]string{"CA"}); !slices.Equal(got, []string{"CA", "GF", "US"}) {
		t.Errorf("%v", got)
	}
	if got, err := v.Territories(t.Context(), []string{"CA"}); err != nil || !slices.Equal(got, []string{"CA", "GF"}) {
		t.Errorf("%v, %v", got, err)
	}
	for code, want := range map[string]bool{"CN": true, "HK": true, "MO": false, "TW": false} {
		if got := CodeInCountries("HK", []string{code}); got != want {
			t.Errorf("Hong Kong in %s: %v", code, got)
		}
	}
	if got := v.WidenCountries([]string{"CN"}); !slices.Equal(got, []string{"CN", "HK", "MO"}) {
		t.Errorf("%v", got)
	}
	for i, want := range []struct{ us, ca, ontario, quebec bool }{
		{true, false, false, false},
		{false, true, false, false},
		{true, true, false, false},
		{false, true, false, true},
		{},
		{},
	} {
		var hit places.Hit
		must.Do(t, v.Places.Hit(t.Context(), list[i].ID, &hit))
		for _, c := range []struct {
			typ, id string
			want    bool
		}{{Country, "us", want.us}, {Country, "ca", want.ca}, {State, "ca-on", want.ontario}, {State, "ca-qc", want.quebec}} {
			if in, err := v.InRegions(t.Context(), &hit, []names.Parent{{Type: c.typ, ID: c.id}}); err != nil || in != c.want {
				t.Errorf("%s in %s: %v, %v", hit.Name, c.id, in, err)
			}
		}
		// A county in Kentucky has the same code as Wayne County.
		for id, want := range map[string]bool{"26163": i == 0, "21163": false} {
			if in, err := v.InRegions(t.Context(), &hit, []names.Parent{{Type: County, ID: id}}); err != nil || in != want {
				t.Errorf("%s in %s: %v, %v", hit.Name, id, in, err)
			}
		}
		if in, err := v.InCountries(t.Context(), &hit, []string{"CA", "XX"}); err != nil || in != want.ca {
			t.Errorf("%s in CA: %v, %v", hit.Name, in, err)
		}
	}
	var claimed places.Hit
	must.Do(t, v.Places.Hit(t.Context(), list[2].ID, &claimed))
	for byMap, want := range map[bool]string{false: "us", true: "ca"} {
		v.CountryByMap = byMap
		if of, err := v.ParentsOf(t.Context(), &claimed); err != nil || ids(of) != want {
			t.Errorf("by the map %v: %q, want %q, %v", byMap, ids(of), want, err)
		}
	}
}

// The country of a point is the country of the smallest polygon around it, or else of the nearest
// border. Far from all coasts it is the country of a place. The division of the point lies in that
// country, and its county lies in both.
func TestPoint(t *testing.T) {
	testrace.SkipUnderRace(t, "one question after the other, which TestKeptConcurrently asks at once")
	v := world(t,
		places.Place{Name: "Detroit", Country: "US", Admin1: "MI", Admin2: "163", Lat: 42.5, Lon: -83.05},
		places.Place{Name: "Pier", Country: "US", Admin1: "MI", Lat: 41.97, Lon: -83.5},
		places.Place{Name: "Kingston", Country: "CA", Admin1: "08", Lat: 44, Lon: -80},
		places.Place{Name: "Florence", Country: "US", Admin1: "WI", Admin2: "037", Lat: 45.5, Lon: -88.5},
	)
	us, mi := names.Parent{Type: Country, ID: "us"}, names.Parent{Type: State, ID: "us-mi", Name: "Michigan"}
	county := func(id string, parents ...names.Parent) names.Feature {
		return names.Feature{Kind: names.Region, Type: County, ID: id, Name: id, Parents: parents}
	}
	v.Names = namesOf(t, names.Options{Admin1Codes: map[string]string{"us-mi": "US.MI", "us-wi": "US.WI"}},
		county("26163", mi, us), county("26115", names.Parent{Type: Country, ID: "ca"}), county("55037", mi, us))
	for name, c := range map[string]struct {
		lat, lon, radius float64
		country          string
		division         PointDivision
		second           string
	}{
		"a county":                     {42.5, -83.05, 0, "US", PointDivision{Code: "MI", Name: "Michigan", ISO: "MI"}, "163 Wayne County"},
		"without a place":              {42.9, -83.9, 0, "US", PointDivision{Code: "MI", Name: "Michigan", ISO: "MI"}, "163 Wayne"},
		"a county of another country":  {42.5, -84.5, 0, "US", PointDivision{Code: "MI", Name: "Michigan", ISO: "MI"}, ""},
		"a county of another state":    {45.5, -88.5, 0, "US", PointDivision{Code: "WI", Name: "Wisconsin", ISO: "WI"}, "037 Florence County"},
		"called otherwise":             {44, -80.1, 0, "CA", PointDivision{Code: "08", Name: "Province of Ontario", ISO: "ON"}, ""},
		"a country in another":         {44.05, -89.95, 0, "VA", PointDivision{}, ""},
		"off the coast":                {41.98, -83.9, 5_000, "US", PointDivision{Code: "MI", Name: "Michigan", ISO: "MI"}, ""},
		"a place off the coast":        {41.96, -83.5, 0, "US", PointDivision{Code: "MI", Name: "Michigan", ISO: "MI"}, ""},
		"the sea, with nothing within": {41.9, -90, 1_000, "", PointDivision{}, ""},
	} {
		d, err := v.DivisionAt(t.Context(), c.lat, c.lon, c.radius)
		if d.Country.Code != c.country || (d.Country.DistanceM > 0) != (name == "off the coast") {
			t.Errorf("%s: %+v", name, d.Country)
		}
		if err != nil || d.Code != c.division.Code || d.Name != c.division.Name || d.ISO != c.division.ISO {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
		codes, second, err := v.LowerDivisions(t.Context(), &d)
		if err != nil || codes[0] != "" && codes[0]+" "+second != c.second || codes[0] == "" && c.second != "" {
			t.Errorf("%s: %v %q, %v", name, codes, second, err)
		}
	}
	if c, err := (&View{}).CountryAt(t.Context(), 1, 2, 3); err != nil || c.Code != "" {
		t.Errorf("of nothing: %+v, %v", c, err)
	}
}
