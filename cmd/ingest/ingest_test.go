package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/rogpeppe/go-internal/testscript"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/geonames"
	"quadrille/cmd/internal/testfile"
	"quadrille/cmd/internal/variables"
	"quadrille/cmd/internal/version"
	"quadrille/internal/testrace"
	"quadrille/tiles/verify"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"ingest": main})
}

// TestScripts runs the scripts, in which the program itself reads small hand-made files.
func TestScripts(t *testing.T) {
	testrace.SkipUnderRace(t, "each run builds by itself, as the script of TestExportScript does under the detector")
	all, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	runScripts(t, slices.DeleteFunc(all, func(name string) bool { return name == exportScript }))
}

const exportScript = "testdata/export.txtar"

func TestExportScript(t *testing.T) { runScripts(t, []string{exportScript}) }

func runScripts(t *testing.T, files []string) {
	testscript.Run(t, testscript.Params{
		Files: files,
		Setup: func(env *testscript.Env) error {
			for _, v := range os.Environ() {
				if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "QUADRILLE_") {
					env.Setenv(name, "")
				}
			}
			return nil
		},
	})
}

func TestReadKey(t *testing.T) {
	for text, want := range map[string]string{"a1b2\n": "a1b2", "\ufeffa1b2\r\nmore": "a1b2", "\ufeff": "", "a\ufeff": "", "a b": ""} {
		name := filepath.Join(t.TempDir(), "key")
		testfile.Write(t, name, text)
		if key, err := readKey(name); key != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", text, key, err)
		}
	}
}

func TestExitCodes(t *testing.T) {
	for _, tc := range []struct {
		args []string
		code int
	}{
		{nil, 0},
		{[]string{"--help"}, 0},
		{[]string{"boundaries", "--help"}, 0},
		{[]string{"--version"}, 0},
		{[]string{"list"}, 0},
		{[]string{"nonsense"}, 2},
		{[]string{"boundaries"}, 2},
		{[]string{"boundaries", "--layer", "x"}, 2},
		{[]string{"boundaries", "--layer", "all=x.json"}, 2},
		{[]string{"boundaries", "--keep"}, 2},
		{[]string{"boundaries", "--keep=Country"}, 2},
		{[]string{"boundaries", "--keep=country"}, 1},
		{[]string{"boundaries", "--remove", "country"}, 2},
		{[]string{"boundaries", "--remove", "country:fr"}, 1},
		{[]string{"boundaries", "--patch", "x=none.json"}, 1},
		{[]string{"list", "--max-bad", "2"}, 2},
		{[]string{"prune", "--keep", "0"}, 2},
		{[]string{"export", "all", "x.zip"}, 2},
		{[]string{"export", "all", "x.pmtiles", "--max-zoom", "14"}, 2},
		{[]string{"export", "all", "x.pmtiles"}, 1},
		{[]string{"export", "ip", "x.pmtiles"}, 2},
		{[]string{"export", "ip", "x.csv", "--fields", "country"}, 2},
		{[]string{"export", "ip", "x.mmdb"}, 1},
		{[]string{"boundaries", "--layer", "x=none.json"}, 1},
		{[]string{"places", "--help"}, 0},
		{[]string{"places"}, 2},
		{[]string{"places", "--as", "x"}, 2},
		{[]string{"places", "x.txt", "--memory", "1kB"}, 2},
		{[]string{"places", "none.txt"}, 1},
		{[]string{"places", "--as", "places=none.txt"}, 1},
		{[]string{"rollback", "places"}, 1},
		{[]string{"drop", "places"}, 1},
		{[]string{"drop"}, 2},
		{[]string{"points", "shops"}, 2},
		{[]string{"points", "Shops", "none.csv"}, 2},
		{[]string{"points", "shops", "none.csv"}, 1},
		{[]string{"points", "shops", "none.csv", "--replace"}, 2},
		{[]string{"points", "shops", "none.csv", "--into-live", "http://127.0.0.1:1", "--max-change", "5%"}, 2},
	} {
		err := run(context.Background(), append(tc.args, flagsFor(t, tc.args)...), io.Discard, io.Discard)
		if code := exitCode(err); code != tc.code {
			t.Errorf("%v: exit code %d (%v), want %d", tc.args, code, err, tc.code)
		}
	}
}

