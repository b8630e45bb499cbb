package dataset

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"quadrille/cellstore"
)

// leaseFor is the lifetime of a lease after its last renewal. Others wait as long for a killed
// push. The clocks of pushing machines should differ by much less. If they differ more, a push may
// lose its lease, and then ends with an error.
const leaseFor = time.Minute

// leaseRecord identifies the program that pushes or prunes a data set.
type leaseRecord struct {
	Owner   string    `json:"owner"` // for messages
	Token   string    `json:"token"` // unique
	Expires time.Time `json:"expires"`
}

// lease is the right to push. It is renewed until it is released.
type lease struct {
	d       *Depot
	t       cellstore.Table
	dataset string
	lost    context.CancelCauseFunc
	stop    chan struct{}
	stopped sync.WaitGroup

	mu      sync.Mutex // held while it is renewed
	record  leaseRecord
	content []byte // as it is stored
}

// lease takes the lease of a data set. Errors match ErrBuilding if another program has it. The
// returned context ends when the lease is lost.
func (d *Depot) lease(ctx context.Context, t cellstore.Table, dataset, owner string) (context.Context, *lease, error) {
	l := &lease{d: d, t: t, dataset: dataset, stop: make(chan struct{})}
	l.record = leaseRecord{Owner: owner, Token: token()}
	old, err := d.get(ctx, dataset, familyPointer, columnLease)
	if err != nil {
		return nil, nil, err
	}
	if len(old) > 0 {
		l.content = old
		var holder leaseRecord
		alive := json.Unmarshal(old, &holder) == nil && holder.Expires.After(d.now())
		if alive && holder.Expires.Sub(d.now()) > 2*d.leaseFor {
			if alive, err = d.renewed(ctx, dataset, old); err != nil {
				return nil, nil, err
			}
		}
		if alive {
			return nil, nil, fmt.Errorf("%w: %s in %s is being pushed or pruned by %s, whose lease ends at %s unless it is renewed: wait for that",
				ErrBuilding, dataset, d.opts.Name, holder.Owner, holder.Expires.Format(time.RFC3339))
		}
	}
	if err := l.renew(ctx); err != nil {
		if errors.Is(err, errLeaseLost) {
			err = fmt.Errorf("%w: another program began to push %s at the same moment: wait for that", ErrBuilding, dataset)
		}
		return nil, nil, err
	}
	ctx, l.lost = context.WithCancelCause(ctx)
	l.stopped.Go(func() { l.keep(ctx) })
	return ctx, l, nil
}

// renewed waits and reports whether a lease has changed. It is for a lease that ends too far in the
// future. One of the two clocks is then wrong, and only a renewal shows that the holder is alive.
func (d *Depot) renewed(ctx context.Context, dataset string, old []byte) (bool, error) {
	if err := pause(ctx, d.leaseFor); err != nil {
		return false, err
	}
	now, err := d.get(ctx, dataset, familyPointer, columnLease)
	return !bytes.Equal(now, old), err
}

// renew extends the lease, provided that the stored lease is as this program last wrote it.
func (l *lease) renew(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.record
	r.Expires = l.d.now().Add(l.d.leaseFor).UTC().Truncate(time.Millisecond)
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	for range 3 {
		done, err := l.write(ctx, b)
		if err != nil {
			return err
		}
		if done {
			l.record = r
			return nil
		}
	}
	return fmt.Errorf("renew the lease of %s in %s: %w", l.dataset, l.d.opts.Name, cellstore.ErrUnknownOutcome)
}

// write replaces the stored lease by b. An earlier renewal of this program may have been stored
// although its answer was lost. In that case write makes it the current lease and returns false,
// because it ends sooner than b.
func (l *lease) write(ctx context.Context, b []byte) (bool, error) {
	done, err := checkAndPut(ctx, l.t, l.dataset, columnLease, l.content, b)
	if errors.Is(err, cellstore.ErrUnknownOutcome) || err == nil && !done {
		// This write or an earlier one may have succeeded although the error says otherwise. A
		// lease with this token is ours.
		now, rerr := l.d.get(ctx, l.dataset, familyPointer, columnLease)
		if rerr != nil {
			return false, rerr
		}
		var holder leaseRecord
		if json.Unmarshal(now, &holder) == nil && holder.Token == l.record.Token {
			l.content = now
			return bytes.Equal(now, b), nil
		}
		if err == nil {
			return false, errLeaseLost
		}
	}
	if err != nil {
		return false, err
	}
	l.content = b
	return true, nil
}

// keep renews the lease until it is released or lost. While the store does not answer, no other
// program can take the lease either.
func (l *lease) keep(ctx context.Context) {
	tick := time.NewTicker(l.d.leaseFor / 4)
	defer tick.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := l.renew(ctx); errors.Is(err, errLeaseLost) {
			l.lost(err)
			return
		}
	}
}

// release ends the lease, even if the context it was taken with has ended. If that fails, the lease
// expires after its time.
func (l *lease) release(ctx context.Context) {
	close(l.stop)
	l.stopped.Wait()
	l.lost(nil)
	if l.d.step("lease released") != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	_, _ = l.t.CheckAndMutate(ctx, cellstore.Check{Family: familyPointer, Qualifier: columnLease, Op: cellstore.Equal, Value: l.content},
		cellstore.Mutation{Row: []byte(l.dataset), Ops: []cellstore.Op{cellstore.DeleteColumn(familyPointer, columnLease,
			cellstore.AllVersions)}})
}
