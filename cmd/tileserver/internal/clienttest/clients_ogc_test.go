package clienttest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"quadrille/cmd/internal/programs"
)

// Programs that others wrote list and read the collections below /ogc.

// GDAL's driver for OGC API – Features pages through each collection.
func TestGDALFeatures(t *testing.T) {
	foreign(t)
	ogrinfo, err := exec.LookPath("ogrinfo")
	if err != nil {
		t.Skip("ogrinfo is not installed (gdal-bin)")
	}
	data := t.TempDir()
	publishFeatures(t, data)
	site := programs.Serve(t, "--data", data).URL
	for layer, want := range map[string]string{"country": "POLYGON", "places": "POINT", "airports": "POINT", "points:benches": "POINT"} {
		// Pages of 7 features, so that several have to be followed.
		out, err := exec.CommandContext(t.Context(), ogrinfo, "-ro", "-al", "-oo", "PAGE_SIZE=7", "OAPIF:"+site+"/ogc", layer).CombinedOutput()
		read := strings.Count(string(out), "OGRFeature(")
		if err != nil || strings.Contains(string(out), "ERROR") || read == 0 || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v\n%.2000s", layer, err, out)
		}
		if count := fmt.Sprintf("Feature Count: %d", read); !strings.Contains(string(out), count) {
			t.Errorf("%s: %d features are read: %.400s", layer, read, out)
		}
	}
	out, err := exec.CommandContext(t.Context(), ogrinfo, "-ro", "-al", "-so", "-where", "seats > 2", "OAPIF:"+site+"/ogc", "points:benches").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Feature Count: 2") {
		t.Errorf("a filter: %v\n%.2000s", err, out)
	}
}

// OWSLib, which other programs in Python build on, lists and fetches.
func TestOWSLib(t *testing.T) {
	python, err := exec.LookPath("python3")
	modules := os.Getenv("QUADRILLE_GEOPY")
	if err != nil || modules == "" {
		t.Skip("QUADRILLE_GEOPY names no directory with Python's modules: run make check-clients")
	}
	if _, err := os.Stat(filepath.Join(modules, "owslib")); err != nil {
		t.Skip("OWSLib is not installed: run make check-clients")
	}
	data := t.TempDir()
	publishFeatures(t, data)
	site := programs.Serve(t, "--data", data).URL
	cmd := exec.CommandContext(t.Context(), python, "testdata/clients/ogc_owslib.py", site+"/ogc")
	cmd.Env = append(os.Environ(), "PYTHONPATH="+modules)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// Camptocamp's client for browsers lists and fetches.
func TestOGCClient(t *testing.T) {
	libraries := clientsDir(t)
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed")
	}
	if _, err := os.Stat(filepath.Join(libraries, "node_modules", "@camptocamp", "ogc-client")); err != nil {
		t.Skip("@camptocamp/ogc-client is not installed: run make check-clients")
	}
	data := t.TempDir()
	publishFeatures(t, data)
	site := programs.Serve(t, "--data", data).URL
	// Modules are looked for beside the script.
	script, err := os.ReadFile("testdata/clients/ogc_client.mjs")
	if err != nil {
		t.Fatal(err)
	}
	beside := filepath.Join(libraries, "ogc_client.mjs")
	if err := os.WriteFile(beside, script, 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), node, beside, site+"/ogc").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
