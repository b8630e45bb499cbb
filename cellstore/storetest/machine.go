package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"quadrille/cellstore"
)

// startOfTime is what an injected clock shows first, in ms.
const startOfTime = 1_000_000

// machine executes the lines of a script on a store.
type machine struct {
	b      Backend
	caps   cellstore.Capabilities
	now    atomic.Int64 // the injected clock
	store  cellstore.Store
	tables map[string]cellstore.Table
	snaps  map[string]cellstore.Snapshot
	row    cellstore.Row
}

func newMachine(b Backend, caps cellstore.Capabilities) (*machine, error) {
	m := &machine{b: b, caps: caps}
	m.now.Store(startOfTime)
	return m, m.open(OpenOptions{})
}

func (m *machine) clock() int64 {
	if m.b.RealTime {
		return time.Now().UnixMilli()
	}
	return m.now.Load()
}

func (m *machine) open(o OpenOptions) error {
	if !m.b.RealTime {
		o.Clock = m.clock
	}
	s, err := m.b.Open(o)
	if err != nil {
		return err
	}
	m.store, m.tables, m.snaps = s, map[string]cellstore.Table{}, map[string]cellstore.Snapshot{}
	return nil
}

// close ends what is open, also after a failure.
func (m *machine) close() error {
	var errs []error
	for _, s := range m.snaps {
		errs = append(errs, s.Close())
	}
	if m.store != nil {
		errs = append(errs, m.store.Close())
	}
	return errors.Join(errs...)
}

// crash ends the store as a loss of power would and opens what survived.
func (m *machine) crash() error {
	if err := m.b.Crash(m.store); err != nil {
		return err
	}
	return m.open(OpenOptions{})
}

// table opens a table once.
func (m *machine) table(ctx context.Context, name string) (cellstore.Table, error) {
	if t := m.tables[name]; t != nil {
		return t, nil
	}
	t, err := m.store.Table(ctx, name)
	if err != nil {
		return nil, err
	}
	m.tables[name] = t
	return t, nil
}

// exec executes a line and returns what it prints: what a read finds, "ok" after
// other commands, or the name of the store's error. Its own error says that the
// line makes no sense.
func (m *machine) exec(line string) (out string, err error) {
	p := &parser{s: line, clock: m.clock}
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(syntaxError)
			if !ok {
				panic(r)
			}
			err = fmt.Errorf("%s: %s", line, string(e))
		}
	}()
	verb := p.name()
	command := commands[verb]
	if command == nil {
		p.fail("unknown command %q", verb)
	}
	out, failure := command(m, context.Background(), p)
	switch {
	case failure != nil:
		out = "error: " + errorName(failure)
	case out == "":
		out = "ok"
	}
	if p.more() {
		p.fail("something left")
	}
	return out, nil
}

