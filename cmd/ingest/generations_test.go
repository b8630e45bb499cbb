package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"quadrille/ask"
	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/cellstore/pebblestore"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/jobtest"
	"quadrille/cmd/internal/testfile"
	"quadrille/places/search"
)

// TestForeignFile tests that verify reports a file that a file manager left in a generation, and
// nothing else.
func TestForeignFile(t *testing.T) {
	data := t.TempDir()
	if err := run(t.Context(), []string{"airports", "../../sample/airports.csv", "--data", data}, io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(data, "airports", "g0000000001", "store", ".DS_Store")
	testfile.Write(t, path, "")
	var out bytes.Buffer
	if err := run(t.Context(), []string{"verify", "airports", "--data", data}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	if want := path + " does not belong to generation 1 of airports and does no harm; it can be removed\nairports is intact\n"; out.String() != want {
		t.Errorf("verify says %q, want %q", out.String(), want)
	}
}

// TestDrop tests that a drop is one step, list shows it, and rollback undoes it until prune has
// removed the files.
func TestDrop(t *testing.T) {
	data := t.TempDir()
	csv := filepath.Join(t.TempDir(), "p.csv")
	testfile.Write(t, csv, "id,lat,lon,name\n1,48.2,16.4,Wien\n")
	ingest := func(want string, args ...string) {
		t.Helper()
		var out bytes.Buffer
		if err := run(t.Context(), append(args, "--data", data), &out, io.Discard); err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q says %q, want %q", args, out.String(), want)
		}
	}
	ingest("", "points", "shops", csv)
	ingest("dropped points-shops, which was generation 1; ingest rollback points-shops", "drop", "points-shops")
	ingest("points-shops is dropped; ingest rollback points-shops publishes generation 1 again", "list")
	ingest(`"dropped":true`, "list", "--json")
	ingest("", "verify")
	if err := run(t.Context(), []string{"drop", "points-shops", "--data", data}, io.Discard, io.Discard); err == nil ||
		!strings.Contains(err.Error(), "roll it back to publish generation 1 again") {
		t.Errorf("dropped twice: %v", err)
	}
	ingest("published points-shops generation 1 again", "rollback", "points-shops")
	ingest("", "drop", "points-shops")
	ingest("nothing is left of points-shops", "prune")
	ingest("nothing in", "list")
	if left, err := filepath.Glob(filepath.Join(data, "points-shops")); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
	ingest("", "points", "shops", csv)
}

// TestNamesFollow tests that the names for search follow the published data sets in both
// directions, whichever command changes them.
func TestNamesFollow(t *testing.T) {
	data, dir := t.TempDir(), t.TempDir()
	shops, regions := filepath.Join(dir, "p.csv"), filepath.Join(dir, "r.geojson")
	testfile.Write(t, shops, "id,lat,lon,name\n1,48.2,16.4,Zwetschgenhof\n")
	region := func(name string) {
		testfile.Write(t, regions,
			`{"type":"Feature","id":"x","properties":{"name":"`+name+`"},"geometry":{"type":"Polygon","coordinates":[[[1,1],[2,1],[2,2],[1,1]]]}}`)
	}
	ingest := func(args ...string) {
		t.Helper()
		if err := run(t.Context(), append(args, "--data", data), io.Discard, io.Discard); err != nil {
			t.Fatalf("%q: %v", args, err)
		}
	}
	c, err := dataset.Open(data, func(_, dir string, _ bool) (cellstore.Store, error) {
		return pebblestore.Open(dir, &pebblestore.Options{ReadOnly: true})
	})
	if err != nil {
		t.Fatal(err)
	}
	found := func(want ...string) {
		t.Helper()
		var got []string
		r, g, err := job.OpenCurrent(t.Context(), c, ask.Names)
		if err != nil {
			t.Fatal(err)
		}
		if g != nil {
			defer g.Close()
			for _, text := range []string{"Zwetschgenhof", "Alphaland", "Betaland"} {
				hits, err := r.Search(t.Context(), search.Query{Text: strings.ToLower(text)}, nil)
				if err != nil {
					t.Fatal(err)
				}
				if len(hits) > 0 {
					got = append(got, text)
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("found are %q, want %q", got, want)
		}
	}
	ingest("points", "shops", shops, "--search")
	found("Zwetschgenhof")
	ingest("drop", "points-shops")
	found()
	if _, err := c.Current(t.Context(), ask.Names.Name); !errors.Is(err, dataset.ErrNoGeneration) {
		t.Errorf("names are published where nothing has some: %v", err)
	}
	ingest("rollback", "points-shops")
	found("Zwetschgenhof")
	region("Alphaland")
	ingest("boundaries", "--layer", "land="+regions)
	region("Betaland")
	ingest("boundaries", "--layer", "land="+regions)
	found("Zwetschgenhof", "Betaland")
	ingest("rollback", "boundaries")
	found("Zwetschgenhof", "Alphaland")
	ingest("rollback", "boundaries", "--to", "2")
	found("Zwetschgenhof", "Betaland")
	region("Alphaland")
	ingest("boundaries", "--keep", "--layer", "other="+regions)
	found("Zwetschgenhof", "Alphaland", "Betaland")
	ingest("drop", "boundaries")
	found("Zwetschgenhof")
	ingest("points", "shops", shops)
	found()
}

// TestLoss tests that a renewal that loses more than a tenth of the rows says so in its last line,
// in JSON and in list. With --max-change it is refused, by itself and in a refresh. The same holds
// for a renewal that keeps the number of rows but changes the rows.
func TestLoss(t *testing.T) {
	data, dir := filepath.Join(t.TempDir(), "data"), t.TempDir()
	wards, config := filepath.Join(dir, "wards.geojson"), filepath.Join(dir, "ingest.yaml")
	write := func(n int, prefix string) {
		var all []string
		for i := range n {
			all = append(all, jobtest.Square(fmt.Sprint(prefix, i), prefix, "", float64(2*i), 0, 1))
		}
		testfile.Write(t, wards, jobtest.FeatureCollection(all...))
	}
	testfile.Write(t, config, "data: "+data+"\nboundaries:\n  layer: [ward="+wards+":id]\n")
	ingest := func(code int, args ...string) string {
		t.Helper()
		var out bytes.Buffer
		err := run(t.Context(), append(args, "--data", data), &out, io.Discard)
		if exitCode(err) != code {
			t.Fatalf("%q: %v", args, err)
		}
		if err != nil {
			return err.Error()
		}
		return out.String()
	}
	publish := []string{"boundaries", "--layer", "ward=" + wards + ":id"}
	write(20, "a")
	ingest(0, publish...)
	write(5, "a")
	const told = "20 ward in generation 1, 5 in generation 2, which replaced it"
	for _, args := range [][]string{append(publish, "--max-change", "10%"), append(publish, "--max-change", "10%", "--dry-run"),
		{"refresh", "--config", config, "--max-change", "10%"}} {
		if got := ingest(3, args...); !strings.Contains(got,
			"of ward there would be 5, which is 75% fewer than the 20 of generation 1, and --max-change allows 10%") {
			t.Errorf("%q says %q", args, got)
		}
	}
	if got := ingest(0, publish...); !strings.HasSuffix(got,
		"\nwarning: boundaries: "+told+"; if that is not meant, go back by: ingest rollback boundaries\n") {
		t.Errorf("the last line of %q", got)
	}
	if got := ingest(0, "list"); !strings.Contains(got, "\nboundaries: "+told+"\n") {
		t.Errorf("list says %q", got)
	}
	write(20, "a")
	ingest(0, publish...)
	write(18, "a")
	if got := ingest(0, publish...); strings.Contains(got, "warning") {
		t.Errorf("a tenth is told: %q", got)
	}
	write(10, "a")
	if got := ingest(0, append(publish, "--json")...); !strings.Contains(got, `"lost":[{"kind":"ward","before":18,"now":10}]`) ||
		!strings.Contains(got, `"warnings":["18 ward in generation 4`) {
		t.Errorf("events %q", got)
	}
	write(10, "b")
	if got := ingest(3, append(publish, "--max-change", "50%")...); !strings.Contains(got, "of the rows would differ from generation 5") {
		t.Errorf("other wards: %q", got)
	}
	ingest(0, append(publish, "--max-change", "100%")...)
	if err := os.Remove(filepath.Join(data, "boundaries", "CURRENT")); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{append(publish, "--max-change", "100%"), append(publish, "--max-change", "100%", "--dry-run")} {
		if got := ingest(1, args...); !strings.Contains(got, "what is published cannot be compared with (") ||
			!strings.HasSuffix(got, "to publish all the same, run this again without --max-change") {
			t.Errorf("%q, where nobody knows what is published: %q", args, got)
		}
	}
	ingest(0, publish...)
}

// TestVerifyWithoutPointer tests that a verify of all data sets reports a lost CURRENT.
func TestVerifyWithoutPointer(t *testing.T) {
	data := t.TempDir()
	if err := run(t.Context(), []string{"airports", "../../sample/airports.csv", "--data", data}, io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(data, "airports", "CURRENT")); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err := run(t.Context(), []string{"verify", "--data", data}, &out, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "ingest rollback airports --to 1") || out.String() != "names is intact\n" {
		t.Errorf("verify says %q, %v", out.String(), err)
	}
}
