package datasets

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"

	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/places/points"
	"quadrille/tiles"
)

// IdentityOf is a number that is equal for equal generations and different
// for different ones, even when a data directory was made anew, counts from one
// again and was built in the same second. It is made of 64 bits of the checksum of the
// manifest that the generation was published with, which has those of all data: a
// generation that was pushed to another store is the same one. It is never 0.
func IdentityOf(m *dataset.Manifest) uint64 {
	if m == nil {
		return 0
	}
	digits := cmp.Or(m.Origin, m.Digest)
	if len(digits) > 16 {
		digits = digits[:16]
	}
	return uint64(web.HashStart.Bytes(digits)) | 1
}

// What keeps a data set from being read.
var (
	ErrMissing = errors.New("data set is not published")
	ErrFailed  = errors.New("data set cannot be read")
)

const corrupt = "Tell the operator: ingest verify finds the damage, and ingest rollback serves the generation before it; " +
	"for a live collection, tileserver live verify and tileserver live repair."

// Kinds are what reading data fails with. A store that does not answer never means that
// something is not there, so that comes before all others. A room may know better what its
// damage means, so that comes last.
var Kinds = []web.Kind{
	{Order: -1, Err: cellstore.ErrShortage, Status: http.StatusServiceUnavailable, Type: "too-busy", Title: "The server has too many files open, or too little memory",
		Detail: "Wait for the time that Retry-After gives, then send the request again.", Retry: true},
	{Order: -1, Err: points.ErrDamaged, Status: http.StatusServiceUnavailable, Type: "data-damaged", Title: "A data set is damaged",
		Detail: "The collection cannot be read. Tell the operator: tileserver live verify finds the damage, and tileserver live repair rescues what can be read.", Retry: true, Expected: true},
	{Order: -1, Err: points.ErrNewer, Status: http.StatusServiceUnavailable, Type: "dataset-unavailable", Title: "The data set cannot be read right now",
		Detail: "A newer version of the program wrote the collection. Tell the operator: update the program.", Retry: true, Expected: true},
	{Order: -1, Err: points.ErrOlder, Status: http.StatusServiceUnavailable, Type: "dataset-unavailable", Title: "The data set cannot be read right now",
		Detail: "An older version of the program wrote the collection. Tell the operator, who finds the reason in the server's log.", Retry: true, Expected: true},
	{Order: -1, Err: points.ErrUnreadable, Status: http.StatusServiceUnavailable, Type: "storage-failing", Title: "The disk of the server fails",
		Detail: "The collection cannot be read for the moment. Try again later; if it lasts, the operator will find the reason in the server's log.", Retry: true, Expected: true},
	{Order: -1, Err: cellstore.ErrNoSpace, Status: http.StatusInsufficientStorage, Type: "insufficient-storage", Title: "The server has no room to write",
		Detail: "Nothing was written. Try again later: writes are taken by themselves once there is room on the disk.", Retry: true, Expected: true},
	{Order: -1, Err: points.ErrRefused, Status: http.StatusServiceUnavailable, Type: "storage-failing", Title: "The disk of the server refuses writes",
		Detail: "Nothing was written. Try again later; if it lasts, the operator will find the reason in the server's log.", Retry: true, Expected: true},
	{Order: -1, Err: ErrFailed, Status: http.StatusServiceUnavailable, Type: "dataset-unavailable", Title: "The data set cannot be read right now",
		Detail: "Try again in a moment; if it lasts, the operator will find the reason in the server's log.", Retry: true},
	{Order: -1, Err: cellstore.ErrUnavailable, Status: http.StatusServiceUnavailable, Type: "dataset-unavailable", Title: "The data set cannot be read right now",
		Detail: "Try again in a moment; the store that the server reads from does not answer.", Retry: true},
	{Order: -1, Err: cellstore.ErrUnknownOutcome, Status: http.StatusServiceUnavailable, Type: "dataset-unavailable", Title: "The data set cannot be read right now",
		Detail: "Try again in a moment; the store that the server reads from does not answer.", Retry: true},
	{Order: -1, Err: ErrMissing, Status: http.StatusNotFound, Type: "dataset-missing", Title: "The data set is not published on this server",
		Detail: "Ask the operator to build it with the ingest command; /status lists what is published."},
	{Order: -1, Err: dataset.ErrPruned, Status: http.StatusGone, Type: "generation-gone", Title: "The generation has been removed",
		Detail: "The data has been published anew. Read the TileJSON again and use the addresses it gives, or leave out the /g/ part for the newest data."},
	{Order: -1, Err: dataset.ErrNoGeneration, Status: http.StatusNotFound, Type: "generation-unknown", Title: "There is no such generation",
		Detail: "Use an address that a TileJSON with pinned=true gives, or leave out the /g/ part for the newest data."},
	{Order: -1, Err: dataset.ErrOlderBusy, Status: http.StatusServiceUnavailable, Type: "too-busy", Title: "Other older generations are in use",
		Detail: "Wait for the time that Retry-After gives, or leave out the /g/ part for the newest data.", Retry: true, Expected: true},

	{Order: 1, Err: cellstore.ErrClosed, Status: http.StatusServiceUnavailable, Type: "dataset-unavailable", Title: "The data set cannot be read right now",
		Detail: "Try again in a moment.", Retry: true},
	{Order: 1, Err: tiles.ErrCorrupt, Status: http.StatusInternalServerError, Type: "data-corrupt", Title: "Stored data is damaged",
		Detail: corrupt},
	{Order: 1, Err: cellstore.ErrCorrupt, Status: http.StatusInternalServerError, Type: "data-corrupt", Title: "Stored data is damaged", Detail: corrupt},
}

