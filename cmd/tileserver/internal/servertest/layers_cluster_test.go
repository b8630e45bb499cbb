package servertest_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"testing"

	"quadrille/cmd/tileserver/internal/servertest"
)

// TestClusters requests the points in the clusters of tiles, in pages and with filters. Together
// with the single points in tiles, these are all points, each once.
func TestClusters(t *testing.T) {
	w := servertest.NewShops(t)
	get := func(path string, into any) {
		t.Helper()
		if err := json.Unmarshal([]byte(servertest.Body(t, w.Get(path))), into); err != nil {
			t.Fatal(path, err)
		}
	}
	var all struct{ Count int }
	get("/points/shops/count", &all)
	type page struct {
		Points []struct{ ID string }
		Next   string
	}
	for z := range 4 {
		seen := map[string]int{}
		cafes := 0
		for x := range 1 << z {
			for y := range 1 << z {
				var tile struct {
					Features []struct {
						ID         string
						Properties struct {
							Cluster bool
							ID      string `json:"cluster_id"`
							Count   int    `json:"point_count"`
						}
					}
				}
				get(fmt.Sprintf("/tiles/points:shops/%d/%d/%d.geojson", z, x, y), &tile)
				for _, f := range tile.Features {
					if !f.Properties.Cluster {
						seen[f.ID]++
						continue
					}
					n := 0
					path := "/points/shops/cluster/" + f.Properties.ID + "?limit=1000"
					for cursor := ""; ; {
						var p page
						get(path+cursor, &p)
						for _, one := range p.Points {
							seen[one.ID]++
						}
						if n += len(p.Points); p.Next == "" {
							break
						}
						cursor = "&cursor=" + url.QueryEscape(p.Next)
					}
					if n != f.Properties.Count {
						t.Errorf("cluster %s lists %d points, and says %d", f.Properties.ID, n, f.Properties.Count)
					}
					var p page
					get(path+"&category=cafe", &p)
					if p.Next == "" {
						cafes += len(p.Points)
					}
				}
			}
		}
		if len(seen) != all.Count {
			t.Errorf("zoom %d lists %d points of %d", z, len(seen), all.Count)
		}
		for id, n := range seen {
			if n != 1 {
				t.Errorf("zoom %d lists the point %s %d times", z, id, n)
			}
		}
		if cafes == all.Count {
			t.Error("the filter lets all pass")
		}
	}
	for _, path := range []string{"/points/shops/cluster/0-0", "/points/shops/cluster/x", "/points/shops/cluster/23-0"} {
		servertest.WantProblem(t, w.Get(path), 404, "cluster-not-found")
	}
	for _, at := range []string{"at=1", "at=", "at=1&limit=2"} {
		servertest.WantProblem(t, w.Get("/points/shops/cluster/0-0?"+at), 400, "bad-parameter")
	}
	servertest.WantProblem(t, w.Get("/points/secret/cluster/0-0"), 404, "collection-not-found")
	servertest.WantProblem(t, w.Get("/points/drivers/cluster/track"), 404, "cluster-not-found")
}
