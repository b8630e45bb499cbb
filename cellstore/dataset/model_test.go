package dataset

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"quadrille/cellstore"
	"quadrille/internal/must"
)

// model is the expected state of the pointer after any sequence of calls, failures and crashes
// between steps.
type model struct {
	texts         map[uint64]string // listed generations
	current, last uint64
	// orphans are complete generations while nothing is published. For Activate they are
	// generations whose pointer was lost.
	orphans map[uint64]string
	dropped uint64 // the current generation when the data set was dropped; 0 while one is current
	// served has the generations in the order in which they were published. The last one is the
	// current one, or the one that was current when the data set was dropped. Publishing an older
	// generation again, as a rollback does, removes those after it.
	served []uint64
}

// serve publishes a generation in the model.
func (m *model) serve(n uint64) {
	m.current, m.dropped = n, 0
	if i := slices.Index(m.served, n); i >= 0 {
		m.served = m.served[:i]
	}
	m.served = append(m.served, n)
}

// earlier returns the generations in served that are still listed, without the last one in served.
func (m *model) earlier() (list []uint64) {
	for _, n := range m.served[:max(0, len(m.served)-1)] {
		if _, ok := m.texts[n]; ok {
			list = append(list, n)
		}
	}
	return list
}

// wantNothing checks the error while nothing is published. A first publish that fails at the
// pointer leaves the same state as a lost pointer.
func (m *model) wantNothing(t *rapid.T, err error) {
	if !errors.Is(err, ErrNoGeneration) && (len(m.orphans) == 0 || !errors.Is(err, ErrBadPointer)) {
		t.Fatalf("%v where nothing is published, with %d orphans", err, len(m.orphans))
	}
}

func (m *model) listed() []uint64 {
	var s []uint64
	for n := range m.texts {
		s = append(s, n)
	}
	slices.Sort(s)
	return s
}

// These are the first and last steps of Publish. After a failure or a crash at one of the first,
// nothing is published. After the last step, the generation is.
var (
	unpublishedSteps = []string{"directory made", "begun", "store closed", "files sealed", "manifest written", "manifest renamed",
		"named", "pointer written"}
	publishedStep = "pointer renamed"
)

// modelled is one of the two backings, with the model's operations on it.
type modelled struct {
	*Generations
	publish                func(text string) (Manifest, error)
	content                func() (string, error) // the content of the published generation
	leftover               func(t *rapid.T, m *model)
	check                  func(t *rapid.T) // checks that nothing stays open or is left over
	unpublished, published []string         // steps of publish
	consecutive            bool             // a number is used again unless it was published
}

func modelledCatalog(t *rapid.T) *modelled {
	stats := new(fileStats)
	c, err := Open(tempDir(t), stats.opener)
	must.Do(t, err)
	return &modelled{
		Generations: c.Generations,
		publish:     func(text string) (Manifest, error) { return ingest(c, "ip", text) },
		content:     func() (string, error) { return content(c, "ip") },
		unpublished: unpublishedSteps, published: []string{publishedStep},
		consecutive: true,
		leftover: func(t *rapid.T, m *model) {
			// These are the remains of a build that was killed, with and without its manifest.
			n := m.last
			for orphan := range m.orphans {
				n = max(n, orphan)
			}
			dir := c.generationDir("ip", n+1) + unfinishedSuffix
			must.Do(t, os.MkdirAll(filepath.Join(dir, storeDir), 0o755))
			if len(m.texts) > 0 && rapid.Bool().Draw(t, "manifest") {
				must.Do(t, os.WriteFile(filepath.Join(dir, manifestName), []byte("{"), 0o644))
			}
			tmp := filepath.Join(c.Dir(), "ip", pointerName+".tmp")
			must.Do(t, os.WriteFile(tmp, []byte(`{"version":1,"curr`), 0o644))
		},
		check: func(t *rapid.T) {
			if n := stats.open.Load(); n != 0 {
				t.Fatalf("%d stores left open", n)
			}
		},
	}
}

