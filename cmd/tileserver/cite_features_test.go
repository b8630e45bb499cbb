package main

import (
	"testing"

	"quadrille/cmd/internal/toyworld"
)

// The OGC's suite for OGC API – Features finds nothing to say.
func TestCITEFeatures(t *testing.T) {
	data := t.TempDir()
	if err := toyworld.Publish(t.Context(), data); err != nil {
		t.Fatal(err)
	}
	site, _, _ := start(t, "--data", data)
	run := runCITE(t, "ets-ogcapi-features10-aio.jar", map[string]string{"iut": site + "/ogc", "noofcollections": "-1"})
	run.expect(t, nil)
	if len(run.passed) < 30 {
		t.Errorf("only %d tests ran: %v", len(run.passed), run.passed)
	}
}
