package stations

import (
	"errors"

	"quadrille/cellstore"
	"quadrille/feature"
)

// Test for these errors with errors.Is. Queries and cursors are refused with
// the errors of package places. Errors of a store are returned unchanged.
var (
	// ErrNotFound means that the station does not exist or that there are no
	// stations.
	ErrNotFound = feature.NotFound("no such station")
	// ErrInvalid means that a station or an observation cannot be stored.
	ErrInvalid = errors.New("stations: invalid record")
	// ErrTooMany means that there are more stations, or more of them close
	// together, than the tables can hold.
	ErrTooMany = errors.New("stations: too many")
)

// inside converts the error about a missing record that the index lists to an error about damage.
func inside(err error, id []byte) error {
	if errors.Is(err, ErrNotFound) {
		return cellstore.CorruptRow(tableInfo, id, "is missing")
	}
	return err
}
