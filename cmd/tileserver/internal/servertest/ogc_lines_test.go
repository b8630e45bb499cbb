//go:build !race

package servertest_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"quadrille/cmd/tileserver/internal/servertest"
)

// Every endpoint that shows regions shows lines, as the description says.
func TestLines(t *testing.T) {
	w := servertest.NewRivers(t)
	api := servertest.ReadDescription(t)
	const aa, half = `"coordinates":[[5,47],[6,47.5],[7,47.25]]`, `"coordinates":[[5,47],[6,47.5]`
	across := `{"type":"MultiLineString","coordinates":[[[179,1],[180,1.5]],[[-180,1.5],[-179,2]]]}`
	for _, tc := range []struct {
		path, request string
		want          []string
	}{
		{
			"/ogc/collections/{collectionId}/items",
			"/ogc/collections/river/items",
			[]string{`{"type":"LineString",` + aa, across, `"numberMatched":2`},
		},
		{"/ogc/collections/{collectionId}/items", "/ogc/collections/river/items?bbox=5.5,47,5.6,47.5", []string{aa, `"numberMatched":1`}},
		{"/ogc/collections/{collectionId}/items", "/ogc/collections/river/items?bbox=4,46,8,48", []string{aa, `"numberMatched":1`}},
		{"/ogc/collections/{collectionId}/items", "/ogc/collections/river/items?bbox=5.5,47.4,5.6,47.5", []string{`"numberMatched":0`}},
		{"/ogc/collections/{collectionId}/items", "/ogc/collections/river/items?bbox=179.5,1,-179.5,2", []string{across, `"numberMatched":1`}},
		{"/ogc/collections/{collectionId}/items/{featureId}", "/ogc/collections/river/items/bb", []string{across, `"bbox":[179,1,-179,2]`}},
		{
			"/ogc/collections/{collectionId}/items/{featureId}",
			"/ogc/collections/river/items/aa?crs=http://www.opengis.net/def/crs/EPSG/0/4326",
			[]string{`[[47,5],[47.5,6],[47.25,7]]`},
		},
		{"/regions/{type}/{id}", "/regions/river/aa?geometry=true", []string{aa, `"bbox":[5,47,7,47.5]`}},
		{"/regions/within", "/regions/within?bbox=5.5,47,6.5,48", []string{`"id":"aa"`}},
		{"/regions/within", "/regions/within?bbox=4,46,6,48&types=river&id=aa", []string{half + `]}`}},
		{
			"/tiles/{layers}/{z}/{x}/{y}.{format}",
			"/tiles/river/5/16/11.geojson",
			[]string{`"id":"river:aa"`, `{"type":"LineString","coordinates":[[`},
		},
		{
			"/tiles/{layers}/{z}/{x}/{y}.{format}",
			"/tiles/river:bb/0/0/0.geojson",
			[]string{`"id":"river:bb"`, `{"type":"MultiLineString","coordinates":[[[`},
		},
	} {
		res := w.Get(tc.request)
		text := servertest.Body(t, res)
		for _, part := range tc.want {
			if res.StatusCode != http.StatusOK || !strings.Contains(text, part) {
				t.Errorf("%s: %d without %s: %s", tc.request, res.StatusCode, part, text)
			}
		}
		operations := api.Operations()
		i := slices.IndexFunc(operations, func(o servertest.Operation) bool { return o.Path == tc.path && o.Method == http.MethodGet })
		if i < 0 {
			t.Fatalf("%s is not described", tc.path)
		}
		api.CheckAnswer(tc.request, &operations[i], w.Get(tc.request))
	}
}
