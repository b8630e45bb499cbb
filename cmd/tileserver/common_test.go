package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"quadrille/cellstore/dataset"
	"quadrille/cmd/internal/programs"
	"quadrille/cmd/internal/toyworld"
)

func TestMain(m *testing.M) {
	if os.Getenv("TILESERVER_TEST_RUN") != "" { // see keysNew
		main()
		return
	}
	programs.Main(m)
}

// publish publishes the toy world in dir, and returns dir.
func publish(t *testing.T, dir string) string {
	t.Helper()
	if err := toyworld.Publish(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func catalogIn(t *testing.T, dir string) *dataset.Catalog {
	t.Helper()
	c, err := dataset.Open(dir, toyworld.Open)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// answers checks the status of an answer, and that the answer contains the texts.
func answers(t *testing.T, url string, status int, texts ...string) {
	t.Helper()
	code, got := fetch(t, url)
	if code != status {
		t.Errorf("%s: %d, want %d: %.300s", url, code, status, got)
	}
	for _, text := range texts {
		if !strings.Contains(got, text) {
			t.Errorf("%s: no %q in %.3000s", url, text, got)
		}
	}
}

// refused runs the program, which must end with an error that contains why.
func refused(t *testing.T, why string, args ...string) {
	t.Helper()
	if err := run(t.Context(), args, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), why) {
		t.Errorf("%q: %v, want %q", args, err, why)
	}
}

// command runs the program and returns its output.
func command(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := run(t.Context(), args, &out, &out)
	return out.String(), err
}

// prints runs the program, which must print the texts and succeed. It returns the whole output.
func prints(t *testing.T, args []string, texts ...string) string {
	t.Helper()
	got, err := command(t, args...)
	wantText(t, got, err, false, texts...)
	return got
}

// fails does the same as prints, but the program must fail. The texts may be in its error.
func fails(t *testing.T, args []string, texts ...string) string {
	t.Helper()
	got, err := command(t, args...)
	wantText(t, got, err, true, texts...)
	return got
}

func wantText(t *testing.T, got string, err error, fails bool, texts ...string) {
	t.Helper()
	if err != nil {
		got += err.Error()
	}
	for _, text := range texts {
		if !strings.Contains(got, text) {
			t.Errorf("no %q in\n%s", text, got)
		}
	}
	if (err != nil) != fails {
		t.Errorf("%v\n%s", err, got)
	}
}

// run runs the program. It returns after draining when ctx ends, or when it cannot continue.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	cfg, err := parse(args, stdout, stderr)
	if errors.Is(err, errDone) {
		return nil
	}
	if err != nil {
		return err
	}
	return cfg.run(ctx, stdout, stderr)
}
