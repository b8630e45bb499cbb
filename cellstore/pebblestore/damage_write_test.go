package pebblestore

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"quadrille/cellstore"
	"quadrille/internal/damagetest"
	"quadrille/internal/testrace"
	"quadrille/internal/testseed"

	"github.com/cockroachdb/pebble/v2/vfs"
)

func imageOf(fsys vfs.FS) damagetest.Image { return must(damagetest.ReadImage(fsys, "s")) }

// images returns a store with acknowledged rows in sorted files and in its log, once after a close
// and once as after a kill.
func images(t *testing.T) map[string]damagetest.Image {
	t.Helper()
	mem := vfs.NewMem()
	s, tab := fixture(t, "s", &Options{FS: mem})
	put := func(from, to int) {
		for i := from; i < to; i++ {
			must(0, tab.Apply(ctx, cellstore.Mutation{Row: fmt.Appendf(nil, "w%03d", i), Ops: []cellstore.Op{
				cellstore.PutAt("a", []byte("q"), 1, fmt.Append(nil, i)), cellstore.PutAt("b", []byte("q"), 1, nil)}}))
		}
	}
	put(0, 20)
	must(0, tab.db.Flush())
	put(20, 40)
	killed := imageOf(mem)
	must(0, s.Close())
	// This is a table whose rows are all in its first log.
	first := vfs.NewMem()
	s = must(Open("s", &Options{FS: first}))
	must(0, s.CreateTable(ctx, cellstore.Schema{Table: "t", Families: []cellstore.Family{{Name: "a"}, {Name: "b"}}}))
	tab = must(s.Table(ctx, "t")).(*table)
	put(0, 20)
	begun := imageOf(first)
	must(0, s.Close())
	// This is a table that had no room for a new log when it was opened, after the old log was
	// removed.
	logs := &noLogs{FS: must(killed.Mount(killed))}
	logs.full.Store(true)
	s = must(Open("s", &Options{FS: logs}))
	tab = must(s.Table(ctx, "t")).(*table)
	if s.Trouble("t") == nil {
		t.Fatal("it was opened for writing without a log")
	}
	logs.full.Store(false)
	must(0, s.Recover(ctx, "t"))
	tab = must(s.Table(ctx, "t")).(*table)
	recovered := imageOf(logs)
	put(40, 45)
	written := imageOf(logs)
	must(0, s.Close())
	return map[string]damagetest.Image{
		"closed": imageOf(mem), "killed": killed, "closed at first": imageOf(first), "killed at first": begun,
		"recovered": recovered, "recovered and written": written,
	}
}

// noLogs is a file system that has no room for a new log while it is full.
type noLogs struct {
	vfs.FS
	full atomic.Bool
}

func (f *noLogs) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if f.full.Load() && strings.HasSuffix(name, ".log") {
		return nil, &os.PathError{Op: "open", Path: name, Err: syscall.ENOSPC}
	}
	return f.FS.Create(name, c)
}

// readForWriting opens a store for writing and prints its rows. opened is false if opening failed.
func readForWriting(mem *vfs.MemFS) (rows string, opened bool, err error) {
	s, err := Open("s", &Options{FS: mem, CacheBytes: 1 << 16})
	if err != nil {
		return "", false, err
	}
	defer s.Close()
	tab, err := s.Table(ctx, "t")
	if err != nil {
		return "", false, err
	}
	rows, err = all(tab, cellstore.Scan{})
	return rows, true, err
}

// TestDamageOpenedForWriting changes every byte of a store in turn, truncates every file to every
// length, removes each file, and replaces each file by every other one. When the store is then
// opened for writing, it has all rows, or it is reported as damaged and left as it is.
func TestDamageOpenedForWriting(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine damages, opens and reads again and again")
	rnd := testseed.Rand(t)
	for stop, whole := range images(t) {
		t.Run(stop, func(t *testing.T) {
			want, _, err := readForWriting(must(whole.Mount(whole)))
			if must(0, err); strings.Count(want, "[") < 20 {
				t.Fatalf("the store has too few rows: %s", want)
			}
			noticed, tried := 0, 0
			try := func(what string, m damagetest.Image) {
				t.Helper()
				tried++
				mem := must(m.Mount(whole))
				got, opened, err := readForWriting(mem)
				switch {
				case err == nil && got != want:
					t.Errorf("%s: rows are missing or wrong: %d instead of %d", what, strings.Count(got, "["), strings.Count(want, "["))
				case err != nil && !errors.Is(err, cellstore.ErrCorrupt) && !newer(err):
					t.Errorf("%s: %v", what, err)
				case err != nil:
					noticed++
					for name, data := range m {
						if left := imageOf(mem); !opened && path.Base(name) != ledgerName && string(left[name]) != string(data) {
							t.Errorf("%s: %s was changed or removed though the table was not opened", what, name)
						}
					}
				}
			}
			step := 1
			if testing.Short() {
				step = 97
			}
			offset := rnd.IntN(step) // other runs take the offsets that this one skips
			names := slices.Sorted(maps.Keys(whole))
			for _, name := range names {
				data := whole[name]
				changed := func(data []byte) damagetest.Image {
					m := maps.Clone(whole)
					m[name] = data
					return m
				}
				without := maps.Clone(whole)
				delete(without, name)
				try("without "+name, without)
				for i := offset; i < len(data); i += step {
					flipped := slices.Clone(data)
					flipped[i] ^= 1 << rnd.IntN(8)
					try(fmt.Sprintf("%s with byte %d of %d changed from %02x to %02x", name, i, len(data), data[i], flipped[i]), changed(flipped))
					try(fmt.Sprintf("%s cut to %d of %d bytes", name, i, len(data)), changed(data[:i:i]))
				}
				for _, other := range names {
					if other != name && string(whole[other]) != string(data) {
						try(fmt.Sprintf("%s with the contents of %s", name, other), changed(whole[other]))
					}
				}
			}
			t.Logf("%d of %d damages were noticed", noticed, tried)
		})
	}
}
