package servertest

import (
	"os"
	"testing"
)

// Main runs the tests of a package and removes the toy data that they have made. Packages whose
// tests need toy data call it in TestMain.
func Main(m *testing.M) {
	code := m.Run()
	if toyDir != "" {
		os.RemoveAll(toyDir)
	}
	os.Exit(code)
}
