package dataset

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/cellstore/filelock"
	"quadrille/internal/must"
)

func TestPublish(t *testing.T) {
	c, stats := newCatalog(t)
	if names, err := c.Datasets(t.Context()); err != nil || len(names) != 0 {
		t.Fatalf("a catalogue that does not exist lists %v, %v", names, err)
	}
	_, err := c.Current(t.Context(), "places")
	wantErr(t, err, ErrNoGeneration)

	b, err := c.Begin(t.Context(), "places")
	must.Do(t, err)
	if b.generation != 1 {
		t.Errorf("the first generation is %d", b.generation)
	}
	must.Do(t, b.Store().(*fileStore).put("one"))
	_, err = c.Current(t.Context(), "places")
	wantErr(t, err, ErrNoGeneration) // not before Publish
	m, err := b.Publish(t.Context(), Manifest{
		Dataset: "ignored", Generation: 77, Files: []File{{Path: "../x"}},
		Records: map[string]int64{"places": 3}, Meta: []byte(`{ "tiers": 3 }`),
	})
	if err != nil {
		t.Fatal(err)
	}
	if m.Dataset != "places" || m.Generation != 1 || m.Version != manifestVersion || m.Built.IsZero() ||
		len(m.Files) != 1 || m.Files[0].Path != "store/cells" || m.Files[0].Bytes != 3 || string(m.Meta) != `{"tiers":3}` {
		t.Errorf("published %+v", m)
	}
	if _, err := b.Publish(t.Context(), Manifest{}); !errors.Is(err, cellstore.ErrClosed) {
		t.Errorf("published twice: %v", err)
	}
	if err := b.Abort(); err != nil {
		t.Error(err)
	}
	wantContent(t, c, "places", "one")

	mustIngest(t, c, "places", "two")
	mustIngest(t, c, "ip", "other")
	wantContent(t, c, "places", "two")
	if got := numbers(t, c, "places"); got != "1 2*" {
		t.Errorf("generations %q", got)
	}
	if names, err := c.Datasets(t.Context()); err != nil || !slices.Equal(names, []string{"ip", "places"}) {
		t.Errorf("data sets %v, %v", names, err)
	}
	g, err := c.OpenGeneration(t.Context(), "places", 1)
	must.Do(t, err)
	if got, err := g.Store.(*fileStore).get(); got != "one" || err != nil {
		t.Errorf("generation 1 holds %q, %v", got, err)
	}
	g.Close()
	g.Close()
	for _, n := range []uint64{0, 3} {
		_, err = c.OpenGeneration(t.Context(), "places", n)
		wantErr(t, err, ErrNoGeneration)
	}
	if n := stats.open.Load(); n != 0 {
		t.Errorf("%d stores left open", n)
	}
}

func TestAbortLeavesNothing(t *testing.T) {
	c, stats := newCatalog(t)
	mustIngest(t, c, "ip", "one")
	b, err := c.Begin(t.Context(), "ip")
	must.Do(t, err)
	for range 2 {
		must.Do(t, b.Abort())
	}
	if _, err := os.Stat(b.Dir()); !os.IsNotExist(err) {
		t.Errorf("the directory is still there: %v", err)
	}
	if n := stats.open.Load(); n != 0 {
		t.Errorf("%d stores left open", n)
	}
	// The lock is free again. The number was never published, so it is reused.
	if m := mustIngest(t, c, "ip", "two"); m.Generation != 2 {
		t.Errorf("generation %d", m.Generation)
	}
}

func TestNames(t *testing.T) {
	c, _ := newCatalog(t)
	for _, name := range []string{"", ".", "..", "../x", "a/b", "Places", "1st", "a b", "a\x00", strings.Repeat("x", 65)} {
		_, err := c.Begin(t.Context(), name)
		wantErr(t, err, ErrBadName)
		_, err = c.Current(t.Context(), name)
		wantErr(t, err, ErrBadName)
		_, err = c.Rollback(t.Context(), name)
		wantErr(t, err, ErrBadName)
		_, err = c.OpenCurrent(t.Context(), name)
		wantErr(t, err, ErrBadName)
		_, err = c.Prune(t.Context(), 1, 0, name)
		wantErr(t, err, ErrBadName)
		wantErr(t, NewLive(c, name, binder(nil)).Poll(t.Context()), ErrBadName)
	}
	if _, err := Open("", nil); err == nil {
		t.Error("a catalogue without directory and opener was accepted")
	}
	file := filepath.Join(t.TempDir(), "file")
	must.Do(t, os.WriteFile(file, nil, 0o644))
	if _, err := Open(file, new(fileStats).opener); err == nil {
		t.Error("a file was accepted as the directory")
	}
}

