package clienttest

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"quadrille/cmd/internal/programs"
)

// ogcPage is a page of features.
type ogcPage struct {
	Features []struct {
		ID         string
		Geometry   struct{ Coordinates json.RawMessage }
		Properties map[string]any
	}
	NumberReturned int
	Links          []struct{ Rel, Href string }
}

func (p *ogcPage) next() string {
	for _, l := range p.Links {
		if l.Rel == "next" {
			return l.Href
		}
	}
	return ""
}

func fetchPage(t *testing.T, address string) (p ogcPage) {
	t.Helper()
	code, text := fetch(t, address)
	if code != http.StatusOK {
		t.Fatalf("%s: %d %s", address, code, text)
	}
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		t.Fatalf("%s: %v", address, err)
	}
	if p.NumberReturned != len(p.Features) {
		t.Errorf("%s: numberReturned is %d of %d", address, p.NumberReturned, len(p.Features))
	}
	return p
}

// allOf follows the "next" links and joins all pages.
func allOf(t *testing.T, address string) (all ogcPage) {
	t.Helper()
	for range 10_000 {
		p := fetchPage(t, address)
		all.Features = append(all.Features, p.Features...)
		if address = p.next(); address == "" {
			return all
		}
	}
	t.Fatal("the pages do not end")
	return all
}

func (p *ogcPage) ids() (ids []string) {
	for _, f := range p.Features {
		ids = append(ids, f.ID)
	}
	return ids
}

