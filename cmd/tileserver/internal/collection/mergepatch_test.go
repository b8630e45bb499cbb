package collection

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"quadrille/feature"
	"quadrille/internal/testseed"
)

// randomJSON returns an object at depth 3, and any value below. The names of members repeat from
// object to object. null allows members that are null, as in patches.
func randomJSON(r *rand.Rand, depth int, null bool) any {
	switch n := r.IntN(8); {
	case depth == 3 || depth > 0 && n < 3:
		object := map[string]any{}
		for range r.IntN(5) {
			object[[]string{"a", "b", "c", "ü", "a b", "a.b"}[r.IntN(6)]] = randomJSON(r, depth-1, null)
		}
		return object
	case n < 4 && null:
		return nil
	case n == 4:
		list := []any{}
		for range r.IntN(3) {
			list = append(list, randomJSON(r, max(depth-1, 0), false))
		}
		return list
	}
	return []any{1, -2.5, "x", "", true, false, "<é>"}[r.IntN(7)]
}

// PATCH merges in the same way as the library json-merge-patch of PyPI. `make check-clients`
// installs it and runs this.
func TestMergePatchInPython(t *testing.T) {
	modules := os.Getenv("QUADRILLE_GEOPY")
	if modules == "" {
		t.Skip("QUADRILLE_GEOPY names no directory with Python's modules: run make check-clients")
	}
	const script = `
import json, sys
try:
    import json_merge_patch
except ImportError:
    sys.exit(77)
wrong = 0
for line in sys.stdin:
    case = json.loads(line)
    want = json_merge_patch.merge(json.loads(json.dumps(case["was"])), case["patch"])
    if want != case["got"]:
        wrong += 1
        print(line, "want", json.dumps(want))
sys.exit(wrong and f"{wrong} are wrong")
`
	s := newService(t, nil)
	l := s.make("shops", "")
	r := testseed.Rand(t)
	var cases bytes.Buffer
	text := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for range 300 {
		was, patch := randomJSON(r, 3, false), randomJSON(r, 3, true)
		if w := s.send(shopsKey, "PUT", "/points/shops/a", pointFeature("a", 1, 2, text(was))); w.Code > 201 {
			t.Fatal(w.Code, w.Body)
		}
		if w := s.send(shopsKey, "PATCH", "/points/shops/a", `{"properties":`+text(patch)+`}`, "Content-Type",
			"application/merge-patch+json"); w.Code != 200 {
			t.Fatalf("%s: %d %s", text(patch), w.Code, w.Body)
		}
		var h feature.Feature
		if err := l.Get(t.Context(), "a", time.Time{}, &h); err != nil {
			t.Fatal(err)
		}
		cases.WriteString(text(map[string]any{"was": was, "patch": patch, "got": json.RawMessage(propertiesOf(&h))}) + "\n")
	}
	cmd := exec.CommandContext(t.Context(), "python3", "-c", script)
	cmd.Env, cmd.Stdin = append(os.Environ(), "PYTHONPATH="+modules), &cases
	out, err := cmd.CombinedOutput()
	switch exit := (*exec.ExitError)(nil); {
	case errors.Is(err, exec.ErrNotFound):
		t.Skip("python3 is not at hand")
	case errors.As(err, &exit) && exit.ExitCode() == 77:
		t.Skip("json-merge-patch is not installed: run make check-clients")
	case err != nil:
		t.Errorf("%v: %.3000s", err, out)
	}
}
