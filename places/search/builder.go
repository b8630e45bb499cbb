package search

import (
	"context"
	"errors"
	"fmt"

	"quadrille/cellstore"
	"quadrille/internal/extsort"
	"quadrille/internal/jsontext"
	"quadrille/places/internal/bulkload"
)

// Options are the options of [NewBuilder].
type Options struct {
	// TempDir is the directory for sorting names that do not fit in memory. It needs about 300
	// bytes per place. Empty means the system's.
	TempDir string
	// Memory bounds the bytes of memory for sorting. 0 means 256 MiB, and less
	// than 16 MiB counts as 16 MiB. The builder needs another 12 bytes for each
	// place in a finished answer.
	Memory int64
	// Lookup appends the JSON members of a place's object, without braces, and
	// is required. Finish calls it from its own goroutine for added places,
	// once each and with ascending ids.
	Lookup func(id uint32, dst []byte) ([]byte, error)
	// ContextName has names of countries and first-level divisions.
	ContextNames []ContextName
	// Progress, if set, is called at intervals, and at the end of each stage, from the goroutine
	// that runs Finish.
	Progress func(stage string, done, total int64)
	// Timestamp, if set, is called once by Finish and returns the timestamp of
	// all cells in milliseconds. The default is 0.
	Timestamp func() int64
}

const (
	defaultMemory = 256 << 20
	minMemory     = 16 << 20
	progressEvery = 8192
)

// Meta describes built tables. Store it as JSON in the manifest of the data
// set; [Open] needs it.
type Meta struct {
	SchemaVersion int   `json:"schema_version"`
	Places        int64 `json:"places"`
	Names         int64 `json:"names"`    // rows of place_names
	Prefixes      int64 `json:"prefixes"` // finished answers
	Contexts      int64 `json:"contexts,omitempty"`
	// FoldBytes is the size of place_folds. It is 0 if the names have too many folds.
	FoldBytes int64 `json:"fold_bytes,omitempty"`
	// Skipped counts names left out because they exceed the limits or are not
	// UTF-8.
	Skipped int64 `json:"skipped,omitempty"`
}

// Builder writes the tables of the package documentation into a store that has
// none of them. It belongs to one goroutine. Always close it. Discard the store
// after a failed build.
type Builder struct {
	ctx   context.Context
	store cellstore.Store
	opts  Options
	meta  Meta
	sizes sizes
	last  uint32
	maker rowMaker
	names *extsort.ByteSorter
	nodes *extsort.Sorter
	found *members
}

// NewBuilder creates the tables.
func NewBuilder(ctx context.Context, store cellstore.Store, opts Options) (*Builder, error) {
	if opts.Lookup == nil {
		return nil, errors.New("places/search: Options.Lookup is required: finished answers hold what it returns")
	}
	for _, s := range schemas() {
		if err := store.CreateTable(ctx, s); err != nil {
			return nil, wrap(err)
		}
	}
	if opts.Memory == 0 {
		opts.Memory = defaultMemory
	}
	opts.Memory = max(opts.Memory, minMemory)
	return &Builder{
		ctx: ctx, store: store, opts: opts, sizes: usual,
		names: extsort.NewBytes(opts.TempDir, opts.Memory/2),
		nodes: extsort.New(opts.TempDir, opts.Memory/4),
		found: newMembers(opts.TempDir, opts.Memory/4),
	}, nil
}

func wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("places/search: %w", err)
}

// Add adds a place. Ids must ascend. The entry may be reused afterwards. Names over the limits are
// left out and counted in Meta.
func (b *Builder) Add(e *Entry) error {
	if err := e.check(); err != nil {
		return wrap(err)
	}
	if e.ID <= b.last {
		return wrap(fmt.Errorf("%w: place %d after %d: ids must ascend", ErrInvalidEntry, e.ID, b.last))
	}
	b.last = e.ID
	if b.meta.Places++; b.meta.Places%progressEvery == 0 && b.ctx.Err() != nil {
		return wrap(b.ctx.Err())
	}
	return wrap(b.maker.make(e, b.names.Add))
}

// Finish writes the tables. Call it once; nothing can be added afterwards.
func (b *Builder) Finish() (Meta, error) {
	b.meta.SchemaVersion = SchemaVersion
	b.meta.Skipped = b.maker.skipped
	var ts int64
	if b.opts.Timestamp != nil {
		ts = b.opts.Timestamp()
	}
	for _, step := range []func(int64) error{b.writeNames, b.writePrefixes, b.writeContext} {
		if err := step(ts); err != nil {
			return Meta{}, wrap(err)
		}
	}
	return b.meta, nil
}

