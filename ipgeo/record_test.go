package ipgeo

import (
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"quadrille/internal/must"
)

// country returns a record with a code and a name.
func country(code string) Record {
	return Record{Country: Country{ISOCode: code, Names: Names{"en": "Land of " + code}}}
}

func at(lat, lon float64) Location { return Location{Latitude: &lat, Longitude: &lon} }

// merged builds the answer from the records of several sources.
func merged(t interface {
	Helper()
	Fatal(...any)
}, records ...Record) *Result {
	var e encoder
	m := merger{records: newRecordSet(1 << 30), limit: 1 << 20}
	var tuple []recordRef
	for i := range records {
		b, err := e.encode(&records[i])
		must.Do(t, err)
		tuple = append(tuple, refOf(m.records, b))
	}
	var p splitter
	if wrong := p.split([]byte(m.answer(tuple))); wrong != "" {
		t.Fatal(wrong)
	}
	res := new(Result)
	res.fill(true, u128{lo: 0x08080808}, u128{lo: 0x08080800}, u128{lo: 0x080808ff}, &p.answer)
	return res
}

// full is a record with every field.
var full = Record{
	Continent:          Continent{"EU", 6255148, Names{"de": "Europa", "en": "Europe"}},
	Country:            Country{99, 3017382, true, "FR", Names{"en": "France", "pt-BR": "França"}},
	RegisteredCountry:  Country{0, 2921044, true, "DE", Names{"en": "Germany"}},
	RepresentedCountry: RepresentedCountry{Country{0, 6252001, false, "US", Names{"en": "United States"}}, "military"},
	City:               City{80, 2988507, Names{"de": "Paris", "en": "Paris", "ja": "パリ"}},
	Location: Location{AccuracyRadius: 20, AverageIncome: 30000, Latitude: ptr(48.8566), Longitude: ptr(-2.3522), MetroCode: 807,
		PopulationDensity: 20000, TimeZone: "Europe/Paris"},
	Postal:       Postal{"75001", 10},
	Subdivisions: []Subdivision{{90, 3012874, "IDF", Names{"en": "Île-de-France"}}, {0, 2968815, "75", nil}},
	Traits: Traits{
		AutonomousSystemNumber: 3215, AutonomousSystemOrganization: "Orange S.A.", ConnectionType: "Cable/DSL", Domain: "orange.fr",
		IsAnonymous: true, IsAnonymousVPN: true, IsAnycast: true, IsHostingProvider: true, IsLegitimateProxy: true, IsPublicProxy: true,
		IsResidentialProxy: true, IsSatelliteProvider: true, IsTorExitNode: true, ISP: "Orange", MobileCountryCode: "208",
		MobileNetworkCode: "01", Organization: "Orange", StaticIPScore: 1.5, UserCount: 3, UserType: "residential",
	},
	Extra: map[string]any{
		"range": "residential",
		"score": 0.25,
		"tags":  []any{"a", int64(-1), uint64(math.MaxUint64), true, map[string]any{"k": "v"}},
	},
	DerivedFields: []string{"location.time_zone", "subdivisions"},
}

func ptr[T any](v T) *T { return &v }