// commands are the verbs of scripts.
var commands = map[string]func(m *machine, ctx context.Context, p *parser) (string, error){
	"create": func(m *machine, ctx context.Context, p *parser) (string, error) {
		return "", m.store.CreateTable(ctx, p.schema())
	},
	"alter": func(m *machine, ctx context.Context, p *parser) (string, error) {
		return "", m.store.AlterTable(ctx, p.schema())
	},
	"drop": func(m *machine, ctx context.Context, p *parser) (string, error) {
		name := p.name()
		err := m.store.DropTable(ctx, name)
		if err == nil {
			delete(m.tables, name)
		}
		return "", err
	},
	"tables": func(m *machine, ctx context.Context, _ *parser) (string, error) {
		names, err := m.store.Tables(ctx)
		if len(names) == 0 {
			names = []string{"none"}
		}
		return strings.Join(names, " "), err
	},
	"schema":   (*machine).schema,
	"put":      (*machine).put,
	"batch":    (*machine).batch,
	"check":    (*machine).check,
	"incr":     (*machine).increment,
	"append":   (*machine).append,
	"bulk":     (*machine).bulk,
	"get":      (*machine).get,
	"next":     (*machine).next,
	"prev":     (*machine).prev,
	"nexteach": (*machine).nextEach,
	"multiget": (*machine).multiGet,
	"scan":     (*machine).scan,
	"parallel": (*machine).parallel,
	"snapshot": func(m *machine, ctx context.Context, p *parser) (string, error) {
		name := p.name()
		t, err := m.table(ctx, p.name())
		if err != nil {
			return "", err
		}
		s, err := t.Snapshot(ctx)
		if err == nil {
			m.snaps[name] = s
		}
		return "", err
	},
	"release": func(m *machine, _ context.Context, p *parser) (string, error) {
		name := p.name()
		if m.snaps[name] == nil {
			p.fail("no snapshot %s", name)
		}
		return "", m.snaps[name].Close()
	},
	"compact": func(m *machine, ctx context.Context, p *parser) (string, error) {
		return "", m.store.Compact(ctx, p.name())
	},
	"close": func(m *machine, _ context.Context, _ *parser) (string, error) {
		return "", m.store.Close()
	},
	"reopen": func(m *machine, _ context.Context, p *parser) (string, error) {
		if err := m.close(); err != nil {
			return "", err
		}
		return "", m.open(OpenOptions{ReadOnly: p.more() && p.accept("readonly")})
	},
	"crash": func(m *machine, _ context.Context, _ *parser) (string, error) {
		return "", m.crash()
	},
	"clock": func(m *machine, _ context.Context, p *parser) (string, error) {
		d, err := time.ParseDuration(p.name())
		if err != nil {
			p.fail("want a duration")
		}
		if m.b.RealTime {
			time.Sleep(d)
		} else {
			m.now.Add(d.Milliseconds())
		}
		return "", nil
	},
}

func (m *machine) schema(ctx context.Context, p *parser) (string, error) {
	t, err := m.table(ctx, p.name())
	if err != nil {
		return "", err
	}
	var fams []string
	for _, f := range t.Schema().Families {
		versions := fmt.Sprint(f.MaxVersions)
		if f.MaxVersions == cellstore.Unlimited {
			versions = "all"
		}
		fams = append(fams, fmt.Sprintf("%s{versions=%s,min=%d,ttl=%v}", f.Name, versions, f.MinVersions, f.TTL))
	}
	slices.Sort(fams)
	return strings.Join(fams, " "), nil
}

func (m *machine) put(ctx context.Context, p *parser) (string, error) {
	name := p.name()
	mutation := p.mutation()
	t, err := m.table(ctx, name)
	if err != nil {
		return "", err
	}
	return "", t.Apply(ctx, m.whole(mutation)...)
}

// whole splits a mutation that the backend cannot apply at once. Tests of
// atomicity need the capabilities.
func (m *machine) whole(mutation cellstore.Mutation) []cellstore.Mutation {
	mixed := slices.ContainsFunc(mutation.Ops, func(op cellstore.Op) bool {
		return (op.Kind == cellstore.OpPut) != (mutation.Ops[0].Kind == cellstore.OpPut)
	})
	several := slices.ContainsFunc(mutation.Ops, func(op cellstore.Op) bool { return op.Timestamp != mutation.Ops[0].Timestamp })
	if (!mixed || m.caps.MixedMutation) && (!several || m.caps.CellTimestamps) {
		return []cellstore.Mutation{mutation}
	}
	var split []cellstore.Mutation
	for _, op := range mutation.Ops {
		split = append(split, cellstore.Mutation{Row: mutation.Row, Ops: []cellstore.Op{op}, Durability: mutation.Durability})
	}
	return split
}

func (m *machine) batch(ctx context.Context, p *parser) (string, error) {
	name := p.name()
	mutations := m.whole(p.mutation())
	for p.accept(";") {
		mutations = append(mutations, m.whole(p.mutation())...)
	}
	t, err := m.table(ctx, name)
	if err != nil {
		return "", err
	}
	return "", t.Apply(ctx, mutations...)
}

func (m *machine) check(ctx context.Context, p *parser) (string, error) {
	name := p.name()
	key := p.row()
	check := p.check()
	mutation := cellstore.Mutation{Row: key}
	p.more()
	p.expect(";")
	for p.more() {
		if p.accept("async") {
			mutation.Durability = cellstore.Async
			continue
		}
		mutation.Ops = append(mutation.Ops, p.op())
	}
	t, err := m.table(ctx, name)
	if err != nil {
		return "", err
	}
	applied, err := t.CheckAndMutate(ctx, check, mutation)
	if applied {
		return "applied", err
	}
	return "refused", err
}

