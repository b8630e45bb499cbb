package clienttest

import (
	"testing"

	"quadrille/cmd/internal/programs"
	"quadrille/cmd/internal/toyworld"
)

// The OGC's suite for OGC API – Tiles finds no errors.
func TestCITETiles(t *testing.T) {
	foreign(t)
	data := t.TempDir()
	if err := toyworld.Publish(t.Context(), data); err != nil {
		t.Fatal(err)
	}
	site := programs.Serve(t, "--data", data).URL
	run := runCITE(t, "ets-ogcapi-tiles10-aio.jar", map[string]string{
		"iut": site + "/ogc", "noofcollections": "-1",
		"tilematrixsetdefinitionuri": "http://www.opengis.net/def/tilematrixset/OGC/1.0/WebMercatorQuad",
		"urltemplatefortiles":        site + "/ogc/tiles/WebMercatorQuad/{tileMatrix}/{tileRow}/{tileCol}?f=mvt",
		"tilematrix":                 "1", "mintilerow": "0", "maxtilerow": "0", "mintilecol": "0", "maxtilecol": "1",
	})
	run.expect(t, nil)
	if len(run.passed) < 15 {
		t.Errorf("only %d tests ran: %v", len(run.passed), run.passed)
	}
}
