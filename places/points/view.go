package points

import (
	"context"
	"errors"
	"sync"

	"quadrille/cellstore"
	"quadrille/quadkey"
)

// views are the states of a live collection that answers are made from. They keep the
// tree from forgetting what an answer still sees.
//
// A point is counted in its new tile before it is written, and held in its old one
// until no view shows it there any more. So whatever a view shows, the tree knows.
type views struct {
	table cellstore.Table
	tree  *tree

	mu    sync.Mutex
	stale bool    // the newest view does not show the last commit
	alive []*view // oldest first; the last one is the newest
}

// view is one state. It is shared by the answers that begin while it is the newest.
type view struct {
	snapshot cellstore.Snapshot
	users    int
	// left are points that are not there any more in states after this one, and nodes
	// those that only searches of this or older states can know.
	left  []counted
	nodes []uint32
}

// acquire returns the state as of now.
func (v *views) acquire(ctx context.Context) (*view, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if n := len(v.alive); n > 0 && !v.stale {
		v.alive[n-1].users++
		return v.alive[n-1], nil
	}
	snapshot, err := v.table.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	w := &view{snapshot: snapshot, users: 1}
	v.alive, v.stale = append(v.alive, w), false
	_ = v.reclaim() // closing a snapshot fails only where it is closed already
	return w, nil
}

// release gives back a state.
func (v *views) release(w *view) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if w.users--; w.users == 0 && len(v.alive) > 0 && w == v.alive[0] {
		_ = v.reclaim() // closing a snapshot fails only where it is closed already
	}
}

// committed says that a commit is visible after which points are not there any more.
func (v *views) committed(left []counted) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.stale = true
	if n := len(v.alive); n > 0 {
		w := v.alive[n-1]
		w.left = append(w.left, left...)
		return v.reclaim()
	}
	v.tree.reuse(v.tree.drop(left))
	return nil
}

// reclaim ends the oldest states that nobody uses, but for one that is current.
func (v *views) reclaim() error {
	var errs []error
	for len(v.alive) > 0 {
		w := v.alive[0]
		if w.users > 0 || len(v.alive) == 1 && !v.stale {
			break
		}
		errs = append(errs, w.snapshot.Close())
		v.tree.reuse(w.nodes)
		v.alive = v.alive[1:]
		nodes := v.tree.drop(w.left)
		if n := len(v.alive); n > 0 {
			// Searches of the states that are left may be in the middle of them.
			v.alive[n-1].nodes = append(v.alive[n-1].nodes, nodes...)
		} else {
			v.tree.reuse(nodes)
		}
	}
	return errors.Join(errs...)
}

// divide gives children to a full leaf, which has the points.
func (v *views) divide(tile quadkey.Tile, points []counted) {
	v.mu.Lock()
	defer v.mu.Unlock()
	first, last := tile.PointKeys()
	var left []counted
	seen := false
	for _, w := range v.alive {
		seen = seen || w.users > 0
		for _, c := range w.left {
			if c.key >= first && c.key <= last {
				left = append(left, c)
			}
		}
	}
	v.tree.divide(tile, points, left, seen)
}

// close ends all states.
func (v *views) close() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	var errs []error
	for _, w := range v.alive {
		errs = append(errs, w.snapshot.Close())
	}
	v.alive = nil
	return errors.Join(errs...)
}
