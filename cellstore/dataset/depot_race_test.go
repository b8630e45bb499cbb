package dataset

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/internal/must"
)

// TestDepotPruneWhilePushed tests that a generation published during a prune stays, with its
// tables.
func TestDepotPruneWhilePushed(t *testing.T) {
	for _, at := range []string{"unlisted", "table dropped"} {
		c, r := newPebbleCatalog(t), newRemote(t)
		d, other := depotAt(t, r), depotAt(t, r)
		for _, text := range []string{"one", "two"} {
			mustIngest(t, c, "ip", text)
			pushed(t, d, c, "ip")
		}
		mustIngest(t, c, "ip", "three")
		done := false
		d.onStep = func(step string) error {
			if step == at && !done {
				done = true
				pushed(t, other, c, "ip")
			}
			return nil
		}
		if _, err := d.Prune(t.Context(), 1, 0); err != nil {
			t.Fatal(err)
		}
		if got := inDepot(t, depotAt(t, r), "ip"); !done || got != "three" {
			t.Errorf("after %s the depot has %q", at, got)
		}
		if err := d.Verify(t.Context(), "ip", 0, nil); err != nil {
			t.Error(err)
		}
	}
}

// TestDepotLateWrite: a push stalls between the check of its lease and the write of the pointer.
// Meanwhile another push takes over and removes the tables of the first. The first push then
// publishes nothing.
func TestDepotLateWrite(t *testing.T) {
	base, c, r := newPebbleCatalog(t), newPebbleCatalog(t), newRemote(t)
	mustIngest(t, base, "ip", "base")
	d, other := depotAt(t, r), depotAt(t, r)
	pushed(t, d, base, "ip")
	mustIngest(t, c, "ip", "slow")
	mustIngest(t, base, "ip", "fast")
	other.now = func() time.Time { return time.Now().Add(time.Hour) }
	late := func() { pushed(t, other, base, "ip") }
	r.onCheck.Store(&late)
	_, err := pushCurrent(t.Context(), d, c, "ip", PushOptions{})
	wantErr(t, err, ErrBuilding)
	if r.onCheck.Load() != nil {
		t.Fatal("the other push did not run")
	}
	if got := inDepot(t, depotAt(t, r), "ip"); got != "fast" {
		t.Errorf("the depot has %q", got)
	}
	if err := other.Verify(t.Context(), "ip", 0, nil); err != nil {
		t.Error(err)
	}
}

// TestDepotRollbackOnce: a rollback finds that its own write, or another rollback's, is already
// done. It does not go back further.
func TestDepotRollbackOnce(t *testing.T) {
	c, r := newPebbleCatalog(t), newRemote(t)
	d, other := depotAt(t, r), depotAt(t, r)
	for _, text := range []string{"one", "two", "three"} {
		mustIngest(t, c, "ip", text)
		pushed(t, d, c, "ip")
	}
	before := func() {
		if _, err := other.Rollback(t.Context(), "ip"); err != nil {
			t.Error(err)
		}
	}
	r.onCheck.Store(&before)
	if m, err := d.Rollback(t.Context(), "ip"); err != nil || m.Generation != 2 || depotNumbers(t, d) != "ip1 ip2* ip3" {
		t.Error(m.Generation, err, depotNumbers(t, d))
	}
}

// TestDepotStrays: a push seems dead, but continues for a little while. Its tables and records are
// not mixed with those of a later push under the same number.
func TestDepotStrays(t *testing.T) {
	c, r := newPebbleCatalog(t), newRemote(t)
	mustIngest(t, c, "ip", "one")
	d := depotAt(t, r)
	tab, err := d.create(t.Context())
	must.Do(t, err)
	b, err := json.Marshal(partRecord{Load: "another", Done: true})
	must.Do(t, err)
	err = tab.Apply(t.Context(), cellstore.Mutation{
		Row: []byte(generationRow("ip", 1)),
		Ops: []cellstore.Op{cellstore.Put(familyManifest, partColumn("t", 0), b)},
	})
	must.Do(t, err)
	s, err := r.open(t.Context(), tablePrefix("ip", 1))
	must.Do(t, err)
	g, err := c.OpenCurrent(t.Context(), "ip")
	must.Do(t, err)
	defer g.Close()
	local, err := g.Store.Table(t.Context(), "t")
	must.Do(t, err)
	schema := local.Schema()
	must.Do(t, s.CreateTable(t.Context(), schema))
	stray, err := s.Table(t.Context(), "t")
	must.Do(t, err)
	err = stray.Apply(t.Context(), cellstore.Mutation{
		Row: []byte("stray"),
		Ops: []cellstore.Op{cellstore.Put(schema.Families[0].Name, []byte("q"), []byte("v"))},
	})
	must.Do(t, err)
	if p, err := d.Push(t.Context(), g, PushOptions{NoCheck: true}); err != nil || p.Manifest.Generation != 1 {
		t.Fatal(p, err)
	}
	if err := d.Verify(t.Context(), "ip", 0, nil); err != nil {
		t.Error(err)
	}
}

