package points

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"quadrille/feature"
	"quadrille/internal/must"
	"quadrille/quadkey"
)

// A new history has all points from its beginning on. A longer history reaches back no further than
// the existing versions. An ended history leaves nothing to a later one.
func TestHistoryIsChanged(t *testing.T) {
	runs, steps, asked, refused := 40, 60, 0, 0
	if testing.Short() {
		runs = 10
	}
	for seed := range runs {
		random := rand.New(rand.NewPCG(uint64(seed), 41))
		r := newClockRig(t, Meta{})
		model := map[string][]clockEntry{}
		began := r.now() // start of the history
		history := time.Duration(0)
		for range steps {
			id := fmt.Sprint("p", random.IntN(4))
			switch random.IntN(8) {
			case 0, 1, 2:
				w := Write{Kind: Put, ID: id, Lat: float64(random.IntN(80)), Lon: float64(random.IntN(3))}
				if random.IntN(3) == 0 {
					w = Write{Kind: Delete, ID: id}
				}
				v, err := r.write(w)
				if errors.Is(err, ErrNotFound) && w.Kind == Delete {
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				model[id] = append(model[id], clockEntry{v, 0, w.Kind == Put, w.Lat})
			case 3, 4:
				r.pass(time.Duration(random.IntN(40)) * time.Minute)
			case 5:
				next := [...]time.Duration{0, 0, time.Hour, 3 * time.Hour}[random.IntN(4)]
				must.Get(r.c.Describe(t.Context(), func(m *Meta) error {
					m.HistoryRetention, m.EventRetention = Duration(next), Duration(time.Duration(1+random.IntN(3))*time.Hour)
					return nil
				})).In(t)
				if next > history {
					began = max(began, r.now()-history.Milliseconds())
					for _, list := range model { // versions may be ahead of the clock
						if history == 0 && len(list) > 0 {
							began = max(began, list[len(list)-1].version)
						}
					}
				}
				if history = next; history == 0 {
					began = 0
				}
			case 6:
				r.upkeep()
			case 7:
				r.shut()
				r.open()
			}
			at := r.c.Now().Add(-time.Duration(random.IntN(250)) * time.Minute)
			if random.IntN(3) == 0 {
				at = r.c.Now()
			}
			known := history > 0 && at.UnixMilli() >= max(began, r.now()-history.Milliseconds())
			there := 0
			for id, list := range model {
				var want clockEntry
				for _, e := range list {
					if e.version <= at.UnixMilli() {
						want = e
					}
				}
				if want.there {
					there++
				}
				var h Hit
				err := r.c.GetAt(t.Context(), id, at, &h)
				switch {
				case !known:
					if refused++; !errors.Is(err, ErrQuery) {
						t.Fatalf("seed %d: %s as of %v, which is not known: %+v, %v", seed, id, at, h, err)
					}
				case want.there != (err == nil) || err != nil && !errors.Is(err, ErrNotFound) || want.there && h.Lat != want.lat:
					t.Fatalf("seed %d: %s as of %v is %+v, %v; want %+v of %+v", seed, id, at, h, err, want, list)
				}
				asked++
			}
			if !known {
				continue
			}
			hits, _, err := r.c.Within(t.Context(), WithinQuery{Area: feature.Box(quadkey.World), Limit: MaxLimit, At: at}, nil)
			if err != nil || len(hits) != there {
				t.Fatalf("seed %d: %d points as of %v, want %d: %v", seed, len(hits), at, there, err)
			}
		}
	}
	if asked == refused || refused == 0 {
		t.Errorf("%d of %d answers are refused: nothing is tested", refused, asked)
	}
}
