package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"quadrille/cmd/internal/testfile"
	"quadrille/internal/must"
)

// TestEveryTestRuns tests that .ci/raced leaves no test of this module out of both passes of make
// test, the one with the race detector and the one without.
func TestEveryTestRuns(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash to run .ci/raced with")
	}
	root := must.Get(filepath.Abs("../../..")).In(t)
	cmd := exec.CommandContext(t.Context(), filepath.Join(root, ".ci", "raced"))
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: run .ci/raced to see why", err)
	}
	lines := strings.Split(string(out), "\n")
	raced, others := strings.Fields(lines[0]), strings.Fields(lines[3])
	run, skip := regexp.MustCompile(lines[1]), regexp.MustCompile(lines[2])
	tests, withDetector := 0, 0
	for _, dir := range slices.Concat(raced, others) {
		for _, file := range must.Get(filepath.Glob(filepath.Join(root, dir, "*_test.go"))).In(t) {
			for name, plain := range testsOf(t, file) {
				tests++
				first := slices.Contains(raced, dir) && !plain && run.MatchString(name)
				second := slices.Contains(others, dir) || !skip.MatchString(name)
				switch {
				case first:
					withDetector++
				case !second:
					t.Errorf("%s: %s runs in no pass of make test: mend .ci/raced", file, name)
				}
			}
		}
	}
	if tests < 2000 || withDetector < 300 {
		t.Errorf(".ci/raced has the packages of %d tests and chooses %d of them for the race detector", tests, withDetector)
	}
}

// testsOf returns the tests of a file, and whether the race detector never gets them.
func testsOf(t *testing.T, path string) map[string]bool {
	text := testfile.Read(t, path)
	set := token.NewFileSet()
	file := must.Get(parser.ParseFile(set, path, text, parser.ParseComments)).In(t)
	plain := slices.ContainsFunc(file.Comments, func(c *ast.CommentGroup) bool {
		return c.Pos() < file.Package && strings.Contains(c.List[0].Text, "!race")
	})
	tests := map[string]bool{}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv != nil || f.Name.Name == "TestMain" || !regexp.MustCompile(`^(Test|Fuzz|Example)`).MatchString(f.Name.Name) {
			continue
		}
		body := string(text[set.Position(f.Pos()).Offset:set.Position(f.End()).Offset])
		tests[f.Name.Name] = plain || strings.Contains(body, "testrace."+"SkipUnderRace(") // apart, since .ci/raced looks for it
	}
	return tests
}
