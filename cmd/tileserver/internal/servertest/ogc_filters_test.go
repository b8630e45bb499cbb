//go:build !race

package servertest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/places/live"
)

// Filters of OGC API and those of lists have the same meaning for lists of values, members of
// objects and null.
func TestFiltersAgree(t *testing.T) {
	w, cars := servertest.NewCollections(t)
	var writes []live.Write
	for i, properties := range []string{
		`{"name":"N0","tags":["wifi","vegan"],"address":{"city":"Bern","zip":3000},"n":1}`,
		`{"name":"N1","tags":["wifi"],"address":{"city":"Bern"},"n":null}`,
		`{"name":"N2","tags":["dogs"],"address":{"city":"Basel"}}`,
		`{"name":"N3","tags":[],"address.city":"Bern"}`,
	} {
		writes = append(writes, live.Write{Kind: live.Put, ID: fmt.Sprintf("n%d", i), Lat: 47, Lon: 8, Properties: []byte(properties)})
	}
	if err := cars.Write(t.Context(), writes, make([]live.Outcome, len(writes))); err != nil {
		t.Fatal(err)
	}
	ask := func(request string) (answer struct {
		Count, NumberMatched int
		Detail               string
	},
	) {
		t.Helper()
		if err := json.Unmarshal([]byte(servertest.Body(t, w.Get(request))), &answer); err != nil {
			t.Fatal(request, err)
		}
		return answer
	}
	const items, list = "/ogc/collections/points:cars/items?", "/points/cars/count?"
	for _, tc := range []struct {
		want           int
		simple, filter string // of OGC API
		native         string
	}{
		{2, "tags=wifi", "tags = 'wifi'", "tags=wifi"},
		{3, "", "tags IN ('wifi', 'dogs')", "tags=wifi,dogs"},
		{2, "", "tags LIKE 'wi%'", "tags.prefix=wi"},
		{2, "", "tags <> 'wifi'", "tags.ne=wifi"},
		{2, "", "NOT tags = 'wifi'", "tags.ne=wifi"},
		{2, "", "A_CONTAINS(tags, ('wifi'))", "tags=wifi"},
		{1, "", "A_CONTAINS(tags, ('wifi', 'vegan'))", "tags=vegan"},
		{2, "", "A_OVERLAPS(tags, ('vegan', 'dogs'))", "tags=vegan,dogs"},
		{1, "", "A_EQUALS(tags, ('vegan', 'wifi'))", "tags=vegan"},
		{1, "", "A_EQUALS(tags, ())", "-tags="}, // but for the car of the world, which has none
		{3, "address.city=Bern", "address.city = 'Bern'", "address.city=Bern"},
		{1, "", "address.city <> 'Bern'", "address.city.ne=Bern"},
		{1, "address.zip=3000", "address.zip > 2999", "address.zip.gt=2999"},
		{1, "n=1", "n IS NOT NULL", "has=n"},
		{4, "", "n IS NULL", "lacks=n"},
	} {
		if got := ask(items + "filter=" + url.QueryEscape(tc.filter)); got.NumberMatched != tc.want || got.Detail != "" {
			t.Errorf("%s: %d, want %d: %s", tc.filter, got.NumberMatched, tc.want, got.Detail)
		}
		if got := ask(items + tc.simple); tc.simple != "" && got.NumberMatched != tc.want {
			t.Errorf("%s: %d, want %d: %s", tc.simple, got.NumberMatched, tc.want, got.Detail)
		}
		want := tc.want
		if tc.native == "-tags=" {
			want++
		}
		if got := ask(list + tc.native); got.Count != want || got.Detail != "" {
			t.Errorf("%s of the list: %d, want %d: %s", tc.native, got.Count, want, got.Detail)
		}
	}
	// A member of a property that is not an object is refused like an unknown name.
	for _, request := range []string{items + "name.first=x", items + "filter=name.first=1", list + "name.first=x"} {
		if got := ask(request); !strings.Contains(got.Detail, "name.first") {
			t.Errorf("%s: %q", request, got.Detail)
		}
	}
}

