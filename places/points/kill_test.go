package points

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/cellstore/pebblestore"
)

const (
	killWriters = 16
	killPoints  = 20 // of each writer
)

// TestKill kills a process that moves points, at a random moment, many times over. Every
// acknowledged write must be there, no point in two places or in none, and the events
// must tell of every move, in order.
func TestKill(t *testing.T) {
	if dir := os.Getenv("POINTS_KILL_DIR"); dir != "" {
		moveUntilKilled(dir)
	}
	rounds := 5
	if os.Getenv("QUADRILLE_FULL") != "" {
		rounds = 50
	}
	dir := t.TempDir()
	acked := map[string]int64{}
	for round := range rounds {
		before := len(acked)
		killMover(t, dir, time.Duration(20+rand.IntN(300))*time.Millisecond, acked)
		if len(acked) == 0 || before > len(acked) {
			t.Fatal("nothing was acknowledged")
		}
		if err := checkMoved(t.Context(), dir, acked); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
	}
}

// killMover runs this test as a writer and kills it. acked gets the number of the last
// acknowledged write of each point.
func killMover(t *testing.T, dir string, after time.Duration, acked map[string]int64) {
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
		if k, _ := fmt.Sscanf(lines.Text(), "%s %d %s", &id, &n, &end); k != 3 || end != "." {
			continue
		}
		acked[id] = n
		if !begun {
			begun = true
			time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
		}
	}
	if err := cmd.Wait(); err == nil || !begun {
		t.Fatalf("the writer ended by itself: %v", err)
	}
}

func openMoved(ctx context.Context, dir string) (cellstore.Store, *Live, *LiveCollection, error) {
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
	start := time.Now().UnixNano() // more than any number of the process before
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
				}
				if err := c.Write(ctx, writes, outcomes); err != nil {
					panic(err)
				}
				for i, o := range outcomes {
					if o.Err != nil {
						panic(o.Err)
					}
					fmt.Printf("%s %d .\n", writes[i].ID, n+int64(i))
				}
			}
		}()
	}
	select {}
}

// checkMoved looks at all rows.
func checkMoved(ctx context.Context, dir string, acked map[string]int64) (err error) {
	store, l, c, err := openMoved(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close(), store.Close()) }()
	places := map[string][2]float64{}
	for row, err := range c.table.Scan(ctx, cellstore.Scan{Selection: *selectPoint}) {
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
		if err := c.Get(ctx, id, &h); err != nil {
			return fmt.Errorf("%s: %w", id, err)
		}
		if places[id] != [2]float64{h.Lon, h.Lat} || string(h.Properties) != string(r.properties) {
			return fmt.Errorf("%s: %+v is not at %v", id, h, places[id])
		}
		var properties struct {
			N int64 `json:"n"`
		}
		if err := json.Unmarshal(h.Properties, &properties); err != nil || properties.N < acked[id] {
			return fmt.Errorf("%s: write %d was acknowledged, %d is there: %w", id, acked[id], properties.N, err)
		}
	}
	for id := range acked {
		if _, there := places[id]; !there {
			return fmt.Errorf("%s is nowhere", id)
		}
	}
	return checkEvents(ctx, c, places)
}

// checkEvents follows all events: each move of a point begins where the one before it
// ended, and the last one ends where the point is.
func checkEvents(ctx context.Context, c *LiveCollection, places map[string][2]float64) error {
	last, err := c.LastEvent(ctx)
	if err != nil {
		return err
	}
	moved := map[string][2]float64{}
	seq := uint64(0)
	end := errors.New("end")
	oldest := uint64(c.clock().Add(-time.Hour).UnixMilli()) * 1000
	err = c.Follow(ctx, oldest, func(e *Event) error {
		if e.Seq <= seq || e.To == nil {
			return fmt.Errorf("event %+v after %d", e, seq)
		}
		at, known := moved[e.ID]
		if known != (e.From != nil) || known && *e.From != at {
			return fmt.Errorf("%+v begins elsewhere than at %v", e, at)
		}
		moved[e.ID], seq = *e.To, e.Seq
		if seq == last {
			return end
		}
		return nil
	})
	if !errors.Is(err, end) {
		return err
	}
	for id, at := range places {
		if moved[id] != at {
			return fmt.Errorf("%s is at %v, the last event said %v", id, at, moved[id])
		}
	}
	return nil
}
