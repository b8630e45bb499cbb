package configfile

import (
	"bytes"
	"errors"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"pgregory.net/rapid"

	"quadrille/cmd/internal/bytesize"
	"quadrille/cmd/internal/testfile"
)

// program is a command line with flags of every kind.
type program struct {
	Name    string        `default:"nobody"`
	Count   int           `default:"3"`
	Wait    time.Duration `default:"5s"`
	Memory  bytesize.Size `default:"1MiB"`
	Loud    bool
	Tags    []string
	Where   *url.URL
	Token   string `secret:""`
	Version bool   `name:"version"`

	Go   struct{} `cmd:"" default:"1"`
	Bake struct {
		Flour []string `arg:"" optional:"" config:""`
		Heat  int      `default:"180"`
		Deep  bool
	} `cmd:"" config:""`
	Rest struct{} `cmd:"" config:""`
}

// run parses a command line with a file, which may be empty.
func run(t testing.TB, content string, args ...string) (*program, []Setting, error) {
	t.Helper()
	p := new(program)
	parser, err := kong.New(p, kong.Name("program"), kong.DefaultEnvars("CONFIGFILE"), kong.Writers(io.Discard, io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	file, err := Parse("program.yaml", []byte(content))
	if err != nil {
		return nil, nil, err
	}
	values, err := file.Resolver(parser.Model, "version")
	if err != nil {
		return nil, nil, err
	}
	if err := kong.Resolvers(values).Apply(parser); err != nil {
		t.Fatal(err)
	}
	ctx, err := parser.Parse(args)
	if err != nil {
		return nil, nil, err
	}
	return p, Settings(ctx, file, "version"), nil
}

func TestPrecedence(t *testing.T) {
	const content = "# a comment\nname: file\ncount: 7\nwait: 1m\nmemory: 2GiB\nloud: true\ntags: [a, 'b,c']\nwhere: " +
		"https://u:p@example.org/\n"
	t.Setenv("CONFIGFILE_COUNT", "8")
	t.Setenv("CONFIGFILE_NAME", "environment")
	p, settings, err := run(t, content, "--name=line")
	if err != nil {
		t.Fatal(err)
	}
	if p.Name != "line" || p.Count != 8 || p.Wait != time.Minute || p.Memory != 2<<30 || !p.Loud ||
		!slices.Equal(p.Tags, []string{"a", "b,c"}) || p.Token != "" {
		t.Errorf("%+v", p)
	}
	var got []string
	for _, s := range settings {
		got = append(got, s.Name+" "+s.Source)
	}
	want := []string{"name command line", "count environment CONFIGFILE_COUNT", "wait program.yaml:4", "memory program.yaml:5",
		"loud program.yaml:6",
		"tags program.yaml:7", "where program.yaml:8", "token default"}
	if !slices.Equal(got, want) {
		t.Errorf("sources %q, want %q", got, want)
	}
	var out bytes.Buffer
	if err := Print(&out, settings); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "u:p") {
		t.Errorf("a password is shown:\n%s", &out)
	}
	// The command line replaces a list and does not add to it.
	if p, _, err = run(t, content, "--tags=x"); err != nil || !slices.Equal(p.Tags, []string{"x"}) {
		t.Errorf("tags %q, %v", p.Tags, err)
	}
}

func TestJSON(t *testing.T) {
	p, _, err := run(t, `{"name": "*", "count": 1, "loud": false, "tags": ["a"]}`)
	if err != nil || p.Name != "*" || p.Count != 1 || p.Loud || !slices.Equal(p.Tags, []string{"a"}) {
		t.Errorf("%+v, %v", p, err)
	}
	for _, empty := range []string{"", "\n", "# only this\n", "---\n"} {
		if p, _, err := run(t, empty); err != nil || p.Name != "nobody" {
			t.Errorf("%q: %+v, %v", empty, p, err)
		}
	}
}

// TestPrintedIsReadable tests that the output of Print can be read as a configuration file, and
// gives the same flags and settings as those that were printed.
func TestPrintedIsReadable(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		// Characters that no environment or command line can have are not tested.
		text := rapid.StringMatching(`[ -~äß漢]{1,20}`)
		args := []string{"--name=" + text.Draw(r, "name"), "--wait=" + time.Duration(rapid.Int64Range(0, 1e13).Draw(r, "wait")).String()}
		for _, tag := range rapid.SliceOfN(rapid.StringMatching(`[a-z*&:#"' -]{1,8}`), 0, 3).Draw(r, "tags") {
			args = append(args, "--tags="+tag)
		}
		p, settings, err := run(t, "", args...)
		if err != nil {
			r.Fatal(err)
		}
		var out bytes.Buffer
		if err := Print(&out, settings); err != nil {
			r.Fatal(err)
		}
		q, again, err := run(t, out.String())
		if err != nil {
			r.Fatalf("%v:\n%s", err, &out)
		}
		if q.Name != p.Name || q.Wait != p.Wait || q.Count != p.Count || !slices.Equal(q.Tags, p.Tags) {
			r.Errorf("%+v became %+v by\n%s", p, q, &out)
		}
		for i := range again {
			if !slices.Equal(again[i].Values, settings[i].Values) {
				r.Errorf("%+v became %+v", settings[i], again[i])
			}
		}
	})
}