// TestDepotLeaseRenewed: a renewal finds that an earlier renewal, whose answer was lost, has been
// stored. It still extends the lease to the full time.
func TestDepotLeaseRenewed(t *testing.T) {
	d := depotAt(t, newRemote(t))
	tab, err := d.create(t.Context())
	must.Do(t, err)
	_, l, err := d.lease(t.Context(), tab, "ip", "me")
	must.Do(t, err)
	defer l.release(t.Context())
	earlier := l.record
	earlier.Expires = time.Now().Add(time.Second).UTC()
	b, err := json.Marshal(earlier)
	must.Do(t, err)
	must.Do(t, tab.Apply(t.Context(), cellstore.Mutation{
		Row: []byte("ip"),
		Ops: []cellstore.Op{cellstore.Put(familyPointer, columnLease, b)},
	}))
	must.Do(t, l.renew(t.Context()))
	b, err = d.get(t.Context(), "ip", familyPointer, columnLease)
	must.Do(t, err)
	var stored leaseRecord
	if err := json.Unmarshal(b, &stored); err != nil || stored.Token != earlier.Token ||
		stored.Expires.Before(earlier.Expires.Add(d.leaseFor/2)) {
		t.Errorf("stored %s, %v", b, err)
	}
}

// TestDepotOlderAway: while a store does not answer, not every request for an older generation
// waits for it.
func TestDepotOlderAway(t *testing.T) {
	c, r := newPebbleCatalog(t), newRemote(t)
	for _, text := range []string{"one", "two"} {
		mustIngest(t, c, "ip", text)
		pushed(t, depotAt(t, r), c, "ip")
	}
	l := liveDepot(t, depotAt(t, r))
	must.Do(t, l.Poll(t.Context()))
	r.fail(errDown)
	_, err := l.AcquireGeneration(1)
	wantErr(t, err, cellstore.ErrUnavailable)
	r.fail(nil)
	if h, err := l.AcquireGeneration(1); !errors.Is(err, cellstore.ErrUnavailable) {
		t.Errorf("it was asked again: %v", err)
		if err == nil {
			h.Release()
		}
	}
	l.older.mu.Lock()
	l.older.lookAt = time.Time{}
	l.older.mu.Unlock()
	h, err := l.AcquireGeneration(1)
	must.Do(t, err)
	h.Release()
}

// TestDepotOpenerGivesUp: one of several callers that wait for the opening of the store gives up.
// The others continue to wait.
func TestDepotOpenerGivesUp(t *testing.T) {
	r := newRemote(t)
	asked := make(chan struct{})
	first := true // only one opens at a time
	d, err := OpenDepot(DepotOptions{Dir: t.TempDir(), Open: func(ctx context.Context, prefix string) (cellstore.Store, error) {
		if first {
			first = false
			asked <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return r.open(ctx, prefix)
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	ctx, cancel := context.WithCancel(t.Context())
	gaveUp, others := make(chan error), make(chan error)
	go func() {
		_, err := d.Datasets(ctx)
		gaveUp <- err
	}()
	<-asked
	const n = 5
	for range n {
		go func() {
			_, err := d.Datasets(t.Context())
			others <- err
		}()
	}
	time.Sleep(50 * time.Millisecond) // time for them to begin waiting; if one is late, the test checks less
	cancel()
	wantErr(t, <-gaveUp, context.Canceled)
	for range n {
		if err := <-others; err != nil {
			t.Error(err)
		}
	}
}