func TestBuildLock(t *testing.T) {
	c, _ := newCatalog(t)
	b, err := c.Begin(t.Context(), "places")
	must.Do(t, err)
	other, err := Open(c.Dir(), c.open) // as another program would
	must.Do(t, err)
	_, err = other.Begin(t.Context(), "places")
	wantErr(t, err, ErrBuilding)
	if !strings.Contains(err.Error(), "process ") {
		t.Errorf("the error does not say who: %v", err)
	}
	// Another data set is not locked, and the pointer of this data set is not locked either.
	mustIngest(t, other, "ip", "x")
	must.Do(t, b.Store().(*fileStore).put("one"))
	if _, err := b.Publish(t.Context(), Manifest{}); err != nil {
		t.Fatal(err)
	}
	mustIngest(t, other, "places", "two")
	b, err = c.Begin(t.Context(), "places")
	must.Do(t, err)
	defer b.Abort()
	if _, err := other.Rollback(t.Context(), "places"); err != nil {
		t.Errorf("a rollback had to wait for a build: %v", err)
	}
	if _, err := other.Prune(t.Context(), 1, 0, "places"); err != nil {
		t.Errorf("a prune had to wait for a build: %v", err)
	}
	if _, err := os.Stat(b.Dir()); err != nil {
		t.Errorf("prune took a running build for a leftover: %v", err)
	}
}

func TestRefusedBuildsAreNotPublished(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		m    Manifest
		do   func(*testing.T, *Build)
	}{
		"manifest":                       {"two", Manifest{Bounds: []float64{1}}, nil},
		"store that does not open again": {"broken", Manifest{}, nil},
		"link": {"two", Manifest{}, func(t *testing.T, b *Build) {
			if err := os.Symlink("/etc/passwd", filepath.Join(b.Dir(), "link")); err != nil {
				t.Skip(err)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c, stats := newCatalog(t)
			mustIngest(t, c, "ip", "one")
			b, err := c.Begin(t.Context(), "ip")
			must.Do(t, err)
			must.Do(t, b.Store().(*fileStore).put(tc.text))
			if tc.do != nil {
				tc.do(t, b)
			}
			if _, err := b.Publish(t.Context(), tc.m); err == nil {
				t.Error("it was published")
			}
			if err := b.Abort(); err != nil {
				t.Error(err)
			}
			wantContent(t, c, "ip", "one")
			if n := stats.open.Load(); n != 0 {
				t.Errorf("%d stores left open", n)
			}
			mustIngest(t, c, "ip", "three")
		})
	}
}

func TestCancel(t *testing.T) {
	c, _ := newCatalog(t)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := c.Begin(gone, "ip")
	wantErr(t, err, context.Canceled)
	b, err := c.Begin(t.Context(), "ip")
	must.Do(t, err)
	_, err = b.Publish(gone, Manifest{})
	wantErr(t, err, context.Canceled)
	must.Do(t, b.Abort())
	mustIngest(t, c, "ip", "one")
	mustIngest(t, c, "ip", "two")
	_, err = c.Rollback(gone, "ip")
	wantErr(t, err, context.Canceled)
	wantErr(t, c.Verify(gone, "ip", 0, nil), context.Canceled)
	wantContent(t, c, "ip", "two")

	// A caller that waits for the pointer lock stops waiting.
	lock, err := filelock.Open(filepath.Join(c.Dir(), "ip", pointerLockName))
	must.Do(t, err)
	short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err = c.Rollback(short, "ip")
	wantErr(t, err, context.DeadlineExceeded)
	lock.Close()
}

