package clienttest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quadrille/cellstore/dataset"
	"quadrille/cmd/internal/programs"
	"quadrille/cmd/internal/toyworld"
)

// featuresSkipped lists the tests of the suite that do not apply to the toy world.
var featuresSkipped = map[string]string{
	"FeaturesBBox.validateFeaturesWithBoundingBoxResponse": "some of the suite's boxes, in England, " +
		"Colombia, Chukotka and at the poles, have no feature of a collection",
	"FeaturesBBox.validateFeaturesWithBoundingBoxResponse_NumberMatched": "a page of a box that has a next one does not " +
		"tell how many features there are: nobody has counted them",
}

// The OGC's suite for OGC API – Features finds no errors.
func TestCITEFeatures(t *testing.T) {
	foreign(t)
	data := t.TempDir()
	publishFeatures(t, data)
	site := programs.Serve(t, "--data", data).URL
	run := runCITE(t, "ets-ogcapi-features10-aio.jar", map[string]string{"iut": site + "/ogc", "noofcollections": "-1"})
	run.expect(t, featuresSkipped)
	if len(run.passed) < 300 {
		t.Errorf("only %d tests ran: %s", len(run.passed), strings.Join(run.passed, ", "))
	}
}

// publishFeatures publishes a data set of each kind that has features.
func publishFeatures(t *testing.T, data string) {
	t.Helper()
	publishToyWorld(t, data, "benches",
		"id,name,lat,lon,seen,seats\n1,Oak,47.1,5.2,2026-01-02T03:04:05Z,3\n2,Lime,47.3,6.9,2026-02-02T03:04:05Z,2\n3,Far,-1,170,2026-03-02T03:04:05Z,4\n")
}

// publishToyWorld publishes the toy world with its airports, and a table as a collection.
func publishToyWorld(t *testing.T, data, collection, table string) {
	t.Helper()
	if err := toyworld.Publish(t.Context(), data); err != nil {
		t.Fatal(err)
	}
	c, err := dataset.Open(data, toyworld.Open)
	if err != nil {
		t.Fatal(err)
	}
	if err := toyworld.PublishAirports(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), collection+".csv")
	if err := os.WriteFile(file, []byte(table), 0o600); err != nil {
		t.Fatal(err)
	}
	programs.Ingester(t)("--data", data, "points", collection, file)
}
