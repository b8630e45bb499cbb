package web

import (
	"sync"

	"quadrille/cmd/tileserver/internal/endpoint"
)

// DefaultStreamMemory is the default of Config.StreamMemory.
const DefaultStreamMemory = 64 << 20

// memory is the memory of all streams together, in bytes. Its methods may be called concurrently.
type memory struct {
	most int64
	mu   sync.Mutex
	used int64
}

// Held is the memory that a stream holds until it ends, beside the part that it sends next. One goroutine
// uses it.
type Held struct {
	of    *memory
	bytes int64
}

// HoldMemory returns Held of nothing. The caller calls Release.
func (s *Kit) HoldMemory() *Held { return &Held{of: &s.streamMemory} }

// growth is the part of the memory, one of so many, in which no stream begins: it is for those that have begun, which
// would have to be cut off without it.
const growth = 4

// Grow holds so many bytes in all, if that is more than before. The error matches ErrBusy if all streams
// together would hold more than Config.StreamMemory, or at the first call more than three quarters of it. A
// stream alone may hold the default of it.
func (h *Held) Grow(bytes int64) error {
	more := bytes - h.bytes
	if more <= 0 {
		return nil
	}
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	alone := h.of.used == h.bytes
	most := h.of.most
	if h.bytes == 0 {
		most -= most / growth
	}
	if h.of.used+more > most && (!alone || bytes > DefaultStreamMemory) {
		return endpoint.Refuse(ErrBusy, "", "The memory for tables is taken, or too little for this one. Wait for the time that Retry-After gives and "+
			"send the request again, ask for fewer properties, or in format=ndjson or csv, which take none.")
	}
	h.of.used += more
	h.bytes = bytes
	return nil
}

// Release gives the memory back.
func (h *Held) Release() {
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	h.of.used -= h.bytes
	h.bytes = 0
}
