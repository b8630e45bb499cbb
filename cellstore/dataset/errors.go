package dataset

import (
	"errors"
	"fmt"
)

// What callers branch on; use errors.Is. Damaged files match
// cellstore.ErrCorrupt, use after Close matches cellstore.ErrClosed.
var (
	// ErrNoGeneration: nothing is published, or the generation asked for is
	// not there.
	ErrNoGeneration = errors.New("no such generation")
	// ErrBuilding: another build of the data set is running.
	ErrBuilding = errors.New("data set is locked")
	// ErrNewer: written by a newer version of the program.
	ErrNewer = errors.New("written by a newer version")
	// ErrBadManifest: a manifest that cannot be used.
	ErrBadManifest = errors.New("manifest is not valid")
	// ErrBadPointer: a CURRENT file that cannot be used.
	ErrBadPointer = errors.New("CURRENT is not valid")
	// ErrBadName: a data set name that cannot be a directory.
	ErrBadName = errors.New("data set name is not valid")
	// ErrInUse: a reader has the generation open.
	ErrInUse = errors.New("generation is in use")
)

// LoadError says which published generation a Live could not take into
// service. It wraps the cause.
type LoadError struct {
	Dataset string
	// Generation is the one that failed; 0 when not even the pointer to it
	// could be read.
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

// DamageError says what is wrong with a generation in service. It wraps the
// cause.
type DamageError struct {
	Dataset    string
	Generation uint64
	Err        error
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("data set %s: generation %d is in service and damaged: roll back, or ingest again: %v", e.Dataset, e.Generation, e.Err)
}

func (e *DamageError) Unwrap() error { return e.Err }
