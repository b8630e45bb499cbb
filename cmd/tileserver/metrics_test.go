package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"quadrille/cmd/internal/testfile"
	"quadrille/cmd/tileserver/internal/archive/archivetest"
	"quadrille/internal/testrace"
)

// The metrics are well-formed, few while there are few requests, and exactly those in the
// documentation.
func TestMetricsAreDocumented(t *testing.T) {
	testrace.SkipUnderRace(t, "one server is started and asked, again and again")
	dir, keys := t.TempDir(), filepath.Join(t.TempDir(), "keys")
	publish(t, dir)
	testfile.Write(t, keys, "")
	p := archivetest.PMTiles{Internal: archivetest.Gzip, Tiles: archivetest.Uncompressed, Type: 1}
	world := archivetest.Write(t, filepath.Join(t.TempDir(), "world.pmtiles"), p.Bytes([]archivetest.Tile{{Data: archivetest.Vector("sea")}}))
	url, _, stop := start(t, "--data="+dir, "--basemap="+world, "--keys="+keys, "--live="+t.TempDir(), "--anonymous",
		"--address-limit=100000/1m")
	_, fresh := fetch(t, url+"/metrics")
	if len(fresh) > 28<<10 {
		t.Errorf("a new server tells %d bytes", len(fresh))
	}
	routes := []string{"/tiles/all/0/0/0.mvt", "/regions/at?lat=48&lon=4", "/ip/1.2.3.4", "/places/search?q=a", "/healthz", "/nowhere"}
	for _, path := range routes {
		fetch(t, url+path)
	}
	_, text := fetch(t, url+"/metrics")
	t.Logf("%d bytes at first, %d after %d routes", len(fresh), len(text), len(routes)+1)
	if grown := len(text) - len(fresh); grown > (len(routes)+1)*3<<10 {
		t.Errorf("%d routes tell %d bytes more", len(routes)+1, grown)
	}
	stop()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	ours := map[string]bool{}
	for name, family := range families {
		if !strings.HasPrefix(name, "quadrille_") {
			if !strings.HasPrefix(name, "go_") && !strings.HasPrefix(name, "process_") {
				t.Errorf("%s is under no name of ours", name)
			}
			continue
		}
		ours[name] = true
		if !strings.HasSuffix(family.GetHelp(), ".") {
			t.Errorf("%s: help is %q", name, family.GetHelp())
		}
		if counter := family.GetType() == dto.MetricType_COUNTER; counter != strings.HasSuffix(name, "_total") {
			t.Errorf("%s is a %s", name, family.GetType())
		}
		for unit, words := range map[string][]string{"bytes": {"Bytes", "bytes", "Memory"}, "seconds": {"Time ", "seconds"}} {
			means := slices.ContainsFunc(words, func(w string) bool { return strings.Contains(family.GetHelp(), w) })
			if means != strings.Contains(name, unit) {
				t.Errorf("%s has not the unit of: %s", name, family.GetHelp())
			}
		}
	}
	manual := testfile.Read(t, "../../docs/reference.md")
	_, table, _ := bytes.Cut(manual, []byte("| metric | labels | tells |"))
	table, _, _ = bytes.Cut(table, []byte("\n\n"))
	listed := map[string]bool{}
	for line := range strings.Lines(string(table)) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 {
			continue
		}
		for _, name := range regexp.MustCompile("`(quadrille_[a-z_]+)`").FindAllStringSubmatch(cells[1], -1) {
			listed[name[1]] = true
			family := families[name[1]]
			if name[1] == "quadrille_dataset_records" {
				continue // the toy world counts none; package httpapi tests it
			}
			if family == nil {
				t.Errorf("%s is listed, but not there", name[1])
				continue
			}
			for _, m := range family.Metric {
				var labels []string
				for _, l := range m.Label {
					labels = append(labels, l.GetName())
				}
				want := strings.FieldsFunc(cells[2], func(r rune) bool { return r == ',' || r == ' ' })
				slices.Sort(want)
				if !slices.Equal(labels, want) {
					t.Errorf("%s has the labels %q, listed are %q", name[1], labels, want)
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(ours)) {
		if !listed[name] {
			t.Errorf("%s is not listed in docs/reference.md", name)
		}
	}
}

// Endpoints that only the operator's listener has are described as such, and exist.
func TestAdminIsDescribed(t *testing.T) {
	testrace.SkipUnderRace(t, "one server is started and asked, again and again")
	url, log, stop := start(t, "--data="+t.TempDir(), "--address-limit=100000/1m", "--admin-listen=127.0.0.1:0")
	admin := adminOf(t, log)
	_, text := fetch(t, url+"/openapi.json")
	var doc struct {
		Paths map[string]struct {
			Get struct{ Servers []any }
		}
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	own := 0
	for path, item := range doc.Paths {
		if item.Get.Servers == nil {
			continue
		}
		own++
		answers(t, admin+path, 200)
		answers(t, url+path, 404)
	}
	for _, path := range []string{"/metrics", "/healthz", "/readyz", "/status", "/usage/top"} {
		if _, described := doc.Paths[path]; !described {
			t.Errorf("%s is not described", path)
		}
	}
	if own != 1 {
		t.Errorf("%d paths are described as the operator's, want /usage/top", own)
	}
	stop()
}

// Reads are counted under the name of their data set, whatever the path of the directory is; the
// default is a relative path.
func TestMetricsNameDatasets(t *testing.T) {
	testrace.SkipUnderRace(t, "one server is started and asked, again and again")
	dir := t.TempDir()
	publish(t, filepath.Join(dir, "data"))
	t.Chdir(dir)
	for _, data := range []string{"./data", "data/../data", filepath.Join(dir, "data")} {
		url, _, stop := start(t, "--data="+data)
		fetch(t, url+"/regions/at?lat=48&lon=4")
		_, text := fetch(t, url+"/metrics")
		found := map[string]bool{}
		for _, m := range regexp.MustCompile(`(?m)^quadrille_store_\w+\{dataset="(.*?)",table="(.*?)"\}`).FindAllStringSubmatch(text, -1) {
			found[m[1]] = true
		}
		if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, []string{"boundaries", "ip", "places"}) {
			t.Errorf("--data=%s: reads are counted for the data sets %q", data, got)
		}
		stop()
	}
}
