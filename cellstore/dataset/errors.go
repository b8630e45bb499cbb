package dataset

import (
	"errors"
	"fmt"

	"quadrille/cellstore"
)

// Callers test for these errors with errors.Is. Errors about damaged files match
// cellstore.ErrCorrupt, those about files of another version of the program cellstore.ErrLayout,
// and those about use after Close cellstore.ErrClosed.
var (
	// ErrNoGeneration: nothing is published, or the data set has never had the
	// generation. A generation that is listed but missing is damage instead.
	ErrNoGeneration = errors.New("no such generation")
	// ErrUnpublished: nothing is published. It matches ErrNoGeneration.
	ErrUnpublished = fmt.Errorf("%w: nothing is published", ErrNoGeneration)
	// ErrPruned means that the generation existed and has been removed.
	ErrPruned = errors.New("generation has been removed")
	// ErrOlderBusy: a Live already holds the greatest number of older generations.
	ErrOlderBusy = errors.New("other older generations are in use")
	// ErrBuilding means that another program builds, pushes or prunes the data set.
	ErrBuilding = errors.New("data set is locked")
	// ErrBadManifest means that a manifest is not valid for publishing.
	ErrBadManifest = errors.New("manifest is not valid")
	// ErrBadPointer: the pointer to the published generation cannot be used, or is lost although
	// there are complete generations. This damage can be repaired.
	ErrBadPointer = fmt.Errorf("%w: CURRENT is not valid", cellstore.ErrCorrupt)
	// ErrBadName means that a name is not valid for a data set.
	ErrBadName = errors.New("data set name is not valid")
)

var (
	// errInUse means that a reader has the generation open.
	errInUse = errors.New("generation is in use")
	// errLeaseLost ends a push whose lease another program has taken over.
	errLeaseLost = fmt.Errorf("%w: this program did not reach the store for so long that another one took over: see by "+
		"list what is published, and push again", ErrBuilding)
)

// LoadError names the published generation that a Live could not take into service. It wraps the
// cause.
type LoadError struct {
	Dataset string
	// Generation is the number of the generation that failed, or 0 if not even the pointer could be
	// read.
	Generation uint64
	// Serving is the generation that stays in service; 0 when none is.
	Serving uint64
	Err     error
}

func (e *LoadError) Error() string {
	what := "the pointer"
	if e.Generation != 0 {
		what = fmt.Sprintf("generation %d", e.Generation)
	}
	state := "nothing is served"
	if e.Serving != 0 {
		state = fmt.Sprintf("generation %d stays in service", e.Serving)
	}
	return fmt.Sprintf("data set %s: %s cannot be opened, %s: %v", e.Dataset, what, state, e.Err)
}

func (e *LoadError) Unwrap() error { return e.Err }

// DamageError is the damage of a generation in service. It wraps the cause.
type DamageError struct {
	Dataset    string
	Generation uint64
	Err        error
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("data set %s: generation %d is in service and damaged: roll back, or ingest again: %v", e.Dataset, e.Generation, e.Err)
}

func (e *DamageError) Unwrap() error { return e.Err }
