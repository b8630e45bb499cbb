package variables

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestUnknown(t *testing.T) {
	errs := Unknown([]string{"QUADRILLE_LISTEN=:1", "QUADRILLE_LISEN=:2", "QUADRILLE_LAYER=a=b", "QUADRILLE_MXA_BAD=1",
		"quadrille_x=1", "QUADRILLE_FULL=1",
		"QUADRILLEX=1", "QUADRILLE_=1", "QUADRILLE_NOTHING_LIKE_IT=x", "QUADRILLE_listen=1", "PATH=/bin", "=C:=x"})
	text := errors.Join(errs...).Error()
	for _, want := range []string{"QUADRILLE_LISEN sets nothing: did you mean QUADRILLE_LISTEN?",
		"QUADRILLE_MXA_BAD sets nothing: did you mean QUADRILLE_MAX_BAD?",
		"QUADRILLE_NOTHING_LIKE_IT sets nothing: unset it", "QUADRILLE_listen sets nothing: did you mean QUADRILLE_LISTEN?",
		"QUADRILLE_ sets nothing: unset it"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if len(errs) != 5 {
		t.Errorf("%d errors, want 5:\n%s", len(errs), text)
	}
	if errs := Unknown(nil); errs != nil {
		t.Errorf("of no environment: %v", errs)
	}
}

// The variables that Kubernetes sets for a service called quadrille are no misspelt flags.
func TestServiceLinks(t *testing.T) {
	links := []string{
		"QUADRILLE_PORT=tcp://10.0.0.1:80", "QUADRILLE_PORT_80_TCP=tcp://10.0.0.1:80", "QUADRILLE_PORT_80_TCP_ADDR=10.0.0.1",
		"QUADRILLE_PORT_80_TCP_PORT=80", "QUADRILLE_PORT_80_TCP_PROTO=tcp", "QUADRILLE_SERVICE_HOST=10.0.0.1",
		"QUADRILLE_SERVICE_PORT=80", "QUADRILLE_SERVICE_PORT_HTTP=80", "QUADRILLE_TILES_SERVICE_HOST=10.0.0.1",
	}
	if errs := Unknown(links); errs != nil {
		t.Error(errs)
	}
	if errs := Unknown([]string{"QUADRILLE_PORT=8080", "QUADRILLE_SERVICE=x"}); len(errs) != 2 {
		t.Errorf("%d errors, want 2: %v", len(errs), errs)
	}
}

// TestVariablesOfTests tests that the list of variables has exactly those that tests read.
func TestVariablesOfTests(t *testing.T) {
	reads := regexp.MustCompile(`(?:Getenv|LookupEnv|Setenv|Environ\(\), )\(?"(QUADRILLE_[A-Z0-9_]+)`)
	named := regexp.MustCompile(`"(QUADRILLE_[A-Z0-9_]+)`) // also by a constant
	read, mentioned := map[string]bool{}, map[string]bool{}
	err := filepath.WalkDir("../../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && d.Name() == "node_modules" {
			if err == nil {
				err = fs.SkipDir
			}
			return err
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if filepath.Base(filepath.Dir(path)) == "variables" {
			return nil // the list itself
		}
		for _, m := range named.FindAllSubmatch(source, -1) {
			mentioned[string(m[1])] = true
		}
		for _, m := range reads.FindAllSubmatch(source, -1) {
			read[string(m[1])] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range read {
		if !slices.Contains(slices.Concat(Tileserver, Ingest, tests), name) {
			t.Errorf("%s is read, but not listed", name)
		}
	}
	for _, name := range tests {
		if !mentioned[name] {
			t.Errorf("%s is listed, but nothing reads it", name)
		}
	}
}