// TestFiltersOfRegionIDs tests that a filter finds a region by its id in either letter case, as the
// address of the region does.
func TestFiltersOfRegionIDs(t *testing.T) {
	w := servertest.NewRivers(t)
	for request, want := range map[string]string{
		"id=AA": "aa", "id=aa": "aa", "id=ab": "",
		"filter=id='AA'": "aa", "filter=id<>'AA'": "bb", "filter=NOT id='AA'": "bb", "filter='AA'=id OR id='x'": "aa",
		"filter=id IN ('AA','BB','CC')": "aa bb", "filter=id NOT IN ('AA')": "bb", "filter=id LIKE 'A%'": "aa", "filter=id NOT LIKE '_A'": "bb",
		"filter=A_OVERLAPS(id,('AA'))": "aa", "filter=CASEI(id)=CASEI('AA')": "aa", "filter=id BETWEEN 'b' AND 'c'": "bb",
		"filter=name='AA'": "", "filter=id='AA' AND S_INTERSECTS(geometry,BBOX(4,46,8,48))": "aa", "bbox=4,46,8,48&id=BB": "",
	} {
		name, value, _ := strings.Cut(request, "=")
		if name == "filter" {
			value = url.QueryEscape(value)
		}
		var answer struct{ Features []struct{ ID string } }
		text := servertest.Body(t, w.Get("/ogc/collections/river/items?"+name+"="+value))
		if err := json.Unmarshal([]byte(text), &answer); err != nil {
			t.Fatal(request, err)
		}
		var ids []string
		for _, f := range answer.Features {
			ids = append(ids, f.ID)
		}
		if got := strings.Join(ids, " "); got != want || !strings.Contains(text, `"numberMatched":`) {
			t.Errorf("%s: %q, want %q: %s", request, got, want, text)
		}
	}
}

// Filters in JSON select what the same filters in text do, of items and of counts.
func TestFiltersAsJSON(t *testing.T) {
	w := servertest.NewWhole(t)
	for text, object := range map[string]string{
		"country <> 'DE' AND NOT population < 30000": `{"op":"and","args":[{"op":"<>","args":[{"property":"country"},"DE"]},` +
			`{"op":"not","args":[{"op":"<","args":[{"property":"population"},30000]}]}]}`,
		"S_DWITHIN(geometry, POINT(5 47), 50, km)": `{"op":"s_dwithin","args":[{"property":"geometry"},{"type":"Point","coordinates":[5,47]},50,"km"]}`,
	} {
		var counts []string
		for _, lang := range []string{"cql2-text", "cql2-json"} {
			filter := text
			if lang == "cql2-json" {
				filter = object
			}
			query := "filter-lang=" + lang + "&filter=" + url.QueryEscape(filter)
			count := servertest.Body(t, w.Get("/ogc/collections/places/count?"+query))
			items := servertest.Body(t, w.Get("/ogc/collections/places/items?f=ndjson&limit=1000&"+query))
			counts = append(counts, count)
			if want := fmt.Sprintf(`{"count":%d}`, strings.Count(items, "\n")); count != want || count == `{"count":0}` {
				t.Errorf("%s: %s, and %s items", filter, count, want)
			}
		}
		if counts[0] != counts[1] {
			t.Errorf("%s: %s", text, counts)
		}
	}
	for query, detail := range map[string]string{
		"filter=" + url.QueryEscape(`{"op":"=","args":[{"property":"country"},"WL"]}`):                    "not expected here",
		"filter-lang=cql2-json&filter=country='WL'":                                                       "no JSON",
		"filter-lang=cql2-json&filter=" + url.QueryEscape(`{"op":"=","args":[{"property":"land"},"WL"]}`): "queryables",
		"filter-lang=cql3&filter=a=1":                                                                     "filter-lang",
	} {
		if p := servertest.WantProblem(t, w.Get("/ogc/collections/places/items?"+query), http.StatusBadRequest, "bad-parameter"); !strings.Contains(p.Detail, detail) {
			t.Errorf("%s: %s", query, p.Detail)
		}
	}
}
