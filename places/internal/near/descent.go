package near

import (
	"context"

	"quadrille/internal/heap"
)

// A Tree is an index for a Search. Its nodes are tiles with the points in them.
type Tree[N any] interface {
	// Bound returns a lower bound of the ranks in a node, and false if none of its points is
	// wanted.
	Bound(n *N) (rank uint64, ok bool)
	// Visit gets the next node. It examines the points of a small node, and offers the children of
	// other nodes to the search. An error ends the search.
	Visit(ctx context.Context, n *N) error
}

// waiting is a node that a search may have to visit.
type waiting[N any] struct {
	bound uint64
	node  N
}

// Above keeps the node with the least bound on top of a heap.
func (w *waiting[N]) Above(o *waiting[N]) bool { return w.bound < o.bound }

// Search is one best-first search. It always visits the node that could hold the first
// point. It ends when that node cannot hold any point before the last one wanted. Its memory is
// reused.
type Search[N any, K Key[K]] struct {
	Best[K]
	frontier []waiting[N] // heap
	at       waiting[N]   // the current node
}

// Descend searches from the nodes that start offers.
func (s *Search[N, K]) Descend(ctx context.Context, t Tree[N], start func()) error {
	s.frontier = s.frontier[:0]
	start()
	for len(s.frontier) > 0 && s.frontier[0].bound <= s.Limit {
		s.at, s.frontier = heap.Pop(s.frontier)
		if err := t.Visit(ctx, &s.at.node); err != nil {
			return err
		}
	}
	return nil
}

// Offer puts a node into the frontier, with its present bound, if it can hold wanted points.
func (s *Search[N, K]) Offer(t Tree[N], n *N) {
	if bound, ok := t.Bound(n); ok && bound <= s.Limit {
		s.frontier = heap.Push(s.frontier, waiting[N]{bound, *n})
	}
}
