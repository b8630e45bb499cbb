package main

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"quadrille/ask"
	"quadrille/cmd/internal/programs"
	"quadrille/internal/testrace"
)

// /status, ingest list and du report the same size for every data set, and /status lists all data
// sets.
func TestSizes(t *testing.T) {
	testrace.SkipUnderRace(t, "one server is started and asked, again and again")
	if _, err := exec.LookPath("du"); err != nil {
		t.Skip("no du to compare with")
	}
	dir := publish(t, t.TempDir())
	url, _, stop := start(t, "--data="+dir)
	_, b := fetch(t, url+"/status")
	stop()
	type described struct {
		Name    string `json:"name"`
		Dataset string `json:"dataset"`
		Bytes   int64  `json:"bytes"`
	}
	var status struct{ Datasets []described }
	if err := json.Unmarshal([]byte(b), &status); err != nil {
		t.Fatal(err)
	}
	listed := map[string]int64{}
	for line := range strings.Lines(programs.Ingester(t)("--data="+dir, "list", "--json")) {
		var d described
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			t.Fatal(err)
		}
		listed[d.Dataset] = d.Bytes
	}
	for _, name := range ask.DatasetNames(ask.Datasets) {
		if !slices.ContainsFunc(status.Datasets, func(d described) bool { return d.Name == name }) {
			t.Errorf("%s is not in /status: add it to ask.Sets, to its States, and where they are opened in data.go", name)
		}
	}
	served := 0
	for _, d := range status.Datasets {
		if d.Bytes == 0 {
			continue // not published
		}
		served++
		out, err := exec.CommandContext(t.Context(), "du", "-sk", filepath.Join(dir, d.Name, "g0000000001")).Output()
		if err != nil {
			t.Fatal(err)
		}
		kib, err := strconv.ParseInt(strings.Fields(string(out))[0], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		took := kib << 10
		for what, n := range map[string]int64{"/status": d.Bytes, "ingest list": listed[d.Name]} {
			if n < took-took/20 || n > took+took/20 {
				t.Errorf("%s takes %d bytes of %s by du, and %d by %s", d.Name, took, dir, n, what)
			}
		}
		if took > 16<<20 {
			t.Errorf("%s takes %d bytes, which its few rows do not need", d.Name, took)
		}
	}
	if served < 3 || served != len(listed) {
		t.Errorf("%d data sets in /status, and in the list %v", served, listed)
	}
}
