// Package configtest has helpers for the tests of both programs' settings.
package configtest

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"quadrille/cmd/internal/configfile"
)

// hostile is a text that each of YAML, kong and this package could misread.
const hostile = `a, b; c\d: "e" # f: 'g'-`

// Args returns a command line that sets every flag to another value than its default. own has, by
// name, the values of flags that do not accept arbitrary texts or numbers.
func Args(t testing.TB, flags []*kong.Flag, own map[string][]string, except ...string) (args []string) {
	t.Helper()
	for _, f := range flags {
		if slices.Contains(except, f.Name) || f.Name == "help" {
			continue
		}
		values, ok := own[f.Name]
		switch {
		case ok:
		case f.IsBool() && f.Default == "true":
			args = append(args, "--no-"+f.Name)
			continue
		case f.IsBool():
			args = append(args, "--"+f.Name)
			continue
		default:
			values = []string{sample(t, f)}
		}
		for _, v := range values {
			args = append(args, "--"+f.Name+"="+v)
		}
	}
	return args
}

// sample returns a valid value of a flag.
func sample(t testing.TB, f *kong.Flag) string {
	t.Helper()
	for _, v := range slices.Backward(f.EnumSlice()) {
		if v != f.Default && v != "" {
			return v
		}
	}
	kind := f.Target.Type()
	switch {
	case kind == reflect.TypeFor[time.Duration]():
		return "7m3s"
	case kind.Kind() == reflect.String:
		return hostile
	case kind.Kind() == reflect.Slice && kind.Elem().Kind() == reflect.String:
		return strings.ReplaceAll(hostile, ",", "")
	case kind.Kind() == reflect.Int || kind.Kind() == reflect.Int64:
		return "77"
	}
	t.Fatalf("what to set --%s to? It is a %s: give the test a value", f.Name, kind)
	return ""
}

// RoundTrip sets every flag, prints all settings as a file, and reads that file. Each setting must
// then have the same value. command is the command of the settings, or "" for the program.
func RoundTrip(t *testing.T, command string, args []string, parse func(args ...string) ([]configfile.Setting, error)) {
	t.Helper()
	given, err := parse(args...)
	if err != nil {
		t.Fatal(err)
	}
	var printed strings.Builder
	if command == "" {
		err = configfile.Print(&printed, given)
	} else {
		err = configfile.PrintCommand(&printed, command, given)
	}
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "printed.yaml")
	if err := os.WriteFile(path, []byte(printed.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	again, err := parse("--config", path)
	if err != nil {
		t.Fatalf("what is printed cannot be read: %v\n%s", err, &printed)
	}
	for i, s := range given {
		if s.Source != "command line" {
			t.Errorf("%s was not set: %s", s.Name, s.Source)
		}
		if !s.Secret && !slices.Equal(s.Values, again[i].Values) {
			t.Errorf("%s: %q is printed, and reads back as %q", s.Name, s.Values, again[i].Values)
		}
		if !s.Secret && !strings.HasPrefix(again[i].Source, path+":") {
			t.Errorf("%s is not taken from the file that was printed, but from: %s", s.Name, again[i].Source)
		}
	}
}
