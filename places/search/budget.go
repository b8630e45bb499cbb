package search

// Budget bounds the work of several searches together, such as those for the
// readings of one text. Each search takes its work from it, within its own bounds. A search whose
// budget is spent returns the places found so far, perhaps none, and no error. A Budget belongs to
// one goroutine at a time.
type Budget struct {
	Seeks int // gets, and beginnings of scans, in the store or in memory instead
	Names int // names that may be examined
	// FilterDropped is set if a filter dropped a place whose whole name is the text. Then the text has no
	// wrong letter.
	FilterDropped bool
}

// Take takes a number of seeks, which the caller makes itself, from the budget.
// If fewer are left, it takes none and returns false.
func (b *Budget) Take(seeks int) bool {
	if b == nil {
		return true
	}
	if b.Seeks < seeks {
		return false
	}
	b.Seeks -= seeks
	return true
}
