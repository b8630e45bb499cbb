package stations

import (
	"errors"
	"fmt"

	"quadrille/cellstore"
)

// Errors that callers tell apart with errors.Is. Those of a store come through
// as they are.
var (
	// ErrNotFound: there is no such station, or no station at all.
	ErrNotFound = errors.New("no such station")
	// ErrQuery: a parameter of a query is out of range.
	ErrQuery = errors.New("stations: invalid query")
	// ErrInvalid: a station or an observation cannot be stored as it is.
	ErrInvalid = errors.New("stations: invalid record")
	// ErrTooMany: there are more stations, or more of them close together, than
	// the tables can hold.
	ErrTooMany = errors.New("stations: too many")
	// ErrNewer: the tables are of a newer layout than this program reads.
	ErrNewer = errors.New("stations: tables of a newer version")
	// ErrCursor: the text is no cursor, or one of another query.
	ErrCursor = errors.New("stations: invalid cursor")
	// ErrCursorExpired: the data set has been replaced since the cursor was
	// handed out.
	ErrCursorExpired = errors.New("stations: cursor of an earlier data set")
)

func corrupt(table string, key []byte, what string) error {
	return fmt.Errorf("%w: table %s, row %x %s: build the data set again", cellstore.ErrCorrupt, table, key, what)
}
