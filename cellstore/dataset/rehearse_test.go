package dataset

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"quadrille/cellstore"
	"quadrille/internal/must"
)

// A rehearsal is independent of builds, cannot be published, and leaves nothing. The remains of a
// killed one are removed later.
func TestRehearse(t *testing.T) {
	c, _ := newCatalog(t)
	must.Do(t, os.RemoveAll(c.dir))
	rehearse := func() *Build {
		t.Helper()
		b, err := c.Rehearse(t.Context(), "places")
		must.Do(t, err)
		must.Do(t, b.Store().(*fileStore).put("one"))
		return b
	}
	b := rehearse()
	if err := errors.Join(b.Abort(), b.Abort()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(c.dir); !os.IsNotExist(err) {
		t.Errorf("the directory that was made for it is left: %v", err)
	}

	mustIngest(t, c, "places", "published")
	b = rehearse()
	if _, err := c.Rehearse(t.Context(), "places"); !errors.Is(err, ErrBuilding) {
		t.Errorf("two at once: %v", err)
	}
	other, err := c.Rehearse(t.Context(), "ip")
	must.Do(t, err)
	mustIngest(t, c, "places", "meanwhile")
	if _, err := b.Publish(t.Context(), Manifest{}); err == nil {
		t.Error("published")
	}
	if names, err := c.Datasets(t.Context()); err != nil || len(names) != 1 {
		t.Errorf("data sets are %v, %v", names, err)
	}
	if err := b.Abort(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(other.Dir()); err != nil {
		t.Errorf("the other lost its directory: %v", err)
	}
	// A killed rehearsal loses its lock and leaves its files.
	other.lock.Close()
	b, err = c.Rehearse(t.Context(), "ip")
	must.Do(t, err)
	if err := b.Abort(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(c.dir, rehearsalDir)); !os.IsNotExist(err) {
		t.Errorf("something is left: %v", err)
	}
	wantContent(t, c, "places", "meanwhile")
}

// TestRehearseThatCannotBegin tests that a rehearsal leaves nothing behind if its store cannot be
// opened.
func TestRehearseThatCannotBegin(t *testing.T) {
	c, _ := newCatalog(t)
	mustIngest(t, c, "places", "published")
	full := errors.New("the disk is full")
	c.open = func(string, string, bool) (cellstore.Store, error) { return nil, full }
	if _, err := c.Rehearse(t.Context(), "places"); !errors.Is(err, full) {
		t.Errorf("the error is %v", err)
	}
	if _, err := os.Stat(filepath.Join(c.dir, rehearsalDir)); !os.IsNotExist(err) {
		t.Errorf("something is left: %v", err)
	}
}
