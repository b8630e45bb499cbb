package search

import (
	"errors"
	"fmt"
)

// What callers branch on; use errors.Is. Queries that cannot be answered as they
// stand give places.ErrQuery.
var (
	// ErrInvalidEntry: an Entry that cannot be stored.
	ErrInvalidEntry = errors.New("entry is not valid")
	// ErrNewer: tables written by a newer version of this package.
	ErrNewer = errors.New("names were written by a newer version")
)

// Entry is a place to be found. Unknown values are empty or zero.
type Entry struct {
	ID uint32
	// Importance counts, by its low 48 bits as if they were inhabitants, for
	// what is neither populated place (P) nor administrative area (A).
	Importance uint64
	Name       string // required
	ASCIIName  string // found like Name
	Names      []Name // others, in any order
	Class      byte   // feature class, 'A' to 'Z'; 0: unknown
	Code       string // feature code: "PPLC"
	Country    string // ISO 3166-1 alpha-2
	Admin1     string // code of the first-level division
	Population uint64
	Lat, Lon   int32 // 1e-7 degrees
}

// Name is another name of a place. A Lang of "iata", "icao", "faac" or "unlc"
// says that Text is a code: it is found only when typed in full. Names of the
// kinds "link", "post", "wkdt", "tcid", "phon" and "piny" are none and left out.
type Name struct {
	Text string
	Lang string // ISO 639 code, a kind as above, or ""
	// Preferred is an official name, Short and Colloquial are what they say.
	// A Historic one is found but never displayed.
	Preferred, Short, Historic, Colloquial bool
}

// Context is a name of a country, or of a first-level division when Admin1 is
// set: with "illinois" → US, IL, "springfield illinois" is one place. Codes need
// not be given: "US", and "IL" where codes are letters, are names as well.
type Context struct {
	Text            string
	Country, Admin1 string
}

// Limits of what is stored.
const (
	// maxFold bounds the fold of a name; longer ones are found by their
	// beginning. Queries are as long.
	maxFold = MaxQuery
	// maxText bounds a name in bytes: longer ones than a place's own are left
	// out and counted.
	maxText = 1000
	// maxWords is how many words of a name it is found by.
	maxWords = 12
	// maxRows bounds the rows of one place; names beyond are left out and
	// counted. The largest real places have about 600.
	maxRows = 4096
	maxCode = 10
	// maxLangs bounds the languages of a name, in bytes of their list.
	maxLangs = 500
)

// check returns an error that matches ErrInvalidEntry.
func (e *Entry) check() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: place %d: %s", ErrInvalidEntry, e.ID, fmt.Sprintf(format, args...))
	}
	if e.ID == 0 {
		return bad("ids start at 1")
	}
	if e.Name == "" || len(e.Name) > maxText {
		return bad("its name has %d bytes; 1 to %d are allowed", len(e.Name), maxText)
	}
	if e.Class != 0 && (e.Class < 'A' || e.Class > 'Z') {
		return bad("feature class %q must be a letter A to Z, or 0", e.Class)
	}
	if len(e.Code) > maxCode {
		return bad("feature code %q is over %d bytes", e.Code, maxCode)
	}
	if len(e.Country) != 0 && len(e.Country) != 2 {
		return bad("country %q must be two letters, or empty", e.Country)
	}
	if len(e.Admin1) > maxText {
		return bad("admin1 of %d bytes is over %d", len(e.Admin1), maxText)
	}
	const right = 180 * 1e7
	if e.Lat < -right/2 || e.Lat > right/2 || e.Lon < -right || e.Lon > right {
		return bad("latitude %d, longitude %d: they must be within ±90 and ±180 degrees, in units of 1e-7", e.Lat, e.Lon)
	}
	return nil
}
