package dataset

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/internal/must"
)

func TestDepot(t *testing.T) {
	c, r := newPebbleCatalog(t), newRemote(t)
	d := depotAt(t, r)
	if names, err := d.Datasets(t.Context()); err != nil || names != nil {
		t.Errorf("an empty depot has %v, %v", names, err)
	}
	_, err := d.OpenCurrent(t.Context(), "ip")
	wantErr(t, err, ErrNoGeneration)
	_, err = d.Rollback(t.Context(), "ip")
	wantErr(t, err, ErrNoGeneration)

	mustIngest(t, c, "ip", "one")
	local := mustIngest(t, c, "ip", "two")
	p := pushed(t, d, c, "ip")
	if p.AlreadyThere || p.Resumed || p.Rows != tableRows || p.Manifest.Generation != local.Generation ||
		len(p.Manifest.Tables) != 1 || p.Manifest.Tables[0].Rows != tableRows {
		t.Errorf("pushed %+v", p)
	}
	if got := inDepot(t, depotAt(t, r), "ip"); got != "two" {
		t.Errorf("the depot has %q", got)
	}
	// Pushing it again does nothing.
	if p := pushed(t, d, c, "ip"); !p.AlreadyThere || p.Rows != 0 {
		t.Errorf("pushed again: %+v", p)
	}
	mustIngest(t, c, "ip", "three")
	pushed(t, d, c, "ip")
	if got := depotNumbers(t, d); got != "ip2 ip3*" {
		t.Errorf("generations %s", got)
	}
	if m, err := d.Rollback(t.Context(), "ip"); err != nil || m.Generation != 2 {
		t.Fatal(m.Generation, err)
	}
	if got := inDepot(t, d, "ip"); got != "two" {
		t.Errorf("rolled back to %q", got)
	}
	// With OnlyNew a rollback stays as it is. Without it, the push publishes the generation again.
	if p, err := pushCurrent(t.Context(), d, c, "ip", PushOptions{OnlyNew: true}); err != nil || !p.AlreadyThere ||
		depotNumbers(t, d) != "ip2* ip3" {
		t.Error(p, err, depotNumbers(t, d))
	}
	if p := pushed(t, d, c, "ip"); !p.AlreadyThere || depotNumbers(t, d) != "ip2 ip3*" {
		t.Error(p, depotNumbers(t, d))
	}
	if _, err := d.Activate(t.Context(), "ip", 2); err != nil {
		t.Fatal(err)
	}
	_, err = d.Activate(t.Context(), "ip", 9)
	wantErr(t, err, ErrNoGeneration)
	if err := d.Verify(t.Context(), "ip", 3, nil); err != nil {
		t.Error(err)
	}
	if m, err := d.Current(t.Context(), "ip"); err != nil || m.Generation != 2 {
		t.Error(m.Generation, err)
	}
}

func TestDepotPrune(t *testing.T) {
	c, r := newPebbleCatalog(t), newRemote(t)
	d := depotAt(t, r)
	now := when
	d.now = func() time.Time { return now }
	for i := range 4 {
		mustIngest(t, c, "ip", fmt.Sprint("text ", i))
		pushed(t, d, c, "ip")
		now = now.Add(4 * time.Minute)
	}
	// 1 was replaced 12 minutes ago, 2 was 8 minutes ago, and 3 was 4 minutes ago.
	done, err := d.Prune(t.Context(), 1, 10*time.Minute)
	if err != nil || len(done.Removed) != 1 || len(done.InUse) != 2 || depotNumbers(t, d) != "ip2 ip3 ip4*" {
		t.Fatal(done, err, depotNumbers(t, d))
	}
	now = now.Add(time.Hour)
	if _, err := d.Rollback(t.Context(), "ip"); err != nil { // to 3; 4 is replaced now
		t.Fatal(err)
	}
	done, err = d.Prune(t.Context(), 0, 10*time.Minute, "ip")
	if err != nil || depotNumbers(t, d) != "ip3* ip4" {
		t.Fatal(done, err, depotNumbers(t, d))
	}
	tables, err := r.Tables(t.Context())
	if err != nil || strings.Join(tables, " ") != "datasets ip.g0000000003.t ip.g0000000004.t" {
		t.Error(tables, err)
	}
	n, err := d.stored(t.Context(), "ip")
	if err != nil || len(n) != 2 {
		t.Error(n, err)
	}
	// The number of a removed generation is not used again.
	mustIngest(t, c, "ip", "another")
	if p := pushed(t, d, c, "ip"); p.Manifest.Generation != 5 {
		t.Errorf("generation %d", p.Manifest.Generation)
	}
}