// modelledDepot pushes local again and again, each time as a new generation, because the text is in
// the manifest.
func modelledDepot(t *rapid.T, local *Generation) *modelled {
	d := depotAt(t, newRemote(t))
	return &modelled{
		Generations: d.Generations,
		publish: func(text string) (Manifest, error) {
			g := *local
			g.entry.Manifest = digestBytes([]byte(text))
			var err error
			if g.Manifest.Meta, err = json.Marshal(text); err != nil {
				return Manifest{}, err
			}
			p, err := d.Push(context.Background(), &g, PushOptions{Workers: 1})
			return p.Manifest, err
		},
		content: func() (string, error) {
			g, err := d.OpenCurrent(context.Background(), "ip")
			if err != nil {
				return "", err
			}
			defer g.Close()
			if rows, err := read(context.Background(), g.Store); err != nil || rows != "rows" {
				return rows, err
			}
			var text string
			err = json.Unmarshal(g.Manifest.Meta, &text)
			return text, err
		},
		unpublished: []string{"leased", "noted", "table made", "batch sent", "part noted", "loaded", "piece copied", "files copied",
			"checked", "manifest written"},
		published: []string{"pointer replaced"},
		leftover: func(t *rapid.T, m *model) {
			tab, err := d.create(t.Context())
			must.Do(t, err)
			if err := d.mark(t.Context(), tab, "ip", m.last+1); err != nil { // as a killed prune does
				t.Fatal(err)
			}
		},
		check: func(*rapid.T) {},
	}
}

// flakyBacking makes the next swap of the pointer fail in one of several ways.
type flakyBacking struct {
	backing
	fault  string
	before func() // called once before the next swap
}

var swapFaults = []string{"", "", "", "", "", "answer lost", "request lost", "beaten"}

func (b *flakyBacking) swapPointer(ctx context.Context, dataset string, before, after []byte) (bool, error) {
	if f := b.before; f != nil {
		b.before = nil
		f()
	}
	fault := b.fault
	b.fault = ""
	switch fault {
	case "answer lost":
		if swapped, err := b.backing.swapPointer(ctx, dataset, before, after); !swapped || err != nil {
			return swapped, err
		}
		return false, cellstore.ErrUnknownOutcome
	case "request lost":
		return false, cellstore.ErrUnknownOutcome
	case "beaten":
		return false, nil
	}
	return b.backing.swapPointer(ctx, dataset, before, after)
}

func TestModel(t *testing.T) {
	t.Run("directory", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) { runModel(t, modelledCatalog(t)) })
	})
	t.Run("tables", func(t *testing.T) {
		c := newPebbleCatalog(t)
		mustIngest(t, c, "ip", "rows")
		local, err := c.OpenCurrent(t.Context(), "ip")
		must.Do(t, err)
		defer local.Close()
		rapid.Check(t, func(t *rapid.T) { runModel(t, modelledDepot(t, local)) })
	})
}