// Every collection lists each feature exactly once, whatever the page size, and filters pass the
// correct features. QUADRILLE_DEMO_DATA may name the demo's data, which has more collections.
func TestOGCFeatures(t *testing.T) {
	data := os.Getenv("QUADRILLE_DEMO_DATA")
	if data == "" {
		data = t.TempDir()
		publishFeatures(t, data)
	}
	site := programs.Serve(t, "--data", data, "--address-limit=1000000/1m").URL
	_, text := fetch(t, site+"/ogc/collections")
	var list struct{ Collections []struct{ ID string } }
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Collections) < 5 {
		t.Fatalf("only %d collections: %s", len(list.Collections), text)
	}
	for _, c := range list.Collections {
		items := site + "/ogc/collections/" + c.ID + "/items"
		whole := allOf(t, items+"?limit=1000")
		ids := whole.ids()
		if sorted := slices.Sorted(slices.Values(ids)); len(ids) == 0 || len(slices.Compact(sorted)) != len(ids) {
			t.Errorf("%s: %d features, not each once", c.ID, len(ids))
		}
		if len(ids) <= 500 {
			small := allOf(t, items+"?limit=7")
			if !slices.Equal(small.ids(), ids) {
				t.Errorf("%s: small pages have %v, not %v", c.ID, small.ids(), ids)
			}
		}
		// The "next" link must not apply the offset again.
		if some := allOf(t, items+"?limit=3&offset=2"); len(ids) <= 500 && !slices.Equal(some.ids(), ids[min(2, len(ids)):]) {
			t.Errorf("%s: from the third on there are %v, not %v", c.ID, some.ids(), ids[min(2, len(ids)):])
		}
		// numberMatched includes the features before the offset, even with a filter.
		for _, asked := range []string{"offset=2", "offset=10000", "offset=1&bbox=-180,-90,180,90"} {
			_, text := fetch(t, items+"?limit=1000&f=json&"+asked)
			var page struct{ NumberMatched *int }
			if err := json.Unmarshal([]byte(text), &page); err != nil ||
				len(ids) < 1000 && (page.NumberMatched == nil || *page.NumberMatched != len(ids)) {
				t.Errorf("%s?%s: numberMatched %v, want %d: %v", c.ID, asked, page.NumberMatched, len(ids), err)
			}
		}
		some := whole.Features[len(ids)/2]
		name, _ := some.Properties["name"].(string)
		var named []string
		for _, f := range whole.Features {
			if f.Properties["name"] == some.Properties["name"] {
				named = append(named, f.ID)
			}
		}
		for _, query := range []string{
			"name=" + url.QueryEscape(name),
			"filter=" + url.QueryEscape("name = '"+strings.ReplaceAll(name, "'", "''")+"'"),
			"filter=" + url.QueryEscape("NOT (name <> '"+strings.ReplaceAll(name, "'", "''")+"') AND S_INTERSECTS(geometry, BBOX(-180,-90,180,90))"),
		} {
			if got := allOf(t, items+"?limit=1000&"+query); name != "" && !slices.Equal(got.ids(), named) {
				t.Errorf("%s?%s has %v, not %v", c.ID, query, got.ids(), named)
			}
		}
		// A box is given by bbox, as the second box of a filter, and in another coordinate system.
		var points []string
		point := true
		for _, f := range whole.Features {
			var at [2]float64
			if json.Unmarshal(f.Geometry.Coordinates, &at) != nil {
				point = false
				break
			}
			if at[0] >= 0 && at[0] <= 20 && at[1] >= 40 && at[1] <= 60 {
				points = append(points, f.ID)
			}
		}
		box := allOf(t, items+"?limit=1000&bbox=0,40,20,60")
		if point && !slices.Equal(box.ids(), points) {
			t.Errorf("%s in a box: %v, not %v", c.ID, box.ids(), points)
		}
		for _, query := range []string{
			"bbox=40,0,60,20&bbox-crs=http://www.opengis.net/def/crs/EPSG/0/4326",
			"filter=" + url.QueryEscape("S_INTERSECTS(geometry, BBOX(0,40,20,60))"),
			"filter=" + url.QueryEscape("S_INTERSECTS(geometry, BBOX(0,40,20,60)) OR name = 'nowhere at all'"),
		} {
			if got := allOf(t, items+"?limit=1000&"+query); !slices.Equal(got.ids(), box.ids()) {
				t.Errorf("%s?%s has %v, not %v", c.ID, query, got.ids(), box.ids())
			}
		}
		if code, text := fetch(t, items+"/"+url.PathEscape(some.ID)); code != http.StatusOK || !strings.Contains(text, `"id":"`+some.ID+`"`) {
			t.Errorf("%s/%s: %d %s", c.ID, some.ID, code, text)
		}
		for query, parameter := range map[string]string{
			"bbox=NaN,0,1,1":                           "bbox",
			"bbox=0,0,1":                               "bbox",
			"bbox=0,10,1,-10":                          "bbox",
			"bbox=0,0,0,1,1,-5":                        "bbox",
			"crs=EPSG:25832":                           "crs",
			"bbox-crs=x&bbox=0,0,1,1":                  "bbox-crs",
			"limit=0":                                  "limit",
			"limit=x":                                  "limit",
			"datetime=soon":                            "datetime",
			"nothing_such=1":                           "nothing_such",
			"filter=nothing_such=1":                    "filter",
			"filter=" + strings.Repeat("(", 1000):      "filter",
			"filter=" + strings.Repeat("a", 10_001):    "filter",
			"filter=name%20%3D":                        "filter",
			"filter=S_INTERSECTS(shape,BBOX(0,0,1,1))": "filter",
			"filter-lang=cql3":                         "filter-lang",
			"filter-crs=http://www.opengis.net/def/crs/EPSG/0/3857": "filter-crs", "cursor=": "cursor", "f=gml": "f",
		} {
			code, text := fetch(t, items+"?"+query)
			if code != http.StatusBadRequest || !strings.Contains(text, `"parameter":"`+parameter+`"`) {
				t.Errorf("%s?%.60s: %d %s, want 400 for %s", c.ID, query, code, text, parameter)
			}
		}
		for _, page := range []string{"", "/items", "/queryables", "/items/" + url.PathEscape(some.ID)} {
			if code, text := fetch(t, site+"/ogc/collections/"+c.ID+page+"?f=html"); code != http.StatusOK || !strings.Contains(text, "<h1>") {
				t.Errorf("%s%s as a page: %d %.200s", c.ID, page, code, text)
			}
		}
	}
	for _, address := range []string{"/ogc/collections/moon", "/ogc/collections/moon/items", "/ogc/collections/places/items/0",
		"/ogc/collections/airports/items/x", "/ogc/collections/country/items/x%2Fy"} {
		if code, text := fetch(t, site+address); code != http.StatusNotFound {
			t.Errorf("%s: %d %s", address, code, text)
		}
	}
}
