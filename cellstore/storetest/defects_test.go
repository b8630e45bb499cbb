package storetest

import (
	"bytes"
	"context"
	"encoding/binary"
	"iter"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"quadrille/cellstore"
)

// A defect is a store that breaks a rule, as drivers have done or nearly done, with the test that
// must notice that. The function changes the store that it receives.
type defect struct {
	name  string
	test  string // "/"-separated expressions, as for go test -run
	store func(*badStore)
	table func(*badTable)
}

// badStore and badTable are the model, except for the functions that are set.
type badStore struct {
	*Model
	create  func(cellstore.Schema) cellstore.Schema
	compact func(name string) error
	table   func(*badTable)
}

type badTable struct {
	cellstore.Table
	apply     func(cellstore.Mutation) cellstore.Mutation
	inPieces  bool
	increment func(context.Context, cellstore.Increment) ([]int64, error)
	check     func(context.Context, cellstore.Check, cellstore.Mutation) (bool, error)
	sel       func(cellstore.Selection) cellstore.Selection
	next      func(from []byte) []byte
	get       func(ctx context.Context, key []byte, sel *cellstore.Selection, row *cellstore.Row) (bool, error)
	scan      func(context.Context, cellstore.Scan) iter.Seq2[*cellstore.Row, error]
}

