package points

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/cellstore/pebblestore"
	"quadrille/feature"
	"quadrille/internal/testseed"
)

const (
	killWriters = 16
	killPoints  = 20 // of each writer
)

// TestKill kills a process that moves and deletes points, at a random moment, many times over.
// Afterwards every acknowledged write must be there, and every point must be at exactly one
// position. The events must contain every move, in order, both for a follower that begins at the
// first event and for one that continues after the last event before the kill.
func TestKill(t *testing.T) {
	if dir := os.Getenv("POINTS_KILL_DIR"); dir != "" {
		moveUntilKilled(dir)
	}
	random := testseed.Rand(t)
	rounds := 5
	if os.Getenv("QUADRILLE_FULL") != "" {
		rounds = 50
	}
	dir := t.TempDir()
	acked := map[string]*written{}
	follower := newFollower()
	for round := range rounds {
		before := len(acked)
		killMover(t, dir, time.Duration(20+random.IntN(300))*time.Millisecond, acked)
		if len(acked) == 0 || before > len(acked) {
			t.Fatal("nothing was acknowledged")
		}
		if err := checkMoved(t.Context(), dir, acked, follower); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
	}
}

// written is the writers' report about a point: the numbers of its last acknowledged write and of
// its last begun delete.
type written struct{ acknowledged, deleting int64 }

// These are words in a writer's report of a write.
const (
	tellAcknowledged = "acknowledged."
	tellDeleting     = "deleting."
)

// killMover runs this test as a writer in another process, and kills the process. acked receives
// the writer's report.
func killMover(t *testing.T, dir string, after time.Duration, acked map[string]*written) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestKill$")
	cmd.Env = append(os.Environ(), "POINTS_KILL_DIR="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	begun := false
	for lines.Scan() {
		var id, end string
		var n int64
		// The kill may cut the last line.
		if k, _ := fmt.Sscanf(lines.Text(), "%s %d %s", &id, &n, &end); k != 3 || end != tellAcknowledged && end != tellDeleting {
			continue
		}
		if acked[id] == nil {
			acked[id] = &written{}
		}
		if end == tellDeleting {
			acked[id].deleting = n
			continue
		}
		acked[id].acknowledged = n
		if !begun {
			begun = true
			time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
		}
	}
	if err := cmd.Wait(); err == nil || !begun {
		t.Fatalf("the writer ended by itself: %v", err)
	}
}

func openMoved(ctx context.Context, dir string) (cellstore.Store, *LiveStore, *LiveCollection, error) {
	store, err := pebblestore.Open(dir, nil)
	if err != nil {
		return nil, nil, nil, err
	}
	l, err := OpenLive(ctx, store)
	if err != nil {
		return nil, nil, nil, err
	}
	c := l.Collection("moved")
	if c == nil {
		c, err = l.Create(ctx, Meta{Name: "moved"})
	}
	return store, l, c, err
}

func moveUntilKilled(dir string) {
	ctx := context.Background()
	_, _, c, err := openMoved(ctx, dir)
	if err != nil {
		panic(err)
	}
	start := time.Now().UnixNano() // more than any number of the previous process
	for w := range killWriters {
		go func() {
			r := rand.New(rand.NewPCG(uint64(start), uint64(w)))
			outcomes := make([]Outcome, 3)
			for n := start; ; n += 3 {
				var writes []Write
				for i := range int64(3) {
					writes = append(writes, Write{
						Kind: Put, ID: fmt.Sprint(w, "-", r.IntN(killPoints)), Lat: r.Float64()*180 - 90, Lon: r.Float64() * 10,
						Properties: fmt.Appendf(nil, `{"n":%d}`, n+i),
					})
					if w := &writes[i]; r.IntN(5) == 0 {
						w.Kind = Delete
						fmt.Println(w.ID, n+i, tellDeleting)
					}
				}
				if err := c.Write(ctx, writes, outcomes); err != nil {
					panic(err)
				}
				for i, o := range outcomes {
					if o.Err != nil && (writes[i].Kind == Put || !errors.Is(o.Err, ErrNotFound)) {
						panic(o.Err)
					}
					fmt.Println(writes[i].ID, n+int64(i), tellAcknowledged)
				}
			}
		}()
	}
	select {}
}

// checkMoved checks all rows of the collection against the writers' reports.
func checkMoved(ctx context.Context, dir string, acked map[string]*written, follower *follower) (err error) {
	store, l, c, err := openMoved(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close(), store.Close()) }()
	places := map[string][2]float64{}
	for row, err := range c.index().table.Scan(ctx, cellstore.Scan{Selection: *selectPoint}) {
		var r record
		if err == nil {
			_, err = r.parse(row)
		}
		if err != nil {
			return err
		}
		id := string(r.id)
		if _, there := places[id]; there {
			return fmt.Errorf("%s is in two places", id)
		}
		places[id] = [2]float64{toDegrees(r.lon), toDegrees(r.lat)}
		var h Hit
		if err := c.GetAt(ctx, id, time.Time{}, &h); err != nil {
			return fmt.Errorf("%s: %w", id, err)
		}
		if places[id] != [2]float64{h.Lon, h.Lat} || string(h.Properties) != string(r.properties) {
			return fmt.Errorf("%s: %+v is not at %v", id, h, places[id])
		}
		var properties struct {
			N int64 `json:"n"`
		}
		err := json.Unmarshal(h.Properties, &properties)
		if w := acked[id]; err != nil || w != nil && properties.N < w.acknowledged {
			return fmt.Errorf("%s: %+v, %d is there: %w", id, w, properties.N, err)
		}
	}
	for id, w := range acked {
		if _, there := places[id]; !there && w.deleting < w.acknowledged {
			return fmt.Errorf("%s is nowhere", id)
		}
	}
	rows := 0
	for _, err := range c.index().table.Scan(ctx, cellstore.Scan{Selection: *selectID}) {
		if err != nil {
			return err
		}
		rows++
	}
	if n, err := c.CountIn(ctx, feature.Tile{}, nil, time.Time{}); err != nil || rows != len(places) || n != int64(rows) {
		return fmt.Errorf("%d ids and %d counted of %d points: %w", rows, n, len(places), err)
	}
	return errors.Join(follower.check(ctx, c, places), newFollower().check(ctx, c, places))
}

// follower derives the positions of points from events.
type follower struct {
	seq uint64 // of the last one
	at  map[string][2]float64
}

func newFollower() *follower { return &follower{at: map[string][2]float64{}} }

// check reads the new events. Each move of a point must begin where the previous one ended, and the
// last must end at the point's position.
func (f *follower) check(ctx context.Context, c *LiveCollection, places map[string][2]float64) error {
	last, err := c.LastEvent(ctx)
	if err != nil {
		return err
	}
	end := errors.New("end")
	if f.seq < last {
		err = c.Follow(ctx, f.seq, func(e *Event) error {
			at, known := f.at[e.ID]
			switch {
			case e.Seq <= f.seq:
				return fmt.Errorf("event %+v after %d", e, f.seq)
			case known != (e.From != nil) || known && *e.From != at:
				return fmt.Errorf("%+v begins elsewhere than at %v", e, at)
			case e.To == nil:
				delete(f.at, e.ID)
			default:
				f.at[e.ID] = *e.To
			}
			if f.seq = e.Seq; f.seq == last {
				return end
			}
			return nil
		})
		if !errors.Is(err, end) {
			return err
		}
	}
	if !maps.Equal(f.at, places) {
		return fmt.Errorf("by the events points are at %v, by their rows at %v", f.at, places)
	}
	return nil
}