// A stopped command reports the data sets that are unchanged, and how to continue.
func TestInterrupted(t *testing.T) {
	data := t.TempDir()
	if err := run(t.Context(),
		[]string{"boundaries", "--layer", "x=internal/job/boundaries/testdata/squares.geojson", "--data", data}, io.Discard,
		io.Discard); err != nil {
		t.Fatal(err)
	}
	settings := filepath.Join(t.TempDir(), "ingest.yaml")
	testfile.Write(t, settings, "boundaries: {layer: [x=internal/job/boundaries/testdata/squares.geojson]}\ntimezones: {}\n")
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tc := range []struct {
		args []string
		want string // "" where the command is done before it looks
	}{
		{
			[]string{"boundaries", "--layer", "x=internal/job/boundaries/testdata/squares.geojson"},
			"nothing was published; the data set boundaries is as before (generation 1)",
		},
		{[]string{"places", "--as", "places=../../sample/airports.csv"}, "nothing was published; the data set places is as before (none yet)"},
		{[]string{"airports", "../../sample/airports.csv"}, "the data set airports is as before (none yet)"},
		{[]string{"stations", "../../sample/stations.csv"}, "the data set stations is as before (none yet)"},
		{[]string{"weather", "066600-99999-2026.gz"}, "the data set weather is as before (none yet)"},
		{[]string{"timezones"}, "the data set timezones is as before (none yet)"},
		{
			[]string{"timezones", "internal/job/boundaries/testdata/squares.geojson"},
			"the data set timezones is as before (none yet), boundaries is as before (generation 1)",
		},
		{[]string{"ip", "../tileserver/internal/clienttest/testdata/browser/ip.csv"}, "the data set ip is as before (none yet)"},
		{
			[]string{"world", "--mirror", "http://127.0.0.1:1", "--downloads", t.TempDir()},
			"the data set boundaries is as before (generation 1), places is as before (none yet), ",
		},
		{
			[]string{"world", "--only", "ip", "--mirror", "http://127.0.0.1:1", "--downloads", t.TempDir()},
			"nothing was published; the data set ip is as before (none yet); the next run goes on",
		},
		{[]string{"points", "shops", "../../sample/airports.csv"}, "the data set points-shops is as before (none yet)"},
		{
			[]string{"refresh", "--config", settings},
			"nothing was published; the data set boundaries is as before (generation 1), timezones is as before (none yet)",
		},
		{[]string{"refresh", "timezones", "--config", settings}, "nothing was published; the data set timezones is as before (none yet)"},
		{[]string{"verify"}, "nothing was changed; data sets that are not named as intact"},
		{[]string{"export", "all", filepath.Join(t.TempDir(), "x.pmtiles")}, "x.pmtiles is as before"},
		{[]string{"export", "ip", filepath.Join(t.TempDir(), "x.mmdb")}, "x.mmdb is as before"},
		{[]string{"prune"}, ""},
		{[]string{"rollback", "boundaries"}, ""},
		{[]string{"drop", "boundaries"}, ""},
		{[]string{"list"}, ""},
		{[]string{"config", "print"}, ""},
		{[]string{"config", "check"}, ""},
	} {
		var out, stderr bytes.Buffer
		err := run(cancelled, append(tc.args, "--data", data), &out, &stderr)
		if tc.want == "" {
			if err != nil && exitCode(err) != 130 && exitCode(err) != 1 || err != nil && strings.Contains(err.Error(), "context canceled") {
				t.Errorf("%q: %v", tc.args, err)
			}
			continue
		}
		if exitCode(err) != 130 || !strings.HasPrefix(err.Error(), "interrupted: ") || !strings.Contains(err.Error(), tc.want) ||
			strings.Contains(err.Error(), "context canceled") {
			t.Errorf("%q: exit code %d, %v; want %q", tc.args, exitCode(err), err, tc.want)
		}
	}
	// The message names the data set that was published before the stop.
	s := &session{catalog: nil, reporter: newReporter(&cli{Quiet: true}, io.Discard, io.Discard), toPush: []string{"ip"}}
	s.reporter.Published(dataset.Manifest{Dataset: "ip", Generation: 4})
	if got, want := s.unpublished("ip"), "published was ip generation 4; not pushed to --store was ip, which is there as "+
		"before; ingest push goes on where it stopped"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// Both programs print the same version, however they were built.
func TestVersion(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), []string{"--version"}, &out, io.Discard); err != nil || strings.TrimSpace(out.String()) != version.String() {
		t.Errorf("%v %q, want %s", err, out.String(), version.String())
	}
}

