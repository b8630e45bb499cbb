package ipgeo

import (
	"encoding/json"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"quadrille/internal/must"
	"quadrille/internal/testrace"
)

func TestParseFieldsRefuses(t *testing.T) {
	for _, tc := range []struct{ list, field, reason string }{
		{"", "", "empty"}, {"country,", "", "empty"}, {",", "", "empty"}, {"country..x", "country..x", "part"}, {".country", ".country", "part"},
		{"country.", "country.", "part"}, {"a b", "a b", "letters"}, {"country, city", " city", "letters"}, {"città", "città", "letters"},
		{"countri", "countri", "no such member"}, {"country.isocode", "country.isocode", "no such member of country"},
		{"country.iso_code.x", "country.iso_code.x", "nothing more"}, {"quadkey.x", "quadkey.x", "no such member of quadkey"},
		{"city.names.en.x", "city.names.en.x", "nothing more"}, {"subdivisions.0", "subdivisions.0", "no such member of subdivisions"},
		{"extra." + strings.Repeat("x", 60), "extra." + strings.Repeat("x", 58), "at most 64 bytes"},
		{strings.Repeat("country,", 50) + "country", "country", "at most 50 names"},
		{"\xff", "\ufffd", "letters"},
	} {
		_, err := ParseFields(tc.list)
		var f *FieldsError
		if !errors.Is(err, ErrFields) || !errors.As(err, &f) || f.Field != tc.field || !strings.Contains(f.Reason, tc.reason) {
			t.Errorf("%q: %v", tc.list, err)
		}
	}
}

func TestAppendFields(t *testing.T) {
	rec := full
	rec.Extra = map[string]any{"names": map[string]any{"fr": "x", "en": "y"}, "deep": map[string]any{"er": "z"}}
	res := merged(t, rec)
	for _, tc := range []struct{ fields, lang, want string }{
		{"country.iso_code", "", `"country":{"iso_code":"FR"}`},
		{"country.iso_code,country.geoname_id", "", `"country":{"geoname_id":3017382,"iso_code":"FR"}`},
		{
			"country.iso_code,country",
			"en",
			`"country":{"confidence":99,"geoname_id":3017382,"is_in_european_union":true,"iso_code":"FR","names":{"en":"France"}}`,
		},
		{
			"city.names.en,location.latitude,traits.network",
			"",
			`"city":{"names":{"en":"Paris"}},"location":{"latitude":48.8566},"traits":{"network":"8.8.8.0/24"}`,
		},
		{"subdivisions.iso_code", "", `"subdivisions":[{"iso_code":"IDF"},{"iso_code":"75"}]`},
		{"subdivisions.names", "", `"subdivisions":[{"names":{"en":"Île-de-France"}}]`},
		{"subdivisions.names.de", "", ``},
		{
			"postal,quadkey,derived",
			"",
			`"postal":{"code":"75001","confidence":10},"quadkey":"0313311001030031","derived":["location.time_zone","subdivisions"]`,
		},
		{"ip,source", "", ``},
		{"city.names.it,country.iso_code", "", `"country":{"iso_code":"FR"}`},
		{"city", "de", `"city":{"confidence":80,"geoname_id":2988507,"names":{"de":"Paris","en":"Paris"}}`},
		{"city.names", "JA", `"city":{"names":{"en":"Paris","ja":"パリ"}}`},
		{"city.names.ja", "de", `"city":{"names":{"ja":"パリ"}}`},
		{"country.names", "pt", `"country":{"names":{"en":"France","pt-BR":"França"}}`},
		{"country.names", "pt-br", `"country":{"names":{"en":"France","pt-BR":"França"}}`},
		{"country.names", "p", `"country":{"names":{"en":"France"}}`},
		{"continent.names", "de-AT", `"continent":{"names":{"de":"Europa","en":"Europe"}}`},
		{"extra", "de", `"extra":{"deep":{"er":"z"},"names":{"en":"y","fr":"x"}}`},
		{"extra.names", "de", `"extra":{"names":{"en":"y","fr":"x"}}`},
		{"extra.deep.er", "de", `"extra":{"deep":{"er":"z"}}`},
		{"extra.deep.er.est", "", ``},
	} {
		f, err := ParseFields(tc.fields)
		if err != nil {
			t.Error(err)
			continue
		}
		if got := res.AppendFields([]byte("x"), f, tc.lang); string(got) != "x"+tc.want {
			t.Errorf("%s, %q: got\n%s, want\n%s", tc.fields, tc.lang, got[1:], tc.want)
		}
	}
	if got := res.AppendFields(nil, Fields{}, ""); string(got) != string(res.JSON) {
		t.Errorf("all: %s", got)
	}
	got := res.AppendFields([]byte("{"), Fields{}, "de")
	if !json.Valid(append(got, '}')) || strings.Contains(string(got), "パリ") || !strings.Contains(string(got), "Europa") {
		t.Errorf("all in German: %s", got)
	}

	f, err := ParseFields("country.iso_code,city.names.en,subdivisions.names,traits.network,extra.deep")
	must.Do(t, err)
	dst := make([]byte, 0, 4096)
	if n := testing.AllocsPerRun(100, func() { res.AppendFields(dst, f, "de"); res.AppendFields(dst, Fields{}, "de") }); n != 0 &&
		!testrace.Enabled {
		t.Errorf("%v allocations", n)
	}
	if f.All() || !(Fields{}).All() || !f.Has("country") || !f.Has("country.iso_code") || f.Has("country.names") || f.Has("ip") ||
		!f.Has("subdivisions.names.en") || !(Fields{}).Has("ip") {
		t.Error("Has or All")
	}
}

