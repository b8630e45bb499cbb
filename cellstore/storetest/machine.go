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

// close closes everything that is open, even after a failure.
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

// reopenAs closes the store and opens it again.
func (m *machine) reopenAs(o OpenOptions) error {
	if err := m.close(); err != nil {
		return err
	}
	return m.open(o)
}

// crash ends the store as a loss of power would, and opens the surviving data.
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

// exec executes a line and returns its output: the result of a read, "ok" after other commands, or
// the name of the store's error. Its own error says that the line makes no sense.
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
	command, known := commands[verb]
	if !known {
		p.fail("unknown command %q", verb)
	}
	out, failure := command.run(m, context.Background(), p)
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

// command is a verb of scripts. A command that neither reads nor writes rows counts as a write.
type command struct {
	run   execution
	reads reading
}

type execution = func(m *machine, ctx context.Context, p *parser) (string, error)

// reading says whether a command reads rows, so that its output depends on earlier writes.
type reading int

const (
	readsNothing reading = iota
	readsOnly
	readsAndWrites
)

// commands are the verbs of scripts.
var commands = map[string]command{
	"create": {run: func(m *machine, ctx context.Context, p *parser) (string, error) {
		return "", m.store.CreateTable(ctx, p.schema())
	}},
	"alter": {run: func(m *machine, ctx context.Context, p *parser) (string, error) {
		return "", m.store.AlterTable(ctx, p.schema())
	}},
	"drop": {run: func(m *machine, ctx context.Context, p *parser) (string, error) {
		name := p.name()
		err := m.store.DropTable(ctx, name)
		if err == nil {
			delete(m.tables, name)
		}
		return "", err
	}},
	"tables": {reads: readsOnly, run: func(m *machine, ctx context.Context, _ *parser) (string, error) {
		names, err := m.store.Tables(ctx)
		if len(names) == 0 {
			names = []string{"none"}
		}
		return strings.Join(names, " "), err
	}},
	"schema":   {reads: readsOnly, run: onTable((*machine).schema)},
	"put":      {run: onTable((*machine).batch)},
	"batch":    {run: onTable((*machine).batch)},
	"check":    {reads: readsAndWrites, run: onTable((*machine).check)},
	"incr":     {reads: readsAndWrites, run: onTable((*machine).increment)},
	"append":   {reads: readsAndWrites, run: onTable((*machine).append)},
	"bulk":     {run: onTable((*machine).bulk)},
	"get":      {reads: readsOnly, run: onReader((*machine).get)},
	"next":     {reads: readsOnly, run: onReader((*machine).next)},
	"prev":     {reads: readsOnly, run: onReader((*machine).prev)},
	"nexteach": {reads: readsOnly, run: onReader((*machine).nextEach)},
	"multiget": {reads: readsOnly, run: onReader((*machine).multiGet)},
	"scan":     {reads: readsOnly, run: onReader((*machine).scan)},
	"parallel": {reads: readsOnly, run: onTable((*machine).parallel)},
	"snapshot": {run: func(m *machine, ctx context.Context, p *parser) (string, error) {
		name := p.name()
		return onTable(func(m *machine, ctx context.Context, t cellstore.Table, _ *parser) (string, error) {
			s, err := t.Snapshot(ctx)
			if err == nil {
				m.snaps[name] = s
			}
			return "", err
		})(m, ctx, p)
	}},
	"release": {run: func(m *machine, _ context.Context, p *parser) (string, error) {
		return "", m.snapshot(p, p.name()).Close()
	}},
	"compact": {run: func(m *machine, ctx context.Context, p *parser) (string, error) {
		return "", m.store.Compact(ctx, p.name())
	}},
	"close": {run: func(m *machine, _ context.Context, _ *parser) (string, error) {
		return "", m.store.Close()
	}},
	"reopen": {run: func(m *machine, _ context.Context, p *parser) (string, error) {
		return "", m.reopenAs(OpenOptions{ReadOnly: p.more() && p.accept("readonly")})
	}},
	"crash": {run: func(m *machine, _ context.Context, _ *parser) (string, error) {
		return "", m.crash()
	}},
	"clock": {run: func(m *machine, _ context.Context, p *parser) (string, error) {
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
	}},
}

