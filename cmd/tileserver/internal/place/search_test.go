package place

import (
	"encoding/json"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"quadrille/places/airports"
	"quadrille/places/search"
)

// Inserting an airport into a stored list has the same result as inserting it into the decoded
// list. Everything else remains as it is stored.
func TestInsert(t *testing.T) {
	airport := foundAirport{airports.Airport{Name: "airport"}, "PDX", 0}
	one := append(airport.appendMembers([]byte{'{'}), '}')
	rapid.Check(t, func(rt *rapid.T) {
		type item struct {
			Name       string `json:"name"`
			Note       string `json:"note,omitempty"`
			Population int64  `json:"population,omitempty"`
		}
		text := rapid.StringMatching(`[a-z"{}\\,:\[\]]{0,8}(,"population":99)?`)
		var list []json.RawMessage
		var populations []int64
		for range rapid.IntRange(0, 5).Draw(rt, "n") {
			p := item{text.Draw(rt, "name"), text.Draw(rt, "note"), rapid.Int64Range(0, 5).Draw(rt, "population")}
			b, err := json.Marshal(p)
			if err != nil {
				rt.Fatal(err)
			}
			list, populations = append(list, b), append(populations, p.Population)
		}
		limit := rapid.IntRange(max(len(list), 1), 6).Draw(rt, "limit")
		airport.weight = rapid.Int64Range(0, 6).Draw(rt, "weight")

		encode := func(list []json.RawMessage) string {
			b, err := json.Marshal(map[string]any{"places": append([]json.RawMessage{}, list...)})
			if err != nil {
				rt.Fatal(err)
			}
			return string(b)
		}
		at := slices.IndexFunc(populations, func(p int64) bool { return p < airport.weight })
		if at < 0 {
			at = len(list)
		}
		want := slices.Insert(slices.Clone(list), at, json.RawMessage(one))
		want = want[:min(limit, len(want))]
		got, err := insert(nil, []byte(encode(list)), &airport, limit)
		if err != nil || string(got) != encode(want) {
			rt.Fatalf("%s, %v, want %s", got, err, encode(want))
		}
	})
}

func TestIsAirportCode(t *testing.T) {
	for text, want := range map[string]bool{
		"pdx":   true,
		"KPDX":  true,
		"0S9":   true,
		"pd":    false,
		"kpdxx": false,
		"123":   false,
		"p x":   false,
		"Zü":    false,
		"zür":   false,
		"":      false,
	} {
		if got := isAirportCode(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestMatchOf(t *testing.T) {
	const own = `Zürich "x"`
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
		if got := matchOf(&tt.m, own, tt.shown).Name; got != tt.want {
			t.Errorf("%+v shown as %q: %q, want %q", tt.m, tt.shown, got, tt.want)
		}
	}
}
