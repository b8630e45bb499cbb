// Package repeats decides when it is worth looking up earlier elements of a sequence.
package repeats

// Watch decides whether to look up an element of a sequence among the earlier ones. It is for
// sequences in which a lookup costs more than storing the element again. While hardly any element
// repeats, one in eight is looked up, so that a change is detected. The zero value first looks up
// all elements. It belongs to one goroutine.
type Watch struct {
	asked, looked, found int // in this window
	idle                 bool
}

const (
	window = 1 << 16 // elements between two decisions
	oneIn  = 8
	least  = 64 // look up all while at least one in this many repeats
)

// ShouldLook reports whether to look up the next element. If the caller finds it, the caller must
// call Found.
func (w *Watch) ShouldLook() bool {
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

// Found records that a lookup has found the element.
func (w *Watch) Found() { w.found++ }

// Idle reports whether hardly any elements repeat.
func (w *Watch) Idle() bool { return w.idle }
