package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Layers of features are listed with blanks, and unknown ones are refused in words that hold without data too.
func TestListsOfFeatureLayers(t *testing.T) {
	dir := t.TempDir()
	data, file := filepath.Join(dir, "data"), filepath.Join(dir, "ward.geojson")
	do := func(args ...string) error {
		var out, stderr bytes.Buffer
		return run(t.Context(), append(args, "--data", data), &out, &stderr)
	}
	export := func(list string) error { return do("export", list, filepath.Join(dir, "x.PARQUET")) }
	if err := export("points:x"); err == nil || !strings.Contains(err.Error(), `"points:x"; nothing is published`) {
		t.Errorf("without data: %v", err)
	}
	ward := `{"type":"FeatureCollection","features":[{"type":"Feature","properties":{"id":"a","name":"A"},
		"geometry":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]}}]}`
	if err := os.WriteFile(file, []byte(ward), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := do("boundaries", "--layer", "ward="+file); err != nil {
		t.Fatal(err)
	}
	for list, want := range map[string]string{"ward:": "write ward for all", "ward, x": `"x"; there are ward`, " ward, ward:a": ""} {
		if err := export(list); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", list, err, want)
		}
	}
}
