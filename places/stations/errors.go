package stations

import (
	"errors"
	"fmt"

	"quadrille/cellstore"
)

// Errors that callers tell apart with errors.Is. Queries and cursors are refused
// with the errors of package places. Those of a store come through as they are.
var (
	// ErrNotFound: there is no such station, or no station at all.
	ErrNotFound = errors.New("no such station")
	// ErrInvalid: a station or an observation cannot be stored as it is.
	ErrInvalid = errors.New("stations: invalid record")
	// ErrTooMany: there are more stations, or more of them close together, than
	// the tables can hold.
	ErrTooMany = errors.New("stations: too many")
	// ErrNewer: the tables are of a newer layout than this program reads.
	ErrNewer = errors.New("stations: tables of a newer version")
)

func corrupt(table string, key []byte, what string) error {
	return fmt.Errorf("%w: table %s, row %x %s: build the data set again", cellstore.ErrCorrupt, table, key, what)
}

// inside makes damage of the lack of a record that the index names.
func inside(err error, id []byte) error {
	if errors.Is(err, ErrNotFound) {
		return corrupt(tableInfo, id, "is missing")
	}
	return err
}