func TestField(t *testing.T) {
	res := merged(t, full)
	for path, want := range map[string]string{
		"city.names.en":            `"Paris"`,
		"country":                  `{"confidence":99,"geoname_id":3017382,"is_in_european_union":true,"iso_code":"FR","names":{"en":"France","pt-BR":"França"}}`,
		"represented_country.type": `"military"`, "subdivisions.0.iso_code": `"IDF"`, "subdivisions.1": `{"geoname_id":2968815,"iso_code":"75"}`,
		"traits.network": `"8.8.8.0/24"`, "traits.autonomous_system_number": "3215", "location.time_zone": `"Europe/Paris"`,
		"quadkey": `"0313311001030031"`, "extra.tags.4.k": `"v"`, "extra.tags.1": "-1", "derived.0": `"location.time_zone"`,
		"":                "",
		"city.":           "",
		".":               "",
		"city.names.xx":   "",
		"city.names.en.x": "",
		"nothing":         "",
		"subdivisions.2":  "",
		"subdivisions.-1": "",
		"subdivisions.x":  "",
		"traits.nothing":  "", "traits.network.x": "", "quadkey.0": "",
	} {
		got := res.Field(path)
		if string(got) != want || want == "" && got != nil {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	if !strings.HasPrefix(string(res.Field("traits")), `{"autonomous_system_number":3215,`) || !json.Valid(res.Field("traits")) {
		t.Errorf("traits is %s", res.Field("traits"))
	}
	if n := testing.AllocsPerRun(100, func() { res.Field("extra.tags.4.k"); res.Field("city.names.ja") }); n != 0 && !testrace.Enabled {
		t.Errorf("%v allocations", n)
	}
	if (&Result{}).Field("city") != nil {
		t.Error("a field of nothing")
	}
	// Appending to a returned slice does not overwrite its neighbour.
	before := string(res.JSON)
	_ = append(res.CountryJSON(), "overwritten"...)
	_ = append(res.CityJSON(), "overwritten"...)
	_ = append(res.TraitsJSON(), "overwritten"...)
	if string(res.JSON) != before {
		t.Error("appending to a part changed another")
	}
}

// A list of fields is refused with a FieldsError or chooses valid JSON.
func FuzzParseFields(f *testing.F) {
	for _, s := range []string{"country.iso_code,city", "subdivisions.names.en", "extra.a.b.c", "", "a..b", "country,country.names"} {
		f.Add(s, "de")
	}
	res := merged(f, full)
	f.Fuzz(func(t *testing.T, list, lang string) {
		fields, err := ParseFields(list)
		if err != nil {
			if !errors.Is(err, ErrFields) {
				t.Fatal(err)
			}
			return
		}
		if got := res.AppendFields([]byte("{"), fields, lang); !json.Valid(append(got, '}')) {
			t.Fatalf("%q, %q: %s", list, lang, got)
		}
		for name := range strings.SplitSeq(list, ",") {
			if !fields.Has(name) {
				t.Fatalf("%q has not %q", list, name)
			}
			if v := res.Field(name); v != nil && !json.Valid(v) {
				t.Fatalf("%s: %s", name, v)
			}
		}
	})
}

// The scanner stays within any input, and splits valid JSON without white space like the standard
// library.
func FuzzScan(f *testing.F) {
	for _, s := range []string{`"a":1,"b":{"c":[1,"]"]}`, `"a\"":"\\"`, `"":null`, `"a"`, `"a":`, `"`, `"a":1,`, `"a":{`,
		`"a":"x`, `1`, `"a":,"b":1`, `"a":1}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		stringEnd(b)
		valueEnd(b)
		for rest, ok := b, true; ok && len(rest) > 0; {
			_, rest, ok = nextElement(rest)
		}
		c := chooser{lang: "de"}
		c.members(b, []fieldNode{{name: "a", sub: []fieldNode{{name: "c"}}}})
		c.members(b, nil)
		var got []string
		for rest := b; len(rest) > 0; {
			key, value, r, ok := nextMember(rest)
			if !ok {
				got = nil
				break
			}
			got = append(got, string(key), string(value))
			rest = r
		}
		whole := append(append([]byte{'{'}, b...), '}')
		var want map[string]json.RawMessage
		if json.Unmarshal(whole, &want) != nil || strings.ContainsAny(string(b), " \t\r\n") {
			return
		}
		if len(b) > 0 && b[len(b)-1] != ',' && len(got) < 2*len(want) {
			t.Fatalf("%s: %q", b, got)
		}
		for i := 0; i < len(got); i += 2 {
			var key string
			if json.Unmarshal([]byte(`"`+got[i]+`"`), &key) != nil || !json.Valid([]byte(got[i+1])) {
				t.Fatalf("%s: %q", b, got)
			}
		}
	})
}

// TestFieldsDepth tests that AppendFields ends soon for a very deep answer, which no builder
// writes.
func TestFieldsDepth(t *testing.T) {
	deep := `"city":` + strings.Repeat(`{"a":[`, 1<<17) + strings.Repeat(`]}`, 1<<17)
	for _, json := range []string{deep, deep[:1<<17]} {
		res := Result{JSON: []byte(json)}
		if got := res.AppendFields(nil, Fields{}, "de"); len(got) != 0 {
			t.Errorf("%.100s", got)
		}
	}
}

// A record is the answer without the members that depend on the address, for any set of parts.
func TestAppendRecord(t *testing.T) {
	rec := full
	rec.Extra = map[string]any{"own": "x"}
	for _, r := range []Record{
		rec, {Country: Country{ISOCode: "FR"}}, {City: City{Names: Names{"en": "Paris"}}},
		{Traits: Traits{ISP: "x"}}, {Extra: map[string]any{"own": "x"}}, {Country: Country{ISOCode: "FR"}, Extra: map[string]any{"own": "x"}},
	} {
		res := merged(t, r)
		var all map[string]any
		must.Do(t, json.Unmarshal([]byte("{"+string(res.JSON)+"}"), &all))
		if traits := all["traits"].(map[string]any); len(traits) == 1 {
			delete(all, "traits")
		} else {
			delete(traits, "network")
		}
		want, err := json.Marshal(all)
		must.Do(t, err)
		var got map[string]any
		text := "{" + string(res.AppendRecord(nil, Fields{})) + "}"
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if again, _ := json.Marshal(got); string(again) != string(want) {
			t.Errorf("%s, want %s", again, want)
		}
	}
	res := merged(t, rec)
	for fields, want := range map[string]string{
		"country.iso_code,extra": `x"country":{"iso_code":"FR"},"extra":{"own":"x"}`,
		"traits.network":         "x",
		"city.names.en":          `x"city":{"names":{"en":"Paris"}}`,
	} {
		f, err := ParseFields(fields)
		must.Do(t, err)
		if got := string(res.AppendRecord([]byte("x"), f)); got != want {
			t.Errorf("%s: %s, want %s", fields, got, want)
		}
	}
}

func TestSpan(t *testing.T) {
	a := netip.MustParseAddr
	var s Span
	if s.Extend(a("1.0.0.0"), a("1.0.0.1")) {
		t.Error("an empty span is extended")
	}
	s = Span{a("1.0.0.0"), a("1.0.0.1")}
	if s.Extend(a("1.0.0.3"), a("1.0.0.4")) || s.Extend(a("::2"), a("::3")) || !s.Extend(a("1.0.0.2"), a("255.255.255.255")) ||
		s.Last != a("255.255.255.255") {
		t.Errorf("%v", s)
	}
	if s.Extend(a("::"), a("::1")) {
		t.Error("a span of IPv4 goes on in IPv6")
	}
}
