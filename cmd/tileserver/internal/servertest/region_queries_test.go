package servertest_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/servertest"
)

func TestRegionQueries(t *testing.T) {
	f := servertest.New(t, nil, ask.Boundaries.Name)
	regions := func(path string) (list []string, next string) {
		res := f.Get(path)
		text := servertest.Body(t, res)
		var doc struct {
			Regions []struct{ Type, ID, Match string }
			Next    string
		}
		if err := json.Unmarshal([]byte(text), &doc); err != nil || res.StatusCode != 200 {
			t.Fatalf("%s: %d %v %s", path, res.StatusCode, err, text)
		}
		for _, r := range doc.Regions {
			list = append(list, r.Type+":"+r.ID)
		}
		return list, doc.Next
	}
	for _, tt := range []struct {
		query string
		want  []string
		more  bool
	}{
		{"bbox=1,2,3,45", []string{"country:fr", "state:nameless"}, false},
		{"bbox=179.5,%20-1e1%20,-179.5,4&types=state,country&limit=7", []string{"country:fj"}, false},
		{"bbox=-180,-90,180,90&types=state,country&limit=4", []string{"country:fj", "country:fr", "country:us", "state:nameless"}, true},
		{"bbox=1,2,1,2&types=state,state", []string{"state:nameless"}, false},
	} {
		if got, next := regions("/regions/within?" + tt.query); !slices.Equal(got, tt.want) || (next != "") != tt.more {
			t.Errorf("%s: %q, next %q, want %q, more %v", tt.query, got, next, tt.want, tt.more)
		}
	}
	// The point is a kilometre to the east of a state.
	for snap, want := range map[float64][]string{0: nil, 0.5: nil, 1000: nil, 1200: {"state:nameless"}, 50000: {"state:nameless"}} {
		if got, _ := regions(fmt.Sprintf("/regions/at?lat=2&lon=2.01&snap=%v", snap)); !slices.Equal(got, want) {
			t.Errorf("snap %v: %q, want %q", snap, got, want)
		}
	}
}
