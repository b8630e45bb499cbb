//go:build unix

package points

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/cellstore/pebblestore"
	"quadrille/internal/damagetest"
	"quadrille/internal/must"
	"quadrille/internal/testrace"
	"quadrille/places/live"
)

// Collections that cannot be opened for lack of file descriptors are not damaged. The shortage is
// reported, and they are served once files can be opened. The others are served meanwhile.
func TestTooFewFilesAtTheStart(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine damages, opens and reads again and again")
	const collections = 4
	dir := t.TempDir()
	open := func() (cellstore.Store, *LiveStore, error) {
		store, err := pebblestore.Open(dir, nil)
		if err != nil {
			return nil, nil, err
		}
		l, err := OpenLiveWith(t.Context(), store, live.Options{RetryInterval: time.Millisecond})
		if err != nil {
			return nil, nil, errors.Join(err, store.Close())
		}
		return store, l, nil
	}
	shut := func(store cellstore.Store, l *LiveStore) {
		t.Helper()
		must.Do(t, errors.Join(l.Close(), store.Close()))
	}
	store, l := must.Two(open()).In(t)
	for i := range collections {
		mustWrite(t, must.Get(l.Create(t.Context(), Meta{Name: fmt.Sprint("c", i)})).In(t), putNumber(i))
	}
	shut(store, l)
	none, some := 0, 0
	for more := uint64(0); ; more += 2 {
		lift := damagetest.LimitFiles(t, more)
		store, l, err := open()
		if err != nil {
			lift()
			if !cellstore.IsShortage(err) || errors.Is(err, cellstore.ErrCorrupt) {
				t.Fatalf("%d files more: %v", more, err)
			}
			none++
			continue
		}
		troubles := l.Troubles()
		for _, trouble := range troubles {
			_, err := l.Find(trouble.Name)
			for _, err := range []error{trouble.Err, err} {
				// A collection that is open for reading takes no writes for a moment.
				if err != nil && (!cellstore.IsShortage(err) || errors.Is(err, ErrDamaged)) {
					t.Fatalf("%d files more: %v", more, err)
				}
			}
		}
		lift()
		eventually(t, "all are served", func() bool { return len(l.Collections()) == collections && l.Troubles() == nil })
		for i, c := range l.Collections() {
			// Work that the table has begun in the shortage may fail now. The table then refuses
			// writes for another moment.
			for _, w := range []Write{putNumber(i + 100), {Kind: Delete, ID: fmt.Sprint(i + 100)}} {
				eventually(t, "a write is taken", func() bool {
					err := writeOne(t, c, w)
					if err != nil && !cellstore.IsShortage(err) {
						t.Fatalf("%d files more: %v", more, err)
					}
					return err == nil
				})
			}
			if n := countOf(t, c); n != 1 {
				t.Fatalf("%d files more: %d points", more, n)
			}
		}
		shut(store, l)
		if len(troubles) == 0 {
			break
		}
		some++
	}
	if none == 0 || some == 0 {
		t.Errorf("%d limits leave none, %d leave some", none, some)
	}
}
