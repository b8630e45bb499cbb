package build

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"quadrille/cellstore"
	"quadrille/quadkey"
	"quadrille/tiles/internal/cells"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
)

// A subtree with fewer edges than taskWeight is one task. The limit is so small that the rows of
// all tasks in flight take only tens of megabytes. It is so large that handing over tasks costs
// almost nothing.
const taskWeight = 2048

// tasksAhead bounds, per worker, the finished or running tasks that wait for the writer. It thereby
// bounds the memory of their rows.
const tasksAhead = 8

type task struct {
	node   node
	tile   quadkey.Tile // of the node
	deep   bool         // the whole subtree, not only the node's own row
	weight int
	done   chan *rows
}

// writeTiles walks the quadtree in parallel and loads the rows in order.
func (b *build) writeTiles(ctx context.Context, store cellstore.Store) (int64, error) {
	table, err := store.Table(ctx, layout.TableBounds)
	if err != nil {
		return 0, err
	}
	bulk, err := table.Bulk(ctx)
	if err != nil {
		return 0, err
	}
	defer bulk.Abort()
	root, err := b.root(ctx)
	if err != nil {
		return 0, err
	}
	b.progress.begin("building tiles", int64(root.weight()), "edges")

	g, gctx := errgroup.WithContext(ctx)
	order := make(chan *task, tasksAhead*b.opts.Workers) // to the writer
	work := make(chan *task)                             // to the walkers
	var spare sync.Pool                                  // *rows that are free for reuse
	g.Go(func() error {
		defer close(order)
		defer close(work)
		p := planner{ctx: gctx, order: order, work: work}
		p.walker.b = b
		return p.plan(&root)
	})
	for range b.opts.Workers {
		g.Go(func() error {
			b.walkTasks(work, &spare)
			return nil
		})
	}
	var bytes int64
	g.Go(func() (err error) {
		bytes, err = b.loadTasks(gctx, bulk, order, &spare)
		return err
	})
	if err := g.Wait(); err != nil {
		return 0, err
	}
	// The remaining labels end with those of the whole world's tile.
	world := quadkey.Tile{}.Key()
	labels, err := b.labelsUpTo(bulk, world)
	if err != nil {
		return 0, err
	}
	if err := addCells(bulk, world, labels); err != nil {
		return 0, err
	}
	if err := b.writeCaps(bulk); err != nil {
		return 0, err
	}
	return bytes, bulk.Commit(ctx)
}

// walkTasks computes the rows of tasks until work is closed.
func (b *build) walkTasks(work <-chan *task, spare *sync.Pool) {
	w := &walker{b: b, cells: newCellWriter(b)}
	for t := range work {
		if w.rows, _ = spare.Get().(*rows); w.rows == nil {
			w.rows = new(rows)
		}
		if t.deep {
			w.subtree(&t.node)
		} else {
			w.own(&t.node)
		}
		if t.tile.Z > cells.Zoom {
			w.cells.handOver(w.rows)
		}
		t.node = node{}
		t.done <- w.rows
	}
}

// loadTasks loads the rows of tasks in order and returns the bytes of their values.
func (b *build) loadTasks(ctx context.Context, bulk cellstore.BulkLoader, order <-chan *task, spare *sync.Pool) (bytes int64, err error) {
	answers := newCellWriter(b)
	for t := range order {
		select {
		case r := <-t.done:
			answers.join(r, t)
			n, err := b.load(bulk, r)
			if err != nil {
				return 0, err
			}
			bytes += n
			r.reset()
			spare.Put(r)
		case <-ctx.Done():
			return 0, ctx.Err()
		}
		b.progress.add(int64(t.weight))
	}
	return bytes, nil
}

// planner splits the quadtree into tasks, in the order of their rows.
type planner struct {
	ctx    context.Context
	walker walker
	order  chan<- *task
	work   chan<- *task
}

