package geocoder

import (
	"encoding/csv"
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"quadrille/ask"
	"quadrille/cellstore/published"
	"quadrille/internal/must"
	"quadrille/places/names"
)

// leastRight is the least number of correct landmarks. The others are wrong because the middle of
// the town or of its neighbour is not where most people would expect it: Niterói lies across a bay
// from Rio.
const leastRight = 129

// Landmarks of great cities are in those cities, and landmarks of the towns around are not. The
// test reads the demo's data in the directory QUADRILLE_DEMO_DATA.
func TestLandmarks(t *testing.T) {
	dir := os.Getenv("QUADRILLE_DEMO_DATA")
	if dir == "" {
		t.Skip("QUADRILLE_DEMO_DATA names no directory with the demo's data")
	}
	c := must.Get(published.OpenCatalog(dir)).In(t)
	sets := ask.PublishedSets(c.Generations)
	must.Do(t, sets.Poll(t.Context()))
	t.Cleanup(func() { _ = sets.Close() })
	v := ask.NewViews(sets).Take(time.Now())
	t.Cleanup(v.Release)
	s := &Session{View: v, NoAddresses: true}
	file := must.Get(os.Open("testdata/landmarks.csv")).In(t)
	defer func() { _ = file.Close() }()
	r := csv.NewReader(file)
	r.Comment = '#'
	right := 0
	rows := must.Get(r.ReadAll()).In(t)
	for _, row := range rows {
		lat, lon := must.Get(strconv.ParseFloat(row[1], 64)).In(t), must.Get(strconv.ParseFloat(row[2], 64)).In(t)
		found, err := s.Reverse(t.Context(), ReverseQuery{Lat: lat, Lon: lon})
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v, %v", row[0], found, err)
		}
		want := regexp.MustCompile(row[3])
		if want.MatchString(found[0].Name) ||
			slices.ContainsFunc(found[0].Parents, func(p names.Parent) bool { return p.Type == cityType && want.MatchString(p.Name) }) {
			right++
			continue
		}
		t.Logf("%s is in %s, want %s", row[0], found[0].Label, row[3])
	}
	if right < leastRight {
		t.Errorf("%d of %d are right, want %d at least", right, len(rows), leastRight)
	}
}
