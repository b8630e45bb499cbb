package main

import (
	"bytes"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"quadrille/cmd/internal/testfile"
)

// The flag --keep has no value, or all, none or layers, with the old spellings of a switch.
func TestKeepFlag(t *testing.T) {
	for text, want := range map[string]string{
		"--keep": "true", "--keep=true": "true", "--keep=all": "true", "--keep=1": "true", "--keep=none": "false", "--keep=false": "false",
		"--keep=country, state": "country,state", "": "false", "--keep=": "error", "--keep=a,": "error", "--keep=A": "error", "--keep=all,a": "error",
	} {
		c := &cli{}
		parser, err := newParser(c, io.Discard, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		args := slices.DeleteFunc([]string{"boundaries", "--layer=a=b", text}, func(arg string) bool { return arg == "" })
		_, err = parser.Parse(args)
		got, _ := c.Boundaries.Keep.MarshalText()
		if err != nil {
			got = []byte("error")
		}
		if string(got) != want {
			t.Errorf("%q: %s (%v), want %s", text, got, err, want)
		}
	}
	t.Setenv("QUADRILLE_KEEP", "true")
	c := &cli{}
	parser, err := newParser(c, io.Discard, io.Discard)
	if err == nil {
		_, err = parser.Parse([]string{"boundaries", "--layer=a=b"})
	}
	if err != nil || !c.Boundaries.Keep.all || !c.Boundaries.keeps("x") {
		t.Error(c.Boundaries.Keep, err)
	}
}

// What a file of settings says is done by refresh: a patch when its file has changed, layers to keep,
// and an empty collection. Removals are refused there, because they can be done only once.
func TestRefreshPatches(t *testing.T) {
	dir := t.TempDir()
	data, settings := filepath.Join(dir, "data"), filepath.Join(dir, "ingest.yaml")
	const squares = "internal/job/boundaries/testdata/squares.geojson"
	patch := testfile.WriteTemp(t, "patch.geojson",
		`{"type":"Feature","properties":{"CODE":"W 1","name":"Westward"},"geometry":{"type":"Polygon","coordinates":[[[30,0],[31,0],[31,1],[30,0]]]}}`)
	empty := testfile.WriteTemp(t, "none.csv", "id,lat,lon\n")
	ingest := func(args ...string) (string, error) {
		var out bytes.Buffer
		err := run(t.Context(), append(args, "--data", data), &out, &out)
		return out.String(), err
	}
	if out, err := ingest("boundaries", "--layer", "ward="+squares+":CODE", "--layer", "other="+squares+":CODE", "--tile-budget", "77kB"); err != nil {
		t.Fatal(err, out)
	}
	testfile.Write(t, settings, "boundaries: {patch: [ward="+patch+"], keep: other}\npoints: {collection: shops, file: ["+empty+"], allow-empty: true}\n")
	for i, want := range []string{"ward: regions replaced: 1, added: 0, removed: 0, left as they are: 2", "was made of the same", ""} {
		if i == 2 {
			testfile.Write(t, patch, strings.Replace(string(testfile.Read(t, patch)), "Westward", "West ward", 1))
			want = "ward: regions replaced: 1"
		}
		out, err := ingest("refresh", "--config", settings)
		if err != nil || !strings.Contains(out, want) || i == 0 && !strings.Contains(out, "the collection shops gets none") {
			t.Errorf("run %d: %v\n%s", i, err, out)
		}
	}
	catalog, err := openCatalog(data, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	m, err := catalog.Current(t.Context(), "boundaries")
	if err != nil || m.Generation != 3 || !bytes.Contains(m.Meta, []byte("77000")) || m.Records["other"] != 3 {
		t.Errorf("%+v, %v", m, err)
	}
	none := testfile.WriteTemp(t, "none.geojson", `{"type":"FeatureCollection","features":[]}`)
	if out, err := ingest("boundaries", "--patch", "ward="+none); err == nil {
		t.Error(out)
	}
	if out, err := ingest("boundaries", "--patch", "ward="+none, "--allow-empty", "--dry-run"); err != nil ||
		!strings.Contains(out, "holds no regions: nothing of ward is changed") || !strings.Contains(out, "no row differs in region_info, tile_bounds") {
		t.Error(err, out)
	}
	// A patch by hand stays until the whole file of the layer changes.
	testfile.Write(t, settings, "boundaries: {layer: ['ward="+squares+":CODE']}\n")
	for _, args := range [][]string{{"refresh", "--config", settings}, {"boundaries", "--patch", "ward=" + patch}, {"refresh", "--config", settings}} {
		out, err := ingest(args...)
		if err != nil || len(args) == 3 && args[0] == "refresh" && m.Generation == 5 && !strings.Contains(out, "generation 5 was made of the same") {
			t.Errorf("%q: %v\n%s", args, err, out)
		}
		if m, err = catalog.Current(t.Context(), "boundaries"); err != nil {
			t.Fatal(err)
		}
	}
	if m.Generation != 5 {
		t.Errorf("generation %d", m.Generation)
	}
	testfile.Write(t, settings, "boundaries: {remove: [\"ward:e\"]}\n")
	if out, err := ingest("refresh", "--config", settings); exitCode(err) != 2 || !strings.Contains(err.Error(), "removed only once") {
		t.Error(err, out)
	}
}