// onTable returns a command on the table that the next word names. If the table does not exist, the
// rest of the line is skipped.
func onTable(run func(*machine, context.Context, cellstore.Table, *parser) (string, error)) execution {
	return func(m *machine, ctx context.Context, p *parser) (string, error) {
		t, err := m.table(ctx, p.name())
		if err != nil {
			p.s = ""
			return "", err
		}
		return run(m, ctx, t, p)
	}
}

// onReader returns a command on the table that the next word names, or on the snapshot @name.
func onReader(run func(*machine, context.Context, cellstore.Reader, *parser) (string, error)) execution {
	return func(m *machine, ctx context.Context, p *parser) (string, error) {
		if p.more() && p.accept("@") {
			return run(m, ctx, m.snapshot(p, p.word()), p)
		}
		return onTable(func(m *machine, ctx context.Context, t cellstore.Table, p *parser) (string, error) {
			return run(m, ctx, t, p)
		})(m, ctx, p)
	}
}

func (m *machine) snapshot(p *parser, name string) cellstore.Snapshot {
	if m.snaps[name] == nil {
		p.fail("no snapshot %s", name)
	}
	return m.snaps[name]
}

func (m *machine) schema(_ context.Context, t cellstore.Table, _ *parser) (string, error) {
	var fams []string
	for _, f := range t.Schema().Families {
		fams = append(fams, formatFamily(&f)+"}")
	}
	slices.Sort(fams)
	return strings.Join(fams, " "), nil
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

// batch applies ROW OP … ; ROW OP …. A put is a batch of a single row.
func (m *machine) batch(ctx context.Context, t cellstore.Table, p *parser) (string, error) {
	mutations := m.whole(p.mutation(p.row()))
	for p.accept(";") {
		mutations = append(mutations, m.whole(p.mutation(p.row()))...)
	}
	return "", t.Apply(ctx, mutations...)
}

func (m *machine) check(ctx context.Context, t cellstore.Table, p *parser) (string, error) {
	key := p.row()
	check := p.check()
	p.more()
	p.expect(";")
	applied, err := t.CheckAndMutate(ctx, check, p.mutation(key))
	if applied {
		return "applied", err
	}
	return "refused", err
}

func (m *machine) increment(ctx context.Context, t cellstore.Table, p *parser) (string, error) {
	inc := cellstore.Increment{Row: p.row()}
	for p.more() && !p.async(&inc.Durability) {
		var d cellstore.Delta
		d.Family, d.Qualifier = p.column()
		p.expect("=")
		d.By = p.int()
		inc.Deltas = append(inc.Deltas, d)
	}
	values, err := t.Increment(ctx, inc, nil)
	return strings.Trim(fmt.Sprint(values), "[]"), err
}

func (m *machine) append(ctx context.Context, t cellstore.Table, p *parser) (string, error) {
	key := p.row()
	p.more()
	family, qualifier := p.column()
	p.expect("=")
	value := p.bytes()
	d := cellstore.Sync
	p.async(&d)
	whole, err := t.Append(ctx, key, family, qualifier, value, d)
	return quoteValue(whole), err
}

// bulk loads ROW f:q@5=v … ; ROW … and commits, or aborts after "; abort".
func (m *machine) bulk(ctx context.Context, t cellstore.Table, p *parser) (string, error) {
	rows := []cellstore.Mutation{p.mutation(p.row())}
	abort := false
	for !abort && p.accept(";") {
		if abort = p.more() && p.accept("abort"); !abort {
			rows = append(rows, p.mutation(p.row()))
		}
	}
	l, err := t.Bulk(ctx)
	if err != nil {
		return "", err
	}
	defer l.Abort()
	for _, row := range rows {
		for _, op := range row.Ops {
			if err := l.Add(row.Row, cellstore.Cell{
				Family:    op.Family,
				Qualifier: op.Qualifier,
				Timestamp: op.Timestamp,
				Value:     op.Value,
			}); err != nil {
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

// errorName returns the printed form of an error: for a batch, index by index.
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