// Identities of generations that are not there. Those of real ones are odd.
const (
	IDMissing uint64 = 0
	IDFailed  uint64 = 2
)

// Pinned is one generation of a data set held for a request, or the reason
// why there is none.
type Pinned[T any] struct {
	Handle *dataset.Handle[T]
	Err    error
	ID     uint64 // of the generation, for keys and tags
}

// Pin takes the live generation of a data set. It does not fail, because only
// the request knows whether it needs the data set; use Get.
func Pin[T any](live *dataset.Live[T]) Pinned[T] {
	if live == nil {
		return Pinned[T]{Err: ErrMissing, ID: IDMissing}
	}
	h, err := live.Acquire()
	if err == nil {
		return Pinned[T]{Handle: h, ID: IdentityOf(h.Manifest())}
	}
	if st := live.Status(); st.Err == nil && st.Published == 0 && !errors.Is(err, cellstore.ErrClosed) {
		return Pinned[T]{Err: ErrMissing, ID: IDMissing}
	}
	return Pinned[T]{Err: fmt.Errorf("%w: %w", ErrFailed, err), ID: IDFailed}
}

func (p *Pinned[T]) Release() {
	if p.Handle != nil {
		p.Handle.Release()
	}
}

// Get returns the reader of the generation, or why there is none.
func (p *Pinned[T]) Get() (v T, err error) {
	if p.Handle == nil {
		return v, p.Err
	}
	return p.Handle.Value(), nil
}

// Have returns the reader of the generation, or false when the data set is not published. One
// that cannot be read is an error: it may hold the answer.
func (p *Pinned[T]) Have() (v T, ok bool, err error) {
	v, err = p.Get()
	if errors.Is(err, ErrMissing) {
		return v, false, nil
	}
	return v, err == nil, err
}

// MeaningOf gives errors of the moment, and of a table that is gone, their meaning. A
// shortage is one whatever else was made of it. From a remote store, which others change, a
// generation may be removed under a server that did not notice the next one yet, which
// passes. From a local one nothing is removed that is in use: then it is damage, as any
// error that nobody expects.
func MeaningOf(remote bool) func(error) error {
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