func runModel(t *rapid.T, g *modelled) {
	st, flaky := new(steps), &flakyBacking{backing: g.back}
	g.onStep, g.back = st.on, flaky
	m := &model{texts: map[uint64]string{}}
	serial := 0
	text := func() string { serial++; return fmt.Sprint("text ", serial) }
	ctx := t.Context()
	published := func(t *rapid.T, n uint64, text string) {
		if m.last == 0 { // without a pointer, the complete generations are listed with the new one
			p, err := g.requirePointer(ctx, "ip")
			must.Do(t, err)
			for _, e := range p.Generations {
				if old, ok := m.orphans[e.Generation]; ok && e.Generation != n {
					m.texts[e.Generation], m.last = old, max(m.last, e.Generation)
					m.served = append(m.served, e.Generation)
				}
			}
		}
		if n <= m.last || g.consecutive && n != m.last+1 {
			t.Fatalf("published %d after %d", n, m.last)
		}
		m.last = max(n, m.last)
		m.serve(n)
		m.texts[n] = text
	}
	faulty := func(t *rapid.T) {
		flaky.fault = rapid.SampledFrom(swapFaults).Draw(t, "fault")
	}

	t.Repeat(map[string]func(*rapid.T){
		"publish": func(t *rapid.T) {
			faulty(t)
			s := text()
			got, err := g.publish(s)
			must.Do(t, err)
			published(t, got.Generation, s)
		},
		"failed publish": func(t *rapid.T) {
			st.fail = rapid.SampledFrom(append(slices.Clone(g.unpublished), g.published...)).Draw(t, "step")
			visible := slices.Contains(g.published, st.fail)
			s := text()
			_, err := g.publish(s)
			st.fail = ""
			if !errors.Is(err, errInjected) {
				t.Fatalf("the failure was not reported: %v", err)
			}
			if visible {
				p, err := g.requirePointer(ctx, "ip")
				must.Do(t, err)
				published(t, p.Current, s)
			} else if m.last == 0 {
				stored, err := g.back.stored(ctx, "ip")
				must.Do(t, err)
				orphans := map[uint64]string{}
				for _, have := range stored {
					if old, ok := m.orphans[have.number]; ok {
						orphans[have.number] = old
					} else if have.manifest != nil {
						orphans[have.number] = s
					}
				}
				m.orphans = orphans
			}
		},
		"leftover": func(t *rapid.T) { g.leftover(t, m) },
		"rollback": func(t *rapid.T) {
			faulty(t)
			got, err := g.Rollback(ctx, "ip")
			before := m.earlier()
			if m.dropped != 0 {
				if before = m.listed(); slices.Contains(before, m.dropped) {
					before = []uint64{m.dropped}
				}
			}
			if len(before) == 0 {
				m.wantNothing(t, err)
				return
			}
			want := before[len(before)-1]
			if err != nil || got.Generation != want {
				t.Fatalf("rolled back to %d, %v; want %d", got.Generation, err, want)
			}
			m.serve(want)
		},
		"drop": func(t *rapid.T) {
			faulty(t)
			n, err := g.Unpublish(ctx, "ip")
			if m.current == 0 {
				m.wantNothing(t, err)
				return
			}
			if err != nil || n != m.current {
				t.Fatalf("dropped %d, %v; want %d", n, err, m.current)
			}
			m.current, m.dropped = 0, n
		},
		"activate": func(t *rapid.T) {
			faulty(t)
			n := rapid.Uint64Range(1, m.last+1).Draw(t, "generation")
			_, err := g.Activate(ctx, "ip", n)
			if _, ok := m.orphans[n]; ok && m.last == 0 && err == nil {
				m.texts = m.orphans
				m.served = m.listed()
				m.last = slices.Max(m.served)
				m.serve(n)
				return
			}
			if _, ok := m.texts[n]; ok != (err == nil) || !ok && !errors.Is(err, ErrNoGeneration) {
				t.Fatalf("activate %d: %v; listed: %v", n, err, ok)
			}
			if err == nil {
				m.serve(n)
			}
		},
		"prune": func(t *rapid.T) {
			faulty(t)
			keep := rapid.IntRange(0, 4).Draw(t, "keep")
			done, err := g.Prune(ctx, keep, 0)
			must.Do(t, err)
			all := m.listed()
			removed := 0
			if m.dropped != 0 {
				keep = 0
			}
			back := uint64(0)
			if earlier := m.earlier(); keep >= 2 && len(earlier) > 0 {
				back = earlier[len(earlier)-1]
			}
			for _, n := range all[:max(0, len(all)-keep)] {
				if n != m.current && n != back {
					delete(m.texts, n)
					removed++
				}
			}
			if len(done.Removed) != removed {
				t.Fatalf("removed %d, want %d", len(done.Removed), removed)
			}
			if gone := m.dropped != 0; gone != (len(done.EmptiedDatasets) == 1) {
				t.Fatalf("nothing is left of %v, want %v", done.EmptiedDatasets, gone)
			} else if gone {
				*m = model{texts: map[uint64]string{}}
			}
		},
		"": func(t *rapid.T) {
			flaky.fault = ""
			g.check(t)
			p, err := g.pointer(ctx, "ip")
			must.Do(t, err)
			if p == nil {
				p = new(pointer)
			}
			var got []uint64
			for _, e := range p.Generations {
				got = append(got, e.Generation)
			}
			if !g.consecutive && p.Last > m.last {
				m.last = p.Last // the number of a leftover is not used again
			}
			if want := m.listed(); !slices.Equal(got, want) || p.Current != m.current || p.Last != m.last {
				t.Fatalf("the pointer is %+v, want %v, current %d, last %d", p, want, m.current, m.last)
			}
			if m.current != 0 {
				if got, err := g.content(); err != nil || got != m.texts[m.current] {
					t.Fatalf("published %q, %v; want %q", got, err, m.texts[m.current])
				}
			}
		},
	})
	list, err := g.List(ctx)
	// A first publish that failed at the pointer appears in the list like a lost pointer.
	list = slices.DeleteFunc(list, func(in GenerationInfo) bool {
		return len(m.texts) == 0 && len(m.orphans) > 0 && errors.Is(in.Err, ErrBadPointer)
	})
	if err != nil || len(list) != len(m.texts) {
		t.Fatalf("listed %d generations, %v; want %d", len(list), err, len(m.texts))
	}
	for _, in := range list {
		if err := g.Verify(ctx, "ip", in.Generation, nil); err != nil || in.Err != nil || in.Current != (in.Generation == m.current) {
			t.Fatalf("listed %+v, current is %d; verified: %v", in, m.current, err)
		}
	}
	// A last build or push removes all remains.
	s := text()
	got, err := g.publish(s)
	must.Do(t, err)
	published(t, got.Generation, s)
	if want, got := m.listed(), storedNumbers(t, g.Generations, "ip"); !slices.Equal(got, want) {
		t.Fatalf("stored are %v; want %v", got, want)
	}
	files, err := filepath.Glob(filepath.Join(g.place, "ip", "*.tmp"))
	if err != nil || len(files) > 0 {
		t.Fatalf("left behind: %s, %v", strings.Join(files, " "), err)
	}
}