func TestRollback(t *testing.T) {
	c, _ := newCatalog(t)
	_, err := c.Rollback(t.Context(), "ip")
	wantErr(t, err, ErrNoGeneration)
	for _, s := range []string{"one", "two", "three"} {
		mustIngest(t, c, "ip", s)
	}
	for _, want := range []uint64{2, 1} {
		if m, err := c.Rollback(t.Context(), "ip"); err != nil || m.Generation != want {
			t.Fatalf("rolled back to %d, %v", m.Generation, err)
		}
	}
	wantContent(t, c, "ip", "one")
	_, err = c.Rollback(t.Context(), "ip")
	wantErr(t, err, ErrNoGeneration)
	if m, err := c.Activate(t.Context(), "ip", 3); err != nil || m.Generation != 3 {
		t.Fatalf("activated %d, %v", m.Generation, err)
	}
	_, err = c.Activate(t.Context(), "ip", 9)
	wantErr(t, err, ErrNoGeneration)
	if m, err := c.Rollback(t.Context(), "ip"); err != nil || m.Generation != 1 { // which was served before 3
		t.Fatal(m.Generation, err)
	}
	// A number is never used twice, even after rolling back.
	if m := mustIngest(t, c, "ip", "four"); m.Generation != 4 {
		t.Errorf("generation %d after a rollback", m.Generation)
	}
	if got := numbers(t, c, "ip"); got != "1 2 3 4*" {
		t.Errorf("generations %q", got)
	}
	// A generation that does not open is not published.
	must.Do(t, os.Truncate(filepath.Join(c.generationDir("ip", 1), "store", "cells"), 1))
	_, err = c.Rollback(t.Context(), "ip")
	wantErr(t, err, cellstore.ErrCorrupt)
	wantContent(t, c, "ip", "four")
}

// TestRollbackPastBad: after two bad deliveries a rollback publishes the good generation before
// them, which Prune keeps for this purpose. If a bad generation was later activated by number, it
// counts as published again.
func TestRollbackPastBad(t *testing.T) {
	c, _ := newCatalog(t)
	for _, s := range []string{"older", "good", "bad"} {
		mustIngest(t, c, "ip", s)
	}
	back := func(want string) {
		t.Helper()
		if _, err := c.Rollback(t.Context(), "ip"); err != nil {
			t.Fatal(err)
		}
		wantContent(t, c, "ip", want)
	}
	back("good")
	mustIngest(t, c, "ip", "bad again")
	if _, err := c.Prune(t.Context(), 2, 0); err != nil {
		t.Fatal(err)
	}
	if got := numbers(t, c, "ip"); got != "2 3 4*" {
		t.Errorf("kept %s", got)
	}
	back("good")
	_, err := c.Rollback(t.Context(), "ip")
	wantErr(t, err, ErrNoGeneration)
	for _, n := range []uint64{3, 4} {
		if _, err := c.Activate(t.Context(), "ip", n); err != nil {
			t.Fatal(err)
		}
	}
	back("bad")
	back("good")
}

func TestPrune(t *testing.T) {
	c, _ := newCatalog(t)
	for _, s := range []string{"1", "2", "3", "4", "5"} {
		mustIngest(t, c, "ip", s)
	}
	mustIngest(t, c, "places", "p")
	_, err := c.Prune(t.Context(), -1, 0)
	wantErrNot(t, err)
	if _, err := c.Activate(t.Context(), "ip", 2); err != nil {
		t.Fatal(err)
	}
	reader, err := c.OpenGeneration(t.Context(), "ip", 1)
	must.Do(t, err)
	done, err := c.Prune(t.Context(), 1, 0)
	must.Do(t, err)
	if len(done.Removed) != 2 || done.Removed[0].Generation != 3 || done.Removed[1].Generation != 4 ||
		len(done.InUse) != 1 || done.InUse[0].Generation != 1 {
		t.Errorf("pruned %+v", done)
	}
	if got := numbers(t, c, "ip"); got != "1 2* 5" {
		t.Errorf("generations %q", got)
	}
	if err := reader.Verify(t.Context()); err != nil {
		t.Errorf("prune touched a generation in use: %v", err)
	}
	reader.Close()
	if done, err = c.Prune(t.Context(), 0, 0); err != nil || len(done.Removed) != 2 {
		t.Fatalf("pruned %+v, %v", done, err)
	}
	if got := numbers(t, c, "ip") + numbers(t, c, "places"); got != "2*1*" {
		t.Errorf("generations %q", got)
	}
	wantContent(t, c, "ip", "2")
	if m := mustIngest(t, c, "ip", "6"); m.Generation != 6 {
		t.Errorf("generation %d was published before as something else", m.Generation)
	}
	_, err = c.Prune(t.Context(), 1, 0, "nothing")
	wantErr(t, err, ErrNoGeneration)
}

func wantErrNot(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
}

