package photon_test

import (
	"testing"

	"quadrille/cmd/tileserver/internal/servertest"
)

// What every face promises.
func TestFace(t *testing.T) { servertest.Face(t, "photon") }