func TestStepsAreAllCovered(t *testing.T) {
	c, _ := newCatalog(t)
	st := new(steps)
	c.onStep = st.on
	mustIngest(t, c, "ip", "one")
	if want := append(slices.Clone(unpublishedSteps), publishedStep); !slices.Equal(st.seen, want) {
		t.Errorf("publishing goes through %q; the tests fail it after %q", st.seen, want)
	}
}

// TestRollbackOnce: another rollback is faster. The slower one does not go further back. This holds
// for both backings.
func TestRollbackOnce(t *testing.T) {
	c, _ := newCatalog(t)
	d, source := depotAt(t, newRemote(t)), newPebbleCatalog(t)
	for _, text := range []string{"one", "two", "three"} {
		mustIngest(t, c, "ip", text)
		mustIngest(t, source, "ip", text)
		pushed(t, d, source, "ip")
	}
	for name, g := range map[string]*Generations{"directory": c.Generations, "tables": d.Generations} {
		flaky := &flakyBacking{backing: g.back}
		flaky.before = func() {
			if _, err := g.Rollback(t.Context(), "ip"); err != nil {
				t.Error(err)
			}
		}
		g.back = flaky
		if m, err := g.Rollback(t.Context(), "ip"); err != nil || m.Generation != 2 {
			t.Errorf("%s: rolled back to %d, %v", name, m.Generation, err)
		}
		if m, err := g.Current(t.Context(), "ip"); err != nil || m.Generation != 2 {
			t.Errorf("%s: %d is published, %v", name, m.Generation, err)
		}
	}
}

