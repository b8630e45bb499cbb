package servertest_test

import (
	"testing"

	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/internal/testrace"
)

// The tests of all faces over HTTP are in this package, in files with the names of the faces: each
// test program has the whole server, which takes longer to link than most tests take to run.
func TestMain(m *testing.M) { servertest.Main(m) }

// The promises of every face.
func TestFaces(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	for _, f := range httpapi.Faces() {
		if f.New != nil {
			t.Run(f.Name, func(t *testing.T) { servertest.TestFace(t, f.Name) })
		}
	}
}