func TestDamage(t *testing.T) {
	for name, tc := range map[string]struct {
		do         func(dir string) error // to the generation
		open, full error                  // what opening and Verify find
	}{
		"nothing":       {func(string) error { return nil }, nil, nil},
		"manifest gone": {func(d string) error { return os.Remove(filepath.Join(d, manifestName)) }, cellstore.ErrCorrupt, cellstore.ErrCorrupt},
		"manifest changed": {func(d string) error {
			path := filepath.Join(d, manifestName)
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(path, append(b, ' '), 0o644)
		}, cellstore.ErrCorrupt, cellstore.ErrCorrupt},
		"manifest cut": {
			func(d string) error { return os.Truncate(filepath.Join(d, manifestName), 40) },
			cellstore.ErrCorrupt,
			cellstore.ErrCorrupt,
		},
		"manifest huge":   {func(d string) error { return os.Truncate(filepath.Join(d, manifestName), maxManifest+1) }, errAny, errAny},
		"everything gone": {os.RemoveAll, cellstore.ErrCorrupt, cellstore.ErrCorrupt},
		"file gone": {
			func(d string) error { return os.Remove(filepath.Join(d, "extra", "index")) },
			cellstore.ErrCorrupt,
			cellstore.ErrCorrupt,
		},
		"file cut": {
			func(d string) error { return os.Truncate(filepath.Join(d, "store", "cells"), 2) },
			cellstore.ErrCorrupt,
			cellstore.ErrCorrupt,
		},
		"file longer": {func(d string) error {
			path := filepath.Join(d, "store", "cells")
			text, err := os.ReadFile(path)
			return errors.Join(err, os.WriteFile(path, append(text, 0), 0o644))
		}, cellstore.ErrCorrupt, cellstore.ErrCorrupt},
		"file replaced by a directory": {func(d string) error {
			path := filepath.Join(d, "extra", "index")
			return errors.Join(os.Remove(path), os.Mkdir(path, 0o755))
		}, cellstore.ErrCorrupt, cellstore.ErrCorrupt},
		"byte changed": {func(d string) error {
			return os.WriteFile(filepath.Join(d, "extra", "index"), []byte("indeX of one"), 0o644)
		}, nil, cellstore.ErrCorrupt},
		"file added": {func(d string) error { return os.WriteFile(filepath.Join(d, "store", "x"), nil, 0o644) }, nil, nil},
		"file added that looks like one of its own": {func(d string) error {
			return os.WriteFile(filepath.Join(d, "store", "index"), nil, 0o644)
		}, nil, cellstore.ErrCorrupt},
	} {
		t.Run(name, func(t *testing.T) {
			c, stats := newCatalog(t)
			mustIngest(t, c, "ip", "one")
			must.Do(t, tc.do(c.generationDir("ip", 1)))
			g, err := c.OpenCurrent(t.Context(), "ip")
			if err == nil {
				g.Close()
			}
			checkKind(t, "open", err, tc.open)
			checkKind(t, "verify", c.Verify(t.Context(), "ip", 0, nil), tc.full)
			if n := stats.open.Load(); n != 0 {
				t.Errorf("%d stores left open", n)
			}
			if tc.open != nil && len(numbers(t, c, "ip")) == 0 {
				t.Error("the damaged generation is not listed")
			}
			mustIngest(t, c, "ip", "two") // damage does not stand in the way
			wantContent(t, c, "ip", "two")
		})
	}
}