// TestPointerBytes tests that older programs still read and write the same bytes, and ignore the
// checksum. A pointer with one changed bit is refused, or read as before.
func TestPointerBytes(t *testing.T) {
	c, source := newPebbleCatalog(t), newPebbleCatalog(t)
	d := depotAt(t, newRemote(t))
	d.now = func() time.Time { return when }
	for _, text := range []string{"one", "two"} {
		mustIngest(t, c, "ip", text)
		mustIngest(t, source, "ip", text)
		pushed(t, d, source, "ip")
	}
	want := func(g *Generations) string {
		p, err := g.requirePointer(t.Context(), "ip")
		if err != nil || len(p.Generations) != 2 {
			t.Fatal(p, err)
		}
		return fmt.Sprintf(`{
  "version": 1,
  "current": 2,
  "last": 2,
  "generations": [
    {
      "generation": 1,
      "manifest_sha256": %q
    },
    {
      "generation": 2,
      "manifest_sha256": %q
    }
  ]`, p.Generations[0].Manifest, p.Generations[1].Manifest)
	}
	file, err := os.ReadFile(filepath.Join(c.Dir(), "ip", "CURRENT"))
	sealed := func(text string) string { return text + ",\n  \"crc32c\": \"" + checksum([]byte(text)) + "\"\n}" }
	if want := sealed(want(c.Generations)) + "\n"; err != nil || string(file) != want {
		t.Errorf("the file is %s, %v; want %s", file, err, want)
	}
	cell, err := d.get(t.Context(), "ip", "p", []byte("current"))
	if want := sealed(want(d.Generations) + ",\n  \"superseded\": {\n    \"1\": \"2026-01-02T03:04:05Z\"\n  }"); err != nil ||
		string(cell) != want {
		t.Errorf("the cell is %s, %v; want %s", cell, err, want)
	}
	whole, err := decodePointer(cell)
	must.Do(t, err)
	for i := range 8 * len(cell) {
		changed := bytes.Clone(cell)
		changed[i/8] ^= 1 << (i % 8)
		p, err := decodePointer(changed)
		if err == nil {
			p.Checksum = whole.Checksum
		}
		if err == nil && !reflect.DeepEqual(p, whole) || err != nil && !errors.Is(err, ErrBadPointer) && !errors.Is(err, cellstore.ErrNewer) {
			t.Errorf("bit %d of byte %d: %+v, %v", i%8, i/8, p, err)
		}
	}
	if p, err := decodePointer([]byte(want(d.Generations) + "\n}")); err != nil || p.Current != 2 {
		t.Errorf("one of an older program: %+v, %v", p, err)
	}
}

// TestConcurrentChanges tests that programs that change one pointer at the same time all succeed,
// and no change is lost.
func TestConcurrentChanges(t *testing.T) {
	c, _ := newCatalog(t)
	d, source := depotAt(t, newRemote(t)), newPebbleCatalog(t)
	for _, text := range []string{"one", "two", "three"} {
		mustIngest(t, c, "ip", text)
		mustIngest(t, source, "ip", text)
		pushed(t, d, source, "ip")
	}
	for name, g := range map[string]*Generations{"directory": c.Generations, "tables": d.Generations} {
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				for n := range 10 {
					want := uint64(1 + (i+n)%3)
					if m, err := g.Activate(t.Context(), "ip", want); err != nil || m.Generation != want {
						t.Errorf("%s: activated %d, %v; want %d", name, m.Generation, err, want)
					}
				}
			})
		}
		wg.Wait()
		p, err := g.requirePointer(t.Context(), "ip")
		if err != nil || len(p.Generations) != 3 || p.Last != 3 {
			t.Errorf("%s: the pointer is %+v, %v", name, p, err)
		}
	}
}
