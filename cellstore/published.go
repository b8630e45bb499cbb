package cellstore

import "context"

// Published is a store that was filled once and is now only read, together with the description
// from its builder. A generation of package dataset is one. The domain packages open their readers
// from a Published, so they need not know how data is published.
type Published interface {
	// Contents returns the store and decodes its description, as JSON, into
	// meta. It fails when the rows are of a newer layout than newest.
	Contents(newest int, meta any) (Store, error)
}

// OpenPublished opens a reader with the store and the description of p; newest is
// the newest layout that open reads.
func OpenPublished[M, R any](ctx context.Context, p Published, newest int,
	open func(context.Context, Store, M) (R, error)) (r R, err error) {
	var meta M
	store, err := p.Contents(newest, &meta)
	if err != nil {
		return r, err
	}
	return open(ctx, store, meta)
}