// TestForeignFiles tests that a file of another program, such as a file manager, in a generation
// does not count as damage. The error of Verify names it as the only file to remove.
func TestForeignFiles(t *testing.T) {
	c := newPebbleCatalog(t)
	mustIngest(t, c, "ip", "one")
	l := NewLive(c, "ip", func(*Generation) (int, error) { return 1, nil })
	defer l.Close()
	must.Do(t, l.Poll(t.Context()))
	m := mustIngest(t, c, "ip", "two")
	dir := c.generationDir("ip", 2)
	put := func(name string) string {
		t.Helper()
		path := filepath.Join(dir, filepath.FromSlash(name))
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Do(t, os.WriteFile(path, []byte("x"), 0o600))
		return path
	}
	var sst string
	for _, f := range m.Files {
		if strings.HasSuffix(f.Path, ".sst") {
			sst = f.Path
		}
	}
	var want []string
	for _, name := range []string{
		".DS_Store",
		"Thumbs.db",
		"store/.DS_Store",
		path.Dir(sst) + "/._" + path.Base(sst),
		path.Dir(sst) + "/Thumbs.db",
		"notes/read me.txt",
	} {
		want = append(want, put(name))
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Skip(err)
	}
	want = append(want, link)
	slices.Sort(want)
	if err := c.Verify(t.Context(), "ip", 0, nil); err != nil {
		t.Error(err)
	}
	g, err := c.OpenCurrent(t.Context(), "ip")
	must.Do(t, err)
	defer g.Close()
	got, err := g.ForeignFiles(t.Context())
	slices.Sort(got)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("foreign are %q, %v; want %q", got, err, want)
	}
	if err := l.Poll(t.Context()); err != nil || l.Status().Serving.Generation != 2 { // all of it is read first
		t.Errorf("not taken into service: %v", err)
	}
	g.ReportReadFailure(errInjected)
	l.cur.Load().gen.ReportReadFailure(errInjected)
	if err := l.Poll(t.Context()); err != nil || l.Status().Damage != nil {
		t.Errorf("taken for damage: %v, %v", err, l.Status().Damage)
	}
	other := put(path.Dir(sst) + "/" + numbersRE.ReplaceAllString(path.Base(sst), "999999"))
	err = c.Verify(t.Context(), "ip", 0, nil)
	wantErr(t, err, cellstore.ErrCorrupt)
	if text := err.Error(); !strings.Contains(text, other+" is not of it") || !strings.HasSuffix(text, "remove it") ||
		strings.Contains(text, "roll back") {
		t.Errorf("the error is %v", err)
	}
}

// errAny represents an error of any kind.
var errAny = errors.New("any error")

func checkKind(t *testing.T, what string, got, want error) {
	t.Helper()
	if ok := errors.Is(got, want) || (errors.Is(want, errAny) && got != nil); !ok {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestLostPointer(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"gone": os.Remove,
		"cut":  func(path string) error { return os.Truncate(path, 20) },
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := newCatalog(t)
			mustIngest(t, c, "ip", "one")
			mustIngest(t, c, "ip", "two")
			path := filepath.Join(c.Dir(), "ip", pointerName)
			must.Do(t, spoil(path))
			if _, err := c.OpenCurrent(t.Context(), "ip"); err == nil {
				t.Fatal("opened without a pointer")
			}
			if _, err := c.Rollback(t.Context(), "ip"); err == nil {
				t.Fatal("rolled back without a pointer")
			}
			done, err := c.Prune(t.Context(), 1, 0)
			if name == "gone" && err == nil && len(done.Unreadable) == 1 {
				err = done.Unreadable[0].Err
			}
			if !errors.Is(err, ErrBadPointer) || len(done.Removed) > 0 {
				t.Fatalf("pruned without a pointer: %+v, %v", done, err)
			}
			// A build must not remove the generations as leftovers.
			if b, err := c.Begin(t.Context(), "ip"); err == nil {
				if b.generation != 3 {
					t.Errorf("generation %d", b.generation)
				}
				must.Do(t, b.Abort())
			}
			if _, err := c.Activate(t.Context(), "ip", 1); err != nil {
				t.Fatal(err)
			}
			wantContent(t, c, "ip", "one")
			if got := numbers(t, c, "ip"); got != "1* 2" {
				t.Errorf("generations %q", got)
			}
		})
	}
}

func TestListShowsDamage(t *testing.T) {
	c, _ := newCatalog(t)
	mustIngest(t, c, "ip", "one")
	mustIngest(t, c, "places", "one")
	mustIngest(t, c, "stations", "one")
	must.Do(t, os.WriteFile(filepath.Join(c.Dir(), "ip", pointerName), []byte("{"), 0o644))
	must.Do(t, os.Remove(filepath.Join(c.generationDir("places", 1), manifestName)))
	must.Do(t, os.WriteFile(filepath.Join(c.Dir(), "notes"), nil, 0o644))
	list, err := c.List(t.Context())
	if err != nil || len(list) != 3 {
		t.Fatalf("listed %+v, %v", list, err)
	}
	wantErr(t, list[0].Err, ErrBadPointer)
	wantErr(t, list[1].Err, cellstore.ErrCorrupt)
	if list[2].Err != nil || !list[2].Current || list[2].Manifest.Dataset != "stations" {
		t.Errorf("listed %+v", list[2])
	}
}
