package near

// element is a pointer to an element of a heap.
type element[T any] interface {
	*T
	// above reports whether the element belongs nearer the top than another.
	above(*T) bool
}

// heapify makes a heap of h.
func heapify[T any, P element[T]](h []T) {
	for i := len(h)/2 - 1; i >= 0; i-- {
		sink[T, P](h, i)
	}
}

// sink restores a heap whose element i may belong further down.
func sink[T any, P element[T]](h []T, i int) {
	for {
		top := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(h); c++ {
			if P(&h[c]).above(&h[top]) {
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

// push adds an element to a heap.
func push[T any, P element[T]](h []T, x T) []T {
	h = append(h, x)
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if !P(&h[i]).above(&h[up]) {
			break
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
	return h
}

// pop takes the top element off a heap.
func pop[T any, P element[T]](h []T) (T, []T) {
	top, last := h[0], len(h)-1
	h[0] = h[last]
	h = h[:last]
	sink[T, P](h, 0)
	return top, h
}
