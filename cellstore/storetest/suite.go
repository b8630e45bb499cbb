package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"quadrille/cellstore"
)

// Opener returns an empty place for one store, and the functions to handle the store. The suite
// calls it once or more for every test. Clean up with t.Cleanup.
type Opener func(t testing.TB) Backend

// Backend handles the store at one place: a directory, a file system in
// memory, a namespace of a server. Hooks that a backend cannot offer stay nil.
// Tests that need them are skipped and say so.
type Backend struct {
	// Open opens the store, and creates it if there is none. The suite closes or crashes the store
	// before it opens it again, except in the test of ErrLocked.
	Open func(o OpenOptions) (cellstore.Store, error)
	// ReadOnly says that Open can open a store for reading only.
	ReadOnly bool
	// Exclusive says that a store admits one writable opener at a time.
	Exclusive bool
	// RealTime says that Open cannot take a clock. Tests that wait for some seconds
	// then really wait, and tests that count milliseconds are skipped.
	RealTime bool
	// NamesCalls says that errors are, or wrap, a *cellstore.Error that names the call.
	NamesCalls bool

	// Crash ends an open store as a loss of power would: data that is not durable is lost. Open
	// then opens the surviving data.
	Crash func(s cellstore.Store) error
	// CheckpointDir is the directory for Checkpoint. It does not exist yet.
	CheckpointDir string
	// OpenCheckpoint opens the copy in a directory.
	OpenCheckpoint func(dir string, o OpenOptions) (cellstore.Store, error)
	// FailWrites makes all writes of the store to its disk fail with err, until it is called with
	// nil.
	FailWrites func(err error)
	// Corrupt damages stored cells while the store is closed, RemovePart removes a part without
	// which cells cannot be found, and DamageLog changes the data that was written last.
	Corrupt, RemovePart, DamageLog func() error
}

// OpenOptions say how a Backend opens its store. Clock returns milliseconds since 1970, and may be
// called by any goroutine. A nil Clock means the clock of the system.
type OpenOptions struct {
	ReadOnly bool
	Clock    func() int64
}

// Run runs the whole suite: a subtest per rule of the contract, the worked examples (W), and random
// operations against the Model (K2). caps are the promises of the backend. Rules for which it lacks
// a capability or a hook are skipped and listed at the end.
func Run(t *testing.T, open Opener, caps cellstore.Capabilities) {
	s := &suite{open: open, caps: caps}
	defer s.report(t)
	s.run(t, allRules())
	t.Run("W", s.runExamples)
	t.Run("K2", s.runRandom)
}

// RunForRaces runs the part of the suite that is useful with the race detector: the rules that are
// not scripts. A script is played line by line by one goroutine.
func RunForRaces(t *testing.T, open Opener, caps cellstore.Capabilities) {
	s := &suite{open: open, caps: caps}
	s.run(t, goRules())
}

// run examines the backend and runs some of the rules.
func (s *suite) run(t *testing.T, rules []rule) {
	s.look(t)
	for _, id := range ids(rules) {
		t.Run(id, func(t *testing.T) {
			for _, r := range rules {
				if r.id == id {
					t.Run(r.name, func(t *testing.T) { s.runRule(t, r) })
				}
			}
		})
	}
}

// rule is a test of one rule. It has either a script, which lists its needs itself, or a function.
type rule struct {
	id, name string
	script   string
	needs    []need
	run      func(*env)
}

// allRules returns all rules: those that are scripts, and those in Go that a script cannot express.
func allRules() []rule { return append(scriptRules(), goRules()...) }

func goRules() []rule {
	return slices.Concat(schemaRules, versionRules, readRules, scanRules, atomicRules, checkRules,
		batchRules, durabilityRules, viewRules, limitRules, stateRules, exampleRules)
}

// ids returns the numbers of rules, each once.
func ids(rules []rule) []string {
	var out []string
	for _, r := range rules {
		if !slices.Contains(out, r.id) {
			out = append(out, r.id)
		}
	}
	return out
}

// need is a feature that a backend may lack.
type need struct {
	what string
	met  func(*probe) bool
}

// probe has the facts that the suite has found out about a backend.
type probe struct {
	Backend
	cellstore.Capabilities
	stats bool // its tables count their work
}

func capability(name string, has func(p *probe) bool) need { return need{"capability " + name, has} }

