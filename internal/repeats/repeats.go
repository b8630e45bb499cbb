// Package repeats tells when it pays to look for what came before.
package repeats

// Watch decides for a sequence of things whether to look each up among those
// before it, where looking takes longer than to take it for new. While hardly
// any come again, one in eight is looked for, so that a change is seen. The zero
// value begins by looking for all. One goroutine uses it.
type Watch struct {
	asked, looked, found int // in this window
	idle                 bool
}

const (
	window = 1 << 16 // things between two decisions
	oneIn  = 8
	least  = 64 // one in so many has to come again
)

// Look reports whether to look for the next thing. If that is found, Found must be
// called.
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
