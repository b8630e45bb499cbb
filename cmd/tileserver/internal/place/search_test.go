package place

import (
	"encoding/json"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"quadrille/places"
	"quadrille/places/search"
)

// TestInsert: inserting into the text of a list is inserting into the list.
func TestInsert(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		type item struct {
			Name       string `json:"name"`
			Note       string `json:"note,omitempty"`
			Population int64  `json:"population,omitempty"`
		}
		text := rapid.StringMatching(`[a-z"{}\\,:\[\]]{0,8}(,"population":99)?`)
		var list []item
		for range rapid.IntRange(0, 5).Draw(rt, "n") {
			list = append(list, item{text.Draw(rt, "name"), text.Draw(rt, "note"), rapid.Int64Range(0, 5).Draw(rt, "population")})
		}
		limit := rapid.IntRange(max(len(list), 1), 6).Draw(rt, "limit")
		weight := rapid.Int64Range(0, 6).Draw(rt, "weight")
		added := item{Name: "airport"}

		encode := func(list []item) []byte {
			b, err := json.Marshal(append([]item{}, list...))
			if err != nil {
				rt.Fatal(err)
			}
			return b
		}
		at := slices.IndexFunc(list, func(i item) bool { return i.Population < weight })
		if at < 0 {
			at = len(list)
		}
		want := slices.Insert(slices.Clone(list), at, added)
		want = want[:min(limit, len(want))]

		made := encode(list)
		l := placeList{dst: made[:len(made)-1], start: 1, limit: limit}
		one, err := json.Marshal(added)
		if err != nil {
			rt.Fatal(err)
		}
		l.insert(one, weight)
		if got := string(append(l.dst, ']')); got != string(encode(want)) {
			rt.Fatalf("%s, want %s", got, encode(want))
		}
	})
}

func TestIsAirportCode(t *testing.T) {
	for text, want := range map[string]bool{"pdx": true, "KPDX": true, "0S9": true, "pd": false, "kpdxx": false, "123": false, "p x": false, "Zü": false, "zür": false, "": false} {
		if got := isAirportCode(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestMatchOf(t *testing.T) {
	members := []byte(`"id":1,"name":"Z\u00fcrich \"x\"","country":"CH"`)
	for _, tt := range []struct {
		m     search.Match
		shown string
		want  string
	}{
		{search.Match{Kind: search.Prefix}, "", ""},
		{search.Match{Kind: search.Prefix}, "Zurigo", `Zürich "x"`},
		{search.Match{Kind: search.Prefix}, `Zürich "x"`, ""},
		{search.Match{Kind: search.Prefix, Name: "Zurigo"}, "Zurigo", ""},
		{search.Match{Kind: search.Prefix, Name: "Turitg"}, "Zurigo", "Turitg"},
		{search.Match{Kind: search.Prefix, Historic: true}, "Zurigo", ""},
	} {
		if got := matchOf(&tt.m, members, tt.shown).Name; got != tt.want {
			t.Errorf("%+v shown as %q: %q, want %q", tt.m, tt.shown, got, tt.want)
		}
	}
	if got := string(places.AppendNamed(nil, members, `A "b" <c>`)); got != `"id":1,"name":"A \"b\" \u003cc\u003e","country":"CH"` {
		t.Error(got)
	}
	for _, odd := range []string{``, `"id":1`, `"id":1,"name":`, `"id":1,"name":"a`, `"id":1,"name":"\`} {
		places.AppendNamed(nil, []byte(odd), "x")
		matchOf(&search.Match{}, []byte(odd), "x")
	}
}
