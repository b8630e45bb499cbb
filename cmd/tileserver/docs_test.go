package main

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"quadrille/cmd/internal/toyworld"
)

func document(t *testing.T, path ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(append([]string{"..", ".."}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var (
	metricType = regexp.MustCompile(`(?m)^# TYPE ([a-z_0-9]+) `)
	metricName = regexp.MustCompile(`quadrille_[a-z_]+`)
)

// What is alerted on is served.
func TestAlerts(t *testing.T) {
	data, keys := t.TempDir(), filepath.Join(t.TempDir(), "keys")
	if err := toyworld.Publish(t.Context(), data); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(keys, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	url, _, _ := start(t, "--data", data, "--keys", keys)
	for _, path := range []string{"/ip/8.8.8.8", "/tiles/country/0/0/0.mvt"} { // refused
		fetch(t, url+path)
	}
	_, text := fetch(t, url+"/metrics")
	served := map[string]bool{}
	for _, m := range metricType.FindAllStringSubmatch(text, -1) {
		served[m[1]] = true
	}
	if len(served) < 30 {
		t.Fatalf("only %d families are served:\n%s", len(served), text)
	}
	for _, name := range metricName.FindAllString(document(t, "deploy", "quadrille-alerts.yaml"), -1) {
		if !served[name] && !served[strings.TrimSuffix(name, "_bucket")] {
			t.Errorf("an alert looks at %s, which is not served", name)
		}
	}
	if _, after, ok := strings.Cut(document(t, "deploy", "quadrille-alerts.yaml"), `route="`); !ok {
		t.Error("no alert of a route")
	} else if route, _, _ := strings.Cut(after, `"`); !strings.Contains(text, `route="`+route+`"`) {
		t.Errorf("an alert looks at the route %s, which is not served", route)
	}
}

var readmeBlock = regexp.MustCompile("(?s)```console\n(.*?)```")

// README's examples are answered as it shows them, by the demo's data, which
// QUADRILLE_DEMO_DATA names; and without data at least by their routes.
func TestReadmeExamples(t *testing.T) {
	data := os.Getenv("QUADRILLE_DEMO_DATA")
	args := data
	if args == "" {
		args = t.TempDir()
	}
	url, _, _ := start(t, "--data", args)
	examples := 0
	for _, block := range readmeBlock.FindAllStringSubmatch(document(t, "README.md"), -1) {
		for _, example := range strings.Split(block[1], "$ curl ")[1:] {
			address, want, _ := strings.Cut(example, "\n")
			address = strings.Replace(strings.Trim(address, "' "), "http://127.0.0.1:8080", url, 1)
			examples++
			code, got := fetch(t, address)
			if data == "" {
				if code == http.StatusNotFound && strings.Contains(got, `"type":"not-found"`) {
					t.Errorf("%s: %s", address, got)
				}
				continue
			}
			// Lines were broken to fit, and parts left out where an ellipsis is.
			var unbroken strings.Builder
			for line := range strings.Lines(want) {
				unbroken.WriteString(strings.TrimSpace(line))
			}
			rest := got
			for part := range strings.SplitSeq(unbroken.String(), "…") {
				_, after, ok := strings.Cut(rest, strings.Trim(part, ","))
				if !ok {
					t.Errorf("%s: no %s in\n%s", address, part, got)
					break
				}
				rest = after
			}
		}
	}
	if examples < 5 {
		t.Errorf("%d examples in README.md", examples)
	}
	if data == "" {
		t.Skip("set QUADRILLE_DEMO_DATA to the demo's data to compare the answers; the routes were tried")
	}
}
