package dataset

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"quadrille/cellstore"
)

// PushOptions say how a generation is pushed. The zero value has useful defaults.
type PushOptions struct {
	// Workers is the number of parts that are loaded at once, and also the number that the check
	// reads at once. The default is 4.
	Workers int
	// NoCheck skips reading everything back and comparing it.
	NoCheck bool
	// OnlyNew makes the push do nothing if the generation has been pushed before, even if another
	// is published now.
	OnlyNew bool
	// Progress, unless nil, is called about twice a second, one call at a time.
	Progress func(PushProgress)

	// partBytes is the approximate number of bytes of the generation's files per part. Tests use
	// small parts.
	partBytes int64
}

// maxParts is the greatest number of parts of a table.
const maxParts = 32

// PushProgress is the progress of a push.
type PushProgress struct {
	Stage       string // "loading", "copying files", "checking"
	Parts, Done int    // the parts of all tables, and how many are loaded
	Bytes       int64  // loaded, or read by the check, in this stage, without the work of an interrupted push
	Total       int64  // bytes of the stage; 0 where that is not known
}

// PushResult is the result of a push.
type PushResult struct {
	Manifest Manifest // of the published generation in the Depot
	// AlreadyThere is set if the Depot already had the generation, so that nothing was loaded.
	AlreadyThere bool
	Resumed      bool  // a push that had been interrupted was finished
	Rows, Bytes  int64 // loaded by this push
	Took         time.Duration
}

// owner returns a name of this program for others that find the data set locked.
func owner() string {
	host, err := os.Hostname()
	if err != nil {
		host = "a machine without name"
	}
	return fmt.Sprintf("process %d on %s", os.Getpid(), host)
}

func (o PushOptions) withDefaults() PushOptions {
	if o.Workers < 1 {
		o.Workers = 4
	}
	if o.partBytes < 1 {
		o.partBytes = 32 << 20
	}
	return o
}

// splitter is a store that creates a table with several regions, so that
// several servers load it from the start.
type splitter interface {
	CreateSplitTable(ctx context.Context, schema cellstore.Schema, splits [][]byte) error
}

// loadRecord is the plan of a push. Another push can resume from it.
type loadRecord struct {
	Origin string      `json:"origin"`
	Token  string      `json:"token"` // unique; see partRecord
	Tables []loadTable `json:"tables"`
}

type loadTable struct {
	Name string `json:"name"`
	// Starts are the first keys of the table's parts. The first one is empty.
	Starts [][]byte `json:"starts"`
}

// push is the state of a running push.
type push struct {
	d          *Depot
	o          PushOptions
	g          *Generation
	t          cellstore.Table
	lease      *lease
	dataset    string
	generation uint64
	origin     string
	begun      time.Time
	meter      meter
}

// Push copies a generation of a Catalog into the Depot and publishes it there. The generation stays
// open, and the caller still has to close it.
//
// It is loaded in parts, several at a time. If a push is interrupted, even by kill -9, the next
// push of the same generation resumes it; a push of another generation removes its remains. All
// cells are read back and compared before the manifest is written, and the manifest is written
// before the pointer. So readers see all of a generation or nothing of it. A generation that the
// Depot already has is published again without loading.
//
// Push returns ErrBuilding if another program pushes the same data set. It retries a call without
// an answer for minutes. A value larger than the store's limits ends it with cellstore.ErrTooLarge.
func (d *Depot) Push(ctx context.Context, g *Generation, o PushOptions) (_ PushResult, err error) {
	p := &push{d: d, o: o.withDefaults(), g: g, dataset: g.Manifest.Dataset, begun: time.Now()}
	if p.origin = g.entry.Manifest; p.origin == "" || g.Manifest.Origin != "" {
		return PushResult{}, errors.New("only a generation of a catalogue can be pushed: open it there")
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("push generation %d of %s to %s: %w", g.Manifest.Generation, p.dataset, d.opts.Name, err)
		}
	}()
	if p.t, err = d.create(ctx); err != nil {
		return PushResult{}, err
	}
	if p.o.OnlyNew {
		// This check comes before the lease, so that it does not hinder other programs.
		if m, ok, err := p.present(ctx); ok || err != nil {
			return PushResult{Manifest: m, AlreadyThere: true}, err
		}
	}
	outer := ctx
	ctx, p.lease, err = d.lease(ctx, p.t, p.dataset, owner())
	if err != nil {
		return PushResult{}, err
	}
	defer func() {
		if errors.Is(context.Cause(ctx), errLeaseLost) && outer.Err() == nil {
			err = errLeaseLost
		}
		p.lease.release(outer)
	}()
	if err := d.step("leased"); err != nil {
		return PushResult{}, err
	}
	return p.run(ctx)
}

