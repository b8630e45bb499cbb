package dataset

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"quadrille/cellstore"
	"quadrille/internal/must"
)

// place is a catalogue or a depot. Each test runs on both.
type place struct {
	*Generations
	publish func(t *testing.T, text string)
	// lose removes the pointer, or replaces it with instead.
	lose func(t *testing.T, instead []byte)
}

func places(t *testing.T) map[string]func(*testing.T) place {
	t.Helper()
	return map[string]func(*testing.T) place{
		"directory": func(t *testing.T) place {
			c, _ := newCatalog(t)
			return place{c.Generations, func(t *testing.T, text string) { mustIngest(t, c, "ip", text) }, func(t *testing.T, instead []byte) {
				err := os.Remove(c.pointerPath("ip"))
				if instead != nil {
					err = os.WriteFile(c.pointerPath("ip"), instead, 0o644)
				}
				if err != nil {
					t.Fatal(err)
				}
			}}
		},
		"tables": func(t *testing.T) place {
			c, d := newPebbleCatalog(t), depotAt(t, newRemote(t))
			return place{d.Generations, func(t *testing.T, text string) { mustIngest(t, c, "ip", text); pushed(t, d, c, "ip") },
				func(t *testing.T, instead []byte) {
					tab, err := d.table(t.Context())
					must.Do(t, err)
					op := cellstore.DeleteColumn(familyPointer, columnCurrent, cellstore.AllVersions)
					if instead != nil {
						op = cellstore.Put(familyPointer, columnCurrent, instead)
					}
					must.Do(t, tab.Apply(t.Context(), cellstore.Mutation{Row: []byte("ip"), Ops: []cellstore.Op{op}}))
				}}
		},
	}
}

func (p place) listed(t *testing.T) (all []uint64) {
	t.Helper()
	infos, err := p.List(t.Context())
	must.Do(t, err)
	for _, in := range infos {
		if in.Err != nil {
			t.Fatal(in.Err)
		}
		all = append(all, in.Generation)
	}
	return all
}

// TestLostPointerLosesNothing: the pointer is lost or replaced in several ways. After that, neither
// a publish nor a prune removes complete generations as leftovers.
func TestLostPointerLosesNothing(t *testing.T) {
	for name, open := range places(t) {
		for _, older := range []bool{false, true} {
			t.Run(name+map[bool]string{false: " lost", true: " restored"}[older], func(t *testing.T) {
				p := open(t)
				p.publish(t, "one")
				backup, err := p.back.readPointer(t.Context(), "ip")
				must.Do(t, err)
				p.publish(t, "two")
				p.publish(t, "three")
				if !older {
					backup = nil
				}
				p.lose(t, backup)
				if older {
					if _, err := p.Prune(t.Context(), 3, 0); err != nil {
						t.Fatal(err)
					}
					if got := p.listed(t); !slices.Equal(got, []uint64{1, 2, 3}) {
						t.Errorf("after a prune %v are listed", got)
					}
				} else {
					infos, err := p.List(t.Context())
					must.Do(t, err)
					if name == "directory" &&
						(len(infos) != 1 || infos[0].Err == nil || !strings.Contains(infos[0].Err.Error(), "3 generations are there")) {
						t.Errorf("the loss is not told: %+v", infos)
					}
					_, err = p.Prune(t.Context(), 1, 0, "ip")
					wantErr(t, err, ErrBadPointer)
					_, err = p.OpenCurrent(t.Context(), "ip")
					wantErr(t, err, ErrBadPointer) // a job must not go on as if nothing had been published
				}
				for _, text := range []string{"four", "five"} {
					p.publish(t, text)
				}
				if got := p.listed(t); !slices.Equal(got, []uint64{1, 2, 3, 4, 5}) {
					t.Errorf("%v are listed", got)
				}
				for n := uint64(1); n <= 5; n++ {
					if err := p.Verify(t.Context(), "ip", n, nil); err != nil {
						t.Error(err)
					}
				}
				if m, err := p.Current(t.Context(), "ip"); err != nil || m.Generation != 5 {
					t.Errorf("%d is published, %v", m.Generation, err)
				}
			})
		}
	}
}

