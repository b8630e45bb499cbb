package clienttest

import (
	"encoding/xml"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// These tests run the OGC's executable test suites against a running server. The suites are jars
// that are built from the OGC's public sources. They are in a directory next to this repository or
// in the directory of QUADRILLE_CITE. `make check-clients` runs them.

// citeRun has the results of a suite by the names of its tests.
type citeRun struct {
	passed  []string
	failed  map[string]string // with the suite's message
	skipped map[string]string
}

// runCITE runs a suite with its arguments.
func runCITE(t *testing.T, jar string, arguments map[string]string) citeRun {
	t.Helper()
	java, err := exec.LookPath("java")
	if err != nil {
		t.Skip("java is not installed; a JDK of version 17 runs the suites")
	}
	dir := os.Getenv("QUADRILLE_CITE")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "..", "..", "shared", "cite")
	}
	jar, err = filepath.Abs(filepath.Join(dir, jar))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(jar); err != nil {
		t.Skipf("%v: build the suite from its sources at github.com/opengeospatial, and let QUADRILLE_CITE name its directory", err)
	}
	type entry struct {
		Key   string `xml:"key,attr"`
		Value string `xml:",chardata"`
	}
	file := struct {
		XMLName xml.Name `xml:"properties"`
		Version string   `xml:"version,attr"`
		Entries []entry  `xml:"entry"`
	}{Version: "1.0"}
	for _, key := range slices.Sorted(maps.Keys(arguments)) {
		file.Entries = append(file.Entries, entry{key, arguments[key]})
	}
	text, err := xml.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	args := filepath.Join(work, "run.xml")
	if err := os.WriteFile(args, text, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), java, "-jar", jar, "-o", work, args).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	results, err := filepath.Glob(filepath.Join(work, "testng", "*", "testng-results.xml"))
	if err != nil || len(results) != 1 {
		t.Fatalf("results %v, %v\n%s", results, err, out)
	}
	run, err := readCITE(results[0])
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// readCITE reads the results of a suite. A test with many cases fails if one of them fails.
func readCITE(path string) (run citeRun, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return run, err
	}
	var results struct {
		Classes []struct {
			Name    string `xml:"name,attr"`
			Methods []struct {
				Name    string `xml:"name,attr"`
				Status  string `xml:"status,attr"`
				Config  bool   `xml:"is-config,attr"`
				Message string `xml:"exception>message"`
			} `xml:"test-method"`
		} `xml:"suite>test>class"`
	}
	if err := xml.Unmarshal(text, &results); err != nil {
		return run, fmt.Errorf("%s: %w", path, err)
	}
	run.failed, run.skipped = map[string]string{}, map[string]string{}
	for _, class := range results.Classes {
		for _, m := range class.Methods {
			name := class.Name[strings.LastIndexByte(class.Name, '.')+1:] + "." + m.Name
			message := strings.TrimSpace(m.Message)
			switch {
			case m.Status == "FAIL":
				run.failed[name] = message
			case m.Config:
			case m.Status == "SKIP":
				run.skipped[name] = message
			default:
				run.passed = append(run.passed, name)
			}
		}
	}
	return run, nil
}

// expect reports the tests that failed. It also reports skipped tests that are not in known, and
// tests in known that were not skipped. known maps tests to the reasons why they are skipped.
func (run *citeRun) expect(t *testing.T, known map[string]string) {
	t.Helper()
	for name, message := range run.failed {
		t.Errorf("%s: %s", name, message)
	}
	for name, message := range run.skipped {
		if known[name] == "" {
			t.Errorf("%s is skipped: %s", name, message)
		}
	}
	for name, reason := range known {
		if _, ok := run.skipped[name]; !ok {
			t.Errorf("%s is not skipped any more, as was expected because %s", name, reason)
		}
	}
	t.Logf("passed %d, failed %d, skipped %d", len(run.passed), len(run.failed), len(run.skipped))
}