func (p *push) run(ctx context.Context) (PushResult, error) {
	if m, ok, err := p.present(ctx); err != nil {
		return PushResult{}, err
	} else if ok {
		if !p.o.OnlyNew {
			m, err = p.d.Activate(ctx, p.dataset, m.Generation)
		}
		return PushResult{Manifest: m, AlreadyThere: true, Took: time.Since(p.begun)}, err
	}
	record, resumed, err := p.prepare(ctx)
	if err != nil {
		return PushResult{}, err
	}
	store, err := p.d.opts.Open(ctx, tablePrefix(p.dataset, p.generation))
	if err != nil {
		return PushResult{}, err
	}
	defer closeRead(store)
	if !resumed {
		// A push that seemed dead may have made tables meanwhile.
		if err := p.d.dropTables(ctx, store); err != nil {
			return PushResult{}, err
		}
	}
	if err := p.load(ctx, store, record); err != nil {
		return PushResult{}, err
	}
	done := PushResult{Resumed: resumed}
	done.Rows, done.Bytes = p.meter.total()
	m := p.g.Manifest
	m.Generation, m.Origin, m.Files, m.Tables = p.generation, p.origin, nil, nil
	if m.Files, err = p.copyFiles(ctx); err != nil {
		return PushResult{}, err
	}
	if m.Tables, err = p.check(ctx, store, record); err != nil {
		return PushResult{}, err
	}
	if err := p.publish(ctx, &m); err != nil { // and sets Digest
		return PushResult{}, err
	}
	done.Manifest, done.Took = m, time.Since(p.begun)
	return done, nil
}

// present finds the generation to push among the listed ones.
func (p *push) present(ctx context.Context) (Manifest, bool, error) {
	ptr, err := p.d.pointer(ctx, p.dataset)
	if ptr == nil || err != nil {
		return Manifest{}, false, err
	}
	for _, e := range slices.Backward(ptr.Generations) {
		m, err := p.d.manifest(ctx, p.dataset, e)
		if err == nil && m.Origin == p.origin {
			return m, true, nil
		}
		// A generation that cannot be used does not prevent the push of another one.
		if err != nil && !errors.Is(err, ErrNoGeneration) && !errors.Is(err, cellstore.ErrCorrupt) && !errors.Is(err, cellstore.ErrLayout) {
			return Manifest{}, false, err
		}
	}
	return Manifest{}, false, nil
}