// TestUnlistedStays: a complete generation is not listed by the pointer, and its number is lower
// than the pointer's last one. It was restored from a backup, for example. The generation stays
// until a prune, which reports its removal.
func TestUnlistedStays(t *testing.T) {
	for name, open := range places(t) {
		t.Run(name, func(t *testing.T) {
			p := open(t)
			for _, text := range []string{"one", "two"} {
				p.publish(t, text)
			}
			_, err := p.update(t.Context(), "ip", func(p *pointer, err error) (*pointer, error) {
				p.Generations = p.Generations[1:]
				return p, err
			})
			if err != nil {
				t.Fatal(err)
			}
			p.publish(t, "three")
			if got := storedNumbers(t, p.Generations, "ip"); !slices.Equal(got, []uint64{1, 2, 3}) {
				t.Errorf("stored are %v", got)
			}
			done, err := p.Prune(t.Context(), 2, 0)
			if err != nil || len(done.Removed) != 1 || done.Removed[0].Generation != 1 {
				t.Errorf("pruned %+v, %v", done, err)
			}
			if got := storedNumbers(t, p.Generations, "ip"); !slices.Equal(got, []uint64{2, 3}) {
				t.Errorf("stored are %v", got)
			}
		})
	}
}

// TestOlderLeftovers tests that directories without a manifest, which killed older programs have
// left, do no harm. They stay, because it may be that only the manifest was lost.
func TestOlderLeftovers(t *testing.T) {
	c, _ := newCatalog(t)
	mustIngest(t, c, "ip", "one")
	dir := c.generationDir("ip", 2)
	must.Do(t, os.MkdirAll(filepath.Join(dir, storeDir), 0o755))
	if m := mustIngest(t, c, "ip", "three"); m.Generation != 3 {
		t.Errorf("generation %d", m.Generation)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Errorf("a build took away what lacks a manifest: %v", err)
	}
	if done, err := c.Prune(t.Context(), 2, 0); err != nil || len(done.Unreadable) != 1 {
		t.Fatalf("pruned %+v, %v", done, err)
	}
	if got := storedNumbers(t, c.Generations, "ip"); !slices.Equal(got, []uint64{1, 2, 3}) {
		t.Errorf("stored are %v", got)
	}
}

// TestDamagedManifestStays: a generation is not in an older pointer and cannot be read. It is
// reported and kept. It is listed as soon as it can be read, even after another publish.
func TestDamagedManifestStays(t *testing.T) {
	c, _ := newCatalog(t)
	mustIngest(t, c, "ip", "one")
	backup, err := os.ReadFile(c.pointerPath("ip"))
	must.Do(t, err)
	mustIngest(t, c, "ip", "two")
	mustIngest(t, c, "ip", "three")
	path := filepath.Join(c.generationDir("ip", 3), manifestName)
	whole, err := os.ReadFile(path)
	must.Do(t, err)
	damaged := slices.Clone(whole)
	damaged[0] ^= 1
	write := func(path string, b []byte) {
		t.Helper()
		must.Do(t, os.WriteFile(path, b, 0o644))
	}
	write(path, damaged)
	write(c.pointerPath("ip"), backup)
	for range 2 {
		done, err := c.Prune(t.Context(), 5, 0)
		if err != nil || len(done.Removed) > 0 || len(done.Unreadable) != 1 || done.Unreadable[0].Generation != 3 ||
			done.Unreadable[0].Err == nil {
			t.Fatalf("pruned %+v, %v", done, err)
		}
	}
	if m := mustIngest(t, c, "ip", "four"); m.Generation != 4 {
		t.Errorf("generation %d", m.Generation)
	}
	write(path, whole)
	if done, err := c.Prune(t.Context(), 5, 0); err != nil || len(done.Removed)+len(done.Unreadable) > 0 {
		t.Errorf("pruned %+v, %v", done, err)
	}
	if got := numbers(t, c, "ip"); got != "1 2 3 4*" {
		t.Errorf("listed are %s", got)
	}
}

// TestAbortLeavesPublished: there is no pointer. Another program publishes the generation while its
// build fails.
func TestAbortLeavesPublished(t *testing.T) {
	c, stats := newCatalog(t)
	other, err := Open(c.Dir(), stats.opener)
	must.Do(t, err)
	c.onStep = func(step string) error {
		if step != "named" {
			return nil
		}
		if _, err := other.Activate(t.Context(), "ip", 1); err != nil {
			t.Error(err)
		}
		return errInjected
	}
	_, err = ingest(c, "ip", "one")
	wantErr(t, err, errInjected)
	wantContent(t, c, "ip", "one")
}