var defects = []defect{
	{name: "deletes mask later puts", test: "D4", table: func(t *badTable) {
		masked := map[string]int64{}
		t.apply = func(m cellstore.Mutation) cellstore.Mutation {
			var ops []cellstore.Op
			for _, op := range m.Ops {
				key := string(m.Row) + op.Family + string(op.Qualifier)
				if op.Kind == cellstore.OpDeleteColumn {
					masked[key] = op.Timestamp
				}
				if op.Kind == cellstore.OpPut && op.Timestamp >= 0 && op.Timestamp <= masked[key] {
					continue
				}
				ops = append(ops, op)
			}
			m.Ops = ops
			return m
		}
	}},
	{name: "trimmed versions come back", test: "P5", store: func(s *badStore) {
		s.create = func(schema cellstore.Schema) cellstore.Schema {
			schema.Families = slices.Clone(schema.Families)
			for i := range schema.Families {
				schema.Families[i].MaxVersions = cellstore.Unlimited
			}
			return schema
		}
	}},
	{name: "compaction drops a version", test: "G2", store: func(s *badStore) {
		s.compact = func(name string) error {
			for _, versions := range s.disk.tables[name].rows["r"] {
				if ts := newestFirst(versions); len(ts) > 1 {
					delete(versions, ts[len(ts)-1])
				}
			}
			return nil
		}
	}},
	{name: "expiry is a millisecond late", test: "T1", store: func(s *badStore) {
		s.create = func(schema cellstore.Schema) cellstore.Schema {
			schema.Families = slices.Clone(schema.Families)
			for i := range schema.Families {
				if schema.Families[i].TTL > 0 {
					schema.Families[i].TTL += time.Millisecond
				}
			}
			return schema
		}
	}},
	{name: "increments race", test: "A5", table: func(t *badTable) {
		t.increment = func(ctx context.Context, inc cellstore.Increment) (values []int64, err error) {
			for _, d := range inc.Deltas {
				var row cellstore.Row
				if _, err := t.Get(ctx, inc.Row, nil, &row); err != nil {
					return nil, err
				}
				n := d.By
				if v, ok := row.Value(d.Family, d.Qualifier); ok {
					n += int64(binary.BigEndian.Uint64(v))
				}
				m := mutate(string(inc.Row), cellstore.Put(d.Family, d.Qualifier, counter(n)))
				runtime.Gosched() // so that others do come between
				if err := t.Table.Apply(ctx, m); err != nil {
					return nil, err
				}
				values = append(values, n)
			}
			return values, nil
		}
	}},
	{name: "checks race", test: "A8", table: func(t *badTable) {
		t.check = func(ctx context.Context, c cellstore.Check, m cellstore.Mutation) (bool, error) {
			ok, err := t.Table.CheckAndMutate(ctx, c, cellstore.Mutation{Row: m.Row})
			if ok && err == nil {
				time.Sleep(time.Millisecond)
				err = t.Table.Apply(ctx, m)
			}
			return ok, err
		}
	}},
	{name: "mutations are applied in pieces", test: "A7/readers", table: func(t *badTable) { t.inPieces = true }},
	{name: "batches are applied in pieces", test: "A9/in_whole", table: func(t *badTable) { t.inPieces = true }},
	{name: "what is sync is lost in a crash", test: "B1/sync_writes", table: func(t *badTable) {
		t.apply = func(m cellstore.Mutation) cellstore.Mutation {
			m.Durability = cellstore.Async
			return m
		}
	}},
	{name: "next begins after from", test: "^N1$", table: func(t *badTable) {
		t.next = func(from []byte) []byte { return append(bytes.Clone(from), 0) }
	}},
	{name: "a scan is live", test: "N11/state", table: func(t *badTable) {
		t.scan = func(ctx context.Context, scan cellstore.Scan) iter.Seq2[*cellstore.Row, error] {
			return func(yield func(*cellstore.Row, error) bool) {
				var keys [][]byte
				for row, err := range t.Table.Scan(ctx, scan) {
					if err != nil {
						yield(nil, err)
						return
					}
					keys = append(keys, bytes.Clone(row.Key))
				}
				for _, key := range keys {
					var row cellstore.Row
					if found, _ := t.Get(ctx, key, &scan.Selection, &row); found && !yield(&row, nil) {
						return
					}
				}
			}
		}
	}},
	{name: "reads go back", test: "N11/reads", table: func(t *badTable) {
		var mu sync.Mutex
		var first *cellstore.Row
		late := false
		t.get = func(ctx context.Context, key []byte, sel *cellstore.Selection, row *cellstore.Row) (bool, error) {
			mu.Lock()
			defer mu.Unlock()
			if late = !late; !late {
				*row = *first.Clone()
				return true, nil
			}
			found, err := t.Table.Get(ctx, key, sel, row)
			if first == nil {
				first = row.Clone()
			}
			return found, err
		}
	}},
	{name: "a scan keeps its ranges", test: "L2", table: func(t *badTable) {
		t.scan = func(ctx context.Context, scan cellstore.Scan) iter.Seq2[*cellstore.Row, error] {
			return func(yield func(*cellstore.Row, error) bool) { t.Table.Scan(ctx, scan)(yield) }
		}
	}},
	{name: "a scan forgets about closing", test: "L4", table: func(t *badTable) {
		t.scan = func(ctx context.Context, scan cellstore.Scan) iter.Seq2[*cellstore.Row, error] {
			return func(yield func(*cellstore.Row, error) bool) {
				var rows []*cellstore.Row
				for row, err := range t.Table.Scan(ctx, scan) {
					if err != nil {
						yield(nil, err)
						return
					}
					rows = append(rows, row.Clone())
				}
				for _, row := range rows {
					if !yield(row, nil) {
						return
					}
				}
			}
		}
	}},
	{name: "versions are counted within the time range", test: "G4", store: func(s *badStore) {
		s.create = func(schema cellstore.Schema) cellstore.Schema {
			schema.Families = slices.Clone(schema.Families)
			for i := range schema.Families {
				schema.Families[i].MaxVersions = cellstore.Unlimited
			}
			return schema
		}
	}},
	// Only the random scripts combine so many options.
	{name: "an offset is forgotten beside a time range", test: "K2", table: func(t *badTable) {
		t.sel = func(s cellstore.Selection) cellstore.Selection {
			if _, _, timed := s.Time.Bounds(); timed {
				s.Filter.Offset = 0
			}
			return s
		}
	}},
	{name: "a delete that comes third is forgotten", test: "K2", table: func(t *badTable) {
		t.apply = func(m cellstore.Mutation) cellstore.Mutation {
			if len(m.Ops) == 3 && m.Ops[2].Kind == cellstore.OpDeleteVersion {
				m.Ops = m.Ops[:2]
			}
			return m
		}
	}},
}

func (s *badStore) CreateTable(ctx context.Context, schema cellstore.Schema) error {
	if s.create != nil {
		schema = s.create(schema)
	}
	return s.Model.CreateTable(ctx, schema)
}

func (s *badStore) Compact(ctx context.Context, name string) error {
	if s.compact != nil {
		return s.compact(name)
	}
	return s.Model.Compact(ctx, name)
}