// prepare chooses the number of the generation and stores the plan of the load. It resumes an
// interrupted push of the same generation under its number, and removes the remains of other
// pushes.
func (p *push) prepare(ctx context.Context) (*loadRecord, bool, error) {
	ptr, err := p.d.pointer(ctx, p.dataset)
	if err != nil {
		return nil, false, err
	}
	rows, err := p.d.stored(ctx, p.dataset)
	if err != nil {
		return nil, false, err
	}
	// Use the number of the local generation if it is free, so that people
	// recognise the generation. Numbers are used again only after Unpublish and Prune.
	number := p.g.Manifest.Generation
	if ptr != nil {
		number = max(number, ptr.Last+1)
	}
	var resume *loadRecord
	for _, r := range rows {
		var load loadRecord
		if ptr != nil {
			if _, listed := ptr.find(r.number); listed {
				continue
			}
			if r.number <= ptr.Last {
				continue // published before, and being removed
			}
		}
		if r.load != nil && !r.removing && json.Unmarshal(r.load, &load) == nil && load.Origin == p.origin {
			resume, p.generation = &load, r.number
		}
		number = max(number, r.number+1)
	}
	if _, err := p.d.removeWaste(ctx, p.dataset, ptr, rows, p.generation); err != nil {
		return nil, false, err
	}
	if resume != nil {
		return resume, true, p.d.step("resumed")
	}
	if p.generation = number; number > maxGeneration {
		return nil, false, fmt.Errorf("data set %s has no number left after %d: use another namespace", p.dataset, uint64(maxGeneration))
	}
	load, err := p.plan(ctx)
	if err != nil {
		return nil, false, err
	}
	b, err := json.Marshal(load)
	if err != nil {
		return nil, false, err
	}
	if err := p.note(ctx, columnLoad, b); err != nil {
		return nil, false, err
	}
	return load, false, p.d.step("noted")
}

// plan divides the local tables into parts.
func (p *push) plan(ctx context.Context) (*loadRecord, error) {
	names, err := p.g.Store.Tables(ctx)
	if err != nil {
		return nil, err
	}
	load := &loadRecord{Origin: p.origin, Token: token()}
	n := int(min(p.g.Manifest.Size()/p.o.partBytes+1, maxParts))
	for _, name := range names {
		t, err := p.g.Store.Table(ctx, name)
		if err != nil {
			return nil, err
		}
		parts, err := t.Splits(ctx, n)
		if err != nil {
			return nil, err
		}
		lt := loadTable{Name: name}
		for _, r := range parts {
			lt.Starts = append(lt.Starts, r.From)
		}
		load.Tables = append(load.Tables, lt)
	}
	return load, nil
}

// note writes a column of the generation's row.
func (p *push) note(ctx context.Context, column, value []byte) error {
	m := cellstore.Mutation{Row: []byte(generationRow(p.dataset, p.generation)),
		Ops: []cellstore.Op{cellstore.Put(familyManifest, column, value)}}
	return p.d.patiently(ctx, func() error { return p.t.Apply(ctx, m) })
}

// copyFiles writes the files beside the store in pieces, and lists them.
func (p *push) copyFiles(ctx context.Context) ([]File, error) {
	files := []File{}
	p.meter.stage("copying files", p.o.Progress)
	for _, f := range p.g.Manifest.Files {
		if strings.HasPrefix(f.Path, storeDir+"/") {
			continue
		}
		if err := p.copyFile(ctx, f); err != nil {
			return nil, fmt.Errorf("file %s: %w", f.Path, err)
		}
		files = append(files, f)
	}
	return files, p.d.step("files copied")
}

func (p *push) copyFile(ctx context.Context, f File) error {
	in, err := os.Open(filepath.Join(p.g.Dir, filepath.FromSlash(f.Path)))
	if err != nil {
		return err
	}
	defer in.Close()
	sum, n, err := digest(ctx, in)
	if err != nil {
		return err
	}
	if n != f.Bytes || sum != f.SHA256 {
		return fmt.Errorf("%w: it is not as it was published: see by verify, and ingest again", cellstore.ErrCorrupt)
	}
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return err
	}
	buf := make([]byte, chunkBytes)
	for i := int64(0); i*chunkBytes < f.Bytes; i++ {
		n, err := io.ReadFull(in, buf[:min(chunkBytes, f.Bytes-i*chunkBytes)])
		if err != nil {
			return err
		}
		m := cellstore.Mutation{Row: chunkRow(p.dataset, p.generation, f.Path, i),
			Ops: []cellstore.Op{cellstore.Put(familyFile, columnChunk, buf[:n])}}
		if err := p.d.patiently(ctx, func() error { return p.t.Apply(ctx, m) }); err != nil {
			return err
		}
		p.meter.add(1, int64(n))
		if err := p.d.step("piece copied"); err != nil {
			return err
		}
	}
	return nil
}