// The settings of a command are below its name, and apply only to that command.
func TestSections(t *testing.T) {
	const content = "name: n\nbake:\n  flour: [rye, 'whe at']\n  heat: 200\nrest: {}\n"
	p, _, err := run(t, content)
	if err != nil || p.Name != "n" || p.Bake.Heat != 180 {
		t.Errorf("%+v, %v", p, err)
	}
	if p, _, err = run(t, content, "bake", "--deep"); err != nil || p.Bake.Heat != 200 || !p.Bake.Deep {
		t.Errorf("%+v, %v", p, err)
	}
	p = new(program)
	parser, err := kong.New(p, kong.DefaultEnvars("CONFIGFILE"))
	if err != nil {
		t.Fatal(err)
	}
	file, err := Parse("program.yaml", []byte(content))
	if err != nil {
		t.Fatal(err)
	}
	values, err := file.Resolver(parser.Model, "version")
	if err != nil {
		t.Fatal(err)
	}
	if err := kong.Resolvers(values).Apply(parser); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CONFIGFILE_DEEP", "true")
	ctx, err := parser.Parse([]string{"bake", "oat"})
	if err != nil {
		t.Fatal(err)
	}
	if got := file.Argument("bake", "flour"); !slices.Equal(got, []string{"rye", "whe at"}) || file.Argument("rest", "flour") != nil {
		t.Errorf("%q", got)
	}
	var none *File
	if !file.Has("rest") || file.Has("go") || none.Has("rest") || none.Argument("bake", "flour") != nil {
		t.Error("commands of the file")
	}
	var out bytes.Buffer
	if err := errors.Join(PrintCommand(&out, "bake", CommandSettings(ctx, file)), PrintCommand(&out, "rest", nil)); err != nil {
		t.Fatal(err)
	}
	want := "bake:\n  flour: [\"oat\"]  # command line\n  heat: 200       # program.yaml:4\n  deep: true      # " +
		"environment CONFIGFILE_DEEP\nrest: {}\n"
	if out.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", &out, want)
	}
}

func TestRefused(t *testing.T) {
	for _, tt := range []struct{ content, want string }{
		{"nam: x\n", "program.yaml:1: " + ErrFile.Error() + ": there is no setting nam: did you mean name?"},
		{"name: x\n--count: 5\n", "program.yaml:2: " + ErrFile.Error() + ": there is no setting --count: did you mean count?"},
		{"entirely_different: 1\n", "there is no setting entirely_different: --help lists them"},
		{"version: true\n", "version can only be given on the command line"},
		{"help: true\n", "help can only be given on the command line"},
		{"name: x\nname: y\n", "name"},
		{"bake: {haet: 5}\n", "program.yaml:1: " + ErrFile.Error() + ": there is no setting bake: haet: did you mean heat?"},
		{"bake:\n  heat: 5\n  heat: 6\n", ErrFile.Error()},
		{"bake: {heat: 5}\nbake: {heat: 6}\n", "bake"},
		{"bake: {heat: {a: b}}\n", "heat must be a single value"},
		{"bake: {count: 1}\n", "there is no setting bake: count"},
		{"heat: 5\n", "there is no setting heat"},
		{"bake: 5\n", "bake is a command: write its settings beneath it"},
		{"bakes: {heat: 5}\n", "there is no command bakes with settings: did you mean bake?"},
		{"go: {}\n", "there is no command go with settings"},
		{"\"\": {a: b}\n", "there is no command"},
		{"na_me: x\nna-me: y\n", "set in line 1 already"},
		{"name: [a, b]\n", "name takes one value"},
		{"name:\n", "name must be a single value"},
		{"name: {a: b}\n", "name must be a single value"},
		{"tags: [[a]]\n", "tags must be a list of single values"},
		{"- name\n", "SETTING: VALUE"},
		{"just text\n", "SETTING: VALUE"},
		{"name: *\n", "in quotes"},
		{"name: a\n---\ncount: 2\n", "more than one document"},
		{"name: [\n", ErrFile.Error()},
		{"? [a]\n: b\n", ErrFile.Error()},
		{"count: many\n", "many"},
		{"memory: lots\n", "lots"},
		{"name: " + strings.Repeat("x", maxSize), "larger"},
	} {
		_, _, err := run(t, tt.content)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.40q: %v, want %q", tt.content, err, tt.want)
		}
	}
}

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.yaml")
	if _, err := Load(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v, want that it is not there", err)
	}
	for _, text := range []string{"name: x\n", "\ufeffname: x\n", "\ufeff{\"name\": \"x\"}"} {
		testfile.Write(t, path, text)
		if f, err := Load(path); err != nil || f.values[key{"", "name"}].text != "x" {
			t.Errorf("%q: %+v, %v", text, f, err)
		}
	}
}

// A file never makes the program panic.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"name: x\n", "{\"a\": [1, 2]}", "a: &x 1\nb: *x\n", "? a\n: b", "a: |\n  text\n", "a: !!str 1",
		"<<: {a: b}", "a: 0x1F\n", "%YAML 1.2\n---\na: 1\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, content string) {
		file, err := Parse("f", []byte(content))
		switch {
		case err == nil && len(file.order) != len(file.values):
			t.Errorf("%d names of %d values", len(file.order), len(file.values))
		case err != nil && !errors.Is(err, ErrFile):
			t.Errorf("%v does not match ErrFile", err)
		}
	})
}
