package filelock

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestLocks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	held, err := Open(path)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); !errors.Is(err, ErrLocked) {
		t.Errorf("locked twice: %v", err)
	}
	reader, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := LockShared(reader); !errors.Is(err, ErrLocked) {
		t.Errorf("shared what is held: %v", err)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	if err := LockShared(reader); err != nil {
		t.Errorf("a lock outlives its file: %v", err)
	}
	other, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := LockShared(other); err != nil {
		t.Errorf("readers keep each other away: %v", err)
	}
	if _, err := Open(path); !errors.Is(err, ErrLocked) {
		t.Errorf("locked under readers: %v", err)
	}
}

// TestReplacedFile tests that a lock on a file that was removed meanwhile does not exclude anyone.
func TestReplacedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	old, err := Open(path)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if same, err := NamesFile(old, path); same || err != nil {
		t.Errorf("a file that is gone is the same: %v, %v", same, err)
	}
	next, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	if same, err := NamesFile(old, path); same || err != nil {
		t.Errorf("another file is the same: %v, %v", same, err)
	}
	if same, err := NamesFile(next, path); !same || err != nil {
		t.Errorf("the file is another: %v, %v", same, err)
	}
}
