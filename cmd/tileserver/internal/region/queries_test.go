package region_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"quadrille/cmd/internal/catalogue"
	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/feature"
	"quadrille/quadkey"
)

func TestRegionQueries(t *testing.T) {
	f := servertest.New(t, nil, catalogue.Boundaries.Name)
	for _, tt := range []struct {
		query string
		box   quadkey.Box
		types []string
		limit int
	}{
		{"bbox=1,2,3,4", quadkey.Box{West: 1, South: 2, East: 3, North: 4}, []string{"country", "state"}, 100},
		{"bbox=179.5,%20-1e1%20,-179.5,4&types=state,country&limit=7", quadkey.Box{West: 179.5, South: -10, East: -179.5, North: 4}, []string{"country", "state"}, 7},
		{"bbox=1,2,1,2&types=state,state", quadkey.Box{West: 1, South: 2, East: 1, North: 2}, []string{"state"}, 100},
	} {
		f.Boundaries.Asked = nil
		if res := f.Get("/regions/within?" + tt.query); res.StatusCode != 200 {
			t.Fatalf("%s: %d %s", tt.query, res.StatusCode, servertest.Body(t, res))
		}
		want := feature.Query{In: feature.Box(tt.box), Limit: tt.limit + 1, Detail: feature.WithoutGeometry}
		if diff := cmp.Diff(want, f.Boundaries.Query) + cmp.Diff(tt.types, f.Boundaries.Asked); diff != "" {
			t.Errorf("%s: %s", tt.query, diff)
		}
	}
	for _, snap := range []float64{0, 0.5, 50000} {
		if res := f.Get(fmt.Sprintf("/regions/at?lat=1&lon=2&snap=%v", snap)); res.StatusCode != 200 || f.Boundaries.Radius != snap {
			t.Errorf("snap %v: %d, radius %v", snap, res.StatusCode, f.Boundaries.Radius)
		}
	}
}
