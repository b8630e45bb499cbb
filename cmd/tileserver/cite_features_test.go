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
	const counted, boxes = "the member is optional, and counting what meets a box or passes filters reads all of it", "the suite also asks for boxes in which these data have nothing"
	run.expect(t, map[string]string{
		"FeaturesLimit.validateFeaturesWithLimitResponse_NumberMatched":      counted,
		"Features.validateFeaturesResponse_NumberMatched":                    counted,
		"FeaturesBBox.validateFeaturesWithBoundingBoxResponse_NumberMatched": counted,
		"FeaturesBBox.validateFeaturesWithBoundingBoxResponse":               boxes,
	})
	if len(run.passed) < 30 {
		t.Errorf("only %d tests ran: %v", len(run.passed), run.passed)
	}
}
