package layers_test

import (
	"testing"

	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/internal/testrace"
)

// TestFace runs the suite that every face passes.
func TestFace(t *testing.T) {
	testrace.Plain(t, "one request after the other, which TestEverythingAtOnce sends at once")
	servertest.Face(t, "layers")
}
