package search

import (
	"errors"
	"fmt"
)

// Test for these errors with errors.Is. Queries that cannot be answered give
// places.ErrQuery.
var (
	// ErrInvalidEntry means that an Entry cannot be stored.
	ErrInvalidEntry = errors.New("entry is not valid")
)

// Entry is a place to index. Unknown values are empty or zero.
type Entry struct {
	ID uint32
	// Importance ranks features that are neither populated places (P) nor
	// administrative areas (A). Its low 48 bits count like inhabitants.
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

// Name is another name of a place. Text is a code if Lang is "iata", "icao", "faac", "unlc" or
// CodeLang. It is also a code if Lang is empty and Text is three capital letters: GeoNames has codes of
// airports among the names of cities. A code is found only in full and as typed, in either case of
// its letters: it is not folded, and no text counts as a misspelling of it. The kinds "link",
// "post", "wkdt", "tcid", "phon" and "piny" are not names and are left out.
type Name struct {
	Text string
	Lang string // ISO 639 code, a kind as above, or ""
	// Main marks a name that people at the place use, such as one in the language of the country.
	// Like the place's own name, it is found by its beginning. Other names need more letters.
	Main bool
	// Preferred marks an official name. Short, Historic and Colloquial mark
	// names of these kinds. Historic names are found but never displayed.
	Preferred, Short, Historic, Colloquial bool
}

// CodeLang is the Lang of a code of any other kind, such as "us-ks".
const CodeLang = "code"

// ContextName is a name of a country, or of a first-level division if Admin1 is set. With "illinois" →
// US, IL, "springfield illinois" finds one place. Codes such as "US" count as names and need not be
// given. So do codes of divisions such as "IL", if they consist of letters.
type ContextName struct {
	Text            string
	Country, Admin1 string
}

// These are limits of the stored names.
const (
	// maxFold bounds the fold of a name and of a query, in bytes. Longer names are found
	// by their beginning.
	maxFold = 200
	// maxText bounds a name in bytes. A longer own name of a place is an error;
	// other longer names are left out and counted.
	maxText = 1000
	// maxWords is the number of words at the beginning of a name by which the name is found.
	maxWords = 12
	// maxRows bounds the rows of one place. Further names are left out and
	// counted. The largest real places have about 600.
	maxRows = 4096
	maxCode = 10
	// maxLangs bounds the list of a name's languages, in bytes.
	maxLangs = 500
)

// check returns an error that matches ErrInvalidEntry, or nil.
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
