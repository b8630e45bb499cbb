package enrich_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"quadrille/ask"
	"quadrille/ask/enrich"
	"quadrille/cellstore/dataset"
	"quadrille/internal/buildtest"
	pointstore "quadrille/places/points"
	"quadrille/quadkey"
)

// collection publishes a collection of points.
func collection(t testing.TB, name string, list []pointstore.Point) func(*ask.Sets) {
	store := buildtest.NewStore(t)
	meta, err := pointstore.Build(t.Context(), store, buildtest.SeqOf(list), pointstore.BuildOptions{Name: name, TempDir: t.TempDir(), Timestamp: 1})
	if err != nil {
		t.Fatal(err)
	}
	c, err := pointstore.Open(t.Context(), store, meta)
	if err != nil {
		t.Fatal(err)
	}
	return func(s *ask.Sets) {
		if s.Collections == nil {
			s.Collections = new(ask.Collections)
		}
		s.Collections.Add(name, dataset.NewFixedLive(c, dataset.Manifest{Dataset: ask.CollectionPrefix + name}))
		s.Collections.AddAll(nil)
	}
}

// large returns points on a grid of one degree around 47, 8, whose property note has up to 60,000 bytes.
func large(count, noteBytes int) (list []pointstore.Point) {
	for i := range count {
		note := strings.Repeat(strconv.Itoa(i%10), noteBytes)
		list = append(list, pointstore.Point{
			ID: strconv.Itoa(i), Lat: 40 + float64(i%16), Lon: float64(i/16%16) + float64(i/256)*.1,
			Properties: fmt.Appendf(nil, `{"note":%q,"n":%d}`, note, i),
		})
	}
	return list
}

// Parts have what Fill returns, whatever the size of the cells, and are small themselves.
func TestParts(t *testing.T) {
	v := world(t, addresses(t), collection(t, "large", large(64, 60_000)))
	ok := must(t)
	p, err := enrich.New(ok(enrich.Geocode(v, "text")), ok(enrich.Regions(v)), ok(enrich.TimeZone(v, "when")), ok(enrich.IP(v, "ip")),
		ok(enrich.Nearest(v, "large", "note", "n", "distance_m")), ok(enrich.Reverse(v)))
	if err != nil {
		t.Fatal(err)
	}
	chunk := func(bad *[]string) *enrich.Chunk {
		r := rand.New(rand.NewPCG(9, 2))
		c := &enrich.Chunk{Inputs: make([]enrich.Cells, 3)}
		c.Bad = func(row int, reason, detail string) { *bad = append(*bad, fmt.Sprint(row, " ", reason, " ", detail)) }
		for i := range 1500 {
			at := quadkey.Position{Lat: 40 + 16*r.Float64(), Lon: 16 * r.Float64()}
			if i%5 == 0 || 400 < i && i < 900 {
				at = enrich.NoPosition
			}
			c.Points = append(c.Points, at)
			c.Inputs[0].Add([]string{"", "", "Lugano", "Atlantis"}[i%4])
			c.Inputs[1].Add([]string{"2026-07-01", "yesterday", ""}[i%3])
			c.Inputs[2].Add([]string{"8.8.8.8", "", "nowhere"}[i%3])
		}
		return c
	}
	var bad, badOfParts []string
	want, err := p.Filler().Fill(t.Context(), chunk(&bad))
	if err != nil {
		t.Fatal(err)
	}
	next, parts, most := 0, 0, 0
	err = p.Filler().FillParts(t.Context(), chunk(&badOfParts), func(from, to int, cells []enrich.Cells) error {
		if from != next {
			t.Fatalf("a part from row %d, want %d", from, next)
		}
		size := 0
		for k := range cells {
			if cells[k].Len() != to-from {
				t.Fatalf("column %d has %d cells of %d rows", k, cells[k].Len(), to-from)
			}
			for i := range cells[k].Len() {
				size += len(cells[k].At(i))
				if string(cells[k].At(i)) != string(want[k].At(from+i)) {
					t.Fatalf("row %d of column %d: %.50s, want %.50s", from+i, k, cells[k].At(i), want[k].At(from+i))
				}
			}
		}
		next, parts, most = to, parts+1, max(most, size)
		return nil
	})
	if err != nil || next != 1500 || parts < 3 || most > 5<<20 {
		t.Errorf("%d rows in %d parts of up to %d bytes: %v", next, parts, most, err)
	}
	slices.Sort(bad)
	slices.Sort(badOfParts)
	if len(bad) == 0 || !slices.Equal(bad, badOfParts) {
		t.Errorf("%d bad cells in parts, %d at once", len(badOfParts), len(bad))
	}
	broken := errors.New("broken")
	if err := p.Filler().FillParts(t.Context(), chunk(&bad), func(int, int, []enrich.Cells) error { return broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
}

// A collection with the name of another layer is meant only with its prefix, and that is said.
func TestOneName(t *testing.T) {
	v := world(t, collection(t, "place", large(1, 1)), collection(t, "places", large(1, 1)), collection(t, "shops", large(1, 1)))
	for layer, want := range map[string]string{
		"place":        "the nearest place is one of the layer places, not of the collection of that name: that is points:place",
		"places":       "the nearest places is one of the layer places, not of the collection of that name: that is points:places",
		"airport":      "",
		"shops":        "",
		"points:shops": "",
		"points:place": "",
	} {
		p, err := enrich.New(must(t)(enrich.Nearest(v, layer, "id")))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(p.Notes(), "; "); got != want {
			t.Errorf("%s: %s, want %s", layer, got, want)
		}
	}
	_, got := rows(t, &enrich.Chunk{Points: points[:1]}, must(t)(enrich.Nearest(v, "points:place", "note")))
	if got[0] != "0" {
		t.Errorf("%q", got)
	}
}