func TestEncode(t *testing.T) {
	for _, tc := range []struct {
		name string
		rec  Record
		code string
		json string
	}{
		{"country alone", Record{Country: Country{ISOCode: "NA"}}, "NA", `"country":{"iso_code":"NA"},"traits":{"network":"8.8.8.0/24"}`},
		{"continent alone", Record{Continent: Continent{Code: "EU"}}, "", `"continent":{"code":"EU"},"traits":{"network":"8.8.8.0/24"}`},
		{"a trait alone", Record{Traits: Traits{IsAnycast: true}}, "", `"traits":{"is_anycast":true,"network":"8.8.8.0/24"}`},
		{
			"a time zone alone",
			Record{Location: Location{TimeZone: "UTC"}},
			"",
			`"location":{"time_zone":"UTC"},"traits":{"network":"8.8.8.0/24"}`,
		},
		{
			"a radius alone",
			Record{Location: Location{AccuracyRadius: 5}},
			"",
			`"location":{"accuracy_radius":5},"traits":{"network":"8.8.8.0/24"}`,
		},
		{
			"the origin",
			Record{Location: at(0, math.Copysign(0, -1))},
			"",
			`"location":{"latitude":0,"longitude":0},"traits":{"network":"8.8.8.0/24"},"quadkey":"3000000000000000"`,
		},
		{"subdivisions that say nothing", Record{Postal: Postal{Code: "1"}, Subdivisions: []Subdivision{{}, {ISOCode: "A"}, {}}}, "",
			`"postal":{"code":"1"},"subdivisions":[{"iso_code":"A"}],"traits":{"network":"8.8.8.0/24"}`},
		{"all of a country", Record{
			Continent: Continent{"EU", 6255148, Names{"en": "Europe", "de": "Europa"}},
			Country:   Country{0, 3017382, true, "FR", Names{"pt-BR": "França", "en": "France", "": "nameless", "fr": ""}},
		}, "FR", `"continent":{"code":"EU","geoname_id":6255148,"names":{"de":"Europa","en":"Europe"}},` +
			`"country":{"geoname_id":3017382,"is_in_european_union":true,"iso_code":"FR","names":{"en":"France","pt-BR":"França"}},"traits":{"network":"8.8.8.0/24"}`},
		{
			"a flag that is false is absent",
			Record{Country: Country{ISOCode: "CH", IsInEuropeanUnion: false}},
			"CH",
			`"country":{"iso_code":"CH"},"traits":{"network":"8.8.8.0/24"}`,
		},
		{"escapes", Record{Country: Country{Names: Names{"en": "a\"\\\n\x00\x7fb\u2028\u2029é\xffc"}}}, "",
			`"country":{"names":{"en":"a\"\\\u000a\u0000\u007fb\u2028\u2029é�c"}},"traits":{"network":"8.8.8.0/24"}`},
		{"everything", full, "FR", `"continent":{"code":"EU","geoname_id":6255148,"names":{"de":"Europa","en":"Europe"}},` +
			`"country":{"confidence":99,"geoname_id":3017382,"is_in_european_union":true,"iso_code":"FR","names":{"en":"France","pt-BR":"França"}},` +
			`"registered_country":{"geoname_id":2921044,"is_in_european_union":true,"iso_code":"DE","names":{"en":"Germany"}},` +
			`"represented_country":{"geoname_id":6252001,"iso_code":"US","names":{"en":"United States"},"type":"military"},` +
			`"city":{"confidence":80,"geoname_id":2988507,"names":{"de":"Paris","en":"Paris","ja":"パリ"}},` +
			`"location":{"accuracy_radius":20,"latitude":48.8566,"longitude":-2.3522,"average_income":30000,"metro_code":807,"population_density":20000,"time_zone":"Europe/Paris"},` +
			`"postal":{"code":"75001","confidence":10},` +
			`"subdivisions":[{"confidence":90,"geoname_id":3012874,"iso_code":"IDF","names":{"en":"Île-de-France"}},{"geoname_id":2968815,"iso_code":"75"}],` +
			`"traits":{"autonomous_system_number":3215,"autonomous_system_organization":"Orange S.A.","connection_type":"Cable/DSL","domain":"orange.fr",` +
			`"is_anonymous":true,"is_anonymous_vpn":true,"is_anycast":true,"is_hosting_provider":true,"is_legitimate_proxy":true,"is_public_proxy":true,` +
			`"is_residential_proxy":true,"is_satellite_provider":true,"is_tor_exit_node":true,"isp":"Orange","mobile_country_code":"208","mobile_network_code":"01",` +
			`"organization":"Orange","static_ip_score":1.5,"user_count":3,"user_type":"residential","network":"8.8.8.0/24"},` +
			`"quadkey":"0313311001030031","extra":{"range":"residential","score":0.25,"tags":["a",-1,18446744073709551615,true,{"k":"v"}]},` +
			`"derived":["location.time_zone","subdivisions"]`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := merged(t, tc.rec)
			if got.Country != tc.code || string(got.JSON) != tc.json {
				t.Errorf("%s, got\n%s, want\n%s", got.Country, got.JSON, tc.json)
			}
		})
	}
}

