package boundaries

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/paulmach/orb"
	"pgregory.net/rapid"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/columns"
	"quadrille/feature"
)

func TestSlug(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "",
		"US-CA":                          "us-ca",
		"USA-3514":                       "usa-3514",
		"CLP+00?":                        "clp-00",
		"São Tomé & Príncipe":            "sao-tome-principe",
		"Côte d'Ivoire":                  "cote-divoire",
		"Åland":                          "aland",
		"Łódź":                           "lodz",
		"Þingvellir Æsir Straße Øresund": "thingvellir-aesir-strasse-oresund",
		"İstanbul":                       "istanbul",
		"Lake\rBaikal":                   "lake-baikal",
		"  --x--  ":                      "x",
		"日本":                             "",
		"№ 5":                            "no-5",
		"../../etc":                      "etc",
		"a\x00b":                         "a-b",
		"\xff":                           "",
	} {
		if got := slug(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if n := len(slug(strings.Repeat("ab ", 1000))); n > maxID {
		t.Errorf("%d bytes", n)
	}
}

func TestAssignIDs(t *testing.T) {
	own := func(v string) candidate { return candidate{value: v} }
	shared := func(v string) candidate { return candidate{value: v, shared: true} }
	c := func(fallback string, cs ...candidate) claim { return claim{candidates: cs, fallback: fallback} }
	at := func(i int) spot { return spot{"here", strconv.Itoa(i)} }
	for name, tc := range map[string]struct {
		claims []claim
		want   []string
	}{
		"first good":              {[]claim{c("A", own("AA"), own("x")), c("B", own(""), own("bbb")), c("C")}, []string{"AA", "bbb", "c"}},
		"own twice":               {[]claim{c("A", own("X"), own("a1")), c("B", own("X"), own("b1"))}, []string{"a1", "b1"}},
		"own twice after folding": {[]claim{c("A", own("x y"), own("a1")), c("B", own("X-Y"), own("b1"))}, []string{"a1", "b1"}},
		"shared":                  {[]claim{c("A", shared("036")), c("B", shared("004")), c("C", shared("036"))}, []string{"036", "004", "036"}},
		"shared, other value": {
			[]claim{c("A", shared("a b")), c("B", shared("a-b")), c("C", shared("a b"))},
			[]string{"a-b-10a3f9f2", "a-b-2a89df63", "a-b-10a3f9f2"},
		},
		"later takes no earlier": {[]claim{c("A", own("au")), c("B", own(""), own("au"), own("ioa"))}, []string{"au", "ioa"}},
		"shared after own": {
			[]claim{c("A", own("x")), c("B", own(""), shared("X")), c("C", own(""), shared("X"))},
			[]string{"x", "x-dd0c1e27", "x-dd0c1e27"},
		},
		"names": {
			[]claim{c("Trout Lake"), c("Trout Lake"), c("Trout Lake 2"), c("trout lake")},
			[]string{"trout-lake-here-0", "trout-lake-here-1", "trout-lake-2", "trout-lake-here-3"},
		},
		"no names": {
			[]claim{c(""), c("日本"), c("Thing 1"), c("")},
			[]string{"thing-here-0", "thing-here-1", "thing-1", "thing-here-3"},
		},
	} {
		if got := assignIDs("thing", tc.claims, at); !cmp.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// Ids do not depend on the order of the features.
func TestIDsWithoutOrder(t *testing.T) {
	value := rapid.SampledFrom([]string{"", "", "a", "A", "b", "a b", "a-b", "ß", "ss", "日本"})
	rapid.Check(t, func(t *rapid.T) {
		type numbered struct {
			claim
			n int
		}
		n := 0
		claims := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) numbered {
			n++
			return numbered{claim{
				candidates: []candidate{{value: value.Draw(t, "own")}, {value: value.Draw(t, "shared"), shared: true}},
				fallback:   value.Draw(t, "fallback"),
			}, n}
		}), 0, 12).Draw(t, "claims")
		ids := func(claims []numbered) map[int]string {
			var plain []claim
			for _, c := range claims {
				plain = append(plain, c.claim)
			}
			m := map[int]string{}
			for i, id := range assignIDs("x", plain, func(i int) spot { return spot{strconv.Itoa(claims[i].n % 3), strconv.Itoa(claims[i].n)} }) {
				m[claims[i].n] = id
			}
			return m
		}
		if d := cmp.Diff(ids(claims), ids(rapid.Permutation(claims).Draw(t, "order"))); d != "" {
			t.Fatal(d)
		}
	})
}

