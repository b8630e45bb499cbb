package ask

import (
	"cmp"
	"errors"
	"fmt"

	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
)

// IdentityOf returns a number that is equal for equal generations and different for different ones.
// That holds even if a data directory was recreated, counts from one again, and was built in the
// same second. The number is 64 bits of the checksum of the manifest with which the generation was
// published. That includes the checksums of all data: a generation that was pushed to another store
// has the same identity. The number is odd for a generation, and 0 for nil.
func IdentityOf(m *dataset.Manifest) uint64 {
	if m == nil {
		return 0
	}
	digits := cmp.Or(m.Origin, m.Digest)
	if len(digits) > 16 {
		digits = digits[:16]
	}
	hash := identityStart
	for i := range len(digits) {
		hash = hash.add(digits[i])
	}
	return hash.odd()
}

// identity is an FNV-1a hash that does not allocate, unlike package hash/fnv: every question
// computes one.
type identity uint64

const identityStart identity = 14695981039346656037

func (h identity) add(b byte) identity { return (h ^ identity(b)) * 1099511628211 }

// with adds an identity to the hash.
func (h identity) with(id uint64) identity {
	for range 8 {
		h, id = h.add(byte(id)), id>>8
	}
	return h
}

// odd returns the hash as the identity of a generation.
func (h identity) odd() uint64 { return uint64(h.add(0xff)) | 1 }

// These errors mean that a data set cannot be read.
var (
	ErrMissing = errors.New("data set is not published")
	ErrFailed  = errors.New("data set cannot be read")
)

// Identities of missing generations. The numbers of real generations are odd.
const (
	IDMissing    uint64 = 0
	IDUnreadable uint64 = 2
)

// Pinned is one generation of a data set, held open for a question, or the
// reason why no generation is available.
type Pinned[T any] struct {
	Handle *dataset.Handle[T]
	Err    error
	ID     uint64 // the identity of the generation, for cache keys and ETags

	value    T
	manifest *dataset.Manifest
	held     interface{ Release() }
}

func pinned[T any](h *dataset.Handle[T]) Pinned[T] {
	return Pinned[T]{Handle: h, ID: h.Identity(IdentityOf), value: h.Value(), manifest: h.Manifest(), held: h}
}

// Pin takes the live generation of one data set, for work that holds it over several questions. A
// question takes a View instead. Pin does not fail, because only the caller knows whether it needs
// the data set; use Get. The caller releases it.
func Pin[T any](live *dataset.Live[T]) Pinned[T] {
	if live == nil {
		return Pinned[T]{Err: ErrMissing, ID: IDMissing}
	}
	h, err := live.Acquire()
	if err == nil {
		return pinned(h)
	}
	if st := live.Status(); st.Err == nil && st.Published == 0 && !errors.Is(err, cellstore.ErrClosed) {
		return Pinned[T]{Err: ErrMissing, ID: IDMissing}
	}
	return Pinned[T]{Err: fmt.Errorf("%w: %w", ErrFailed, err), ID: IDUnreadable}
}

// PinGeneration takes a generation of a data set, in service or not. Number 0 means none. The
// caller releases it.
func PinGeneration[T any](live *dataset.Live[T], generation uint64) Pinned[T] {
	switch {
	case generation == 0:
		return Pinned[T]{Err: ErrMissing, ID: IDMissing}
	case live == nil:
		return Pinned[T]{Err: dataset.ErrNoGeneration, ID: IDMissing}
	}
	return asPinned(live.AcquireGeneration(generation))
}

// asPinned returns the pin of a generation that was acquired by its number.
func asPinned[T any](h *dataset.Handle[T], err error) Pinned[T] {
	switch {
	case err == nil:
		return pinned(h)
	case errors.Is(err, dataset.ErrPruned), errors.Is(err, dataset.ErrNoGeneration), errors.Is(err, dataset.ErrOlderBusy),
		errors.Is(err, cellstore.ErrClosed):
		return Pinned[T]{Err: err, ID: IDUnreadable}
	}
	return Pinned[T]{Err: fmt.Errorf("%w: %w", ErrFailed, err), ID: IDUnreadable}
}

// Release gives the generation back. Call it once.
func (p *Pinned[T]) Release() {
	if p.held != nil {
		p.held.Release()
	}
}

// Manifest returns the manifest of the generation, nil without one. It is shared: do not change it.
func (p *Pinned[T]) Manifest() *dataset.Manifest { return p.manifest }

// Get returns the reader of the generation, or the error why there is none.
func (p *Pinned[T]) Get() (v T, err error) { return p.value, p.Err }

// GetIfPublished returns the reader of the generation, or false when the data set is not published.
// A data set that cannot be read is an error, because it may hold the answer.
func (p *Pinned[T]) GetIfPublished() (v T, ok bool, err error) {
	v, err = p.Get()
	if errors.Is(err, ErrMissing) {
		return v, false, nil
	}
	return v, err == nil, err
}

// MarkTemporary wraps temporary errors, to distinguish them from damage.
//
// A shortage of resources in the process is temporary, however other layers have wrapped the error.
// In a remote store a generation may be removed under a reader that has not noticed the next one
// yet; that is temporary, too. In a local store nothing in use is removed, so a missing table is
// damage, and so is every unexpected error.
func MarkTemporary(remote bool) func(error) error {
	return func(err error) error {
		if cellstore.IsShortage(err) {
			return fmt.Errorf("%w: %s", cellstore.ErrShortage, err.Error())
		}
		if remote && errors.Is(err, cellstore.ErrTableNotFound) {
			return fmt.Errorf("%w: %w", cellstore.ErrUnavailable, err)
		}
		return err
	}
}