func TestEncodeRefuses(t *testing.T) {
	deep := any("x")
	for range maxDepth + 1 {
		deep = []any{deep}
	}
	for _, tc := range []struct {
		rec  Record
		want error
	}{
		{Record{}, errEmptyRecord},
		{Record{DerivedFields: []string{"country"}}, errEmptyRecord},
		{Record{Subdivisions: make([]Subdivision, 3)}, errEmptyRecord},
		{Record{Country: Country{Names: Names{"en": ""}}}, errEmptyRecord},
		{Record{Country: Country{ISOCode: "fr"}}, errCode},
		{Record{Country: Country{ISOCode: "FRA"}}, errCode},
		{Record{RegisteredCountry: Country{ISOCode: "x"}}, errCode},
		{Record{RepresentedCountry: RepresentedCountry{Country{ISOCode: "12"}, ""}}, errCode},
		{Record{Continent: Continent{Code: "É"}}, errCode},
		{Record{Country: Country{Names: Names{"en": strings.Repeat("x", maxRecord)}}}, errRecordSize},
		{Record{Country: Country{Names: Names{"en": strings.Repeat("x", 1<<25)}}}, errRecordSize},
		{Record{Location: Location{Latitude: ptr(1.0)}}, errPoint},
		{Record{Traits: Traits{StaticIPScore: math.NaN()}}, errNumber},
		{Record{Extra: map[string]any{"x": math.Inf(1)}}, errNumber},
		{Record{Extra: map[string]any{"x": struct{}{}}}, errExtra},
		{Record{Extra: map[string]any{"x": nil}}, errExtra},
		{Record{Extra: map[string]any{"x": deep}}, errDepth},
		{Record{Country: Country{ISOCode: "FR"}, DerivedFields: []string{"galaxy"}}, errDerived},
	} {
		var e encoder
		if _, err := e.encode(&tc.rec); !errors.Is(err, tc.want) {
			t.Errorf("%.100v: %v, want %v", tc.rec, err, tc.want)
		}
	}
	for _, l := range []Location{at(91, 0), at(0, 181), at(math.NaN(), 0), at(0, math.Inf(-1))} {
		var e encoder
		if _, err := e.encode(&Record{Location: l}); err == nil {
			t.Errorf("%v, %v accepted", *l.Latitude, *l.Longitude)
		}
	}
}

// drawNames draws names in languages, none of them empty.
func drawNames() *rapid.Generator[Names] {
	return rapid.Custom(func(t *rapid.T) Names {
		n := rapid.MapOfN(rapid.StringN(1, 5, -1), rapid.StringN(1, 10, -1), 0, 20).Draw(t, "names")
		if len(n) == 0 {
			return nil
		}
		return n
	})
}

func drawExtra(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		switch k := rapid.IntRange(0, 4+depth).Draw(t, "kind"); k {
		case 0:
			return rapid.String().Draw(t, "string")
		case 1:
			return rapid.Bool().Draw(t, "bool")
		case 2:
			return rapid.Int64().Draw(t, "int")
		case 3:
			return rapid.Uint64Range(1<<63, 1<<64-1).Draw(t, "uint")
		case 4:
			return rapid.Float64Range(-1e300, 1e300).Draw(t, "float") + 0.5e-300
		case 5:
			return rapid.SliceOfN(drawExtra(0), 0, 3).Draw(t, "list")
		default:
			return rapid.MapOfN(rapid.String(), drawExtra(0), 0, 3).Draw(t, "object")
		}
	})
}

