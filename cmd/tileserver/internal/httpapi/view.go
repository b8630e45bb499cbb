package httpapi

import (
	"errors"
	"fmt"

	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
)

// Identities of generations that are not there. Those of real ones are odd.
const (
	idMissing uint64 = 0
	idFailed  uint64 = 2
)

// pinned is one generation of a data set held for a request, or the reason
// why there is none.
type pinned[T any] struct {
	handle *dataset.Handle[T]
	err    error
	id     uint64 // of the generation, for keys and tags
}

// pin takes the live generation of a data set. It does not fail, because only
// the request knows whether it needs the data set; use get.
func pin[T any](live *dataset.Live[T]) pinned[T] {
	if live == nil {
		return pinned[T]{err: errDatasetMissing, id: idMissing}
	}
	h, err := live.Acquire()
	if err == nil {
		return pinned[T]{handle: h, id: identityOf(h.Manifest())}
	}
	if st := live.Status(); st.Err == nil && st.Published == 0 && !errors.Is(err, cellstore.ErrClosed) {
		return pinned[T]{err: errDatasetMissing, id: idMissing}
	}
	return pinned[T]{err: fmt.Errorf("%w: %w", errDatasetFailed, err), id: idFailed}
}

func (p *pinned[T]) release() {
	if p.handle != nil {
		p.handle.Release()
	}
}

// get returns the reader of the generation, or why there is none.
func (p *pinned[T]) get() (v T, err error) {
	if p.handle == nil {
		return v, p.err
	}
	return p.handle.Value(), nil
}

// view is what a request for tiles sees: one generation of each data set they
// are made from.
type view struct {
	boundaries pinned[Boundaries]
	places     pinned[Places]
	airports   pinned[Airports]
}

// pinTiles pins all, since a list of layers may name any. Whoever calls it
// releases the view.
func (s *server) pinTiles() view {
	return view{boundaries: pin(s.boundaries), places: pin(s.places), airports: pin(s.airports)}
}

func (v *view) release() {
	v.boundaries.release()
	v.places.release()
	v.airports.release()
}