func flagsFor(t *testing.T, args []string) []string {
	if len(args) == 0 {
		return nil
	}
	return []string{"--data", t.TempDir()}
}

// Both programs accept one shared file of variables. Of tileserver's variables, ingest also has
// the data directory and the cluster.
func TestVariables(t *testing.T) {
	// Commands may share our variables if the flags have the same type.
	types := map[string]string{}
	var look func(n *kong.Node)
	look = func(n *kong.Node) {
		for _, f := range n.Flags {
			for _, env := range f.Envs {
				if slices.Contains(variables.Tileserver, env) && env != "QUADRILLE_DATA" && env != "QUADRILLE_STORE" {
					t.Errorf("%s sets --%s of %s, and another flag of tileserver", env, f.Name, n.FullPath())
				}
				if typ := f.Target.Type().String(); types[env] != "" && types[env] != typ {
					t.Errorf("%s is of %s and of %s", env, types[env], typ)
				} else {
					types[env] = typ
				}
			}
		}
		for _, child := range n.Children {
			look(child)
		}
	}
	look(commandLine(t).Node)
	if names := slices.Sorted(maps.Keys(types)); !slices.Equal(names, variables.Ingest) {
		t.Errorf("variables.Ingest should be %q", names)
	}
}

func commandLine(t *testing.T) *kong.Application {
	t.Helper()
	parser, err := newParser(&cli{}, io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return parser.Model
}

// TestEveryDatasetHasACommand tests that the command has the data set's name, settings in a
// configuration file if it has any, and names its inputs for refresh.
func TestEveryDatasetHasACommand(t *testing.T) {
	for _, name := range ask.DatasetNames(ask.Datasets) {
		i := slices.IndexFunc(commandLine(t).Children, func(n *kong.Node) bool { return n.Name == name })
		if i < 0 {
			t.Errorf("ingest %s is missing: add a command to the struct cli", name)
			continue
		}
		node := commandLine(t).Children[i]
		if !node.Tag.Has("config") && len(node.Positional)+len(node.Flags) > 0 {
			t.Errorf(`ingest %s has no settings in a file: add the tag config:""`, name)
		}
		if _, ok := node.Target.Addr().Interface().(reader); !ok && len(node.Positional) > 0 {
			t.Errorf("refresh does not know the files of ingest %s: give its command the method reads", name)
		}
	}
}

// Every flag for a licence is called --license; --licence also works.
func TestLicenseFlag(t *testing.T) {
	var seen []string
	for _, command := range commandLine(t).Children {
		for _, f := range command.Flags {
			if f.Name == "licence" {
				t.Errorf("ingest %s has --licence, expected --license", command.Name)
			}
			if f.Name != "license" {
				continue
			}
			seen = append(seen, command.Name)
			if !slices.Equal(f.Aliases, []string{"licence"}) {
				t.Errorf("--license of ingest %s is also taken as %q, expected licence", command.Name, f.Aliases)
			}
		}
	}
	for _, name := range []string{"boundaries", "ip", "points"} {
		if !slices.Contains(seen, name) {
			t.Errorf("%q have --license, expected %s too", seen, name)
		}
	}
}

// In the help, the flags of every command are below a heading of their own, and the command itself
// is below a heading that names its purpose.
func TestHelpIsInOrder(t *testing.T) {
	app := commandLine(t)
	for _, f := range app.Flags {
		if f.Group == nil && f.Name != "help" {
			t.Errorf("--%s is in no group", f.Name)
		}
	}
	for _, c := range app.Children {
		if c.Group == nil {
			t.Errorf("%s is in no group", c.Name)
		}
	}
	for _, tc := range []struct {
		args []string
		want []string
	}{
		{
			[]string{"--help"},
			[]string{"Flags of every command:", "--data=", "Commands that publish:", "boundaries", "refresh",
				"Commands about what is published:", "list", "drop", "prune", "Commands about the settings:", "config"},
		},
		{
			[]string{"world", "--help"},
			[]string{"--dry-run", "Flags of every command:", "--data=", "What to download:", "--only=", "How to download:", "--mirror="},
		},
		{[]string{"places", "--help"}, []string{"--as=", "Flags of every command:", "--data=", "--memory="}},
	} {
		var out bytes.Buffer
		if err := run(t.Context(), tc.args, &out, io.Discard); err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(out.String(), "\nFlags:\n") // past the examples
		for _, want := range tc.want {
			_, after, ok := strings.Cut(rest, want)
			if !ok {
				t.Fatalf("%q: no %q where it should be in\n%s", tc.args, want, out.String())
			}
			rest = after
		}
	}
}

// The help of rollback names every data set.
func TestRollbackHelp(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), []string{"rollback", "--help"}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	help := strings.Join(strings.Fields(out.String()), " ")
	if want := strings.Join(ask.DatasetNames(ask.Datasets), ", "); !strings.Contains(help, want) {
		t.Errorf("no %q in\n%s", want, out.String())
	}
}