// drawRecord draws a record in the form it reads back.
func drawRecord(t *rapid.T) Record {
	codes := rapid.SampledFrom([]string{"", "AA", "FR", "ZZ"})
	number := rapid.OneOf(rapid.Just(uint32(0)), rapid.Uint32())
	percent := rapid.OneOf(rapid.Just(uint8(0)), rapid.Uint8())
	small := rapid.OneOf(rapid.Just(uint16(0)), rapid.Uint16())
	text := rapid.OneOf(rapid.Just(""), rapid.String())
	drawCountry := func() Country {
		return Country{percent.Draw(t, "confidence"), number.Draw(t, "id"), rapid.Bool().Draw(t, "eu"), codes.Draw(t, "code"),
			drawNames().Draw(t, "names")}
	}
	flag := func() bool { return rapid.Bool().Draw(t, "flag") }
	r := Record{
		Continent:          Continent{codes.Draw(t, "continent"), number.Draw(t, "id"), drawNames().Draw(t, "names")},
		Country:            drawCountry(),
		RegisteredCountry:  drawCountry(),
		RepresentedCountry: RepresentedCountry{drawCountry(), text.Draw(t, "type")},
		City:               City{percent.Draw(t, "confidence"), number.Draw(t, "id"), drawNames().Draw(t, "names")},
		Location: Location{small.Draw(t, "radius"), number.Draw(t, "income"), nil, nil, small.Draw(t, "metro"),
			number.Draw(t, "density"), text.Draw(t, "zone")},
		Postal: Postal{text.Draw(t, "postal"), percent.Draw(t, "confidence")},
		Traits: Traits{number.Draw(t, "asn"), text.Draw(t, "org"), text.Draw(t, "type"), text.Draw(t, "domain"),
			flag(), flag(), flag(), flag(), flag(), flag(), flag(), flag(), flag(),
			text.Draw(t, "isp"), text.Draw(t, "mcc"), text.Draw(t, "mnc"), text.Draw(t, "organization"),
			rapid.Float64Range(-10, 10).Draw(t, "score"), number.Draw(t, "users"), text.Draw(t, "user")},
	}
	if flag() {
		r.Location.Latitude = ptr(rapid.Float64Range(-90, 90).Draw(t, "lat") + 0)
		r.Location.Longitude = ptr(rapid.Float64Range(-180, 180).Draw(t, "lon") + 0)
	}
	for range rapid.IntRange(0, 3).Draw(t, "subdivisions") {
		r.Subdivisions = append(r.Subdivisions,
			Subdivision{percent.Draw(t, "confidence"), 1 + number.Draw(t, "id")>>1, text.Draw(t, "code"), drawNames().Draw(t, "names")})
	}
	if e := rapid.MapOfN(rapid.String(), drawExtra(2), 0, 3).Draw(t, "extra"); len(e) > 0 {
		r.Extra = e
	}
	return r
}

// equal compares records, but ignores differences that JSON drops: -0, and floats that are whole
// numbers.
var equal = cmp.Options{cmpopts.EquateEmpty(), cmp.FilterValues(func(x, y any) bool {
	return isNumber(x) && isNumber(y)
}, cmp.Comparer(func(x, y any) bool {
	return written(x) == written(y)
}))}

func written(x any) string {
	b, _ := json.Marshal(x) // of a finite number
	if string(b) == "-0" {
		return "0"
	}
	return string(b)
}

func isNumber(x any) bool {
	switch x.(type) {
	case int64, uint64, float64:
		return true
	}
	return false
}

// The standard library decodes an encoded record to the original one.
func TestEncodeProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rec := drawRecord(t)
		var e encoder
		b, err := e.encode(&rec)
		if errors.Is(err, errEmptyRecord) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		encoded := string(b)
		res := merged(t, rec)
		if res.Country != rec.Country.ISOCode || res.ASN() != rec.Traits.AutonomousSystemNumber || !utf8.Valid(res.JSON) ||
			!json.Valid([]byte("{"+string(res.JSON)+"}")) {
			t.Fatalf("%s", res.JSON)
		}
		lat, lon, ok := res.Location()
		if ok != (rec.Location.Latitude != nil) || ok && (lat != *rec.Location.Latitude || lon != *rec.Location.Longitude) {
			t.Fatal(lat, lon, ok)
		}
		got, err := res.Record()
		if err != nil {
			t.Fatalf("%s: %v", res.JSON, err)
		}
		if d := cmp.Diff(rec, got, equal); d != "" {
			t.Fatal(d)
		}
		rec.Extra = maps.Clone(rec.Extra) // iterates in another order
		var again encoder
		if c, _ := again.encode(&rec); encoded != string(c) {
			t.Fatal("equal records have different bytes")
		}
	})
}