func TestSpot(t *testing.T) {
	ring := orb.Ring{{10, 57}, {11, 57}, {11, 58}, {10, 57}}
	turned := orb.Ring{{11, 58}, {10, 57}, {11, 57}, {11, 58}}
	other := orb.Ring{{10, 57}, {11, 57}, {11, 58}, {10.5, 57.9}, {10, 57}}
	a, b, c := spotOf(orb.Polygon{ring}), spotOf(orb.MultiPolygon{{turned}}), spotOf(orb.Polygon{other})
	if a != b || a.near != c.near || a.exact == c.exact {
		t.Error(a, b, c)
	}
	if got := geohash(10.40744, 57.64911, 11); got != "u4pruydqqvj" {
		t.Error(got)
	}
}

// TestAssignIDsProperties tests that every id of assignIDs is valid, and that two claims get one id
// only if they share a value.
func TestAssignIDsProperties(t *testing.T) {
	valid := regexp.MustCompile(`^[A-Za-z0-9]+(-[a-z0-9]+)*$`)
	value := rapid.SampledFrom([]string{"", "", "a", "A", "b", "a b", "a-b", "a-2", "2", "-", "ß", "ss", "日本"})
	rapid.Check(t, func(t *rapid.T) {
		claims := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) claim {
			return claim{candidates: []candidate{
				{value: value.Draw(t, "own")}, {value: value.Draw(t, "shared"), shared: true}, {value: value.Draw(t, "other")},
			}, fallback: value.Draw(t, "fallback")}
		}), 0, 12).Draw(t, "claims")
		ids := assignIDs("x", claims, func(i int) spot { return spot{"here", "there"} })
		for i, id := range ids {
			if !valid.MatchString(id) {
				t.Fatalf("%q", id)
			}
			for j := range i {
				if ids[j] != id && feature.SameRegionID(ids[j], id) {
					t.Fatalf("%q is found by %q, which is another's", id, ids[j])
				}
				if ids[j] == id && claims[j].candidates[1] != claims[i].candidates[1] {
					t.Fatalf("%+v and %+v are both %q", claims[i], claims[j], id)
				}
			}
		}
		if again := assignIDs("x", claims, func(i int) spot { return spot{"here", "there"} }); !cmp.Equal(ids, again) {
			t.Fatalf("%q, then %q", ids, again)
		}
	})
}