func TestShare(t *testing.T) {
	for text, want := range map[string]share{"0": 0, "1": 1, "0.005": 0.005, "0.5%": 0.005, " 100 % ": 1, "1e-3": 0.001} {
		var s share
		if err := s.UnmarshalText([]byte(text)); err != nil || s != want {
			t.Errorf("%q: %v, %v", text, s, err)
		}
	}
	for _, text := range []string{"", "%", "x", "-1", "1.1", "101%", "NaN", "Inf"} {
		var s share
		if err := s.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q: %v", text, s)
		}
	}
}

func TestLayerFlag(t *testing.T) {
	t.Chdir(t.TempDir())
	testfile.Write(t, "odd:name.json", "")
	for text, want := range map[string]layerFlag{
		"a=b.json":            {"a", "b.json", ""},
		"a=b.json:CODE":       {"a", "b.json", "CODE"},
		"a=b.json:ref:x+y:n":  {"a", "b.json", "ref:x+y:n"},
		"a=odd:name.json:a:b": {"a", "odd:name.json", "a:b"},
		`a=b.json#l:"c:d"`:    {"a", "b.json#l", `"c:d"`},
		"a=odd:name.json#l:b": {"a", "odd:name.json#l", "b"},
		"a=dir:x/b.json":      {"a", "dir:x/b.json", ""},
		"a=dir:x/b.json:CODE": {"a", "dir:x/b.json", "CODE"},
		`a=C:\b.json`:         {"a", `C:\b.json`, ""},
		`a=C:\b.json:x`:       {"a", `C:\b.json`, "x"},
		"a=b.json:":           {"a", "b.json:", ""},
		"a=odd:name.json":     {"a", "odd:name.json", ""},
		"a=x=y.json":          {"a", "x=y.json", ""},
	} {
		var l layerFlag
		if err := l.UnmarshalText([]byte(text)); err != nil || l != want {
			t.Errorf("%q: %+v, %v; want %+v", text, l, err, want)
		}
	}
	for _, text := range []string{"", "a", "a=", "=b", "A=b", "a-b=c", "places=x", "all=x", "a_line=x"} {
		var l layerFlag
		if err := l.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q: %+v", text, l)
		}
	}
}

