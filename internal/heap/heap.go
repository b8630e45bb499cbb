// Package heap is a binary heap in a slice, without interfaces.
package heap

// element is a pointer to an element of a heap.
type element[T any] interface {
	*T
	// Above reports whether the element belongs nearer to the top than another one.
	Above(*T) bool
}

// Heapify makes a heap of h.
func Heapify[T any, P element[T]](h []T) {
	for i := len(h)/2 - 1; i >= 0; i-- {
		Sink[T, P](h, i)
	}
}

// Sink restores a heap whose element i may belong further down.
func Sink[T any, P element[T]](h []T, i int) {
	for {
		top := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(h); c++ {
			if P(&h[c]).Above(&h[top]) {
				top = c
			}
		}
		if top == i {
			return
		}
		h[i], h[top] = h[top], h[i]
		i = top
	}
}

// Push adds an element to a heap.
func Push[T any, P element[T]](h []T, x T) []T {
	h = append(h, x)
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if !P(&h[i]).Above(&h[up]) {
			break
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
	return h
}

// Pop takes the top element off a heap.
func Pop[T any, P element[T]](h []T) (T, []T) {
	top, last := h[0], len(h)-1
	h[0] = h[last]
	h = h[:last]
	Sink[T, P](h, 0)
	return top, h
}