func TestPresets(t *testing.T) {
	describe := func(typ, id string, properties map[string]any) string {
		f := source.Feature{ID: id, Properties: properties}
		c := newColumns(&f)
		c.numbered = true
		d := presetFor(typ).of(c)
		var values []string
		for _, c := range d.candidates {
			values = append(values, c.value)
		}
		var kept []string
		for _, p := range d.properties {
			kept = append(kept, fmt.Sprintf("%s=%v", p.Name, p.Value))
		}
		return fmt.Sprintf("%s (%s) %s", d.name, strings.Join(values, " "), strings.Join(kept, " "))
	}
	type properties = map[string]any
	for _, tc := range []struct {
		typ, id    string
		properties properties
		want       string
	}{
		{"country", "", properties{
			"NAME":       "France",
			"ISO_A2":     "-99",
			"ISO_A2_EH":  "FR",
			"ISO_A3":     "-99",
			"ISO_A3_EH":  "FRA",
			"ISO_N3_EH":  "250",
			"ADM0_A3":    "FRA",
			"CONTINENT":  "Europe",
			"POP_EST":    67059887.0,
			"POP_YEAR":   int64(2019),
			"TYPE":       "Country",
			"featurecla": "Admin-0 country",
		},
			"France ( FR FR  FRA) iso_a2=FR iso_a3=FRA iso_n3=250 continent=Europe population=67059887 population_year=2019 " +
				"kind=Country featurecla=Admin-0 country"},
		{"country", "", properties{
			"NAME":       "Clipperton I.",
			"ISO_A2":     "-99",
			"ISO_A2_EH":  "FR",
			"ISO_A3_EH":  "FRA",
			"ADM0_A3":    "CLP",
			"SOVEREIGNT": "France",
			"POP_EST":    int64(0),
		},
			"Clipperton I. (    CLP) population=0 sovereign=France source_ADM0_A3=CLP source_ISO_A2_EH=FR source_ISO_A3_EH=FRA"},
		{"country", "", properties{"NAME": "Taiwan", "ISO_A2": "CN-TW", "ISO_A2_EH": "TW", "ISO_A3_EH": "TWN", "ADM0_A3": "TWN", "ISO_N3": "158"},
			"Taiwan ( TW TW  TWN) iso_a2=TW iso_a3=TWN iso_n3=158 source_ISO_A2=CN-TW"},
		{"country", "", properties{"name": "Namibia", "iso_a2": "NA", "pop_est": int64(-99), "gdp": nil},
			"Namibia (NA    ) iso_a2=NA"},
		{"country", "", properties{
			"NAME":      "Somaliland",
			"ISO_A2":    "-99",
			"ISO_A2_EH": "-99",
			"ADM0_A3":   "SOL",
			"ISO_A3":    "-99",
			"ISO_N3":    "-099",
		},
			"Somaliland (    SOL) source_ADM0_A3=SOL"},
		{"country", "036", properties{"name": "Australia"}, "Australia (   AU ) iso_a2=AU iso_a3=AUS iso_n3=036 continent=Oceania"},
		{"country", "36", properties{"name": "Australia"}, "Australia (   AU ) iso_a2=AU iso_a3=AUS iso_n3=036 continent=Oceania"},
		{"country", "DEU", properties{"name": "Germany"}, "Germany (   DE ) iso_a2=DE iso_a3=DEU iso_n3=276 continent=Europe"},
		{"country", "001", properties{"name": "World"}, "World (    ) "},
		{"country", "", properties{"name": "Kosovo"}, "Kosovo (    ) "},
		{"state", "", properties{
			"iso_3166_2": "US-MN",
			"adm1_code":  "USA-3514",
			"iso_a2":     "US",
			"name":       "Minnesota",
			"postal":     "MN",
			"type_en":    "State",
			"fips":       "US27",
			"admin":      "United States of America",
		},
			"Minnesota (US-MN  USA-3514  ) iso_3166_2=US-MN country=US country_name=United States of America fips=27 " +
				"adm1_code=USA-3514 postal=MN kind=State source_fips=US27"},
		{"state", "", properties{"iso_3166_2": "FR-", "adm1_code": "FRA-5314", "iso_a2": "-1", "name": nil, "name_local": "Marne"},
			"Marne (  FRA-5314  ) adm1_code=FRA-5314 source_iso_3166_2=FR-"},
		{"state", "20", properties{"name": "Kansas"}, "Kansas ( US-KS  20 ) iso_3166_2=US-KS country=US fips=20 postal=KS"},
		{"state", "6", properties{"name": "California"}, "California ( US-CA  6 ) iso_3166_2=US-CA country=US fips=06 postal=CA"},
		{"state", "03", properties{"name": "None"}, "None (   03 ) "},
		{"county", "20173", nil, " (  20173 ) "},
		{"county", "1001", nil, " (  1001 ) "},
		{
			"county",
			"",
			properties{"ADM2_CODE": "USA-53073", "NAME": "Whatcom"},
			"Whatcom (53073 USA-53073  ) fips=53073 state=Washington iso_3166_2=US-WA country=US source_ADM2_CODE=USA-53073",
		},
		{"county", "", properties{"NAME": nil, "FIPS": nil}, " (   ) "},
		{"continent", "", properties{"NAME": "France", "CONTINENT": "Europe"}, "Europe (Europe) "},
		{"continent", "250", properties{"name": "France"}, "Europe (Europe) "},
		{"continent", "", properties{"NAME": "Namibia", "iso_a2": "NA"}, "Africa (Africa) "},
		{"lake", "", properties{"name": nil, "name_alt": "Nameless"}, "Nameless () "},
		{
			"lake",
			"",
			properties{"name": "Lake\rBaikal", "featurecla": "Lake", "scalerank": int64(0), "admin": nil},
			"Lake Baikal () kind=Lake scale_rank=0",
		},
		{"urban", "", properties{"area_sqkm": 1002.565, "scalerank": int64(3)}, " () area_km2=1002.565 scale_rank=3"},
		{
			"timezone",
			"",
			properties{"tz_name1st": "Asia/Kolkata", "time_zone": "UTC+05:30", "zone": 5.5},
			"Asia/Kolkata (Asia/Kolkata UTC-plus-05:30) time_zone=Asia/Kolkata utc_offset=UTC+05:30 offset_hours=5.5",
		},
		{
			"timezone",
			"",
			properties{"tz_name1st": "Antarctica/", "time_zone": "UTC-03:00", "zone": -3.0},
			"UTC-03:00 ( UTC-minus-03:00) utc_offset=UTC-03:00 offset_hours=-3 source_tz_name1st=Antarctica/",
		},
		{
			"ward",
			"7",
			properties{"Name": "Seven", "type": "x", "ID": 9.5, "b": true, "A": "", "long": strings.Repeat("x", 5000)},
			"Seven (7 ) b=true source_ID=9.5 source_type=x",
		},
	} {
		if got := describe(tc.typ, tc.id, tc.properties); got != tc.want {
			t.Errorf("%s %q %v:\ngot  %s\nwant %s", tc.typ, tc.id, tc.properties, got, tc.want)
		}
	}
	// A file cannot make a record arbitrarily large.
	many := properties{}
	for i := range 1000 {
		many[fmt.Sprintf("p%d", i)] = int64(i)
	}
	f := source.Feature{Properties: many}
	if d := presetFor("ward").of(newColumns(&f)); len(d.properties) != maxProperties {
		t.Errorf("%d properties", len(d.properties))
	}
	// Values that a record cannot have would make the build fail at its end.
	for _, typ := range []string{"country", "state", "county", "lake", "urban", "timezone", "continent", "ward"} {
		f := source.Feature{Properties: many}
		for _, p := range presetFor(typ).of(newColumns(&f)).properties {
			switch p.Value.(type) {
			case string, int64, float64, bool:
			default:
				t.Errorf("%s: %s is a %T", typ, p.Name, p.Value)
			}
		}
	}
}

func TestIDColumnsOfTheUser(t *testing.T) {
	for value, want := range map[any]string{"A 1": "A 1", int64(12): "12", 1.5: "1.5", 1e6: "1000000", true: "", nil: ""} {
		f := source.Feature{ID: "own", Properties: map[string]any{"Ward_No": value}}
		c := newColumns(&f)
		d, has := withIDColumns(presetFor("ward").of(c), c, columns.Names{"WARD_no"})
		if !has || d.candidates[0] != (candidate{want, true}) || d.candidates[1] != (candidate{"own", true}) {
			t.Errorf("%v: %+v", value, d.candidates)
		}
	}
}

func TestStates(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range usStates {
		for _, key := range []string{s.fips, s.postal, s.name} {
			if key == "" || seen[key] {
				t.Errorf("%+v", s)
			}
			seen[key] = true
		}
		byFIPS, ok := stateByFIPS(s.fips)
		byISO, ok2 := stateByISO("US-" + s.postal)
		if !ok || !ok2 || byFIPS != s || byISO != s {
			t.Errorf("%+v", s)
		}
	}
	if len(usStates) != 57 {
		t.Error(len(usStates))
	}
}
