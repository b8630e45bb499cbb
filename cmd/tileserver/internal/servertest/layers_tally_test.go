package servertest_test

import (
	"encoding/csv"
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"quadrille/cmd/tileserver/internal/servertest"
)

type talliedCount struct {
	Count  int
	Groups []struct {
		Group map[string]*string
		Count int
		Sum   map[string]float64
	}
	Others   struct{ Groups, Count int }
	Sum      map[string]float64
	Mean     map[string]float64
	Distinct map[string]int
}

// Counts tell the number of each group, and sums of it: they are those of lists and of counts with
// the group as a filter or an area.
func TestTallies(t *testing.T) {
	w := servertest.NewShops(t)
	get := func(path string) (c talliedCount) {
		t.Helper()
		if err := json.Unmarshal([]byte(servertest.Body(t, w.Get(path))), &c); err != nil {
			t.Fatal(path, err)
		}
		return c
	}
	all := get("/points/shops/count").Count
	for _, c := range []struct{ by, filter string }{{"category", "category"}, {"p.category", "category"}, {"country", "region"}, {"tile:3", "tile"}} {
		got := get("/points/shops/count?limit=50000&sum=price&by=" + c.by)
		sum := 0
		total := 0.0
		for i, g := range got.Groups {
			sum += g.Count
			total += g.Sum["price"]
			if i > 0 && g.Count > got.Groups[i-1].Count {
				t.Errorf("by %s: group %d has more than the one before", c.by, i)
			}
			column := strings.TrimSuffix(strings.TrimPrefix(c.by, "p."), ":3")
			value := g.Group[column]
			if value == nil {
				continue
			}
			filter := c.filter + "=" + *value
			if c.filter == "region" {
				filter = "region=country:" + *value
			}
			if n := get("/points/shops/count?" + filter).Count; n != g.Count {
				t.Errorf("%s has %d, by %s %d", filter, n, c.by, g.Count)
			}
		}
		if sum != all || got.Count != all {
			t.Errorf("by %s: the groups have %d of %d, count is %d", c.by, sum, all, got.Count)
		}
		if s := get("/points/shops/count?sum=price&mean=price&distinct=category"); math.Abs(s.Sum["price"]-total) > 1e-6 ||
			math.Abs(s.Mean["price"]*float64(all)-total) > 1e-6*total || s.Distinct["category"] != len(get("/points/shops/count?by=category").Groups) {
			t.Errorf("%+v, the groups' sum is %v", s, total)
		}
	}
	two := get("/points/shops/count?by=category,country&limit=3")
	rest := two.Others.Count
	for _, g := range two.Groups {
		rest += g.Count
	}
	if len(two.Groups) != 3 || two.Others.Groups == 0 || rest != all {
		t.Errorf("%+v", two)
	}
	if n := get("/points/shops,drivers/count?by=category").Count; n <= all {
		t.Errorf("two collections have %d", n)
	}
	if got := get("/places/count?by=class,p.country"); len(got.Groups) == 0 || got.Count != get("/places/count").Count {
		t.Errorf("places: %+v", got)
	}

	table, err := csv.NewReader(strings.NewReader(servertest.Body(t, w.Get("/points/shops/count?by=country,category&max=price&limit=4&format=csv")))).ReadAll()
	if err != nil || len(table) != 6 || strings.Join(table[0], " ") != "country country_name category count max_price" {
		t.Errorf("%q, %v", table, err)
	}
	if n, _ := strconv.Atoi(strings.Trim(strings.Fields(table[len(table)-1][0])[0], "(")); n == 0 {
		t.Errorf("the rest is told as %q", table[len(table)-1])
	}

	for path, detail := range map[string]string{
		"/points/shops/count?by=categori":          "There is no property categori",
		"/points/shops/count?by=a,b,c":             "one or two",
		"/points/shops/count?by=category,category": "once",
		"/points/shops/count?by=tile:23":           "0 to 22",
		"/points/shops/count?sum=category":         "distinct",
	} {
		if p := servertest.WantProblem(t, w.Get(path), http.StatusBadRequest, "bad-parameter"); !strings.Contains(p.Detail, detail) {
			t.Errorf("%s: %s", path, p.Detail)
		}
	}
}

// collectionOfGroups is a count as GeoJSON.
type collectionOfGroups struct {
	Type     string
	Count    int
	Others   struct{ Groups, Count int }
	Features []struct {
		ID         string
		BBox       []float64
		Geometry   *struct{ Type string }
		Properties map[string]any
	}
}