// FuzzLayerFlag tests that any text is refused, or written back as it was read, and that nothing of it is lost.
func FuzzLayerFlag(f *testing.F) {
	f.Chdir(f.TempDir())
	testfile.Write(f, "odd:name.json", "")
	for _, text := range []string{"a=b.json:CODE:NAME", "a=odd:name.json#x:ref:INSEE", `a=b:"c:""d":e+f`, "a=:", "a=b::", "=", "a=#:"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var l, again layerFlag
		if l.UnmarshalText([]byte(text)) != nil {
			return
		}
		written, err := l.MarshalText()
		if err != nil || string(written) != text && string(written)+":" != text {
			t.Fatalf("%q: %+v, %q, %v", text, l, written, err)
		}
		if err := again.UnmarshalText(written); err != nil || again != l {
			t.Fatalf("%q: %+v, %+v, %v", text, l, again, err)
		}
	})
}

func TestKindFlag(t *testing.T) {
	for text, want := range map[string]kindFlag{
		"places=a.txt":           {geonames.KindPlaces, "a.txt"},
		"AlternateNames=b=c.txt": {geonames.KindAlternates, "b=c.txt"},
		"deletes=dir:x/d.txt":    {geonames.KindDeletions, "dir:x/d.txt"},
	} {
		var k kindFlag
		if err := k.UnmarshalText([]byte(text)); err != nil || k != want {
			t.Errorf("%q: %+v, %v; want %+v", text, k, err, want)
		}
	}
	for _, text := range []string{"", "places", "places=", "=a.txt", "a.txt=places"} {
		var k kindFlag
		if err := k.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q: %+v", text, k)
		}
	}
}