func (s *badStore) Table(ctx context.Context, name string) (cellstore.Table, error) {
	t, err := s.Model.Table(ctx, name)
	if err != nil {
		return nil, err
	}
	bad := &badTable{Table: t}
	if s.table != nil {
		s.table(bad)
	}
	return bad, nil
}

func (t *badTable) Apply(ctx context.Context, mutations ...cellstore.Mutation) error {
	if t.apply != nil {
		mutations = slices.Clone(mutations)
		for i := range mutations {
			mutations[i] = t.apply(mutations[i])
		}
	}
	if !t.inPieces {
		return t.Table.Apply(ctx, mutations...)
	}
	for _, m := range mutations {
		for _, op := range m.Ops {
			if err := t.Table.Apply(ctx, cellstore.Mutation{Row: m.Row, Ops: []cellstore.Op{op}}); err != nil {
				return err
			}
			time.Sleep(10 * time.Microsecond)
		}
	}
	return nil
}

func (t *badTable) Increment(ctx context.Context, inc cellstore.Increment, values []int64) ([]int64, error) {
	if t.increment == nil {
		return t.Table.Increment(ctx, inc, values)
	}
	got, err := t.increment(ctx, inc)
	return append(values, got...), err
}

func (t *badTable) CheckAndMutate(ctx context.Context, c cellstore.Check, m cellstore.Mutation) (bool, error) {
	if t.check == nil {
		return t.Table.CheckAndMutate(ctx, c, m)
	}
	return t.check(ctx, c, m)
}

func (t *badTable) Get(ctx context.Context, key []byte, sel *cellstore.Selection, row *cellstore.Row) (bool, error) {
	if t.get != nil {
		return t.get(ctx, key, sel, row)
	}
	return t.Table.Get(ctx, key, t.selection(sel), row)
}

func (t *badTable) selection(sel *cellstore.Selection) *cellstore.Selection {
	if t.sel == nil || sel == nil {
		return sel
	}
	own := t.sel(*sel)
	return &own
}

func (t *badTable) Next(ctx context.Context, from, to []byte, sel *cellstore.Selection, row *cellstore.Row) (bool, error) {
	if t.next != nil {
		from = t.next(from)
	}
	return t.Table.Next(ctx, from, to, t.selection(sel), row)
}

func (t *badTable) Scan(ctx context.Context, scan cellstore.Scan) iter.Seq2[*cellstore.Row, error] {
	scan.Selection = *t.selection(&scan.Selection)
	if t.scan == nil {
		return t.Table.Scan(ctx, scan)
	}
	return t.scan(ctx, scan)
}

// defectVariable is the environment variable with the name of the defect for the process that has
// to find it.
const defectVariable = "STORETEST_DEFECT"

// TestDefects tests that the suite fails for stores with defects. Each runs in a process of its
// own, in which the tests have to fail.
func TestDefects(t *testing.T) {
	if name := os.Getenv(defectVariable); name != "" {
		i := slices.IndexFunc(defects, func(d defect) bool { return d.name == name })
		Run(t, defects[i].open, NewModel().Capabilities())
		return
	}
	for _, d := range defects {
		t.Run(d.name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.timeout=1m", "-test.run=^TestDefects$/^K1$|^TestDefects$/"+d.test)
			cmd.Env = append(os.Environ(), defectVariable+"="+d.name)
			out, err := cmd.CombinedOutput()
			test, _, _ := strings.Cut(strings.Trim(d.test, "^$"), "/")
			if err == nil || !strings.Contains(string(out), "--- FAIL: TestDefects/"+test) {
				t.Errorf("not found by %s: %v\n%s", d.test, err, out)
			}
		})
	}
}

func (d defect) open(t testing.TB) Backend {
	b := ModelBackend(t)
	open, crash := b.Open, b.Crash
	b.Open = func(o OpenOptions) (cellstore.Store, error) {
		s, err := open(o)
		if err != nil {
			return nil, err
		}
		bad := &badStore{Model: s.(*Model), table: d.table}
		if d.store != nil {
			d.store(bad)
		}
		return bad, nil
	}
	b.Crash = func(s cellstore.Store) error { return crash(s.(*badStore).Model) }
	return b
}
