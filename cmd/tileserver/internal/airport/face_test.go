package airport_test

import (
	"testing"

	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/internal/testrace"
)

// What every face promises.
func TestFace(t *testing.T) {
	testrace.Plain(t, "one request after the other, which TestEverythingAtOnce sends at once")
	servertest.Face(t, "airport")
}
