package disk

import (
	"path/filepath"
	"testing"
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
