//go:build !race

package httpapi_test

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"quadrille/cmd/tileserver/internal/servertest"
)

// TestGeopy tests the GeoNames endpoints with an unmodified client. It needs python3 with geopy 2.4
// or newer and pytz; QUADRILLE_GEOPY may name a directory with these packages:
//
//	pip install --target DIR 'geopy>=2.4' pytz
func TestGeopy(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	run := func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), python, args...)
		cmd.Env = os.Environ()
		if dir := os.Getenv("QUADRILLE_GEOPY"); dir != "" {
			cmd.Env = append(cmd.Env, "PYTHONPATH="+dir)
		}
		out, err := cmd.CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	const newEnough = "import geopy, pytz, sys; sys.exit(tuple(map(int, geopy.__version__.split('.')[:2])) < (2, 4))"
	if _, err := run("-c", newEnough); err != nil {
		t.Skip("python3 finds no geopy 2.4 with pytz; QUADRILLE_GEOPY may say where they are")
	}
	server := httptest.NewServer(servertest.NewGlobe(t, nil).Handler)
	defer server.Close()
	out, err := run("testdata/geopy_check.py", strings.TrimPrefix(server.URL, "http://"))
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Log(out)
}