func chunkRow(dataset string, generation uint64, path string, i int64) []byte {
	return fmt.Appendf(nil, "%s/%s/%08d", generationRow(dataset, generation), path, i)
}

// check reads every pushed table and compares it with the local one.
func (p *push) check(ctx context.Context, store cellstore.Store, load *loadRecord) ([]TableSummary, error) {
	sums := []TableSummary{}
	p.meter.stage("checking", p.o.Progress)
	for _, t := range load.Tables {
		want, err := sumTable(ctx, p.g.Store, t.Name, p.o.Workers, nil)
		if err != nil {
			return nil, fmt.Errorf("table %s of the local generation: %w", t.Name, err)
		}
		sums = append(sums, want)
		if p.o.NoCheck {
			continue
		}
		got, err := p.d.sumRemote(ctx, store, t.Name, p.o.Workers, p.meter.add)
		if err != nil {
			return nil, err
		}
		if got != want {
			// The load must not be resumed, because rows that are recorded as loaded are missing.
			_ = p.d.mark(ctx, p.t, p.dataset, p.generation)
			return nil, differ(want, got)
		}
	}
	return sums, p.d.step("checked")
}

func differ(want, got TableSummary) error {
	return fmt.Errorf("%w: table %s has %d rows and %d cells with checksum %.16s, it should have %d and %d with %.16s: push it again",
		cellstore.ErrCorrupt, want.Name, got.Rows, got.Cells, got.Digest, want.Rows, want.Cells, want.Digest)
}

// sumRemote adds up a table in the Depot.
func (d *Depot) sumRemote(ctx context.Context, store cellstore.Store, table string, workers int,
	counted func(rows, bytes int64)) (sum TableSummary, err error) {
	err = d.patiently(ctx, func() error {
		sum, err = sumTable(ctx, store, table, workers, counted)
		return err
	})
	return sum, err
}

// publish writes the manifest and makes the generation the published one.
func (p *push) publish(ctx context.Context, m *Manifest) error {
	b, err := encodeManifest(m)
	if err != nil {
		return err
	}
	if err := p.note(ctx, columnManifest, b); err != nil {
		return err
	}
	if err := p.d.step("manifest written"); err != nil {
		return err
	}
	// If another program has taken over meanwhile, the renewal of the lease fails. If the renewal
	// succeeds, the tables are those that this push has loaded.
	if err := p.d.patiently(ctx, func() error { return p.lease.renew(ctx) }); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, p.d.leaseFor*3/4)
	defer cancel()
	m.Digest = digestBytes(b)
	err = p.d.patiently(ctx, func() error {
		_, err := p.d.publish(ctx, p.dataset, entry{p.generation, m.Digest})
		return err
	})
	if err != nil {
		return err
	}
	if err := p.d.step("pointer replaced"); err != nil {
		return err
	}
	return p.forgetLoad(ctx)
}

// forgetLoad removes the recorded progress of the load, which is no longer needed.
func (p *push) forgetLoad(ctx context.Context) error {
	var row cellstore.Row
	key := []byte(generationRow(p.dataset, p.generation))
	if _, err := p.t.Get(ctx, key, &cellstore.Selection{Families: []string{familyManifest}}, &row); err != nil {
		return nil //nolint:nilerr // the generation is published all the same
	}
	m := cellstore.Mutation{Row: key}
	for i := range row.Cells {
		if q := row.Cells[i].Qualifier; !bytes.Equal(q, columnManifest) {
			m.Ops = append(m.Ops, cellstore.DeleteColumn(familyManifest, q, cellstore.AllVersions))
		}
	}
	if len(m.Ops) > 0 {
		_ = p.t.Apply(ctx, m)
	}
	return nil
}

// token returns a unique string.
func token() string { return rand.Text() }
