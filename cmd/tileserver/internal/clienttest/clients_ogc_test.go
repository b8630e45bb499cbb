package clienttest

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"quadrille/cmd/internal/programs"
)

// Third-party programs list and read the collections below /ogc.

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
		// The pages have 7 features, so that the client must follow links to further pages.
		out, err := exec.CommandContext(t.Context(), ogrinfo, "-ro", "-al", "-oo", "PAGE_SIZE=7", "OAPIF:"+site+"/ogc", layer).CombinedOutput()
		read := strings.Count(string(out), "OGRFeature(")
		if err != nil || strings.Contains(string(out), "ERROR") || read == 0 || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v\n%.2000s", layer, err, out)
		}
		if count := fmt.Sprintf("Feature Count: %d", read); !strings.Contains(string(out), count) {
			t.Errorf("%s: %d features are read: %.400s", layer, read, out)
		}
	}
	out, err := exec.CommandContext(t.Context(), ogrinfo, "-ro", "-al", "-so", "-where", "seats > 2", "OAPIF:"+site+"/ogc",
		"points:benches").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Feature Count: 2") {
		t.Errorf("a filter: %v\n%.2000s", err, out)
	}
}

// OWSLib, on which other programs in Python depend, lists the collections and reads features.
func TestOWSLib(t *testing.T) {
	foreign(t)
	owslib := pythonWith(t, "owslib")
	data := t.TempDir()
	publishFeatures(t, data)
	owslib(t, "ogc_owslib.py", programs.Serve(t, "--data", data).URL+"/ogc")
}

// Camptocamp's client for browsers lists the collections and reads features.
func TestOGCClient(t *testing.T) {
	node := nodeWith(t, "@camptocamp/ogc-client")
	data := t.TempDir()
	publishFeatures(t, data)
	node(t, "ogc_client.mjs", programs.Serve(t, "--data", data).URL+"/ogc")
}
