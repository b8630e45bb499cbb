// Package buildtest has shared code for tests of data sets: stores to build in, and sequences to
// build from. Only tests import it.
package buildtest

import (
	"crypto/sha256"
	"fmt"
	"iter"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"quadrille/cellstore"
	"quadrille/cellstore/pebblestore"
	"quadrille/internal/must"
)

// NewStore opens an empty store in memory. It is closed at the end of the test.
func NewStore(t testing.TB) *pebblestore.Store {
	t.Helper()
	return Open(t, "store", &pebblestore.Options{FS: vfs.NewMem()})
}

// MemoryStore opens an empty store in memory for rows that many tests read. It ends with the
// process.
func MemoryStore() (cellstore.Store, error) {
	return pebblestore.Open("rows", &pebblestore.Options{FS: vfs.NewMem(), CacheBytes: 1 << 20})
}

// Open opens a store that is closed with the test.
func Open(t testing.TB, dir string, o *pebblestore.Options) *pebblestore.Store {
	t.Helper()
	s := must.Get(pebblestore.Open(dir, o)).In(t)
	must.Close(t, s)
	return s
}

// SeqOf returns a list in the form of a sequence for a build.
func SeqOf[T any](list []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, v := range list {
			if !yield(v, nil) {
				return
			}
		}
	}
}

// Checksum returns a checksum of all cells of a store.
func Checksum(t testing.TB, store cellstore.Store) string {
	t.Helper()
	sum := sha256.New()
	for _, name := range must.Get(store.Tables(t.Context())).In(t) {
		table := must.Get(store.Table(t.Context(), name)).In(t)
		for row := range must.All(t, table.Scan(t.Context(), cellstore.Scan{})) {
			for _, c := range row.Cells {
				fmt.Fprintf(sum, "%s %x %s %x %d %x\n", name, row.Key, c.Family, c.Qualifier, c.Timestamp, c.Value)
			}
		}
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}