func TestNumbersInWords(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1234: "-1,234", -123: "-123"} {
		if got := grouped(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1 kB", 1234567: "1.23 MB", 202e6: "202 MB", 5e12: "5 TB"} {
		if got := byteCount(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
	for _, tc := range []struct {
		p    job.Progress
		want string
	}{
		{job.Progress{Done: 5e6, Total: 20e6, Unit: "bytes"}, "25%, 500 kB/s, 30s left"},
		{job.Progress{Done: 1000, Unit: "places"}, "1,000 places, 100 places/s"},
		{job.Progress{Done: 50, Total: 100}, "50%, 10s left"},
		{job.Progress{Done: 100, Total: 100}, "100%"},
		{job.Progress{Total: 100}, "0%"},
		{job.Progress{}, "at work for 10s"},
	} {
		if got := progressLine(tc.p, 10*time.Second); got != tc.want {
			t.Errorf("%+v: %s", tc.p, got)
		}
	}
}

func TestPrintReport(t *testing.T) {
	var out bytes.Buffer
	r := verify.Report{
		Types: []verify.TypeReport{{Name: "country", Regions: 2, Edges: 1234, SharedEdges: 5, Labels: 28,
			Overlaps: make([]verify.SourceOverlap, 7)}},
		Findings: []verify.Finding{{Type: "country", Problem: verify.ProblemBorder, Count: 1001, Examples: []verify.Example{
			{Tile: "7/66/45", Region: "fr", Detail: "no twin"}, {Detail: "alone"},
		}}},
	}
	r.Types[0].Leaves[3], r.Types[0].Overlaps[0] = 4000, verify.SourceOverlap{A: "a", B: "b", Tiles: 9}
	if err := printReport(&out, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"country  ", "4,000", "1,234", "country a and b overlap in the source, as 9 rows show\n", "and 2 more pairs",
		"country border: 1,001\n  7/66/45 fr: no twin\n  alone\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	const old, again = "this generation holds no points of its sources", "if the same is found"
	if !strings.Contains(out.String(), old) || strings.Contains(out.String(), again) {
		t.Error(out.String())
	}
	out.Reset()
	r.Types[0].Witnesses, r.Findings[0].Problem = 4321, verify.ProblemSource
	if err := printReport(&out, r); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "4,321") || strings.Contains(out.String(), old) || !strings.Contains(out.String(), again) {
		t.Error(out.String())
	}
}

// Every line for programs is an object that names its event.
func TestJSONEvents(t *testing.T) {
	var out, stderr bytes.Buffer
	r := newReporter(&cli{JSON: true}, &out, &stderr)
	r.Progress(job.Progress{Stage: "reading", Done: 1, Total: 2, Unit: "bytes"})
	r.BadRecords("odd\n", 2, []*source.BadRecord{{Source: "f", Line: 3, Reason: "odd\n", Detail: "\x00"}})
	r.Note("note")
	r.Published(dataset.Manifest{Dataset: "places", Generation: 4, Records: map[string]int64{"places": 5}})
	r.failed(errors.New("boom"))
	r.close()
	var events []string
	for line := range strings.Lines(out.String()) {
		var e struct{ Event string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		events = append(events, e.Event)
	}
	if got := strings.Join(events, " "); got != "progress bad note published error" || stderr.Len() > 0 {
		t.Errorf("%s; %q", got, stderr.String())
	}
}

func TestQuiet(t *testing.T) {
	var out, stderr bytes.Buffer
	r := newReporter(&cli{Quiet: true}, &out, &stderr)
	r.Progress(job.Progress{Stage: "reading"})
	r.BadRecords("odd", 2, nil)
	r.Note("note")
	r.Published(dataset.Manifest{Dataset: "places"})
	r.close()
	if out.Len()+stderr.Len() > 0 {
		t.Errorf("%q %q", out.String(), stderr.String())
	}
}

// A stage that reports nothing still shows progress. A stage that reports often shows it every
// two seconds.
func TestSilentStage(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		var out, stderr bytes.Buffer
		r := newReporter(&cli{JSON: asJSON}, &out, &stderr)
		r.tick(time.Now()) // nothing is at work
		r.Progress(job.Progress{Stage: "sorting", Unit: "rows"})
		began := r.stage.began
		for i := range 10 {
			r.tick(began.Add(time.Duration(i) * time.Second / 2))
		}
		r.Progress(job.Progress{Stage: "sorting", Done: 10, Total: 40, Unit: "rows"})
		r.tick(began.Add(10 * time.Second))
		r.close()
		want := "sorting\n  at work for 2s\n  at work for 4s\n  25%, 1 rows/s, 30s left\n"
		got := stderr.String()
		if asJSON {
			want = `{"event":"progress","stage":"sorting","done":10,"total":40,"unit":"rows","seconds":10,"rate":1,"seconds_left":30}`
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			if got = lines[len(lines)-1]; len(lines) != 4 {
				t.Error(lines)
			}
		}
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// The message about a published generation ends with the time of each phase.
func TestPhaseLine(t *testing.T) {
	for _, tc := range []struct {
		phases []phase
		peak   int64
		want   string
	}{
		{nil, 0, "at once"},
		{[]phase{{"reading", 1.04, 0, ""}, {"sorting", 0.01, 0, ""}, {"reading", 2, 0, ""}, {"writing", 61, 0, ""}}, 812e6,
			"reading 3s, writing 1m1s; peak memory 812 MB"},
	} {
		if got := phaseLine(tc.phases, tc.peak); got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}

// TestBars tests that stages are shown as bars on a terminal, and that other messages do not run
// into the bars.
func TestBars(t *testing.T) {
	var out, stderr bytes.Buffer
	r := newReporter(&cli{}, &out, &stderr)
	r.terminal = true
	for i := range int64(5) {
		r.Progress(job.Progress{Stage: "reading", Done: i * 1e6, Total: 4e6, Unit: "bytes"})
	}
	r.Note("a note")
	r.Progress(job.Progress{Stage: "counting", Done: 7, Unit: "places"})
	r.Progress(job.Progress{Stage: "publishing"})
	r.Published(dataset.Manifest{Dataset: "places", Generation: 4, Records: map[string]int64{"places": 5000}})
	r.close()
	for _, want := range []string{"reading", "a note\n", "counting", "publishing"} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("no %q in %q", want, stderr.String())
		}
	}
	if !strings.HasPrefix(out.String(), "published places generation 4: 5,000 places, ") {
		t.Error(out.String())
	}
}
