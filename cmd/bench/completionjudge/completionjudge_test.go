package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quadrille/cmd/bench/judged"
)

// world returns a country, a state and three cities; two are called Newton.
func world(t *testing.T) *judged.World {
	t.Helper()
	file := filepath.Join(t.TempDir(), "states.json")
	if err := os.WriteFile(file,
		[]byte(`{"features":[{"id":"US-NE","properties":{"name":"New"},"geometry":{"type":"Polygon","coordinates":[[[0,0],[9,0],[9,9],[0,9],[0,0]]]}}]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	w := &judged.World{
		Places: []judged.Place{
			{ID: 1, Name: "Newton", Country: "US", Population: 500_000, Lat: 20},
			{ID: 2, Name: "Newton", Country: "US", Population: 1000, Lat: 20},
			{ID: 3, Name: "Néw Port", Country: "US", Population: 90_000, Lat: 5, Lon: 5},
			{ID: 4, Name: "New Section", Country: "US", Population: 900_000, Code: "PPLX"},
		},
		Countries: []judged.CountryInfo{{ISO: "NW", ISO3: "NEW", Name: "Newland", Population: 80_000, ID: "70"}},
		Airports:  []judged.Airport{{Name: "New Port International", IATA: "NPI", Lat: 5, Lon: 5.1}},
	}
	for level := range w.Layers {
		l, err := judged.ReadLayer(file, "", func(id string, text func(...string) string) *judged.Region {
			return &judged.Region{Names: []string{text("name")}, Codes: []string{id}, Country: "US", Kind: "State"}
		})
		if err != nil {
			t.Fatal(err)
		}
		w.Layers[level] = l
	}
	w.Finish()
	return w
}

func TestReference(t *testing.T) {
	r := expect(world(t), 2)
	byName := map[string]*target{}
	for _, o := range r.all {
		byName[o.kind+" "+o.name+" "+o.id] = o
	}
	for _, c := range []struct {
		name    string
		n, want int
	}{
		{"city Newton 1", 3, 1}, {"airport New Port International NPI", 3, 2}, {"city Néw Port 3", 3, 3}, {"state New ", 3,
			4}, {"country Newland NW", 3, 5},
		{"city Newton 2", 3, 0}, {"city Newton 2", 4, 2}, {"city Néw Port 3", 5, 2}, {"country Newland NW", 4, 1},
	} {
		o := byName[c.name]
		if o == nil {
			t.Fatalf("there is no %s among %v", c.name, byName)
		}
		if got := r.rank(o, c.n); got != c.want {
			t.Errorf("%s stands at %d after %d letters, not %d", c.name, got, c.n, c.want)
		}
	}
	if !byName["city Newton 2"].namesake || byName["city Newton 1"].namesake {
		t.Error("the smaller namesake can be first")
	}
	if len(r.lists) != 4 || len(r.lists[0].targets) != 2 {
		t.Errorf("the lists are %+v", r.lists)
	}
	sample := t.TempDir()
	if err := r.ownScript(world(t), sample); !os.IsNotExist(err) {
		t.Errorf("got %v", err)
	}
	if err := os.Mkdir(filepath.Join(sample, "build"), 0o755); err != nil {
		t.Fatal(err)
	}
	const rows = "1\t1\tru\tНьютон\t1\n2\t1\tru\tНютон\t\n3\t1\tru\tNewton\t1\n4\t70\tel\tΝέα Γη\t1\n"
	if err := os.WriteFile(filepath.Join(sample, "build", "alternateNames.txt"), []byte(rows), 0o644); err != nil {
		t.Fatal(err)
	}
	w := world(t)
	w.Countries = append(w.Countries, judged.CountryInfo{ISO: "US", Name: "States", Language: "ru"})
	w.Countries[0].Language = "el"
	r = expect(w, 2)
	if err := r.ownScript(w, sample); err != nil {
		t.Fatal(err)
	}
	if cities, countries := r.lists[4].targets, r.lists[5].targets; len(cities) != 1 || string(cities[0].typed) != "ньютон" ||
		len(countries) != 1 || countries[0].name != "Νέα Γη" {
		t.Errorf("own scripts are %+v, %+v", cities, countries)
	}
}

// TestJudge judges a server that finds nothing but the larger Newton, from three letters on.
func TestJudge(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query().Get("q")
		if len(q) < 3 || !strings.HasPrefix("newton", q) {
			_, _ = w.Write([]byte(`{"results":[]}`))
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"results": []map[string]any{
			{"kind": "place", "id": "9", "label": "Other"},
			{"kind": "place", "id": "1", "label": "Newton"},
		}})
	}))
	defer server.Close()
	w := world(t)
	got, err := judge(t.Context(), server.URL, expect(w, 2), w, 5)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| 2 largest cities | reference | 2 | 2 | 2 | 2 | 2 | 2 | 2 | 2 | 0 |\n| 2 largest cities | /geocode | 2 | 0 | 0 | " +
			"1 | 1 | 1 | 1 | 1 | 1 |\n",
		"| 2 largest cities | /geocode | 2 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 2 |\n",
		"letters of a state: 0 of 1 stand within the first 2. Not so: NE → nothing\n",
		"three letters of a country: 0 of 1 stand within the first 2. Not so: NEW → Other\n",
		"2 of 2 largest cities need more letters than by the reference to be among five:\n  Néw Port: never; after \"n\" " +
			"the first is nothing\n  Newton: 3 letters; after \"n\" the first is nothing\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}
