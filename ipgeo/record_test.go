package ipgeo

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// country is a record with a code and a name.
func country(code string) Record {
	return Record{Country: Country{ISOCode: code, Names: Names{"en": "Land of " + code}}}
}

func encoded(t testing.TB, r Record) row {
	t.Helper()
	var e encoder
	b, err := e.encode(&r)
	if err != nil {
		t.Fatal(err)
	}
	got, err := decodeRow([]byte{4, 1, 2, 3, 4}, append([]byte{1, 2, 3, 4}, b...), true)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestEncode(t *testing.T) {
	for _, tc := range []struct {
		name string
		rec  Record
		code string
		json string
	}{
		{"country alone", Record{Country: Country{ISOCode: "NA"}}, "NA", `"country":{"iso_code":"NA"}`},
		{"continent alone", Record{Continent: Continent{Code: "EU"}}, "", `"continent":{"code":"EU"}`},
		{"all", Record{
			Continent: Continent{"EU", 6255148, Names{"en": "Europe", "de": "Europa"}},
			Country:   Country{3017382, true, "FR", Names{"pt-BR": "França", "en": "France", "": "nameless", "fr": ""}},
		}, "FR", `"continent":{"code":"EU","geoname_id":6255148,"names":{"de":"Europa","en":"Europe"}},` +
			`"country":{"geoname_id":3017382,"is_in_european_union":true,"iso_code":"FR","names":{"en":"France","pt-BR":"França"}}`},
		{"a flag that is false is absent", Record{Country: Country{ISOCode: "CH", IsInEuropeanUnion: false}}, "CH", `"country":{"iso_code":"CH"}`},
		{"escapes", Record{Country: Country{Names: Names{"en": "\"\\\n\x00\x7f\u2028\u2029é\xff"}}}, "",
			`"country":{"names":{"en":"\"\\\u000a\u0000\u007f\u2028\u2029é�"}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := encoded(t, tc.rec)
			if string(got.code) != tc.code || string(got.country) != tc.json {
				t.Errorf("got %s, %s", got.code, got.country)
			}
		})
	}
}

func TestEncodeRefuses(t *testing.T) {
	for _, tc := range []struct {
		rec  Record
		want error
	}{
		{Record{}, errEmptyRecord},
		{Record{Country: Country{Names: Names{"en": ""}}}, errEmptyRecord},
		{Record{Country: Country{ISOCode: "fr"}}, errCode},
		{Record{Country: Country{ISOCode: "FRA"}}, errCode},
		{Record{Continent: Continent{Code: "É"}}, errCode},
		{Record{Country: Country{Names: Names{"en": strings.Repeat("x", maxRecord)}}}, errRecordSize},
	} {
		var e encoder
		if _, err := e.encode(&tc.rec); !errors.Is(err, tc.want) {
			t.Errorf("%.100v: %v, want %v", tc.rec, err, tc.want)
		}
	}
}

// What is encoded reads back, by the standard library, as what was given.
func TestEncodeProperty(t *testing.T) {
	names := rapid.MapOfN(rapid.StringN(1, 5, -1), rapid.StringN(1, 10, -1), 0, 20)
	codes := rapid.SampledFrom([]string{"", "AA", "FR", "ZZ"})
	rapid.Check(t, func(t *rapid.T) {
		rec := Record{
			Continent{codes.Draw(t, "continent"), rapid.Uint32().Draw(t, "id"), names.Draw(t, "names")},
			Country{rapid.Uint32().Draw(t, "id"), rapid.Bool().Draw(t, "eu"), codes.Draw(t, "country"), names.Draw(t, "names")},
		}
		var e encoder
		b, err := e.encode(&rec)
		if errors.Is(err, errEmptyRecord) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		row, err := decodeRow(append([]byte{6}, make([]byte, 16)...), append(make([]byte, 16), b...), false)
		if err != nil {
			t.Fatal(err)
		}
		if codeString(row.code) != rec.Country.ISOCode || !utf8.Valid(row.country) {
			t.Fatalf("%q", b)
		}
		var got Record
		if err := json.Unmarshal([]byte("{"+string(row.country)+"}"), &got); err != nil {
			t.Fatalf("%s: %v", row.country, err)
		}
		for _, n := range []*Names{&rec.Continent.Names, &rec.Country.Names} {
			if len(*n) == 0 {
				*n = nil
			}
		}
		if d := cmp.Diff(rec, got); d != "" {
			t.Fatal(d)
		}
		var again encoder
		if c, _ := again.encode(&rec); string(b) != string(c) {
			t.Fatal("equal records have different bytes")
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
