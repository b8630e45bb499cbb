package endtoend

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"quadrille/cellstore/dataset"
	"quadrille/cmd/internal/hbasedepot"

	"quadrille/cmd/internal/programs"
)

// TestHBase pushes all data sets into a cluster, and new ones under two servers
// that share it.
func TestHBase(t *testing.T) {
	gateways := os.Getenv("QUADRILLE_HBASE")
	if gateways == "" {
		t.Skip("needs HBase: run make test-hbase")
	}
	address := fmt.Sprintf("hbase://%s/endtoend%d_%d?compression=off", gateways, os.Getpid(), time.Now().Unix())
	store := "--store=" + address
	dir, data := t.TempDir(), t.TempDir()
	// published returns the generations that are published in the directory, by data set. Every
	// server must serve exactly these. They are read from the directory, because a command may also
	// publish data sets that are derived from its own.
	published := func() map[string]uint64 { return publishedIn(t, catalogOf(t, data).Generations) }
	load := func(mark string) {
		layers := writeFile(t, filepath.Join(dir, mark, "areas.geojson"), countries(mark, 400))
		own := input{"boundaries-areas", []string{"boundaries", "--set", "areas", "--layer", "area=" + layers + ":code"}}
		for _, in := range append(inputs(t, dir, mark, 400), own) {
			if in.dataset == "places" { // built here, pushed by itself below
				mustIngest(t, data, in.args...)
				continue
			}
			if out := mustIngest(t, data, append(in.args, store)...); !strings.Contains(out, "pushed "+in.dataset) {
				t.Fatalf("%s is not pushed: %s", in.dataset, out)
			}
		}
		out := mustIngest(t, data, "push", store)
		for name, generation := range published() {
			done := fmt.Sprintf("%s generation %d is in the store already", name, generation)
			if name == "places" {
				done = fmt.Sprintf("pushed places generation %d", generation)
			}
			if !strings.Contains(out, done) {
				t.Fatalf("%q is not said: %s", done, out)
			}
		}
	}
	load("Aye")
	local := serve(t, data)
	first, second := serve(t, t.TempDir(), store), serve(t, t.TempDir(), store, "--no-ip-index")
	// A data set of layers that users name lists the names of its layers.
	ownLayers := func(s *programs.Server) (all string) {
		for _, path := range []string{"/regions/at?lat=0.1&lon=0.1&types=area", "/tiles/area/2/1/1.geojson",
			"/regions/nearby?lat=9&lon=9&types=area", "/geocode?q=Land+3+Aye"} {
			_, body, _ := get(t, s.URL+path)
			all += body
		}
		return all
	}
	older := answers(t, local.URL)
	if want := ownLayers(local); strings.Count(want, `"area"`) < 4 || ownLayers(first) != want || ownLayers(second) != want {
		t.Errorf("the layers of their own are %s here, and %s there", want, ownLayers(first))
	}
	for _, s := range []*programs.Server{first, second} {
		if good, refused := right(t, s.URL, older); good != len(questions) {
			t.Errorf("%d answers are right and %d refused", good, refused)
		}
		if _, body, _ := get(t, s.URL+"/status"); !strings.Contains(body, `"store":"hbase"`) {
			t.Errorf("status does not say where the data comes from: %.200s", body)
		}
	}
	load("Bee")
	waitFor(t, "what is published in the directory", func() bool { return maps.Equal(served(t, local.URL), published()) })
	newer := answers(t, local.URL)
	for _, s := range []*programs.Server{first, second} {
		waitFor(t, "what is published in the store", func() bool { return maps.Equal(served(t, s.URL), published()) })
		if good, refused := right(t, s.URL, newer); good != len(questions) {
			t.Errorf("%d answers are right and %d refused", good, refused)
		}
	}
	if out := mustIngest(t, data, "verify", store); strings.Count(out, "is intact") != len(published()) {
		t.Error(out)
	}
	mustIngest(t, data, "rollback", "places", store)
	for _, s := range []*programs.Server{first, second} {
		waitFor(t, "the rollback", func() bool {
			_, body, _ := get(t, s.URL+"/places/7")
			return body == older["/places/7"]
		})
	}
	if out := mustIngest(t, data, "prune", "--keep", "1", store); !strings.Contains(out, "replaced less than --grace ago") {
		t.Error(out)
	}
	depot, err := hbasedepot.Open(address, hbasedepot.Options{Data: t.TempDir(), ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	// Everything unpublished is removed, except the newest generation of places.
	want := []string{fmt.Sprint("places ", published()["places"])}
	for name, generation := range publishedIn(t, depot.Generations) {
		want = append(want, fmt.Sprint(name, " ", generation))
	}
	out := mustIngest(t, data, "prune", "--keep", "1", "--grace", "0s", store)
	var left []string
	for _, g := range listed(t, depot.Generations) {
		left = append(left, fmt.Sprint(g.Dataset, " ", g.Generation))
	}
	slices.Sort(want)
	slices.Sort(left)
	if !slices.Equal(left, want) {
		t.Errorf("left is %v, want %v: %s", left, want, out)
	}
	if files, err := filepath.Glob(filepath.Join(data, ".remote", "*")); err != nil || len(files) > 0 {
		t.Errorf("pushing left %v, %v", files, err)
	}
}

// listed returns the generations of a directory or of a store.
func listed(t *testing.T, g *dataset.Generations) []dataset.GenerationInfo {
	t.Helper()
	list, err := g.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// publishedIn returns the published generations, by data set.
func publishedIn(t *testing.T, g *dataset.Generations) map[string]uint64 {
	t.Helper()
	m := map[string]uint64{}
	for _, g := range listed(t, g) {
		if g.Current {
			m[g.Dataset] = g.Generation
		}
	}
	return m
}

// served returns the generations that a server reports as served, by data set.
func served(t *testing.T, url string) map[string]uint64 {
	t.Helper()
	_, body, _ := get(t, url+"/status")
	var status struct {
		Datasets []struct {
			Name       string
			Generation uint64
		}
	}
	if err := json.Unmarshal([]byte(body), &status); err != nil {
		t.Fatal(err, body)
	}
	m := map[string]uint64{}
	for _, d := range status.Datasets {
		if d.Generation > 0 {
			m[d.Name] = d.Generation
		}
	}
	return m
}

// TestStoreAway starts a server whose cluster does not answer.
func TestStoreAway(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "hbase://user:secret@127.0.0.1:1/none?transport=http&tls=on&timeout=1s")
	for _, path := range append([]string{"/readyz", "/geoip/v2.1/city/20.0.1.5", "/countryCodeJSON?lat=1&lng=1"}, questions...) {
		code, body, h := get(t, s.URL+path)
		if code == 404 && strings.HasPrefix(path, "/countryCode") {
			continue // not offered under this address
		}
		if code != 503 || h.Get("Retry-After") == "" {
			t.Errorf("%s: %d %s, Retry-After %q", path, code, body, h.Get("Retry-After"))
		}
	}
	if code, _, _ := get(t, s.URL+"/healthz"); code != 200 {
		t.Errorf("healthz %d", code)
	}
	if strings.Contains(s.Log(), "secret") {
		t.Errorf("the log shows credentials: %s", s.Log())
	}
}
