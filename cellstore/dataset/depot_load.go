package dataset

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"quadrille/cellstore"
)

const (
	// batchBytes is the approximate size of a call. A larger row is sent in several mutations.
	batchBytes = 1 << 20
	// noteEvery is the number of batches after which a part's progress is recorded again.
	noteEvery = 8
)

// partRecord is the progress of loading a part.
type partRecord struct {
	Load string `json:"load"`           // the token of the load
	Last []byte `json:"last,omitempty"` // the last key loaded
	Done bool   `json:"done,omitempty"`
}

func partColumn(table string, part int) []byte { return fmt.Appendf(nil, "part/%s/%04d", table, part) }

// part is one range of a table to be loaded.
type part struct {
	table    string
	number   int
	from, to []byte
	record   partRecord
}

// load creates the tables and copies the parts that are not loaded yet.
func (p *push) load(ctx context.Context, store cellstore.Store, load *loadRecord) error {
	for _, t := range load.Tables {
		if err := p.createTable(ctx, store, t); err != nil {
			return fmt.Errorf("table %s: %w", t.Name, err)
		}
	}
	parts, err := p.parts(ctx, load)
	if err != nil {
		return err
	}
	p.meter.stage("loading", p.o.Progress)
	p.meter.parts(len(parts))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(p.o.Workers)
	for _, pt := range parts {
		if pt.record.Done {
			p.meter.partDone()
			continue
		}
		g.Go(func() error {
			if err := p.loadPart(ctx, store, pt); err != nil {
				return fmt.Errorf("table %s: %w", pt.table, err)
			}
			p.meter.partDone()
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return p.d.step("loaded")
}

// createTable creates a table of the generation. The table may exist already, if an interrupted
// push is resumed.
func (p *push) createTable(ctx context.Context, store cellstore.Store, lt loadTable) error {
	local, err := p.g.Store.Table(ctx, lt.Name)
	if err != nil {
		return err
	}
	schema := local.Schema()
	err = p.d.patiently(ctx, func() error {
		if s, ok := store.(splitter); ok {
			err = s.CreateSplitTable(ctx, schema, lt.Starts[1:])
		} else {
			err = store.CreateTable(ctx, schema)
		}
		if errors.Is(err, cellstore.ErrTableExists) {
			err = nil
		}
		return err
	})
	if err != nil {
		return err
	}
	return p.d.step("table made")
}

// parts returns the parts of all tables with their recorded progress.
func (p *push) parts(ctx context.Context, load *loadRecord) ([]part, error) {
	var row cellstore.Row
	key := []byte(generationRow(p.dataset, p.generation))
	err := p.d.patiently(ctx, func() error {
		_, err := p.t.Get(ctx, key, &cellstore.Selection{Families: []string{familyManifest}}, &row)
		return err
	})
	if err != nil {
		return nil, err
	}
	var parts []part
	for _, t := range load.Tables {
		for i, from := range t.Starts {
			pt := part{table: t.Name, number: i, from: from}
			if i+1 < len(t.Starts) {
				pt.to = t.Starts[i+1]
			}
			if b, ok := row.Value(familyManifest, partColumn(t.Name, i)); ok {
				if err := json.Unmarshal(b, &pt.record); err != nil || pt.record.Load != load.Token {
					pt.record = partRecord{} // it is loaded again
				}
			}
			pt.record.Load = load.Token
			parts = append(parts, pt)
		}
	}
	// The parts of all tables alternate, so that the workers do not all load the same region.
	slices.SortStableFunc(parts, func(a, b part) int { return a.number - b.number })
	return parts, nil
}

// loadPart copies the rows of a part that are not loaded yet.
func (p *push) loadPart(ctx context.Context, store cellstore.Store, pt part) error {
	local, err := p.g.Store.Table(ctx, pt.table)
	if err != nil {
		return err
	}
	remote, err := store.Table(ctx, pt.table)
	if err != nil {
		return err
	}
	c := copier{p: p, to: remote, part: pt, limits: store.Limits(), oneTime: !store.Capabilities().CellTimestamps}
	from := pt.from
	if len(pt.record.Last) > 0 {
		from = append(bytes.Clone(pt.record.Last), 0)
	}
	scan := cellstore.Scan{Ranges: []cellstore.Range{{From: from, To: pt.to}}, Selection: cellstore.Selection{Versions: cellstore.Unlimited}}
	for row, err := range local.Scan(ctx, scan) {
		if err != nil {
			return fmt.Errorf("read the local generation: %w", err)
		}
		if err := c.add(ctx, row); err != nil {
			return err
		}
	}
	if err := c.send(ctx); err != nil {
		return err
	}
	c.part.record.Done = true
	return c.note(ctx)
}

// copier sends rows in batches.
type copier struct {
	p       *push
	to      cellstore.Table
	part    part
	limits  cellstore.Limits
	oneTime bool // a mutation has one timestamp

	batch   []cellstore.Mutation
	rows    int64
	size    int
	unnoted int // batches
}

func (c *copier) add(ctx context.Context, row *cellstore.Row) error {
	own := row.Clone()
	for i := range own.Cells {
		if n := len(own.Cells[i].Value); n > c.limits.ValueBytes {
			cell := &own.Cells[i]
			return fmt.Errorf("row %.80q, column %s:%.80q: %w", own.Key, cell.Family, cell.Qualifier,
				&cellstore.LimitError{What: "value", Got: n, Max: c.limits.ValueBytes})
		}
	}
	c.size += c.mutations(own)
	c.rows++
	c.part.record.Last = own.Key
	if c.size < batchBytes {
		return nil
	}
	return c.send(ctx)
}

// mutations adds the mutations that write a row to the batch, and returns their size. A row is one
// mutation. If a mutation can have only one timestamp, the row is one mutation for each timestamp,
// oldest first. A row that is too large becomes several mutations: the row has no readers before
// all of them are written.
func (c *copier) mutations(row *cellstore.Row) (size int) {
	times := []int64{row.Cells[0].Timestamp}
	if c.oneTime {
		for i := range row.Cells[1:] {
			if ts := row.Cells[i+1].Timestamp; !slices.Contains(times[max(0, len(times)-1):], ts) {
				times = append(times, ts)
			}
		}
		slices.Sort(times)
		times = slices.Compact(times)
	}
	for _, ts := range times {
		m, n := cellstore.Mutation{Row: row.Key}, len(row.Key)
		for i := range row.Cells {
			cell := &row.Cells[i]
			if c.oneTime && cell.Timestamp != ts {
				continue
			}
			if len(m.Ops) > 0 && (len(m.Ops) == c.limits.Operations || n >= batchBytes) {
				c.batch, size = append(c.batch, m), size+n
				m, n = cellstore.Mutation{Row: row.Key}, len(row.Key)
			}
			m.Ops = append(m.Ops, cellstore.PutAt(cell.Family, cell.Qualifier, cell.Timestamp, cell.Value))
			n += len(cell.Family) + len(cell.Qualifier) + len(cell.Value) + 16
		}
		c.batch, size = append(c.batch, m), size+n
	}
	return size
}

func (c *copier) send(ctx context.Context) error {
	if len(c.batch) == 0 {
		return nil
	}
	// Every cell has its timestamp, so sending a batch twice writes it once.
	if err := c.p.d.patiently(ctx, func() error { return c.to.Apply(ctx, c.batch...) }); err != nil {
		return err
	}
	c.p.meter.add(c.rows, int64(c.size))
	c.batch, c.rows, c.size = nil, 0, 0
	if err := c.p.d.step("batch sent"); err != nil {
		return err
	}
	if c.unnoted++; c.unnoted < noteEvery {
		return nil
	}
	return c.note(ctx)
}

// note stores the part's progress.
func (c *copier) note(ctx context.Context) error {
	c.unnoted = 0
	b, err := json.Marshal(c.part.record)
	if err != nil {
		return err
	}
	if err := c.p.note(ctx, partColumn(c.part.table, c.part.number), b); err != nil {
		return err
	}
	return c.p.d.step("part noted")
}

// meter counts the work of a push and reports it from time to time.
type meter struct {
	mu          sync.Mutex
	tell        func(PushProgress)
	now         PushProgress
	told        time.Time
	rows, bytes int64 // loaded
}

// tellEvery is the interval of progress reports.
const tellEvery = 500 * time.Millisecond

func (m *meter) stage(name string, tell func(PushProgress)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tell, m.told = tell, time.Time{}
	m.now = PushProgress{Stage: name, Parts: m.now.Parts, Done: m.now.Done}
	m.report()
}

func (m *meter) parts(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now.Parts = n
}

func (m *meter) partDone() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now.Done++
	m.report()
}

func (m *meter) add(rows, bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now.Bytes += bytes
	if m.now.Stage == "loading" {
		m.rows += rows
		m.bytes += bytes
	}
	m.report()
}

// report calls tell unless the last call was less than tellEvery ago. The caller holds the lock.
func (m *meter) report() {
	if m.tell == nil || time.Since(m.told) < tellEvery {
		return
	}
	m.told = time.Now()
	m.tell(m.now)
}

func (m *meter) total() (rows, bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rows, m.bytes
}
