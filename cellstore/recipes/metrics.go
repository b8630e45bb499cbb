package recipes

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"sync"

	"quadrille/cellstore"
)

// ID stands for a name: of a metric, or of the key or value of a tag.
type ID [3]byte

// Kinds of names. Each has ids of its own, counted from 1.
const (
	KindMetric   = "metrics"
	KindTagKey   = "tagk"
	KindTagValue = "tagv"
)

// IDs gives names short ids of a fixed length, once and for ever:
//
//	uid   row: name        ── id   : kind → id (3)
//	      row: id (3)      ── name : kind → name
//	      row: 0x00        ── id   : kind → counter, the last id given out
//
// Both directions are in one table, and the families keep them apart. A new
// name takes a number from the counter, writes the way back, id → name, and
// then the way there, name → id, provided that nobody else has. A crash at any
// moment leaves a number nobody will use: an id that can be met in data always
// has its name. Of creators that race for one name all take different numbers
// and exactly one wins; the others answer what the winner wrote.
//
// Counted, Block 1, every new name costs an increment. Granted by blocks, one
// increment gives Block numbers to this process, and what it has not used when
// it ends is waste. Both may be mixed, as they draw on one counter.
//
// IDs may be used by any number of goroutines.
type IDs struct {
	table cellstore.Table
	block int64

	mu    sync.Mutex
	grant map[string]grant // by kind
}

type grant struct{ next, last int64 }

func uidSchema() cellstore.Schema {
	return cellstore.Schema{Table: "uid", Families: []cellstore.Family{{Name: "id"}, {Name: "name"}}}
}

var counterRow = []byte{0}

// OpenIDs opens the table uid. Numbers are taken from its counters block at a
// time; less than 1 means 1.
func OpenIDs(ctx context.Context, s cellstore.Store, block int64) (*IDs, error) {
	t, err := s.Table(ctx, "uid")
	return &IDs{table: t, block: max(block, 1), grant: map[string]grant{}}, err
}

// Lookup returns the id of a name, and whether it has one.
func (u *IDs) Lookup(ctx context.Context, kind, name string) (ID, bool, error) {
	var row cellstore.Row
	sel := &cellstore.Selection{Columns: []cellstore.Column{{Family: "id", Qualifier: []byte(kind)}}}
	if found, err := u.table.Get(ctx, []byte(name), sel, &row); !found || err != nil {
		return ID{}, false, err
	}
	if len(row.Cells[0].Value) != len(ID{}) {
		return ID{}, false, fmt.Errorf("%w: id of %s %q has %d bytes", cellstore.ErrCorrupt, kind, name, len(row.Cells[0].Value))
	}
	return ID(row.Cells[0].Value), true, nil
}

// Name returns the name of an id, and whether it has one.
func (u *IDs) Name(ctx context.Context, kind string, id ID) (string, bool, error) {
	var row cellstore.Row
	sel := &cellstore.Selection{Columns: []cellstore.Column{{Family: "name", Qualifier: []byte(kind)}}}
	if found, err := u.table.Get(ctx, id[:], sel, &row); !found || err != nil {
		return "", false, err
	}
	return string(row.Cells[0].Value), true, nil
}

// Create returns the id of a name, which it gives it when it has none. It may
// be repeated after a failure. A name is refused that is the counter's row.
func (u *IDs) Create(ctx context.Context, kind, name string) (ID, error) {
	if bytes.Equal([]byte(name), counterRow) {
		return ID{}, fmt.Errorf("name %q is the row of the counters: choose another", name)
	}
	if id, found, err := u.Lookup(ctx, kind, name); found || err != nil {
		return id, err
	}
	id, err := u.take(ctx, kind)
	if err != nil {
		return ID{}, err
	}
	column := []byte(kind)
	if err := u.table.Apply(ctx, cellstore.Mutation{
		Row: id[:],
		Ops: []cellstore.Op{cellstore.Put("name", column, []byte(name))},
	}); err != nil {
		return ID{}, err
	}
	won, err := u.table.CheckAndMutate(ctx,
		cellstore.Check{Family: "id", Qualifier: column, Op: cellstore.Absent},
		cellstore.Mutation{Row: []byte(name), Ops: []cellstore.Op{cellstore.Put("id", column, id[:])}})
	if won || err != nil {
		return id, err
	}
	id, _, err = u.Lookup(ctx, kind, name)
	return id, err
}

// take returns a number nobody else gets.
func (u *IDs) take(ctx context.Context, kind string) (ID, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	g := u.grant[kind]
	if g.next == g.last {
		n, err := u.table.Increment(ctx, cellstore.Increment{
			Row:    counterRow,
			Deltas: []cellstore.Delta{{Family: "id", Qualifier: []byte(kind), By: u.block}},
		}, nil)
		if err != nil {
			return ID{}, err
		}
		g = grant{next: n[0] - u.block, last: n[0]}
	}
	g.next++
	if g.next >= 1<<24 {
		return ID{}, fmt.Errorf("kind %s has given out all ids of %d bytes: widen ID", kind, len(ID{}))
	}
	u.grant[kind] = g
	return ID{byte(g.next >> 16), byte(g.next >> 8), byte(g.next)}, nil
}

