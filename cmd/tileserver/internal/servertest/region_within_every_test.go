//go:build !race

package servertest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/geojson"

	"quadrille/cmd/tileserver/internal/servertest"
)

// In every layer of points, a query for a region finds the features for which /regions/at returns
// the region: in the order of the layer, in pages, as one list, and as a count.
func TestWithinEveryRegion(t *testing.T) {
	w := servertest.NewWhole(t)
	get := func(path string) string {
		t.Helper()
		res := w.Get(path)
		text := servertest.Body(t, res)
		if res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d %s", path, res.StatusCode, text)
		}
		return text
	}
	page := func(path string) (ids []string, at []orb.Point, next string) {
		t.Helper()
		var doc struct {
			Features []*geojson.Feature
			Next     string
		}
		if err := json.Unmarshal([]byte(get(path)), &doc); err != nil {
			t.Fatal(err)
		}
		for _, f := range doc.Features {
			ids, at = append(ids, fmt.Sprint(f.ID)), append(at, f.Point())
		}
		return ids, at, doc.Next
	}
	regions := map[string][]string{"country": {"wl", "el", "is"}, "state": {"wl-n", "wl-s"}}
	for _, layer := range []string{"/places", "/airports", "/stations", "/points/shops"} {
		more := ""
		if layer == "/airports" {
			more = "&closed=true"
		}
		var all []string
		var at []orb.Point
		for cursor := ""; ; {
			ids, points, next := page(layer + "/within?bbox=-180,-90,180,90&format=geojson&limit=1000" + more + cursor)
			all, at = append(all, ids...), append(at, points...)
			if next == "" {
				break
			}
			cursor = "&cursor=" + next
		}
		holds := map[string]map[int]bool{} // by type and id
		for i, p := range at {
			var doc struct{ Regions []struct{ Type, ID string } }
			if err := json.Unmarshal([]byte(get(fmt.Sprintf("/regions/at?lat=%v&lon=%v", p.Lat(), p.Lon()))), &doc); err != nil {
				t.Fatal(err)
			}
			for _, r := range doc.Regions {
				key := r.Type + "/" + r.ID
				if holds[key] == nil {
					holds[key] = map[int]bool{}
				}
				holds[key][i] = true
			}
		}
		found := 0
		for typ, ids := range regions {
			for _, id := range ids {
				key := typ + "/" + id
				var want []string
				for i := range all {
					if holds[key][i] {
						want = append(want, all[i])
					}
				}
				found += len(want)
				for _, limit := range []int{7, 1000} {
					var got []string
					for cursor := ""; ; {
						page, _, next := page(fmt.Sprintf("%s/within/%s?format=geojson&limit=%d%s%s", layer, key, limit, more, cursor))
						got = append(got, page...)
						if next == "" {
							break
						}
						cursor = "&cursor=" + next
					}
					if !slices.Equal(got, want) {
						t.Errorf("%s in %s, by %d: %q, want %q", layer, key, limit, got, want)
					}
				}
				if n := strings.Count(get(layer+"/within/"+key+"?format=ndjson"+more), "\n"); n != len(want) {
					t.Errorf("%s in %s: %d lines, want %d", layer, key, n, len(want))
				}
				if got, want := get(layer+"/count?region="+typ+":"+id+more), fmt.Sprintf(`{"count":%d}`, len(want)); got != want {
					t.Errorf("%s in %s: %s, want %s", layer, key, got, want)
				}
			}
		}
		if found == 0 && layer != "/stations" { // toy stations are at sea
			t.Errorf("%s: nothing is in any region", layer)
		}
	}
}
