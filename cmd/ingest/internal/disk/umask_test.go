//go:build darwin || linux

package disk

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestPublishKeepsUmask tests that a published file has the mode that the umask permits, like any
// new file.
func TestPublishKeepsUmask(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.csv")
	for mask, want := range map[int]os.FileMode{0o077: 0o600, 0o022: 0o644} {
		before := syscall.Umask(mask)
		f, err := CreateBeside(path)
		syscall.Umask(before)
		if err != nil {
			t.Fatal(err)
		}
		if err := Publish(f, path); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if rerr := os.Remove(path); rerr != nil { // its mode would stay
			t.Fatal(rerr)
		}
		if err != nil || info.Mode() != want {
			t.Errorf("umask %o: %v, %v", mask, info.Mode(), err)
		}
	}
}