// TestDepotCrash stops the program of a push at each step in turn, so that its lease is not renewed
// either. The next push finishes the work.
func TestDepotCrash(t *testing.T) {
	c := newPebbleCatalog(t)
	mustIngest(t, c, "ip", "old")
	old, err := c.OpenCurrent(t.Context(), "ip")
	must.Do(t, err)
	defer old.Close()
	mustIngest(t, c, "ip", "new")
	o := PushOptions{partBytes: 1 << 10, Workers: 1}
	var names []string
	for crash := 0; ; crash++ {
		r := newRemote(t)
		d := depotAt(t, r)
		if _, err := d.Push(t.Context(), old, o); err != nil {
			t.Fatal(err)
		}
		n, dead := 0, false
		d.onStep = func(step string) error {
			if n++; n > crash {
				if !dead {
					names = append(names, step)
				}
				dead = true
				return errInjected
			}
			return nil
		}
		_, err := pushCurrent(t.Context(), d, c, "ip", o)
		if !dead {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		step := names[len(names)-1]
		other := depotAt(t, r)
		got := inDepot(t, other, "ip")
		visible := got == "new"
		if got != "old" && !visible || visible != (step == "pointer replaced" || step == "lease released") {
			t.Errorf("after %s the depot has %q", step, got)
		}
		if step != "lease released" {
			wantErr(t, err, errInjected)
			_, err = pushCurrent(t.Context(), other, c, "ip", o)
			if !visible || err != nil {
				wantErr(t, err, ErrBuilding) // the lease still holds
			}
		}
		later := func() time.Time { return time.Now().Add(time.Hour) }
		other.now = later
		p, err := pushCurrent(t.Context(), other, c, "ip", o)
		if err != nil {
			t.Fatalf("after %s: %v", step, err)
		}
		if want := !visible && step != "leased"; p.Resumed != want || p.AlreadyThere != visible {
			t.Errorf("after %s the push is %+v", step, p)
		}
		if got := inDepot(t, other, "ip"); got != "new" {
			t.Errorf("after %s and another push the depot has %q", step, got)
		}
		// A later operation removes the remains instead.
		if crash%3 != 0 {
			continue
		}
		if tables, err := r.Tables(t.Context()); err != nil || len(tables) != 3 {
			t.Errorf("after %s and another push there are %v, %v", step, tables, err)
		}
	}
	for _, want := range []string{"leased", "noted", "table made", "batch sent", "part noted", "loaded", "piece copied",
		"files copied", "checked", "manifest written", "pointer replaced", "lease released"} {
		if !strings.Contains(strings.Join(names, ","), want) {
			t.Errorf("no crash after %q", want)
		}
	}
}

// TestDepotLeftovers tests that both the next push of other data and a prune remove the remains of
// a killed push.
func TestDepotLeftovers(t *testing.T) {
	for _, by := range []string{"push", "prune"} {
		c, r := newPebbleCatalog(t), newRemote(t)
		d := depotAt(t, r)
		mustIngest(t, c, "ip", "one")
		pushed(t, d, c, "ip")
		mustIngest(t, c, "ip", "two")
		d.onStep = func(step string) error {
			if step == "checked" || step == "lease released" {
				return errInjected
			}
			return nil
		}
		_, err := pushCurrent(t.Context(), d, c, "ip", PushOptions{})
		wantErr(t, err, errInjected)
		d.onStep = nil
		d.now = func() time.Time { return time.Now().Add(time.Hour) }
		want := "datasets ip.g0000000001.t"
		if by == "push" {
			mustIngest(t, c, "ip", "three")
			pushed(t, d, c, "ip")
			want += " ip.g0000000003.t"
		} else if _, err := d.Prune(t.Context(), 2, pruneGrace); err != nil {
			t.Fatal(err)
		}
		tables, err := r.Tables(t.Context())
		if err != nil || strings.Join(tables, " ") != want {
			t.Errorf("after %s there are %v, %v", by, tables, err)
		}
	}
}

// TestDepotOutage: the store fails at each call of a push in turn. Another push finishes the work.
func TestDepotOutage(t *testing.T) {
	c := newPebbleCatalog(t)
	mustIngest(t, c, "ip", "new")
	step := int64(1)
	if testing.Short() {
		step = 5
	}
	for calls := int64(0); ; calls += step {
		r := newRemote(t)
		d := depotAt(t, r)
		r.left.Store(calls)
		_, err := pushCurrent(t.Context(), d, c, "ip", PushOptions{partBytes: 1 << 10, Workers: 2})
		r.left.Store(-1)
		went := r.down.Load() != nil
		r.fail(nil)
		if err != nil {
			wantErr(t, err, cellstore.ErrUnavailable)
			d.now = func() time.Time { return time.Now().Add(time.Hour) }
			pushed(t, d, c, "ip")
		}
		if got := inDepot(t, d, "ip"); got != "new" {
			t.Fatalf("after %d calls the depot has %q", calls, got)
		}
		if !went {
			return
		}
	}
}

// TestDepotTwoPushers: of two simultaneous pushes, one is refused, or both end in the same state.
func TestDepotTwoPushers(t *testing.T) {
	r := newRemote(t)
	var catalogs []*Catalog
	for i := range 3 {
		c := newPebbleCatalog(t)
		mustIngest(t, c, "ip", fmt.Sprint("by ", i))
		catalogs = append(catalogs, c)
	}
	var wg sync.WaitGroup
	var won atomic.Int64
	for _, c := range catalogs {
		d := depotAt(t, r)
		wg.Go(func() {
			_, err := pushCurrent(t.Context(), d, c, "ip", PushOptions{partBytes: 1 << 10})
			if err == nil {
				won.Add(1)
			} else if !errors.Is(err, ErrBuilding) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if won.Load() == 0 {
		t.Error("nobody could push")
	}
	d := depotAt(t, r)
	if got := inDepot(t, d, "ip"); !strings.HasPrefix(got, "by ") {
		t.Errorf("the depot has %q", got)
	}
	if got := len(strings.Fields(depotNumbers(t, d))); got != int(won.Load()) {
		t.Errorf("%d generations of %d pushes", got, won.Load())
	}
}

// TestDepotLeaseLost: a push loses its lease because it seems dead. It ends and does not publish.
func TestDepotLeaseLost(t *testing.T) {
	c, r := newPebbleCatalog(t), newRemote(t)
	mustIngest(t, c, "ip", "slow")
	fast := newPebbleCatalog(t)
	mustIngest(t, fast, "ip", "fast")
	d, other := depotAt(t, r), depotAt(t, r)
	other.now = func() time.Time { return time.Now().Add(time.Hour) }
	d.onStep = func(step string) error {
		if step == "checked" {
			pushed(t, other, fast, "ip")
		}
		return nil
	}
	_, err := pushCurrent(t.Context(), d, c, "ip", PushOptions{})
	wantErr(t, err, ErrBuilding)
	if got := inDepot(t, other, "ip"); got != "fast" {
		t.Errorf("the depot has %q", got)
	}
}

// TestDepotLeaseAhead: a program with a clock a year ahead takes a lease and dies. The lease does
// not lock others out for a year. A living program keeps its lease by renewals.
func TestDepotLeaseAhead(t *testing.T) {
	r := newRemote(t)
	ahead, d := depotAt(t, r), depotAt(t, r)
	ahead.now = func() time.Time { return time.Now().AddDate(1, 0, 0) }
	ahead.leaseFor, d.leaseFor = 100*time.Millisecond, 2*time.Second // it is renewed often while the other looks
	tab, err := d.create(t.Context())
	must.Do(t, err)
	alive, stop := context.WithCancel(t.Context())
	_, l, err := ahead.lease(alive, tab, "ip", "ahead")
	must.Do(t, err)
	if _, _, err := d.lease(t.Context(), tab, "ip", "me"); !errors.Is(err, ErrBuilding) {
		t.Errorf("a lease that is renewed: %v", err)
	}
	stop() // it is neither renewed nor released any more
	l.stopped.Wait()
	_, mine, err := d.lease(t.Context(), tab, "ip", "me")
	must.Do(t, err)
	mine.release(t.Context())
}

// TestDepotPruneAhead: a generation was replaced while the clock was a year ahead. It is pruned
// once the clock has been right for the time of grace.
func TestDepotPruneAhead(t *testing.T) {
	c, r := newPebbleCatalog(t), newRemote(t)
	d := depotAt(t, r)
	now := when.AddDate(1, 0, 0)
	d.now = func() time.Time { return now }
	for _, text := range []string{"one", "two"} {
		mustIngest(t, c, "ip", text)
		pushed(t, d, c, "ip")
	}
	now = when
	for range 2 {
		if _, err := d.Prune(t.Context(), 1, 10*time.Minute, "ip"); err != nil {
			t.Fatal(err)
		}
		now = now.Add(11 * time.Minute)
	}
	if got := depotNumbers(t, d); got != "ip2*" {
		t.Errorf("generations %s", got)
	}
}

func TestDepotCancel(t *testing.T) {
	c, r := newPebbleCatalog(t), newRemote(t)
	mustIngest(t, c, "ip", "one")
	d := depotAt(t, r)
	ctx, cancel := context.WithCancel(t.Context())
	d.onStep = func(step string) error {
		if step == "batch sent" {
			cancel()
		}
		return nil
	}
	_, err := pushCurrent(ctx, d, c, "ip", PushOptions{})
	wantErr(t, err, context.Canceled)
	d.onStep = nil
	if p := pushed(t, d, c, "ip"); !p.Resumed { // at once: the lease was released
		t.Errorf("pushed %+v", p)
	}
}
