package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/tiles"
)

// identityOf is a number that is equal for equal generations and different
// for different ones, even when a data directory was made anew and counts
// from one again. It is never 0.
func identityOf(m *dataset.Manifest) uint64 {
	if m == nil {
		return 0
	}
	return generationID(m.Generation, m.Built)
}

func generationID(generation uint64, built time.Time) uint64 {
	return uint64(hashStart.number(generation).number(uint64(built.UnixNano()))) | 1
}

// What keeps a data set from being read.
var (
	errDatasetMissing = errors.New("data set is not published")
	errDatasetFailed  = errors.New("data set cannot be read")
)

// damagedKinds come last: a room may know better what its damage means.
var damagedKinds = []kind{
	{err: cellstore.ErrClosed, status: http.StatusServiceUnavailable, typ: "dataset-unavailable", title: "The data set cannot be read right now",
		detail: "Try again in a moment.", retry: true},
	{err: tiles.ErrCorrupt, status: http.StatusInternalServerError, typ: "data-corrupt", title: "Stored data is damaged",
		detail: "Tell the operator: ingest verify finds the damage, and ingest rollback serves the generation before it."},
	{err: cellstore.ErrCorrupt, status: http.StatusInternalServerError, typ: "data-corrupt", title: "Stored data is damaged",
		detail: "Tell the operator: ingest verify finds the damage, and ingest rollback serves the generation before it."},
}

// unreadableKinds come before all others: a store that does not answer never
// means that something is not there.
var unreadableKinds = []kind{
	{err: errDatasetFailed, status: http.StatusServiceUnavailable, typ: "dataset-unavailable", title: "The data set cannot be read right now",
		detail: "Try again in a moment; if it lasts, the operator will find the reason in the server's log.", retry: true},
	{err: cellstore.ErrUnavailable, status: http.StatusServiceUnavailable, typ: "dataset-unavailable", title: "The data set cannot be read right now",
		detail: "Try again in a moment; the store that the server reads from does not answer.", retry: true},
	{err: cellstore.ErrUnknownOutcome, status: http.StatusServiceUnavailable, typ: "dataset-unavailable", title: "The data set cannot be read right now",
		detail: "Try again in a moment; the store that the server reads from does not answer.", retry: true},
	{err: errDatasetMissing, status: http.StatusNotFound, typ: "dataset-missing", title: "The data set is not published on this server",
		detail: "Ask the operator to build it with the ingest command; /status lists what is published."},
	{err: dataset.ErrPruned, status: http.StatusGone, typ: "generation-gone", title: "The generation has been removed",
		detail: "The data has been published anew. Read the TileJSON again and use the addresses it gives, or leave out the /g/ part for the newest data."},
	{err: dataset.ErrNoGeneration, status: http.StatusNotFound, typ: "generation-unknown", title: "There is no such generation",
		detail: "Use an address that a TileJSON with pinned=true gives, or leave out the /g/ part for the newest data."},
	{err: dataset.ErrOlderBusy, status: http.StatusServiceUnavailable, typ: "too-busy", title: "Other older generations are in use",
		detail: "Wait for the time that Retry-After gives, or leave out the /g/ part for the newest data.", retry: true, expected: true},
}

// Identities of generations that are not there. Those of real ones are odd.
const (
	idMissing uint64 = 0
	idFailed  uint64 = 2
)

// pinned is one generation of a data set held for a request, or the reason
// why there is none.
type pinned[T any] struct {
	handle *dataset.Handle[T]
	err    error
	id     uint64 // of the generation, for keys and tags
}

// pin takes the live generation of a data set. It does not fail, because only
// the request knows whether it needs the data set; use get.
func pin[T any](live *dataset.Live[T]) pinned[T] {
	if live == nil {
		return pinned[T]{err: errDatasetMissing, id: idMissing}
	}
	h, err := live.Acquire()
	if err == nil {
		return pinned[T]{handle: h, id: identityOf(h.Manifest())}
	}
	if st := live.Status(); st.Err == nil && st.Published == 0 && !errors.Is(err, cellstore.ErrClosed) {
		return pinned[T]{err: errDatasetMissing, id: idMissing}
	}
	return pinned[T]{err: fmt.Errorf("%w: %w", errDatasetFailed, err), id: idFailed}
}

func (p *pinned[T]) release() {
	if p.handle != nil {
		p.handle.Release()
	}
}

// get returns the reader of the generation, or why there is none.
func (p *pinned[T]) get() (v T, err error) {
	if p.handle == nil {
		return v, p.err
	}
	return p.handle.Value(), nil
}

// meaningOf gives the error of a table that is gone its meaning. From a remote store,
// which others change, a generation may be removed under a server that did not notice
// the next one yet, which passes. From a local one nothing is removed that is in
// use: then it is damage, as any error that nobody expects.
func meaningOf(remote bool) func(error) error {
	if !remote {
		return nil
	}
	return func(err error) error {
		if errors.Is(err, cellstore.ErrTableNotFound) {
			return fmt.Errorf("%w: %w", cellstore.ErrUnavailable, err)
		}
		return err
	}
}
