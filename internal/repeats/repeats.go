// Package repeats tells when it pays to look for what came before.
package repeats

// Watch decides whether to look up a thing of a sequence among the things before
// it. It is for sequences in which looking up costs more than storing the thing
// again. While hardly any thing comes again, one in eight is looked up, so that
// a change is noticed. The zero value begins by looking up all. It belongs to
// one goroutine.
type Watch struct {
	asked, looked, found int // in this window
	idle                 bool
}

const (
	window = 1 << 16 // things between two decisions
	oneIn  = 8
	least  = 64 // looking up goes on while at least one in so many comes again
)

// Look reports whether to look for the next thing. If it is found, the caller
// calls Found.
func (w *Watch) Look() bool {
	if w.asked == window {
		*w = Watch{idle: w.found*least < w.looked}
	}
	w.asked++
	if w.idle && w.asked%oneIn != 0 {
		return false
	}
	w.looked++
	return true
}

// Found notes that a thing came before.
func (w *Watch) Found() { w.found++ }

// Idle reports whether hardly any things come again.
func (w *Watch) Idle() bool { return w.idle }