// Every field of every drawn record is found by its path. Skipping a value finds its end.
func TestFieldProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rec := drawRecord(t)
		if rec.Postal.Code == "" {
			rec.Postal.Code = "x"
		}
		res := merged(t, rec)
		var all map[string]json.RawMessage
		must.Do(t, json.Unmarshal([]byte("{"+string(res.JSON)+"}"), &all))
		for k, want := range all {
			if got := res.Field(k); string(got) != string(want) {
				t.Fatalf("%s is %s, want %s", k, got, want)
			}
			var sub map[string]json.RawMessage
			if want[0] != '{' || k == "extra" || json.Unmarshal(want, &sub) != nil {
				continue
			}
			for s, want := range sub {
				if got := res.Field(k + "." + s); string(got) != string(want) {
					t.Fatalf("%s.%s is %s, want %s", k, s, got, want)
				}
			}
		}
		// The fields make up the answer, one at a time and all together.
		names := slices.Sorted(maps.Keys(known))
		f, err := ParseFields(strings.Join(names, ","))
		must.Do(t, err)
		if got := string(res.AppendFields(nil, f, "")); got != string(res.JSON) {
			t.Fatalf("%s\n%s", got, res.JSON)
		}
		lang := rapid.SampledFrom([]string{"", "fr", "en", "pt"}).Draw(t, "lang")
		chosen := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{
			"country", "country.names", "city.names.en", "location.latitude", "subdivisions.geoname_id", "traits.isp", "extra",
			"extra.x.y", "ip", "derived",
		}), 1, 5, rapid.ID[string]).Draw(t, "fields")
		if f, err = ParseFields(strings.Join(chosen, ",")); err != nil {
			t.Fatal(err)
		}
		if got := res.AppendFields([]byte("{"), f, lang); !json.Valid(append(got, '}')) {
			t.Fatalf("%s", got)
		}
	})
}

func TestCodeString(t *testing.T) {
	for a := byte('A'); a <= 'Z'; a++ {
		for b := byte('A'); b <= 'Z'; b++ {
			if got := codeString([]byte{a, b}); got != string([]byte{a, b}) {
				t.Fatalf("%c%c is %s", a, b, got)
			}
		}
	}
}

// Both zeros are one place and give one answer, so zero has no sign.
func TestZeroHasNoSign(t *testing.T) {
	a, b := rng("8.0.0.0-8.0.0.127 AA"), rng("8.0.0.128-8.0.0.255 AA")
	a.Record.Location, b.Record.Location = at(0, 0), at(math.Copysign(0, -1), math.Copysign(0, -1))
	_, r, meta, _ := built(t, []Range{a, b}, BuildOptions{})
	var res Result
	must.Do(t, r.Lookup(t.Context(), b.First, &res))
	if lat, lon, ok := res.Location(); meta.Rows4 != 1 || res.Network.String() != "8.0.0.0/24" || !ok || math.Signbit(lat) ||
		math.Signbit(lon) {
		t.Errorf("%d rows, %s, %v %v", meta.Rows4, res.Network, lat, lon)
	}
}

// Every point on Earth has a quadkey, also the poles and the antimeridian.
func TestQuadkeyEverywhere(t *testing.T) {
	for _, p := range [][2]float64{{90, 180}, {-90, -180}, {90, -180}, {-90, 180}, {85.06, 0}, {0, 180}, {0, -180}, {5e-324, -5e-324}} {
		r := country("AA")
		r.Location = at(p[0], p[1])
		res := merged(t, r)
		if q := res.Field("quadkey"); len(q) != 16+2 {
			t.Errorf("%v: %s", p, q)
		}
		if rec, err := res.Record(); err != nil || *rec.Location.Latitude != p[0] || *rec.Location.Longitude != p[1] {
			t.Errorf("%v: %+v, %v", p, rec.Location, err)
		}
	}
}

// Names come from outside: nothing in them may end a script or begin a tag.
func TestNamesInHTML(t *testing.T) {
	r := country("AA")
	r.City.Names = Names{"en": "</script><script>alert(1)&\u2028"}
	r.Extra = map[string]any{"<b>": "&amp;"}
	res := merged(t, r)
	if strings.ContainsAny(string(res.JSON), "<>&\u2028") {
		t.Errorf("%s", res.JSON)
	}
	if rec, err := res.Record(); err != nil || rec.City.Names["en"] != r.City.Names["en"] || rec.Extra["<b>"] != "&amp;" {
		t.Errorf("%+v, %v", rec, err)
	}
}

func TestAppendNumberProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Float64().Draw(t, "v")
		if math.IsNaN(v) || math.IsInf(v, 0) || v == 0 {
			return
		}
		want, err := json.Marshal(v)
		must.Do(t, err)
		if got := appendNumber(nil, v); string(got) != string(want) {
			t.Fatalf("%s, want %s", got, want)
		}
	})
}
