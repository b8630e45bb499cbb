package points

import (
	"context"
	"fmt"
	"iter"
	"math"
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/feature"
	"quadrille/internal/must"
	"quadrille/quadkey"
)

// pausing reads from a snapshot, and does something before its first scan.
type pausing struct {
	cellstore.Reader
	first func()
}

func (p *pausing) Scan(ctx context.Context, scan cellstore.Scan) iter.Seq2[*cellstore.Row, error] {
	if p.first != nil {
		first := p.first
		p.first = nil
		first()
	}
	return p.Reader.Scan(ctx, scan)
}

// If a leaf is divided during a query, the query still finds every point of its state. That holds
// even for points of the leaf whose values have changed since, and for points that have left it and
// that the tree has dropped.
func TestDivideWhileSearched(t *testing.T) {
	const n = leafPoints - 2
	questions := map[string]func(s *search, found func()) error{
		"nearby": func(s *search, found func()) error {
			s.Reset(1000, math.MaxUint64, mark{})
			s.around = &feature.Near{Position: quadkey.Position{Lon: 170}}
			err := s.nearby(t.Context())
			for range s.Unsorted() {
				found()
			}
			return err
		},
		"within": func(s *search, found func()) error {
			return s.walk(t.Context(), feature.Tile{}, 0, func() error { found(); return nil })
		},
	}
	changes := map[string]func(id string, i int) Write{
		"other values": func(id string, _ int) Write {
			return Write{Kind: Patch, ID: id, Properties: []byte(`{"kind":"cafe"}`)}
		},
		"moved away": func(id string, i int) Write {
			return Write{Kind: Patch, ID: id, Move: true, Lat: -60, Lon: float64(i % 7), Properties: []byte(`{"kind":"cafe"}`)}
		},
		"gone": func(id string, _ int) Write { return Write{Kind: Delete, ID: id} },
	}
	for question, ask := range questions {
		for change, changed := range changes {
			for _, behind := range []uint64{maxBehind, n, 1} {
				t.Run(fmt.Sprint(question, " ", change, " ", behind), func(t *testing.T) {
					c, _ := liveAt(t, Meta{})
					c.index().views.behind = behind
					// There are four leaves. The second has other values, so that a search reads
					// two runs.
					var writes []Write
					kinds := [4]string{"zoo", "cafe", "zoo", "zoo"}
					for corner, at := range [][2]float64{{45, -90}, {45, 90}, {-45, -90}, {-45, 90}} {
						for i := range n {
							writes = append(writes, Write{
								Kind: Put, ID: fmt.Sprint(corner, "-", i), Lat: at[0] + float64(i%6)/10, Lon: at[1] + float64(i/6)/10,
								Properties: fmt.Appendf(nil, `{"kind":%q}`, kinds[corner]),
							})
						}
					}
					mustWrite(t, c, writes...)
					f := must.Get(feature.ParseFilter(c.Meta().Schema, []feature.Term{{Name: "kind", Values: []string{"zoo"}}})).In(t)
					r := must.Get(c.index().begin(t.Context(), time.Time{})).In(t)
					defer c.index().end(r)
					var s search
					s.begin(t.Context(), c.Collection(), reading{&pausing{r.Reader, func() {
						var others []Write
						for i := range writes {
							others = append(others, changed(writes[i].ID, i))
						}
						mustWrite(t, c, others...)
						for round := range 3 { // each round divides the leaves of the previous one
							for i := range writes {
								w := writes[i]
								w.ID, w.Properties = fmt.Sprint(round, " ", w.ID), []byte(`{"kind":"cafe"}`)
								others[i] = w
							}
							mustWrite(t, c, others...)
						}
					}}, r.view}, &feature.Query{Filter: f, MaxExamined: MaxExamined})
					found := 0
					if err := ask(&s, func() { found++ }); err != nil || found != 3*n {
						t.Fatalf("%d points of %d: %v", found, 3*n, err)
					}
					if want := change != "other values" && behind < maxBehind; r.view.blind.Load() != want {
						t.Fatalf("blind: %v", !want)
					}
					if b := c.index().tree.root(); b.leaf || b.count < uint32(3*len(writes)) {
						t.Fatalf("%+v", b)
					}
				})
			}
		}
	}
}