// Close removes the temporary files. A second Close has no effect.
func (b *Builder) Close() error {
	return wrap(errors.Join(b.names.Close(), b.nodes.Close(), b.found.close()))
}

// step reports progress, and returns the error of the context if it has ended.
func (b *Builder) step(stage string, done, total int64) error {
	if done%progressEvery != 0 {
		return nil
	}
	if b.opts.Progress != nil {
		b.opts.Progress(stage, done, total)
	}
	return b.ctx.Err()
}

func (b *Builder) end(stage string, done int64) error {
	if b.opts.Progress != nil {
		b.opts.Progress(stage, done, done)
	}
	return b.ctx.Err()
}

// writeNames writes place_names and gathers the nodes of place_prefix from its
// rows.
func (b *Builder) writeNames(ts int64) error {
	const stage = "writing names"
	load, err := bulkload.New(b.ctx, b.store, tableNames)
	if err != nil {
		return err
	}
	defer load.Abort()
	tree := newTree(b.sizes, func(order uint64, n *finishedNode) error {
		for i := range n.top {
			b.found.want(n.top[i].id)
		}
		return b.nodes.Add(order, n.encoded)
	})
	folds := foldWriter{limit: b.sizes.folds}
	total := b.names.Added()
	err = b.names.Each(func(key, value []byte) error {
		if err := load.Add(key, cellstore.Cell{Family: famName, Timestamp: ts, Value: value}); err != nil {
			return err
		}
		fold, base, id, ok := parseNameKey(key)
		if !ok {
			return errors.New("temporary file is damaged")
		}
		if err := tree.add(fold, candidate{base: base, id: id, value: value}); err != nil {
			return err
		}
		folds.add(fold)
		b.meta.Names++
		return b.step(stage, b.meta.Names, total)
	})
	if err != nil {
		return err
	}
	if err := tree.finish(); err != nil {
		return err
	}
	if err := b.names.Close(); err != nil {
		return err
	}
	if err := load.Commit(); err != nil {
		return err
	}
	if err := folds.write(b.ctx, b.store, ts); err != nil {
		return err
	}
	b.meta.FoldBytes = int64(len(folds.text))
	return b.end(stage, b.meta.Names)
}

// writePrefixes writes place_prefix. The nodes were finished in another order, children first, and
// the sort puts them into the order of rows.
func (b *Builder) writePrefixes(ts int64) error {
	const stage = "writing answers"
	b.found.memory += b.opts.Memory / 2 // of the names, which are written
	err := b.found.gather(b.opts.Lookup, func(done, total int64) error { return b.step("gathering answers", done, total) })
	if err != nil {
		return err
	}
	load, err := bulkload.New(b.ctx, b.store, tablePrefix)
	if err != nil {
		return err
	}
	defer load.Abort()
	var answer []byte
	var done int64
	total := b.nodes.Added()
	err = b.nodes.Each(func(_ uint64, record []byte) error {
		n, err := decodeNode(record)
		if err != nil {
			return err
		}
		if len(n.top) > 0 {
			if answer, err = b.answer(answer[:0], n); err != nil {
				return err
			}
			b.meta.Prefixes++
		} else {
			answer = answer[:0]
		}
		for _, c := range []cellstore.Cell{
			{Family: famCandidates, Value: n.lists[0]}, {Family: famJSON, Value: answer}, {Family: famOthers, Value: n.lists[1]},
		} {
			if len(c.Value) == 0 {
				continue
			}
			c.Timestamp = ts
			if err := load.Add(n.prefix, c); err != nil {
				return err
			}
		}
		done++
		return b.step(stage, done, total)
	})
	if err != nil {
		return err
	}
	if err := errors.Join(b.nodes.Close(), b.found.close()); err != nil {
		return err
	}
	if err := load.Commit(); err != nil {
		return err
	}
	return b.end(stage, done)
}

// answer appends the finished answer of a prefix.
func (b *Builder) answer(dst []byte, n storedNode) ([]byte, error) {
	dst = append(dst, `{"places":[`...)
	for i := range n.top {
		c := &n.top[i]
		r, ok := parseRecord(c.value)
		if !ok {
			return nil, errors.New("temporary file is damaged")
		}
		var err error
		if dst, err = b.found.append(append(jsontext.Next(dst), '{'), c.id); err != nil {
			return nil, err
		}
		kind := Prefix
		if c.exact {
			kind = Exact
		}
		m := r.match(len(n.prefix), kind)
		dst = append(AppendMatch(append(dst, ','), &m), '}')
	}
	return append(dst, "]}"...), nil
}