// Groups are features as GeoJSON: tiles and regions with their bounds and geometries, others without. They have the numbers
// of the other forms, in lists of the layer's own and in OGC API alike.
func TestTalliesAsGeoJSON(t *testing.T) {
	w := servertest.NewShops(t)
	get := func(path string, dst any) {
		t.Helper()
		if err := json.Unmarshal([]byte(servertest.Body(t, w.Get(path))), dst); err != nil {
			t.Fatal(path, err)
		}
	}
	const ogc = "/ogc/collections/points:shops/count?"
	for by, drawn := range map[string]string{"tile:3": "tile", "country": "country", "category": "", "category,country": "country",
		"tile:2,country": "tile", "country,tile:2": "country"} {
		query := "limit=30&sum=price&by=" + by
		var c collectionOfGroups
		var plain talliedCount
		get("/points/shops/count?format=geojson&"+query, &c)
		get("/points/shops/count?"+query, &plain)
		if c.Type != "FeatureCollection" || c.Count != plain.Count || len(c.Features) != len(plain.Groups) || c.Others != plain.Others {
			t.Fatalf("by %s: %+v, and as JSON %+v", by, c, plain)
		}
		for i, f := range c.Features {
			g := plain.Groups[i]
			if f.Properties["count"] != float64(g.Count) || f.Properties["sum_price"] != g.Sum["price"] {
				t.Errorf("by %s: %v is %+v as JSON", by, f.Properties, g)
			}
			of := g.Group[drawn]
			if (of != nil) != (f.Geometry != nil) || (f.Geometry != nil) != (len(f.BBox) == 4) {
				t.Errorf("by %s: %+v of %v", by, f, of)
			}
			if of == nil {
				continue
			}
			id := *of
			if drawn != "tile" {
				id = drawn + ":" + id
			}
			if strings.Contains(by, ",") {
				id = "" // there are several of it
			}
			if f.ID != id {
				t.Errorf("by %s: the id is %q, want %q", by, f.ID, id)
			}
		}
		for _, form := range []string{"json", "csv", "geojson"} {
			own := servertest.Body(t, w.Get("/points/shops/count?format="+form+"&"+query))
			if got := servertest.Body(t, w.Get(ogc+"f="+form+"&"+query)); got != own {
				t.Errorf("by %s as %s: OGC API has %.200s, the layer %.200s", by, form, got, own)
			}
		}
	}

	// Filters of OGC API select what is counted; regions are counted, and grouped by properties.
	var all, some, cafes, box, countries, europe talliedCount
	get(ogc, &all)
	get(ogc+"filter=category='cafe'", &cafes)
	get(ogc+"category=cafe&by=category", &some)
	get(ogc+"bbox=5,45,11,48&filter=category='cafe'%20OR%20NOT%20category='cafe'", &box)
	if cafes.Count == 0 || cafes.Count >= all.Count || some.Count != cafes.Count || len(some.Groups) != 1 || box.Count == 0 || box.Count >= all.Count {
		t.Errorf("%d in all, %d cafes and %+v, %d in a box", all.Count, cafes.Count, some, box.Count)
	}
	get("/ogc/collections/country/count", &countries)
	get("/ogc/collections/country/count?by=name&bbox=5,45,11,48", &europe)
	if len(europe.Groups) == 0 || europe.Count >= countries.Count {
		t.Errorf("%+v of %+v", europe, countries)
	}
	var collection struct{ Links []struct{ Rel, Href string } }
	get("/ogc/collections/points:shops", &collection)
	linked := ""
	for _, l := range collection.Links {
		if l.Rel == "related" {
			linked = l.Href
		}
	}
	if !strings.HasSuffix(linked, "/ogc/collections/points:shops/count?f=json") {
		t.Errorf("the collection links to %q", linked)
	}
	for path, detail := range map[string]string{
		"/ogc/collections/country/count?by=country": "Only points",
		"/ogc/collections/country/count?by=tile:3":  "Only points",
		ogc + "by=categori":                         "There is no property categori",
		ogc + "filter=categori=1":                   "queryables",
		ogc + "f=parquet":                           "Set f to one of",
	} {
		if p := servertest.WantProblem(t, w.Get(path), http.StatusBadRequest, "bad-parameter"); !strings.Contains(p.Detail, detail) {
			t.Errorf("%s: %s", path, p.Detail)
		}
	}
}
