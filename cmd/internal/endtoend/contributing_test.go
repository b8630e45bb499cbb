package endtoend

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"quadrille/cmd/internal/testfile"
)

// TestContributedEndpoint: CONTRIBUTING's endpoint is one file. Put into its room, without
// touching the source tree, it builds, and is described and answers as it is declared.
func TestContributedEndpoint(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go command to build the endpoint with")
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	text := testfile.Read(t, filepath.Join(root, "CONTRIBUTING.md"))
	found := regexp.MustCompile("(?s)`(cmd/tileserver/internal/place/\\w+\\.go)`, is complete.*?```go\n(package place\n.*?)```").FindSubmatch(text)
	if found == nil {
		t.Fatal("CONTRIBUTING.md shows no endpoint, or not where it belongs")
	}
	dir := t.TempDir()
	source, overlay := filepath.Join(dir, "endpoint.go"), filepath.Join(dir, "overlay.json")
	testfile.Write(t, source, found[2])
	replaced, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, string(found[1])): source}})
	if err != nil {
		t.Fatal(err)
	}
	testfile.Write(t, overlay, replaced)
	const held = "EveryRoute|AsDescribed|Structure|AskFor"
	//nolint:gosec // the arguments are our own
	cmd := exec.CommandContext(t.Context(), "go", "test", "-overlay", overlay, "-short", "-count=1", "-run", held, "./cmd/tileserver/internal/httpapi")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=", "GOFLAGS=", "GOTOOLCHAIN=local")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
