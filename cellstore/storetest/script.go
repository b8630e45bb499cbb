package storetest

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
)

// scripts are the scripts of the worked examples of the contract and, in the folder rules, those of
// its other rules.
//
//go:embed testdata/*.txt testdata/rules/*.txt
var scripts embed.FS

// scriptRules returns the scripts of rules. Each begins with a line "rule ID NAME".
func scriptRules() (rules []rule) {
	files, err := fs.Glob(scripts, "testdata/rules/*.txt")
	if err != nil || len(files) == 0 {
		panic(fmt.Sprintf("no scripts of rules: %v", err))
	}
	for _, file := range files {
		text, err := fs.ReadFile(scripts, file)
		if err != nil {
			panic(err)
		}
		number := 0
		for line := range strings.Lines(string(text)) {
			number++
			if head, is := strings.CutPrefix(strings.TrimSpace(line), "rule "); is {
				id, name, _ := strings.Cut(head, " ")
				rules = append(rules, rule{id: id, name: name, script: strings.Repeat("\n", number)}) // so that failures tell the line of the file
			} else if len(rules) > 0 {
				rules[len(rules)-1].script += line
			}
		}
	}
	return rules
}

func (s *suite) runExamples(t *testing.T) {
	names, err := fs.Glob(scripts, "testdata/*.txt")
	if err != nil || len(names) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, name := range names {
		text, err := fs.ReadFile(scripts, name)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.TrimSuffix(strings.TrimPrefix(name, "testdata/"), ".txt"), func(t *testing.T) {
			s.runScript(t, string(text))
		})
	}
}

// needNames are the names that a line "needs NAME …" of a script may have.
var needNames = map[string]need{
	"clock": clock, "bulk": bulk, "snapshot": snapshot, "eager": eager, "mixed": mixedMutation,
	"timestamps": cellTimestamps, "countertimes": counterTimes, "crash": crash, "readonly": readOnly,
}

// step is a line of a script with what it must print; "" means ok.
type step struct {
	line int
	text string
	want string
}

// parseScript reads a script: a command per line and, indented beneath it, what
// the command prints. Lines that begin with # are comments.
func parseScript(t testing.TB, text string) (needs []need, steps []step) {
	for i, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case trimmed == "" || trimmed[0] == '#':
		case strings.HasPrefix(line, "  "):
			if len(steps) == 0 {
				t.Fatalf("line %d: output before the first command", i+1)
			}
			last := &steps[len(steps)-1]
			if last.want != "" {
				last.want += "\n"
			}
			last.want += trimmed
		case strings.HasPrefix(line, "needs "):
			for _, name := range strings.Fields(line)[1:] {
				n, ok := needNames[name]
				if !ok {
					t.Fatalf("line %d: a script cannot need %q", i+1, name)
				}
				needs = append(needs, n)
			}
		default:
			steps = append(steps, step{line: i + 1, text: trimmed})
		}
	}
	return needs, steps
}

// runScript runs a script in every mode.
func (s *suite) runScript(t *testing.T, text string) {
	needs, steps := parseScript(t, text)
	s.check(t, needs)
	for _, m := range s.modes {
		if m.before != nil && !s.repeatable(steps, m) {
			continue
		}
		t.Run(m.name, func(t *testing.T) { s.newEnv(t).play(steps, m) })
	}
}

// repeatable reports whether a script means the same in a mode: snapshots do not
// outlive their store, and async writes need not survive a crash. Scripts that
// must really wait run in fewer modes.
func (s *suite) repeatable(steps []step, m mode) bool {
	compacts := strings.HasPrefix(m.name, "compacted")
	return !slices.ContainsFunc(steps, func(step step) bool {
		switch verb(step.text) {
		case "close", "reopen", "crash":
			return true
		case "snapshot":
			return !compacts
		case "clock":
			return s.probe.RealTime && m.name != "compacted"
		}
		return strings.HasSuffix(step.text, " async") && m.name == "crashed"
	})
}

func verb(line string) string {
	v, _, _ := strings.Cut(line, " ")
	return v
}

// play runs a script's steps and compares.
func (e *env) play(steps []step, m mode) {
	e.Helper()
	written := false // since the mode last did its work
	for _, s := range steps {
		reads := commands[verb(s.text)].reads
		if m.before != nil && (m.always || written && reads != readsNothing) {
			if err := m.before(e.machine); err != nil {
				e.Fatalf("line %d: before it: %v", s.line, err)
			}
			written = false
		}
		written = written || reads != readsOnly
		want := s.want
		if want == "" {
			want = "ok"
		}
		got, err := e.exec(s.text)
		if err != nil {
			e.Fatalf("line %d: %v", s.line, err)
		}
		if got != want {
			e.Fatalf("line %d: %s\n got %s\nwant %s", s.line, s.text, indent(got), indent(want))
		}
	}
}

func indent(s string) string { return strings.ReplaceAll(s, "\n", "\n     ") }

// script runs a piece of script within a test in Go.
func (e *env) script(text string) {
	e.Helper()
	_, steps := parseScript(e, text)
	e.play(steps, modes[0])
}
