package servertest_test

import (
	"testing"

	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/internal/testrace"
)

// The HTTP tests of all groups of endpoints are in this package, because each test program contains
// the whole server, and linking it takes longer than most tests.
func TestMain(m *testing.M) { servertest.Main(m) }

// TestFaces runs the common tests of every face.
func TestFaces(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	for _, f := range httpapi.Faces() {
		if f.New != nil {
			t.Run(f.Name, func(t *testing.T) { servertest.TestFace(t, f.Name) })
		}
	}
}