// Suggest returns up to n names of a kind that begin with a prefix, sorted.
// Column id:kind is all that is read: ways back, counters aside, and names of
// other kinds are not there to be seen.
func (u *IDs) Suggest(ctx context.Context, kind, prefix string, n int) ([]string, error) {
	if n < 1 {
		return nil, nil
	}
	var out []string
	rest := cellstore.Prefix([]byte(prefix))
	if prefix == "" || prefix == string(counterRow) {
		rest.From = []byte{0, 0} // after the counters
	}
	for row, err := range u.table.Scan(ctx, cellstore.Scan{
		Ranges:    []cellstore.Range{rest},
		Selection: cellstore.Selection{Columns: []cellstore.Column{{Family: "id", Qualifier: []byte(kind)}}},
		Limit:     n,
	}) {
		if err != nil {
			return nil, err
		}
		out = append(out, string(row.Key))
	}
	return out, nil
}

func metricRecipes() []Recipe {
	return []Recipe{
		{Name: "metric ids", Schemas: []cellstore.Schema{uidSchema()}, Check: checkIDs},
		{Name: "time series", Schemas: []cellstore.Schema{{Table: "tsdb", Families: []cellstore.Family{{Name: "t"}}}}, Check: checkSeries},
	}
}

func checkIDs(ctx context.Context, s cellstore.Store, _ *Clock) error {
	counted, err := OpenIDs(ctx, s, 1)
	if err != nil {
		return err
	}
	granted, err := OpenIDs(ctx, s, 10)
	if err != nil {
		return err
	}
	// Counted: 1. A block of ten: 2 to 11. Counted again: 12.
	for _, step := range []struct {
		ids        *IDs
		kind, name string
		want       ID
	}{
		{counted, KindMetric, "mysql.bytes_sent", ID{0, 0, 1}},
		{granted, KindMetric, "mysql.uptime", ID{0, 0, 2}},
		{counted, KindMetric, "mysql.slow", ID{0, 0, 12}},
		{granted, KindMetric, "mz.first", ID{0, 0, 3}},
		{granted, KindMetric, "mysql.slow", ID{0, 0, 12}}, // is there
		{counted, KindTagKey, "my.host", ID{0, 0, 1}},     // kinds count for themselves
		{counted, KindTagKey, "mysql.slow", ID{0, 0, 2}},
	} {
		id, err := step.ids.Create(ctx, step.kind, step.name)
		if err != nil {
			return err
		}
		if err := expect("id of "+step.kind+" "+step.name, id, step.want); err != nil {
			return err
		}
		name, _, err := counted.Name(ctx, step.kind, id)
		if err != nil {
			return err
		}
		if err := expect("name of the id", name, step.name); err != nil {
			return err
		}
	}
	for _, q := range []struct {
		kind, prefix string
		n            int
		want         []string
	}{
		{KindMetric, "my", 25, []string{"mysql.bytes_sent", "mysql.slow", "mysql.uptime"}},
		{KindMetric, "mysql.", 2, []string{"mysql.bytes_sent", "mysql.slow"}},
		{KindTagKey, "", 25, []string{"my.host", "mysql.slow"}},
		{KindTagKey, "\x00", 25, nil},
		{KindTagValue, "my", 25, nil},
	} {
		names, err := counted.Suggest(ctx, q.kind, q.prefix, q.n)
		if err != nil {
			return err
		}
		if err := expect("suggestions for "+q.kind+" "+q.prefix, names, q.want); err != nil {
			return err
		}
	}
	return checkRacing(ctx, counted, granted)
}

// checkRacing creates names from many goroutines at once: each name ends with
// one id, and no id has two names.
func checkRacing(ctx context.Context, creators ...*IDs) error {
	const workers, names = 8, 4
	var got [workers][names]ID
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for n := range names {
				if errs[w] == nil {
					got[w][n], errs[w] = creators[w%len(creators)].Create(ctx, KindTagValue, fmt.Sprint("host", n))
				}
			}
		})
	}
	wg.Wait()
	seen := map[ID]bool{}
	for w := range workers {
		if errs[w] != nil {
			return errs[w]
		}
		if got[w] != got[0] {
			return fmt.Errorf("racing creators answer %v and %v", got[w], got[0])
		}
	}
	for n, id := range got[0] {
		name, _, err := creators[0].Name(ctx, KindTagValue, id)
		if err != nil {
			return err
		}
		if seen[id] || name != fmt.Sprint("host", n) || binary.BigEndian.Uint16(id[1:]) == 0 {
			return fmt.Errorf("id %x of host%d is not its own: its name is %q", id, n, name)
		}
		seen[id] = true
	}
	return nil
}