// TestPruneBesideOthers: another prune removes the rest of a dropped data set. A running prune then
// succeeds, and a running build continues.
func TestPruneBesideOthers(t *testing.T) {
	c, stats := newCatalog(t)
	other, err := Open(c.Dir(), stats.opener)
	must.Do(t, err)
	for _, at := range []string{"unlisted", "directory made"} {
		mustIngest(t, c, "ip", "one")
		if _, err := c.Unpublish(t.Context(), "ip"); err != nil {
			t.Fatal(err)
		}
		once := false
		c.onStep = func(step string) error {
			if step == at && !once {
				once = true
				if done, err := other.Prune(t.Context(), 1, 0); err != nil {
					t.Errorf("%s: pruned %+v, %v", at, done, err)
				}
				if at == "unlisted" { // the first prune keeps readers away until it ends
					if err := os.RemoveAll(filepath.Join(c.Dir(), "ip")); err != nil {
						t.Error(err)
					}
				}
			}
			return nil
		}
		if at == "unlisted" {
			if _, err := c.Prune(t.Context(), 1, 0); err != nil {
				t.Error(err)
			}
		} else {
			mustIngest(t, c, "ip", "anew")
		}
		c.onStep = nil
	}
	wantContent(t, c, "ip", "anew")
}

// TestPruneBesideDamage tests that an unusable pointer does not prevent prunes of other data sets.
func TestPruneBesideDamage(t *testing.T) {
	c, _ := newCatalog(t)
	for _, name := range []string{"airports", "ip"} {
		for _, text := range []string{"one", "two"} {
			mustIngest(t, c, name, text)
		}
	}
	must.Do(t, os.WriteFile(c.pointerPath("airports"), []byte("{"), 0o600))
	done, err := c.Prune(t.Context(), 1, 0)
	wantErr(t, err, ErrBadPointer)
	if len(done.Removed) != 1 || done.Removed[0].Dataset != "ip" {
		t.Errorf("pruned %+v", done)
	}
}

// TestPruneLeavesWhatIsPushedAnew: once a prune has removed the rest of a dropped data set, numbers
// begin at 1 again. Another running prune does not mistake the new generations for the old ones.
func TestPruneLeavesWhatIsPushedAnew(t *testing.T) {
	c, r := newPebbleCatalog(t), newRemote(t)
	d, other := depotAt(t, r), depotAt(t, r)
	mustIngest(t, c, "ip", "one")
	pushed(t, d, c, "ip")
	if _, err := d.Unpublish(t.Context(), "ip"); err != nil {
		t.Fatal(err)
	}
	once := false
	d.onStep = func(step string) error {
		if step != "unlisted" || once {
			return nil
		}
		once = true
		if _, err := other.Prune(t.Context(), 1, 0, "ip"); err != nil && !errors.Is(err, ErrBuilding) {
			t.Error(err)
		}
		if _, err := pushCurrent(t.Context(), other, c, "ip", PushOptions{}); err != nil && !errors.Is(err, ErrBuilding) {
			t.Error(err)
		}
		return nil
	}
	if _, err := d.Prune(t.Context(), 1, 0, "ip"); err != nil {
		t.Error(err)
	}
	if err := other.Verify(t.Context(), "ip", 0, nil); err != nil && !errors.Is(err, ErrNoGeneration) {
		t.Error(err)
	}
}

// TestLiveKeepsWhatIsLost tests that the loss of the pointer, or of the whole data directory, takes
// nothing out of service. The removal of the data set does.
func TestLiveKeepsWhatIsLost(t *testing.T) {
	c, _ := newCatalog(t)
	mustIngest(t, c, "ip", "one")
	l := NewLive(c, "ip", binder(new(atomic.Int64)))
	defer l.Close()
	poll := func(serving bool, want error) {
		t.Helper()
		err := l.Poll(t.Context())
		if (err == nil) == serving || want != nil && !errors.Is(err, want) || (l.Status().Serving != nil) != serving {
			t.Fatalf("polled %v, in service is %v", err, l.Status().Serving)
		}
	}
	must.Do(t, l.Poll(t.Context()))
	rename := func(from, to string) {
		t.Helper()
		must.Do(t, os.Rename(from, to))
	}
	away := c.Dir() + ".away"
	rename(c.Dir(), away)
	must.Do(t, os.Mkdir(c.Dir(), 0o755))
	poll(true, nil)
	must.Do(t, os.Remove(c.Dir()))
	rename(away, c.Dir())
	must.Do(t, l.Poll(t.Context()))
	must.Do(t, os.Remove(c.pointerPath("ip")))
	poll(true, ErrBadPointer)
	// A server that starts does not mistake it for a data set without generations, either.
	other := NewLive(c, "ip", binder(new(atomic.Int64)))
	defer other.Close()
	wantErr(t, other.Poll(t.Context()), ErrBadPointer)
	if _, err := other.Acquire(); !errors.Is(err, ErrBadPointer) {
		t.Errorf("a reader is told %v", err)
	}
	if names, err := c.Datasets(t.Context()); err != nil || !slices.Equal(names, []string{"ip"}) {
		t.Errorf("listed are %q, %v", names, err)
	}
	manifest := filepath.Join(c.generationDir("ip", 1), manifestName)
	rename(manifest, manifest+".away")
	wantErr(t, other.Poll(t.Context()), ErrBadPointer)
	rename(manifest+".away", manifest)
	must.Do(t, os.RemoveAll(filepath.Join(c.Dir(), "ip")))
	poll(false, nil)
}

