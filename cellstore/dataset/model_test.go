package dataset

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// model is what CURRENT should say after any sequence of calls, failures and
// crashes between steps.
type model struct {
	texts         map[uint64]string // listed generations
	current, last uint64
}

func (m *model) listed() []uint64 {
	var s []uint64
	for n := range m.texts {
		s = append(s, n)
	}
	slices.Sort(s)
	return s
}

// Steps of Publish after which a failure, as in a crash, has published
// nothing, and the one after which it has.
var (
	unpublishedSteps = []string{"begun", "store closed", "files sealed", "manifest written", "manifest renamed", "pointer written"}
	publishedStep    = "pointer renamed"
)

func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir := tempDir(t)
		stats, st := new(fileStats), new(steps)
		c, err := Open(dir, stats.opener)
		if err != nil {
			t.Fatal(err)
		}
		c.onStep = st.on
		m := &model{texts: map[uint64]string{}}
		serial := 0
		text := func() string { serial++; return fmt.Sprint("text ", serial) }
		ctx := t.Context()

		t.Repeat(map[string]func(*rapid.T){
			"publish": func(t *rapid.T) {
				s := text()
				got, err := ingest(c, "ip", s)
				if err != nil || got.Generation != m.last+1 {
					t.Fatalf("published %d, %v; want %d", got.Generation, err, m.last+1)
				}
				m.last = got.Generation
				m.current = m.last
				m.texts[m.last] = s
			},
			"failed publish": func(t *rapid.T) {
				st.fail = rapid.SampledFrom(append(unpublishedSteps, publishedStep)).Draw(t, "step")
				defer func() { st.fail = "" }()
				s := text()
				if _, err := ingest(c, "ip", s); err == nil {
					t.Fatal("the failure was not reported")
				}
				if st.fail == publishedStep {
					m.last++
					m.current = m.last
					m.texts[m.last] = s
				}
			},
			"leftover": func(t *rapid.T) {
				// What a build killed at some point leaves, with and
				// without its manifest.
				dir := c.generationDir("ip", m.last+1)
				if err := os.MkdirAll(filepath.Join(dir, storeDir), 0o755); err != nil {
					t.Fatal(err)
				}
				if len(m.texts) > 0 && rapid.Bool().Draw(t, "manifest") {
					if err := os.WriteFile(filepath.Join(dir, manifestName), []byte("{"), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				tmp := filepath.Join(c.Dir(), "ip", pointerName+".tmp")
				if err := os.WriteFile(tmp, []byte(`{"version":1,"curr`), 0o644); err != nil {
					t.Fatal(err)
				}
			},
			"rollback": func(t *rapid.T) {
				got, err := c.Rollback(ctx, "ip")
				before := slices.DeleteFunc(m.listed(), func(n uint64) bool { return n >= m.current })
				if len(before) == 0 {
					if err == nil {
						t.Fatalf("rolled back to %d, from nowhere", got.Generation)
					}
					return
				}
				want := slices.Max(before)
				if err != nil || got.Generation != want {
					t.Fatalf("rolled back to %d, %v; want %d", got.Generation, err, want)
				}
				m.current = want
			},
			"activate": func(t *rapid.T) {
				n := rapid.Uint64Range(1, m.last+1).Draw(t, "generation")
				_, err := c.Activate(ctx, "ip", n)
				if _, ok := m.texts[n]; ok != (err == nil) {
					t.Fatalf("activate %d: %v; listed: %v", n, err, ok)
				}
				if err == nil {
					m.current = n
				}
			},
			"prune": func(t *rapid.T) {
				keep := rapid.IntRange(0, 4).Draw(t, "keep")
				done, err := c.Prune(ctx, keep, 0)
				if err != nil {
					t.Fatal(err)
				}
				all := m.listed()
				removed := 0
				for _, n := range all[:max(0, len(all)-keep)] {
					if n != m.current {
						delete(m.texts, n)
						removed++
					}
				}
				if len(done.Removed) != removed {
					t.Fatalf("removed %d, want %d", len(done.Removed), removed)
				}
			},
			"": func(t *rapid.T) {
				if n := stats.open.Load(); n != 0 {
					t.Fatalf("%d stores left open", n)
				}
				p, err := c.pointer(t.Context(), "ip")
				if err != nil {
					t.Fatal(err)
				}
				if p == nil {
					p = new(pointer)
				}
				var got []uint64
				for _, e := range p.Generations {
					got = append(got, e.Generation)
				}
				if want := m.listed(); !slices.Equal(got, want) || p.Current != m.current || p.Last != m.last {
					t.Fatalf("CURRENT is %+v, want %v, current %d, last %d", p, want, m.current, m.last)
				}
				if m.current != 0 {
					if got, err := content(c, "ip"); err != nil || got != m.texts[m.current] {
						t.Fatalf("published %q, %v; want %q", got, err, m.texts[m.current])
					}
				}
			},
		})
		list, err := c.List(t.Context())
		if err != nil || len(list) != len(m.texts) {
			t.Fatalf("listed %d generations, %v; want %d", len(list), err, len(m.texts))
		}
		for _, in := range list {
			if err := c.Verify(ctx, "ip", in.Generation, nil); err != nil || in.Err != nil || in.Current != (in.Generation == m.current) {
				t.Fatalf("listed %+v, current is %d; verified: %v", in, m.current, err)
			}
		}
		// A last build cleans up all that was left behind.
		if _, err := ingest(c, "ip", text()); err != nil {
			t.Fatal(err)
		}
		want := append(m.listed(), m.last+1)
		if got := storedNumbers(t, c.Generations, "ip"); !slices.Equal(got, want) {
			t.Fatalf("on disk %v; want %v", got, want)
		}
		files, err := os.ReadDir(filepath.Join(dir, "ip"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if strings.HasSuffix(f.Name(), ".tmp") {
				t.Fatalf("%s was left behind", f.Name())
			}
		}
	})
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
