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

	// agree is held to change rows and tree. Who holds it for reading finds both in the
	// same state.
	agree sync.RWMutex

	mu    sync.Mutex
	ended bool
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
	if v.ended {
		return nil, ErrClosed
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
	if w.users--; w.users == 0 && len(v.alive) > 0 {
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

// reclaim ends the states that nobody uses, but for one that is current. What a state
// still sees goes to the next older one that is used, so that a slow reader keeps its own
// state alive and no others.
func (v *views) reclaim() error {
	var errs []error
	n := len(v.alive)
	newest := n - 1
	kept := v.alive[:0]
	for i, w := range v.alive {
		if w.users > 0 || i == newest && !v.stale {
			kept = append(kept, w)
			continue
		}
		errs = append(errs, w.snapshot.Close())
		if len(kept) > 0 {
			older := kept[len(kept)-1]
			older.left, older.nodes = append(older.left, w.left...), append(older.nodes, w.nodes...)
			continue
		}
		v.tree.reuse(w.nodes)
		if nodes := v.tree.drop(w.left); i < newest {
			// Searches of the states that are left may be in the middle of them.
			v.alive[newest].nodes = append(v.alive[newest].nodes, nodes...)
		} else {
			v.tree.reuse(nodes)
		}
	}
	clear(v.alive[len(kept):])
	v.alive = kept
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
	v.alive, v.ended = nil, true
	return errors.Join(errs...)
}
