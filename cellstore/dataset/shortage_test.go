//go:build unix

package dataset

import (
	"errors"
	"strings"
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/internal/damagetest"
	"quadrille/internal/must"
)

// A generation that cannot be opened because too many files are open is not damaged. The one in
// service stays, the real reason is reported, and the generation is opened once that is possible.
func TestShortageIsNoDamage(t *testing.T) {
	for _, serving := range []bool{false, true} {
		short := 0
		for more := uint64(0); ; more++ {
			c := newPebbleCatalog(t)
			l := NewLive(c, "ip", func(g *Generation) (string, error) { return read(t.Context(), g.Store) })
			if serving {
				mustIngest(t, c, "ip", "one")
				must.Do(t, l.Poll(t.Context()))
			}
			mustIngest(t, c, "ip", "two")
			lift := damagetest.LimitFiles(t, more)
			err := l.Poll(t.Context())
			lift()
			if err != nil {
				short++
				st := l.Status()
				if !cellstore.IsShortage(err) || errors.Is(err, cellstore.ErrCorrupt) || st.Damage != nil || (st.Serving != nil) != serving {
					t.Fatalf("%d files more: %v, status %+v", more, err, st)
				}
				for _, wrong := range []string{"roll back", "rollback", "ingest again", "damage", "corrupt", "missing"} {
					if strings.Contains(err.Error(), wrong) {
						t.Errorf("%d files more: %v", more, err)
					}
				}
			}
			l.retryAt = time.Time{}
			must.Do(t, l.poll(t.Context(), false))
			if h, err := l.Acquire(); err != nil || h.Value() != "two" {
				t.Fatal(h, err)
			} else {
				h.Release()
			}
			must.Do(t, l.Close())
			if st := l.Status(); st.Damage != nil || st.Err != nil {
				t.Fatalf("%+v", st)
			}
			if short > 0 && err == nil {
				break
			}
		}
		if short < 5 {
			t.Errorf("only %d limits are too low", short)
		}
	}
}
