package places

import (
	"context"
	"errors"

	"quadrille/places/search"
)

// ErrNoNames: the tables were built without name search.
var ErrNoNames = errors.New("the data set has no name search; build it again with names")

// Search finds places by name; see [search.Reader.Search]. Members are the fields of a hit in a
// list.
func (f *Finder) Search(ctx context.Context, q search.Query, dst []search.Hit) (hits []search.Hit, total int, err error) {
	if f.names == nil {
		return dst, 0, ErrNoNames
	}
	return f.names.Search(ctx, q, dst)
}

// Complete appends the stored answer for the typed beginning of a name, if there is one; see
// [search.Reader.Complete].
func (f *Finder) Complete(ctx context.Context, text string, dst []byte) (out []byte, found bool, err error) {
	if f.names == nil {
		return dst, false, ErrNoNames
	}
	return f.names.Complete(ctx, text, dst)
}
