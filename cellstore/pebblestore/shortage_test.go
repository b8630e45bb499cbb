package pebblestore

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"quadrille/cellstore"
	"quadrille/internal/testrace"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// A momentary shortage of the system is never reported as damage, even if the engine's error
// mentions damage.
func TestShortageIsNoDamage(t *testing.T) {
	for _, errno := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EAGAIN} {
		for _, err := range []error{
			&os.PathError{Op: "open", Path: "x", Err: errno}, fmt.Errorf("%w: %w", cellstore.ErrCorrupt,
				errno), errors.Join(io.ErrUnexpectedEOF, errno),
		} {
			for name, of := range map[string]func(error) error{"classify": classify, "damage": damage} {
				got := of(of(err))
				if !errors.Is(got, cellstore.ErrShortage) || errors.Is(got, cellstore.ErrCorrupt) {
					t.Errorf("%s of %v is %v", name, err, got)
				}
			}
		}
	}
	if err := damage(syscall.ENOENT); !errors.Is(err, cellstore.ErrCorrupt) {
		t.Errorf("a file that is missing: %v", err)
	}
}

// The directory cannot be listed at a moment when the opening of a table has already begun to
// write. Neither the process nor the table fails: the table can be read, and takes writes after
// Recover.
func TestShortageAtTheEndOfOpening(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine damages, opens and reads again and again")
	var wrote atomic.Bool
	var fails atomic.Int64
	fsys := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		switch {
		case op.Kind == errorfs.OpCreate && strings.HasSuffix(op.Path, ".sst"):
			wrote.Store(true)
		case op.Kind == errorfs.OpList && path.Base(op.Path) == "db" && wrote.Load() && fails.Add(-1) >= 0:
			return syscall.EMFILE
		}
		return nil
	}))
	open := func() *Store { return must(Open("s", &Options{FS: fsys})) }
	s := open()
	if err := s.CreateTable(ctx, cellstore.Schema{Table: "t", Families: []cellstore.Family{{Name: "f"}}}); err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		row := fmt.Append(nil, i)
		if err := must(s.Table(ctx, "t")).Apply(ctx, cellstore.Mutation{
			Row: row,
			Ops: []cellstore.Op{cellstore.Put("f", nil, row)},
		}); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open()
		wrote.Store(false)
		fails.Store(1 + int64(i%2)) // the second one is of opening it for reading
		tab, err := s.Table(ctx, "t")
		if i%2 == 0 {
			must(tab, err)
			err = s.Trouble("t")
		}
		if !wrote.Load() || !cellstore.IsShortage(err) || errors.Is(err, cellstore.ErrCorrupt) {
			t.Fatalf("opening %d: %v", i, err)
		}
		if i%2 == 1 {
			tab = must(s.Table(ctx, "t"))
		}
		if found, err := tab.Get(ctx, row, nil, &cellstore.Row{}); err != nil || !found {
			t.Fatal(found, err)
		}
		if err := s.Recover(ctx, "t"); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