// TestUnpublish: Unpublish is a single step. Another single step undoes it until a prune has
// removed the files. After that nothing is left.
func TestUnpublish(t *testing.T) {
	for name, open := range places(t) {
		t.Run(name, func(t *testing.T) {
			p := open(t)
			_, err := p.Unpublish(t.Context(), "ip")
			wantErr(t, err, ErrNoGeneration)
			for _, text := range []string{"one", "two", "three"} {
				p.publish(t, text)
			}
			if _, err := p.Rollback(t.Context(), "ip"); err != nil {
				t.Fatal(err)
			}
			if n, err := p.Unpublish(t.Context(), "ip"); n != 2 || err != nil {
				t.Fatalf("dropped %d, %v", n, err)
			}
			_, err = p.Unpublish(t.Context(), "ip")
			wantErr(t, err, ErrNoGeneration)
			_, err = p.OpenCurrent(t.Context(), "ip")
			wantErr(t, err, ErrNoGeneration)
			if !strings.Contains(err.Error(), "publish generation 2 again") {
				t.Errorf("the error does not say how to undo it: %v", err)
			}
			infos, err := p.List(t.Context())
			if err != nil || len(infos) != 3 || infos[0].Dropped || !infos[1].Dropped || infos[1].Current {
				t.Errorf("listed %+v, %v", infos, err)
			}
			if m, err := p.Rollback(t.Context(), "ip"); err != nil || m.Generation != 2 {
				t.Fatalf("rolled back to %d, %v", m.Generation, err)
			}
			if _, err := p.Unpublish(t.Context(), "ip"); err != nil {
				t.Fatal(err)
			}
			p.publish(t, "four") // begins the data set again
			if got := p.listed(t); !slices.Equal(got, []uint64{1, 2, 3, 4}) {
				t.Errorf("listed are %v", got)
			}
			if _, err := p.Unpublish(t.Context(), "ip"); err != nil {
				t.Fatal(err)
			}
			done, err := p.Prune(t.Context(), 2, 0)
			if err != nil || len(done.Removed) != 4 || !slices.Equal(done.EmptiedDatasets, []string{"ip"}) {
				t.Errorf("pruned %+v, %v", done, err)
			}
			if b, err := p.back.readPointer(t.Context(), "ip"); b != nil || err != nil {
				t.Errorf("the pointer is %s, %v", b, err)
			}
			if got := storedNumbers(t, p.Generations, "ip"); len(got) > 0 {
				t.Errorf("stored are %v", got)
			}
			p.publish(t, "anew")
		})
	}
}

// TestDropInUse tests that a generation that is being read stays, and its directory too.
func TestDropInUse(t *testing.T) {
	c, _ := newCatalog(t)
	mustIngest(t, c, "ip", "one")
	mustIngest(t, c, "ip", "two")
	reader, err := c.OpenGeneration(t.Context(), "ip", 1)
	must.Do(t, err)
	if _, err := c.Unpublish(t.Context(), "ip"); err != nil {
		t.Fatal(err)
	}
	if done, err := c.Prune(t.Context(), 2, 0); err != nil || len(done.InUse) != 1 || len(done.EmptiedDatasets) > 0 {
		t.Errorf("pruned %+v, %v", done, err)
	}
	if err := reader.Verify(t.Context()); err != nil {
		t.Error(err)
	}
	reader.Close()
	b, err := c.Begin(t.Context(), "ip")
	must.Do(t, err)
	if done, err := c.Prune(t.Context(), 2, 0); err != nil || len(done.Removed) != 1 || len(done.EmptiedDatasets) > 0 {
		t.Errorf("pruned under a build: %+v, %v", done, err)
	}
	must.Do(t, b.Abort())
	other := filepath.Join(c.Dir(), "ip", "notes.txt")
	must.Do(t, os.WriteFile(other, nil, 0o644))
	if done, err := c.Prune(t.Context(), 2, 0); err != nil || len(done.EmptiedDatasets) != 1 {
		t.Errorf("pruned %+v, %v", done, err)
	}
	if left, err := os.ReadDir(filepath.Join(c.Dir(), "ip")); err != nil || len(left) != 1 || left[0].Name() != "notes.txt" {
		t.Errorf("left are %v, %v", left, err)
	}
	mustIngest(t, c, "ip", "anew")
}
