package dataset

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"quadrille/cellstore"
	"quadrille/cellstore/pebblestore"
	"quadrille/internal/must"
)

// remote simulates a remote store that several depots share. It is a Pebble store whose tables have
// prefixes. It fails on demand.
type remote struct {
	cellstore.Store
	down atomic.Pointer[error] // what every call answers
	left atomic.Int64          // calls until it goes down; below 0 never
	caps cellstore.Capabilities
	// onCheck, unless nil, is called once, before a CheckAndMutate of the pointer.
	onCheck atomic.Pointer[func()]
}

var errDown = fmt.Errorf("test: %w", cellstore.ErrUnavailable)

func newRemote(t tester) *remote {
	t.Helper()
	s, err := pebblestore.Open("remote", &pebblestore.Options{CacheBytes: 1 << 20, FS: vfs.NewMem()})
	must.Do(t, err)
	t.Cleanup(func() { s.Close() })
	r := &remote{Store: s}
	r.left.Store(-1)
	return r
}

func (r *remote) fail(err error) {
	if err == nil {
		r.down.Store(nil)
		return
	}
	r.down.Store(&err)
}

func (r *remote) err() error {
	if n := r.left.Load(); n >= 0 && r.left.Add(-1) < 0 {
		r.fail(errDown)
	}
	if e := r.down.Load(); e != nil {
		return *e
	}
	return nil
}

func (r *remote) open(_ context.Context, prefix string) (cellstore.Store, error) {
	if err := r.err(); err != nil {
		return nil, err
	}
	return &prefixed{r, prefix}, nil
}

// prefixed is a remote store whose tables have a prefix. Like HBase, it has no capabilities.
type prefixed struct {
	*remote
	prefix string
}

func (p *prefixed) Capabilities() cellstore.Capabilities { return p.caps }
func (p *prefixed) Close() error                         { return nil }

func (p *prefixed) CreateTable(ctx context.Context, s cellstore.Schema) error {
	if err := p.err(); err != nil {
		return err
	}
	s.Table = p.prefix + s.Table
	return p.Store.CreateTable(ctx, s)
}

func (p *prefixed) DropTable(ctx context.Context, name string) error {
	if err := p.err(); err != nil {
		return err
	}
	return p.Store.DropTable(ctx, p.prefix+name)
}

func (p *prefixed) Tables(ctx context.Context) ([]string, error) {
	if err := p.err(); err != nil {
		return nil, err
	}
	all, err := p.Store.Tables(ctx)
	var names []string
	for _, name := range all {
		if own, ok := strings.CutPrefix(name, p.prefix); ok {
			names = append(names, own)
		}
	}
	return names, err
}

func (p *prefixed) Table(ctx context.Context, name string) (cellstore.Table, error) {
	if err := p.err(); err != nil {
		return nil, err
	}
	t, err := p.Store.Table(ctx, p.prefix+name)
	return &remoteTable{t, p.remote}, err
}

type remoteTable struct {
	cellstore.Table
	r *remote
}

func (t *remoteTable) Get(ctx context.Context, key []byte, sel *cellstore.Selection, row *cellstore.Row) (bool, error) {
	if err := t.r.err(); err != nil {
		return false, err
	}
	return t.Table.Get(ctx, key, sel, row)
}

func (t *remoteTable) Apply(ctx context.Context, ms ...cellstore.Mutation) error {
	if err := t.r.err(); err != nil {
		return err
	}
	for i := range ms {
		for j := range ms[i].Ops {
			if ms[i].Ops[j].Timestamp != ms[i].Ops[0].Timestamp {
				return fmt.Errorf("%w: two timestamps in one mutation", errors.ErrUnsupported)
			}
		}
	}
	return t.Table.Apply(ctx, ms...)
}

func (t *remoteTable) CheckAndMutate(ctx context.Context, c cellstore.Check, m cellstore.Mutation) (bool, error) {
	if err := t.r.err(); err != nil {
		return false, err
	}
	if string(c.Qualifier) == string(columnCurrent) {
		if f := t.r.onCheck.Swap(nil); f != nil {
			(*f)()
		}
	}
	return t.Table.CheckAndMutate(ctx, c, m)
}

// depotAt returns another depot on the store, as a second program would have it, with its own
// directory of files.
func depotAt(t tester, r *remote) *Depot {
	t.Helper()
	d, err := OpenDepot(DepotOptions{Open: r.open, Dir: filepath.Join(tempDir(t), "cache"), Name: "test"})
	must.Do(t, err)
	d.patience = 0
	t.Cleanup(func() { d.Close() })
	return d
}

// pushed pushes the published generation and returns the result.
func pushed(t testing.TB, d *Depot, c *Catalog, dataset string) PushResult {
	t.Helper()
	p, err := pushCurrent(t.Context(), d, c, dataset, PushOptions{partBytes: 1 << 10})
	must.Do(t, err)
	return p
}

func pushCurrent(ctx context.Context, d *Depot, c *Catalog, dataset string, o PushOptions) (PushResult, error) {
	g, err := c.OpenCurrent(ctx, dataset)
	if err != nil {
		return PushResult{}, err
	}
	defer g.Close()
	return d.Push(ctx, g, o)
}

// inDepot returns the content of a depot's published generation. It checks that the generation's
// file has the same content.
func inDepot(t testing.TB, d *Depot, dataset string) string {
	t.Helper()
	g, err := d.OpenCurrent(t.Context(), dataset)
	must.Do(t, err)
	defer g.Close()
	text, err := read(t.Context(), g.Store)
	must.Do(t, err)
	b, err := os.ReadFile(filepath.Join(g.Dir, "extra", "index"))
	if err != nil || string(b) != "index of "+text {
		t.Fatalf("the file beside %q holds %q, %v", text, b, err)
	}
	must.Do(t, g.Verify(t.Context()))
	return text
}

func depotNumbers(t testing.TB, d *Depot) string {
	t.Helper()
	list, err := d.List(t.Context())
	must.Do(t, err)
	var s []string
	for _, in := range list {
		n := fmt.Sprint(in.Dataset, in.Generation)
		if in.Current {
			n += "*"
		}
		if in.Err != nil {
			n += "!"
		}
		s = append(s, n)
	}
	return strings.Join(s, " ")
}