var (
	snapshotScan   = capability("SnapshotScan", func(p *probe) bool { return p.SnapshotScan })
	mixedMutation  = capability("MixedMutation", func(p *probe) bool { return p.MixedMutation })
	cellTimestamps = capability("CellTimestamps", func(p *probe) bool { return p.CellTimestamps })
	counterTimes   = capability("CounterTimestamps", func(p *probe) bool { return p.CounterTimestamps })
	atomicBatch    = capability("AtomicBatch", func(p *probe) bool { return p.AtomicBatch })
	bulk           = capability("Bulk", func(p *probe) bool { return p.Bulk })
	snapshot       = capability("Snapshot", func(p *probe) bool { return p.Snapshot })
	checkpoint     = capability("Checkpoint", func(p *probe) bool { return p.Checkpoint })
	// eager is the need of rule P5: it is lacking if the backend has the capability LegacyDeletes,
	// which means fewer features.
	eager = need{"deletes as P5 has them, not LegacyDeletes", func(p *probe) bool { return !p.LegacyDeletes }}

	clock     = need{"an injected clock", func(p *probe) bool { return !p.RealTime }}
	crash     = need{"a Crash hook", func(p *probe) bool { return p.Crash != nil }}
	readOnly  = need{"read-only opening", func(p *probe) bool { return p.ReadOnly }}
	exclusive = need{"exclusive opening", func(p *probe) bool { return p.Exclusive }}
	faults    = need{"a FailWrites hook", func(p *probe) bool { return p.FailWrites != nil }}
	damage    = need{"a Corrupt hook", func(p *probe) bool { return p.Corrupt != nil }}
	removal   = need{"a RemovePart hook", func(p *probe) bool { return p.RemovePart != nil }}
	logDamage = need{"a DamageLog hook", func(p *probe) bool { return p.DamageLog != nil }}
	counters  = need{"tables that are cellstore.StatsReaders", func(p *probe) bool { return p.stats }}
)

// suite is one run of the tests.
type suite struct {
	open  Opener
	caps  cellstore.Capabilities
	probe probe
	modes []mode

	mu      sync.Mutex
	skipped []string
}

// report lists the skipped tests, so that a reader sees what a passed run means.
func (s *suite) report(t *testing.T) {
	if len(s.skipped) == 0 {
		t.Log("storetest: no rule was skipped")
		return
	}
	t.Logf("storetest: %d skipped:\n\t%s", len(s.skipped), strings.Join(s.skipped, "\n\t"))
}

// look finds out which hooks and capabilities the backend has, and leaves out the modes of scripts
// that the backend cannot run.
func (s *suite) look(t *testing.T) {
	chosen := false
	t.Run("K1", func(t *testing.T) {
		chosen = true
		e := s.newEnv(t)
		if got := e.store.Capabilities(); got != s.caps {
			t.Errorf("the store has %+v, the suite was promised %+v", got, s.caps)
		}
		e.must("create t f")
		_, stats := e.table("t").(cellstore.StatsReader)
		s.probe = probe{e.b, s.caps, stats}
		for _, m := range modes {
			if m.need == nil || m.need.met(&s.probe) {
				s.modes = append(s.modes, m)
				continue
			}
			t.Run("scripts "+m.name, func(t *testing.T) { s.skip(t, m.need.what) })
		}
	})
	if !chosen {
		t.Fatal("storetest: K1 finds out what the backend has: let -run choose it too, as in '^TestSuite$/^(K1|P1)$'")
	}
}

func (s *suite) skip(t *testing.T, why string) {
	s.mu.Lock()
	s.skipped = append(s.skipped, fmt.Sprintf("%s needs %s", t.Name(), why))
	s.mu.Unlock()
	t.Skipf("needs %s", why)
}

// env is the environment of one test.
type env struct {
	*testing.T
	*machine
	ctx context.Context
}

func (s *suite) newEnv(t *testing.T) *env {
	m, err := newMachine(s.open(t), s.caps)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		if err := m.close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return &env{T: t, machine: m, ctx: context.Background()}
}

// mode is a way to run a script. It says what happens to the store between a
// write and the next read, which must not change any answer.
type mode struct {
	name   string
	need   *need
	before func(*machine) error
	always bool // before every line rather than before reads that follow writes
}

var modes = []mode{
	{name: "plain"},
	{name: "compacted", before: (*machine).compactAll},
	{name: "compacted stepwise", before: (*machine).compactAll, always: true},
	{name: "reopened", before: (*machine).reopen},
	{name: "crashed", before: (*machine).crash, need: &crash},
}

func (m *machine) compactAll() error {
	names, err := m.store.Tables(context.Background())
	for _, name := range names {
		if err == nil {
			err = m.store.Compact(context.Background(), name)
		}
	}
	return err
}

func (m *machine) reopen() error { return m.reopenAs(OpenOptions{}) }

func (s *suite) runRule(t *testing.T, r rule) {
	if r.script != "" {
		s.runScript(t, r.script)
		return
	}
	s.check(t, r.needs)
	r.run(s.newEnv(t))
}

// check skips a test whose needs are not met.
func (s *suite) check(t *testing.T, needs []need) {
	t.Helper()
	for _, n := range needs {
		if !n.met(&s.probe) {
			s.skip(t, n.what)
		}
	}
}
