package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"quadrille/cmd/internal/testfile"
	"quadrille/cmd/internal/variables"
)

// TestNamedThingsExist tests that a message with advice names only existing flags, make targets and
// files.
func TestNamedThingsExist(t *testing.T) {
	root, err := goCommand("list", "-m", "-f", "{{.Dir}}", module)
	if err != nil {
		t.Fatal(err)
	}
	dir := strings.TrimSpace(string(root))
	makefile := testfile.Read(t, filepath.Join(dir, "Makefile"))
	var targets []string
	for _, m := range regexp.MustCompile(`(?m)^([a-z-]+):`).FindAllSubmatch(makefile, -1) {
		targets = append(targets, string(m[1]))
	}
	flags := []string{"help", "version", "config", "keep", "grace", "scope", "no", "id", "name", "lat", "lon", "axis-order",
		"type", "into-live", "search", "private", "tags", "where", "remove", "replace",
		"out", "format", "regions", "timezone", "time", "nearest", "reverse", "geocode", "prefix", "server"}
	for _, name := range slices.Concat(variables.Tileserver, variables.Ingest) {
		flag := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, variables.Prefix+"_"), "_", "-"))
		flags = append(flags, flag, "no-"+flag, strings.TrimPrefix(strings.TrimPrefix(flag, "points-"), "boundaries-"))
	}
	var (
		flag   = regexp.MustCompile(`(?:^|[\s(,"'\x60])--([a-z][a-z-]*[a-z])`)
		target = regexp.MustCompile(`(?:[Rr]un |<code>)make ((?:[a-z-]+ )*?[a-z-]+)\b(?:<|$|[.,;:)])`)
		file   = regexp.MustCompile(`\b(docs/[a-z-]+\.md|[A-Z]+\.md|deploy/[a-z.-]+[a-z])\b`)
	)
	seen := 0
	for path, text := range sentences(t, dir) {
		for _, m := range flag.FindAllStringSubmatch(text, -1) {
			seen++
			if !slices.Contains(flags, m[1]) && !strings.Contains(text, "curl") {
				t.Errorf("%s: --%s is a flag of neither program: %q", path, m[1], text)
			}
		}
		for _, m := range target.FindAllStringSubmatch(text, -1) {
			for name := range strings.FieldsSeq(m[1]) {
				if !slices.Contains(targets, name) {
					t.Errorf("%s: the Makefile has no target %s: %q", path, name, text)
				}
			}
		}
		for _, m := range file.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(dir, m[1])); err != nil {
				t.Errorf("%s: %v: %q", path, err, text)
			}
		}
	}
	if seen < 100 {
		t.Errorf("only %d flags are named: are the messages still found?", seen)
	}
}

// sentences returns the texts with a space that the two programs and the map page may show. The
// keys are their positions.
func sentences(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, below := range []string{"cmd/ingest", "cmd/tileserver", "cmd/internal/configfile", "cmd/internal/variables",
		"cmd/internal/hbasedepot", "cellstore", "tiles", "places", "ipgeo", "ask", "static/leaflet/src"} {
		err := filepath.WalkDir(filepath.Join(dir, below), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				if err == nil && d.Name() == "testdata" {
					err = fs.SkipDir
				}
				return err
			}
			name, _ := filepath.Rel(dir, path)
			switch {
			case strings.HasSuffix(path, ".js"):
				source, err := os.ReadFile(path)
				for i, line := range strings.Split(string(source), "\n") {
					for _, m := range regexp.MustCompile(`'[^']* [^']*'`).FindAllString(line, -1) {
						found[name+":"+strconv.Itoa(i+1)+m] = strings.Trim(m, "'")
					}
				}
				return err
			case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
				return nil
			}
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					if text, err := strconv.Unquote(lit.Value); err == nil && strings.Contains(text, " ") {
						found[name+":"+strconv.Itoa(files.Position(lit.Pos()).Line)+":"+strconv.Itoa(int(lit.Pos()))] = text
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}
