package disk

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quadrille/cmd/internal/testfile"
)

func TestFree(t *testing.T) {
	dir := t.TempDir()
	free, ok := Free(dir)
	if ok && free == 0 {
		t.Error("no space at all")
	}
	if _, below := Free(filepath.Join(dir, "not", "yet")); below != ok {
		t.Errorf("what is known of a directory that is not there yet: %t, of its parent: %t", below, ok)
	}
}

// A file takes the place of the one that a link points at, there or not, and keeps its mode. Until then only the owner may read it.
func TestPublishReplaces(t *testing.T) {
	dir := t.TempDir()
	below := filepath.Join(dir, "below")
	if err := os.MkdirAll(filepath.Join(below, "deep"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{
		"direct": "", "link": "below/real", "absolute": filepath.Join(below, "real2"), "dangling": "below/new", "two": "below/hop",
		"around": "inner/../real5",
	} {
		path, target := filepath.Join(dir, name), filepath.Join(dir, name)
		mode := os.FileMode(0o640)
		switch name {
		case "link", "absolute":
			target = filepath.Join(below, map[string]string{"link": "real", "absolute": "real2"}[name])
		case "dangling":
			target, mode = filepath.Join(below, "new"), 0
		case "two":
			target = filepath.Join(below, "real4")
			if err := os.Symlink("real4", filepath.Join(below, "hop")); err != nil {
				t.Fatal(err)
			}
		case "around": // .. is the parent of what the link inner points at
			target = filepath.Join(below, "real5")
			if err := os.Symlink("below/deep", filepath.Join(dir, "inner")); err != nil {
				t.Fatal(err)
			}
		}
		if to != "" {
			if err := os.Symlink(to, path); err != nil {
				t.Fatal(err)
			}
		}
		if mode != 0 {
			testfile.Write(t, target, "old")
			if err := os.Chmod(target, mode); err != nil {
				t.Fatal(err)
			}
		}
		p, err := CreatePending(path)
		if err != nil {
			t.Fatal(name, err)
		}
		if info, err := p.file.Stat(); err != nil || mode != 0 && info.Mode() != 0o600 || filepath.Dir(p.file.Name()) != filepath.Dir(target) {
			t.Errorf("%s: while it is written: %v, %v, %s", name, info.Mode(), err, p.file.Name())
		}
		if _, err := p.WriteString("new"); err != nil {
			t.Fatal(err)
		}
		if err := p.Finish(nil); err != nil {
			t.Fatal(name, err)
		}
		info, err := os.Lstat(target)
		if err != nil || !info.Mode().IsRegular() || mode != 0 && info.Mode() != mode || string(testfile.Read(t, target)) != "new" {
			t.Errorf("%s: %v, %v", name, info, err)
		}
		if now, err := os.Lstat(path); err != nil || to != "" && now.Mode()&os.ModeSymlink == 0 {
			t.Errorf("%s is no link any more: %v", name, err)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*", ".*tmp*")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// What cannot be replaced by a file is refused before anything is written.
func TestNoFile(t *testing.T) {
	dir := t.TempDir()
	loop := filepath.Join(dir, "loop")
	if err := os.Symlink("loop", loop); err != nil {
		t.Skip(err)
	}
	for path, want := range map[string]string{dir: "not a regular file", os.DevNull: "not a regular file", loop: "too many symbolic links"} {
		if _, err := CreateBeside(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// An error while the file is closed leaves the older file.
func TestCloseComesFirst(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	testfile.Write(t, path, "old")
	f, err := CreateBeside(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := Publish(f, path); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("it is open after it got its name: %v", err)
	}
	if err := Discard(f); err != nil || string(testfile.Read(t, path)) != "" {
		t.Errorf("it is removed: %v", err)
	}
}