func (m *machine) increment(ctx context.Context, p *parser) (string, error) {
	name := p.name()
	inc := cellstore.Increment{Row: p.row()}
	for p.more() {
		if p.accept("async") {
			inc.Durability = cellstore.Async
			continue
		}
		var d cellstore.Delta
		d.Family, d.Qualifier = p.column()
		p.expect("=")
		d.By = p.int()
		inc.Deltas = append(inc.Deltas, d)
	}
	t, err := m.table(ctx, name)
	if err != nil {
		return "", err
	}
	values, err := t.Increment(ctx, inc, nil)
	return strings.Trim(fmt.Sprint(values), "[]"), err
}

func (m *machine) append(ctx context.Context, p *parser) (string, error) {
	name := p.name()
	key := p.row()
	p.more()
	family, qualifier := p.column()
	p.expect("=")
	value := p.bytes()
	d := cellstore.Sync
	if p.more() && p.accept("async") {
		d = cellstore.Async
	}
	t, err := m.table(ctx, name)
	if err != nil {
		return "", err
	}
	whole, err := t.Append(ctx, key, family, qualifier, value, d)
	return quoteValue(whole), err
}

// bulk loads ROW f:q@5=v … ; ROW … and commits, or aborts after "; abort".
func (m *machine) bulk(ctx context.Context, p *parser) (string, error) {
	name := p.name()
	rows := []cellstore.Mutation{p.mutation()}
	abort := false
	for p.accept(";") {
		if p.more() && p.accept("abort") {
			abort = true
			break
		}
		rows = append(rows, p.mutation())
	}
	t, err := m.table(ctx, name)
	if err != nil {
		return "", err
	}
	l, err := t.Bulk(ctx)
	if err != nil {
		return "", err
	}
	defer l.Abort()
	for _, row := range rows {
		for _, op := range row.Ops {
			if err := l.Add(row.Row, cellstore.Cell{Family: op.Family, Qualifier: op.Qualifier, Timestamp: op.Timestamp, Value: op.Value}); err != nil {
				return "", err
			}
		}
	}
	if abort {
		return "", l.Abort()
	}
	return "", l.Commit(ctx)
}

var errorNames = []struct {
	err  error
	name string
}{
	{cellstore.ErrTableNotFound, "ErrTableNotFound"}, {cellstore.ErrTableExists, "ErrTableExists"},
	{cellstore.ErrFamilyNotFound, "ErrFamilyNotFound"}, {cellstore.ErrBadSchema, "ErrBadSchema"},
	{cellstore.ErrEmptyRow, "ErrEmptyRow"}, {cellstore.ErrTooLarge, "ErrTooLarge"},
	{cellstore.ErrBadTimestamp, "ErrBadTimestamp"}, {cellstore.ErrBadRange, "ErrBadRange"},
	{cellstore.ErrBadCondition, "ErrBadCondition"}, {cellstore.ErrNotCounter, "ErrNotCounter"},
	{cellstore.ErrUnsorted, "ErrUnsorted"}, {cellstore.ErrUnknownOutcome, "ErrUnknownOutcome"},
	{cellstore.ErrClosed, "ErrClosed"}, {cellstore.ErrReadOnly, "ErrReadOnly"},
	{cellstore.ErrLocked, "ErrLocked"}, {cellstore.ErrCorrupt, "ErrCorrupt"},
	{errors.ErrUnsupported, "ErrUnsupported"}, {context.Canceled, "Canceled"},
}

// errorName is how an error is printed: for a batch, index by index.
func errorName(err error) string {
	var batch *cellstore.BatchError
	if errors.As(err, &batch) {
		var parts []string
		for _, i := range slices.Sorted(maps.Keys(batch.Errs)) {
			parts = append(parts, fmt.Sprintf("%d=%s", i, errorName(batch.Errs[i])))
		}
		return strings.Join(parts, " ")
	}
	for _, e := range errorNames {
		if errors.Is(err, e.err) {
			return e.name
		}
	}
	return err.Error()
}
