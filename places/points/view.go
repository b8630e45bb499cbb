package points

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"quadrille/cellstore"
	"quadrille/places/live"
)

// views has the states of a live collection for running queries. It makes the tree hold points that
// a query still sees.
//
// The tree counts a point in its new tile before the point is written, and holds it in its old tile
// until no view shows it there any more. So the tree covers every point that a view shows. There is
// one exception: if more than maxBehind points have left since a view was made, its queries
// continue without the tree, by the rows alone. That is slower but just as exact. A page may then
// be refused because it examines too many points.
type views struct {
	table  cellstore.Table
	tree   *tree
	behind uint64 // maxBehind

	// agree is held while rows and tree change. A goroutine that holds it for reading finds rows
	// and tree in the same state.
	agree   sync.RWMutex
	changes changes

	// Only the writer uses these fields, so no reader waits for a pass over them.
	left     [][]counted // points that the tree holds since they have left, in that order
	first    uint64      // gone before those
	unlinked []unlinked

	mu    sync.Mutex
	gone  uint64 // number of points that have ever left
	ended bool
	stale bool    // the newest view does not show the last commit
	alive []*view // oldest first; the last one is the newest
	blind []*view // views whose queries continue without the tree
}

// view is one state. Answers that begin while it is the newest share it.
type view struct {
	snapshot cellstore.Snapshot
	users    int
	since    uint64 // number of points gone when it was made: the view may show points that have left since
	blind    atomic.Bool
}

// unlinked has nodes that only searches of earlier views may still use.
type unlinked struct {
	gone  uint64
	nodes []uint32
}

const (
	// maxBehind bounds the points that have left since a view was made. With more, the tree drops
	// them.
	maxBehind = 1 << 18
	// dropPoints is the number of points that the tree drops at once. Searches wait during that
	// time.
	dropPoints = 1024
)

func newViews(table cellstore.Table, t *tree) *views {
	return &views{table: table, tree: t, behind: maxBehind}
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
		return nil, live.ErrClosed
	}
	snapshot, err := v.table.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	w := &view{snapshot: snapshot, users: 1, since: v.gone}
	v.alive, v.stale = append(v.alive, w), false
	v.reclaim()
	return w, nil
}

// release ends the use of a state.
func (v *views) release(w *view) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if w.users--; w.users == 0 {
		v.reclaim()
	}
}

// reclaim closes unused states, except the current one.
func (v *views) reclaim() {
	var current *view
	if n := len(v.alive); n > 0 && !v.stale {
		current = v.alive[n-1]
	}
	unused := func(w *view) bool {
		if w.users > 0 || w == current {
			return false
		}
		_ = w.snapshot.Close() // fails only where it is closed already
		return true
	}
	v.blind = slices.DeleteFunc(v.blind, unused)
	v.alive = slices.DeleteFunc(v.alive, unused)
}

// committed records a visible commit that removed points. The views own the list left.
func (v *views) committed(left []counted) {
	if n := len(v.left) - 1; n >= 0 && len(v.left[n])+len(left) <= dropPoints {
		v.left[n] = append(v.left[n], left...)
	} else if len(left) > 0 {
		v.left = append(v.left, left)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.gone += uint64(len(left))
	v.stale = true
	for len(v.alive) > 0 && v.gone-v.alive[0].since > v.behind {
		w := v.alive[0]
		w.blind.Store(true) // before the tree drops points that it shows
		v.alive, v.blind = v.alive[1:], append(v.blind, w)
	}
	v.reclaim()
}

// oldest returns the value that gone had when the oldest view that still uses the tree was made.
func (v *views) oldest() uint64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.alive) == 0 {
		return math.MaxUint64
	}
	return v.alive[0].since
}

// sweep drops held points that no answer needs from the tree.
func (v *views) sweep() {
	for oldest := v.oldest(); len(v.left) > 0 && v.first < oldest; {
		n := min(dropPoints, len(v.left[0]), int(min(oldest-v.first, dropPoints)))
		// Searches may still use the nodes.
		if nodes := v.tree.drop(v.left[0][:n]); len(nodes) > 0 {
			v.unlinked = append(v.unlinked, unlinked{v.gone, nodes})
		}
		v.first += uint64(n)
		if v.left[0] = v.left[0][n:]; len(v.left[0]) == 0 {
			v.left = slices.Delete(v.left, 0, 1)
		}
	}
	for oldest := v.oldest(); len(v.unlinked) > 0 && v.unlinked[0].gone < oldest; {
		v.tree.reuse(v.unlinked[0].nodes)
		v.unlinked = slices.Delete(v.unlinked, 0, 1)
	}
}

// divide gives children to a full leaf with the given points.
func (v *views) divide(leaf *branch, points []counted) {
	first, last := leaf.tile.PointKeys()
	var left []counted
	for i := len(v.left) - 1; i >= 0 && len(left) < int(leaf.held); i-- {
		for _, c := range v.left[i] {
			if c.key >= first && c.key <= last {
				left = append(left, c)
			}
		}
	}
	v.mu.Lock()
	seen := slices.ContainsFunc(v.alive, func(w *view) bool { return w.users > 0 })
	v.mu.Unlock() // later views show the points
	v.tree.divide(leaf.tile, points, left, seen)
}

// close ends all states.
func (v *views) close() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	var errs []error
	for _, w := range append(v.alive, v.blind...) {
		w.blind.Store(true) // queries continue by the rows, and find the snapshot closed
		errs = append(errs, w.snapshot.Close())
	}
	v.alive, v.blind, v.ended = nil, nil, true
	return errors.Join(errs...)
}
