package dataset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/internal/must"
)

// rewrite changes the one file of cells of a generation, in place. restore puts the content back:
// in place, or as a new file of the same name.
func rewrite(t *testing.T, c *Catalog, generation uint64, text string) (restore func(anew bool)) {
	t.Helper()
	path := filepath.Join(c.generationDir("ip", generation), storeDir, "cells")
	whole, err := os.ReadFile(path)
	must.Do(t, err)
	must.Do(t, os.WriteFile(path, []byte(text), 0o644))
	return func(anew bool) {
		t.Helper()
		to := path
		if anew {
			to = path + ".x"
		}
		must.Do(t, os.WriteFile(to, whole, 0o644))
		must.Do(t, os.Rename(to, path))
	}
}

// suspectCurrent reports a failed read of the generation in service.
func suspectCurrent(l *Live[*text], err error) { l.cur.Load().gen.ReportReadFailure(err) }

func wantDamage(t *testing.T, l *Live[*text], generation uint64) {
	t.Helper()
	var d *DamageError
	if st := l.Status(); !errors.As(st.Damage, &d) || d.Generation != generation || d.Dataset != "ip" || st.Serving == nil {
		t.Fatalf("status %+v, want damage of generation %d, which serves", st, generation)
	}
}

func TestDamageInService(t *testing.T) {
	bad := fmt.Errorf("a block: %w", cellstore.ErrCorrupt)
	c, stats := newCatalog(t)
	l, _ := newLive(t, c)
	l.interval = time.Hour // nothing happens by itself
	var events []string
	l.Notify = func(s Status) { events = append(events, fmt.Sprint(s.Serving.Generation, " ", s.Damage != nil)) }
	poll := func(want error) {
		t.Helper()
		if err := l.Poll(t.Context()); !errors.Is(err, want) {
			t.Fatalf("poll: %v, want %v", err, want)
		}
	}
	mustIngest(t, c, "ip", "one")
	mustIngest(t, c, "ip", "two")
	poll(nil)

	// A read fails though all files are whole: the generation is opened again, and serves.
	suspectCurrent(l, bad)
	if l.Status().Damage != nil {
		t.Fatal("one read marks a generation")
	}
	before := l.cur.Load()
	poll(nil)
	if st := l.Status(); st.Damage != nil || st.ReadFailures != 1 || l.cur.Load() == before {
		t.Fatalf("after a read that went wrong once: %+v", st)
	}
	eventually(t, "the first opening closes", func() bool { return stats.open.Load() == 1 })
	before.gen.ReportReadFailure(bad) // a request that still has it
	poll(nil)
	if l.health.suspicion.Load() != nil || l.health.cleared != 1 {
		t.Error("a read of what is out of service is held against what is in it")
	}

	// More failed reads do not make it check again at once. The next check finds damage.
	restore := rewrite(t, c, 2, "twi")
	for range 100 {
		suspectCurrent(l, bad)
	}
	poll(nil)
	if st := l.Status(); st.Damage != nil || st.ReadFailures != 102 {
		t.Fatalf("all data is read again at once: %+v", st)
	}
	l.health.checkAt = time.Time{}
	poll(cellstore.ErrCorrupt)
	wantDamage(t, l, 2)
	if err := l.Status().Damage; !strings.Contains(err.Error(), "roll back") || !strings.Contains(err.Error(), "cells has changed") {
		t.Errorf("it says %v", err)
	}
	poll(cellstore.ErrCorrupt)
	if err := l.poll(t.Context(), false); err != nil { // left alone until its time
		t.Error(err)
	}
	wantDamage(t, l, 2)

	// A good new generation clears the mark of damage, and so does a rollback.
	if _, err := c.Rollback(t.Context(), "ip"); err != nil {
		t.Fatal(err)
	}
	poll(nil)
	if st := l.Status(); st.Damage != nil || serving(t, l) != "one" {
		t.Fatalf("after a rollback: %+v", st)
	}
	restore(false)
	mustIngest(t, c, "ip", "three")
	poll(nil)

	// The Live accepts files that are restored in place, and also new files with the same names.
	for _, anew := range []bool{false, true} {
		restore = rewrite(t, c, 3, "thr??")
		suspectCurrent(l, errors.New("input/output error"))
		poll(cellstore.ErrCorrupt)
		wantDamage(t, l, 3)
		restore(anew)
		poll(nil)
		if st := l.Status(); st.Damage != nil || serving(t, l) != "three" {
			t.Fatalf("after it was restored: %+v", st)
		}
		l.health.checkAt = time.Time{}
	}
	if got, want := strings.Join(events, ","), "2 false,2 false,2 true,1 false,3 false,3 true,3 false,3 true,3 false"; got != want {
		t.Errorf("notified of %q, want %q", got, want)
	}
}

