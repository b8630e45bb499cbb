package endtoend

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"

	"quadrille/cellstore/dataset"
	"quadrille/cmd/internal/programs"
	"quadrille/cmd/internal/testfile"
	"quadrille/cmd/internal/toyworld"
)

// full is set if QUADRILLE_FULL is set, as by make test-full.
var full = os.Getenv("QUADRILLE_FULL") != ""

func TestMain(m *testing.M) { programs.Main(m) }

// ingest prepares a run of the program.
func ingest(t *testing.T, data string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	var out bytes.Buffer
	cmd := programs.Command(t, programs.Ingest, append([]string{"--data", data}, args...)...)
	cmd.Stdout, cmd.Stderr = &out, &out
	return cmd, &out
}

func mustIngest(t *testing.T, data string, args ...string) string {
	t.Helper()
	return programs.Run(t, programs.Ingest, append([]string{"--data", data}, args...)...)
}

func serve(t *testing.T, data string, args ...string) *programs.Server {
	t.Helper()
	return programs.Serve(t, append([]string{"--data", data}, args...)...)
}

// get returns the status, the body and the header of an answer.
func get(t *testing.T, url string) (int, string, http.Header) {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b), res.Header
}

// waitFor polls until ok returns true, because reaction times depend on the machine.
func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 500 {
		if ok() {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("%s did not come", what)
}

func catalogOf(t *testing.T, data string) *dataset.Catalog {
	t.Helper()
	c, err := dataset.Open(data, toyworld.Open)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func writeFile(t *testing.T, path, text string) string {
	t.Helper()
	testfile.Write(t, path, text)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
	return path
}
