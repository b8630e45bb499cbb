package main

import (
	"bytes"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"quadrille/cmd/internal/variables"
)

func TestExitCodes(t *testing.T) {
	dir := t.TempDir()
	for _, tc := range []struct {
		args []string
		code int
		want string // in the message
	}{
		{[]string{"--help"}, 0, ""},
		{[]string{"keys", "--help"}, 0, ""},
		{[]string{"keys", "new", "--help"}, 0, ""},
		{[]string{"config", "--help"}, 0, ""},
		{[]string{"--version"}, 0, ""},
		{[]string{"config", "check"}, 0, ""},
		{[]string{"nonsense"}, 2, "tileserver --help"},
		{[]string{"serv"}, 2, `did you mean "serve"?`},
		{[]string{"kyes"}, 2, `did you mean "keys"?`},
		{[]string{"confg", "print"}, 2, `did you mean "config"?`},
		{[]string{"config", "chek"}, 2, `did you mean "check"?`},
		{[]string{"--listn=:1"}, 2, `did you mean "--listen"?`},
		{[]string{"--cache=much"}, 2, "--cache"},
		{[]string{"--cache=1"}, 2, "--cache must be"},
		{[]string{"--anonymous"}, 2, "give --keys too"},
		{[]string{"--config", filepath.Join(dir, "none.yaml")}, 2, "none.yaml"},
		{[]string{"config", "check", "--keys", filepath.Join(dir, "none")}, 2, "none"},
		{[]string{"keys"}, 2, "new"},
		{[]string{"keys", "nwe", "x"}, 2, `did you mean "new"?`},
		{[]string{"keys", "new", "a"}, 2, "name it by --keys FILE"},
		{[]string{"keys", "new", "two words", "--keys", filepath.Join(dir, "keys")}, 2, "name"},
		{[]string{"keys", "new", "a", "--keys", filepath.Join(dir, "keys"), "--limit=1/2m"}, 2, "--limit"},
		{[]string{"keys", "new", "a", "--keys", filepath.Join(dir, "none", "keys")}, 1, "no such file"},
		{[]string{"--keys", filepath.Join(dir, "none")}, 1, "--keys"},
	} {
		err := run(t.Context(), append(tc.args, "--data="+t.TempDir(), "--listen=127.0.0.1:0"), io.Discard, io.Discard)
		if code := exitCode(err); code != tc.code || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v: exit code %d (%v), want %d and %q", tc.args, code, err, tc.code, tc.want)
		}
	}
}

func commandLine(t *testing.T) *kong.Application {
	t.Helper()
	parser, err := newParser(&config{}, io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return parser.Model
}

// The list of this program's variables, which ingest also uses, is complete.
func TestVariables(t *testing.T) {
	var names []string
	_ = kong.Visit(commandLine(t), func(node kong.Visitable, next kong.Next) error {
		if f, ok := node.(*kong.Flag); ok {
			names = append(names, f.Envs...)
		}
		return next(nil)
	})
	slices.Sort(names)
	if names = slices.Compact(names); !slices.Equal(names, variables.Tileserver) {
		t.Errorf("variables.Tileserver should be %q", names)
	}
}

// A misspelt variable is logged when the server starts, and config check refuses it.
func TestUnknownVariable(t *testing.T) {
	t.Setenv("QUADRILLE_"+"LISEN", ":1")
	const want = "QUADRILLE_LISEN sets nothing: did you mean QUADRILLE_LISTEN?"
	_, log, stop := start(t, "--data="+t.TempDir())
	if !strings.Contains(log.String(), want) {
		t.Errorf("the log has no warning:\n%s", log)
	}
	stop()
	err := run(t.Context(), []string{"config", "check", "--data", t.TempDir()}, io.Discard, io.Discard)
	if exitCode(err) != 2 || !strings.Contains(err.Error(), want) {
		t.Errorf("config check: %v", err)
	}
	if err := run(t.Context(), []string{"config", "print"}, io.Discard, io.Discard); err != nil {
		t.Errorf("config print shows what is in effect all the same: %v", err)
	}
}

// Every flag is below a heading, every command is listed, and the help of keys has no flags of the
// server.
func TestHelpIsInOrder(t *testing.T) {
	for _, f := range commandLine(t).Flags {
		if f.Group == nil && !slices.Contains([]string{"help", "config", "version"}, f.Name) {
			t.Errorf("--%s is in no group", f.Name)
		}
	}
	help := func(args ...string) string {
		var out bytes.Buffer
		if err := run(t.Context(), append(args, "--help"), &out, io.Discard); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	all := help()
	at := 0
	for _, want := range append(titles(), "Commands:", "config print", "config check", "keys new <name>") {
		i := strings.Index(all[at:], "\n"+want)
		if i < 0 {
			i = strings.Index(all[at:], "\n  "+want)
		}
		if i < 0 {
			t.Fatalf("no %q where it should be in\n%s", want, all)
		}
		at += i
	}
	for _, args := range [][]string{{"keys"}, {"keys", "new"}} {
		if text := help(args...); strings.Contains(text, "--listen") || !strings.Contains(text, "--keys=FILE") {
			t.Errorf("%q:\n%s", args, text)
		}
	}
}

func titles() []string {
	list := make([]string, len(flagGroups))
	for i, g := range flagGroups {
		list[i] = g.Title
	}
	return list
}