// Damage that no checksum shows is marked after reads have met it often enough. The mark stays
// until another generation is in service.
func TestDamageBesideChecksums(t *testing.T) {
	c, _ := newCatalog(t)
	l, _ := newLive(t, c)
	l.interval = time.Hour
	mustIngest(t, c, "ip", "one")
	poll := func() {
		t.Helper()
		l.health.checkAt = time.Time{}
		must.Do(t, l.Poll(t.Context()))
	}
	poll()
	for range 20 { // a disk that stalls now and then is no damage
		suspectCurrent(l, errors.New("input/output error"))
		poll()
		if st := l.Status(); st.Damage != nil {
			t.Fatal(st.Damage)
		}
	}
	for range mostCleared {
		suspectCurrent(l, cellstore.ErrCorrupt)
		poll()
		if st := l.Status(); st.Damage != nil {
			t.Fatal(st.Damage)
		}
	}
	suspectCurrent(l, cellstore.ErrCorrupt)
	poll()
	wantDamage(t, l, 1)
	poll() // whole files do not remove the mark either
	wantDamage(t, l, 1)
	mustIngest(t, c, "ip", "two")
	poll()
	if st := l.Status(); st.Damage != nil || l.health.cleared != 0 {
		t.Errorf("another generation inherits damage: %+v", st)
	}
}

// The generation in service is checked for damage even while the newest generation does not open.
func TestDamageOfStale(t *testing.T) {
	c, stats := newCatalog(t)
	l, _ := newLive(t, c)
	l.interval = time.Hour
	mustIngest(t, c, "ip", "one")
	must.Do(t, l.Poll(t.Context()))
	mustIngest(t, c, "ip", "two")
	stats.fail(errors.New("no file handles"))
	_ = l.Poll(t.Context())
	rewrite(t, c, 1, "onx")
	suspectCurrent(l, cellstore.ErrCorrupt)
	_ = l.Poll(t.Context())
	wantDamage(t, l, 1)
	if st := l.Status(); st.Err == nil || st.Published != 2 {
		t.Errorf("status %+v", st)
	}
	stats.fail(nil)
	if err := l.Poll(t.Context()); err != nil || l.Status().Damage != nil || serving(t, l) != "two" {
		t.Errorf("%v, %+v", err, l.Status())
	}
}

// Run detects damage automatically, because failed reads of a real store report it.
func TestDamageRun(t *testing.T) {
	c := newPebbleCatalog(t)
	l := NewLive(c, "ip", func(g *Generation) (cellstore.Table, error) { return g.Store.Table(context.Background(), "t") })
	l.interval = 10 * time.Millisecond
	mustIngest(t, c, "ip", "one")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- l.Run(ctx) }()
	defer func() {
		cancel()
		if err := errors.Join(<-done, l.Close()); err != nil {
			t.Error(err)
		}
	}()
	eventually(t, "it is served", func() bool { return l.Status().Serving != nil })
	path := largestTable(t, c.generationDir("ip", 1))
	whole, err := os.ReadFile(path)
	must.Do(t, err)
	flipped := bytes.Clone(whole)
	for i := range len(flipped) / 2 {
		flipped[i] ^= 0x55
	}
	must.Do(t, os.WriteFile(path, flipped, 0o644))
	ask := func() error {
		h, err := l.Acquire()
		if err != nil {
			return err
		}
		defer h.Release()
		var row cellstore.Row
		_, err = h.Value().Get(t.Context(), rowKey(7), nil, &row)
		return err
	}
	wantErr(t, ask(), cellstore.ErrCorrupt)
	eventually(t, "the damage is found", func() bool { return l.Status().Damage != nil })
	must.Do(t, os.WriteFile(path, whole, 0o644))
	eventually(t, "it is whole again", func() bool { return l.Status().Damage == nil && ask() == nil })
	// A wrong argument of a caller does not count as damage.
	failures := l.Status().ReadFailures
	stopped, stop := context.WithCancel(t.Context())
	stop()
	h, err := l.Acquire()
	must.Do(t, err)
	defer h.Release()
	var row cellstore.Row
	_, err = h.Value().Get(stopped, rowKey(7), nil, &row)
	wantErr(t, err, context.Canceled)
	_, err = h.Value().Get(t.Context(), nil, nil, &row)
	wantErr(t, err, cellstore.ErrEmptyRow)
	_, err = h.Value().Get(t.Context(), rowKey(7), &cellstore.Selection{Families: []string{"x"}}, &row)
	wantErr(t, err, cellstore.ErrFamilyNotFound)
	if n := l.Status().ReadFailures; n != failures {
		t.Errorf("%d failures more", n-failures)
	}
}

func largestTable(t *testing.T, dir string) (path string) {
	t.Helper()
	var size int64
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || filepath.Ext(p) != ".sst" {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Size() > size {
			path, size = p, info.Size()
		}
		return err
	})
	if err != nil || path == "" {
		t.Fatalf("no table in %s, %v", dir, err)
	}
	return path
}
