package cellstore

// Published is a store that was filled once and is only read since, together
// with the description that its builder left. A generation of package dataset is
// one. The domain packages open their readers from it, so that they need not
// know how data is published.
type Published interface {
	// Contents returns the store and decodes its description, as JSON, into
	// meta. It fails when the rows are of a newer layout than newest.
	Contents(newest int, meta any) (Store, error)
}
