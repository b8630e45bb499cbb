package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quadrille/cmd/internal/testfile"
)

// TestForeignFile: a file that a file manager left in a generation is told, and
// nothing else is wrong.
func TestForeignFile(t *testing.T) {
	data := t.TempDir()
	if err := run(t.Context(), []string{"airports", "../../sample/airports.csv", "--data", data}, io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(data, "airports", "g0000000001", "store", ".DS_Store")
	testfile.Write(t, path, "")
	var out bytes.Buffer
	if err := run(t.Context(), []string{"verify", "airports", "--data", data}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	if want := path + " does not belong to generation 1 of airports and does no harm; it can be removed\nairports is intact\n"; out.String() != want {
		t.Errorf("verify says %q, want %q", out.String(), want)
	}
}

// TestDrop: one step, shown by list, undone by rollback until prune has removed the
// files.
func TestDrop(t *testing.T) {
	data := t.TempDir()
	csv := filepath.Join(t.TempDir(), "p.csv")
	testfile.Write(t, csv, "id,lat,lon,name\n1,48.2,16.4,Wien\n")
	ingest := func(want string, args ...string) {
		t.Helper()
		var out bytes.Buffer
		if err := run(t.Context(), append(args, "--data", data), &out, io.Discard); err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q says %q, want %q", args, out.String(), want)
		}
	}
	ingest("", "points", "shops", csv)
	ingest("dropped points-shops, which was generation 1; ingest rollback points-shops", "drop", "points-shops")
	ingest("points-shops is dropped; ingest rollback points-shops publishes generation 1 again", "list")
	ingest(`"dropped":true`, "list", "--json")
	ingest("", "verify")
	if err := run(t.Context(), []string{"drop", "points-shops", "--data", data}, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), "roll it back to publish generation 1 again") {
		t.Errorf("dropped twice: %v", err)
	}
	ingest("published points-shops generation 1 again", "rollback", "points-shops")
	ingest("", "drop", "points-shops")
	ingest("nothing is left of points-shops", "prune")
	ingest("nothing in", "list")
	if left, err := filepath.Glob(filepath.Join(data, "points-shops")); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
	ingest("", "points", "shops", csv)
}

// TestVerifyWithoutPointer: whoever has everything verified is told of a lost CURRENT.
func TestVerifyWithoutPointer(t *testing.T) {
	data := t.TempDir()
	if err := run(t.Context(), []string{"airports", "../../sample/airports.csv", "--data", data}, io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(data, "airports", "CURRENT")); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err := run(t.Context(), []string{"verify", "--data", data}, &out, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "ingest rollback airports --to 1") || out.String() != "names is intact\n" {
		t.Errorf("verify says %q, %v", out.String(), err)
	}
}