func (p *planner) plan(n *node) error {
	weight := n.weight()
	if weight <= taskWeight || n.tile.Z == grid.MaxZoom {
		return p.hand(&task{node: n.clone(true), deep: true, weight: weight})
	}
	mem := &p.walker.mem
	m := mem.mark()
	mixed := p.walker.unfinished(n)
	for _, t := range n.tile.Children() {
		cm := mem.mark()
		c := mem.child(&mixed, t)
		if err := p.plan(&c); err != nil {
			return err
		}
		mem.release(cm)
	}
	mem.release(m)
	return p.hand(&task{node: n.clone(false)})
}

func (p *planner) hand(t *task) error {
	t.tile, t.done = t.node.tile, make(chan *rows, 1)
	for _, ch := range [2]chan<- *task{p.order, p.work} {
		select {
		case ch <- t:
		case <-p.ctx.Done():
			return p.ctx.Err()
		}
	}
	return nil
}

// load writes rows, and the labels that sort before them or share their keys.
func (b *build) load(bulk cellstore.BulkLoader, r *rows) (int64, error) {
	var bytes int64
	next := 0
	for i := range r.keys {
		row := &r.keys[i]
		key, labels := row.part, []cellstore.Cell(nil)
		if key == nil {
			var err error
			if labels, err = b.labelsUpTo(bulk, row.key); err != nil {
				return 0, err
			}
			key = row.key[:]
		}
		for ; next < row.cells; next++ {
			c := &r.cells[next]
			for len(labels) > 0 && labels[0].Family < b.families[c.family] {
				if err := bulk.Add(key, labels[0]); err != nil {
					return 0, err
				}
				labels = labels[1:]
			}
			value := r.bytes[c.start:c.end]
			if len(value) > b.limit {
				return 0, fmt.Errorf("%w: a row of %s near tile %v takes %d bytes, the store takes %d in a value: simplify the source there, or make fewer regions overlap",
					ErrTooDetailed, b.families[c.family], tileOf(row.key), len(value), b.limit)
			}
			bytes += int64(len(value))
			err := bulk.Add(key, cellstore.Cell{
				Family: b.families[c.family], Qualifier: []byte(c.qualifier),
				Timestamp: b.opts.Timestamp, Value: value,
			})
			if err != nil {
				return 0, err
			}
		}
		if err := addCells(bulk, row.key, labels); err != nil {
			return 0, err
		}
	}
	return bytes, nil
}

// labelsUpTo writes the rows of labels and lines before a key. It returns their cells at the key
// itself.
func (b *build) labelsUpTo(bulk cellstore.BulkLoader, key quadkey.Key) ([]cellstore.Cell, error) {
	for len(b.labels) > 0 || len(b.line.cells) > 0 {
		var next quadkey.Key
		if len(b.labels) > 0 {
			next = b.labels[0].key
		}
		if len(b.line.cells) > 0 && (len(b.labels) == 0 || compareKeys(b.line.key, next) < 0) {
			next = b.line.key
		}
		if compareKeys(next, key) > 0 {
			break
		}
		var cells []cellstore.Cell
		if len(b.labels) > 0 && b.labels[0].key == next {
			cells = b.labelCells(nil, b.labels[0], &b.label)
			b.labels = b.labels[1:]
		}
		if len(b.line.cells) > 0 && b.line.key == next {
			cells = append(cells, b.line.cells...)
			slices.SortFunc(cells, func(c, d cellstore.Cell) int { return cmp.Compare(c.Family, d.Family) })
			if err := b.readLine(); err != nil {
				return nil, err
			}
		}
		if next == key {
			return cells, nil
		}
		if err := addCells(bulk, next, cells); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// tileOf returns the tile of a key, for messages.
func tileOf(key quadkey.Key) quadkey.Tile {
	t, err := quadkey.ParseKey(key[:])
	if err != nil {
		return quadkey.Tile{}
	}
	return t
}

func addCells(bulk cellstore.BulkLoader, key quadkey.Key, cells []cellstore.Cell) error {
	for _, c := range cells {
		if err := bulk.Add(key[:], c); err != nil {
			return err
		}
	}
	return nil
}
