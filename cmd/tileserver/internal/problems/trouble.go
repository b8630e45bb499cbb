package problems

import (
	"errors"

	"quadrille/ask"
	"quadrille/cellstore"
	"quadrille/places/live"
)

// Trouble is the reason why data that the server writes cannot be read or written.
type Trouble struct {
	Store      string `json:"store" schema:"enum=live|usage|data"` // data for published data sets
	Collection string `json:"collection,omitempty"`                // of users' points
	State      string `json:"state" schema:"enum=damaged|full|failing"`
	Detail     string `json:"detail" doc:"What to do."`
}

// These are the states of a Trouble.
const (
	TroubleDamaged = "damaged" // it cannot be read
	TroubleFull    = "full"    // the disk has no room for writes
	TroubleFailing = "failing" // the disk refuses writes for another reason, or reads
)

// TroubleStates lists all states of a Trouble.
var TroubleStates = []string{TroubleDamaged, TroubleFull, TroubleFailing}

// NewTrouble converts an error of a store to a Trouble with advice for the operator.
func NewTrouble(store, collection string, err error) Trouble {
	t := Trouble{Store: store, Collection: collection, State: TroubleFailing,
		Detail: "The disk refuses writes; the log says why. Writes are taken again by themselves once it takes them."}
	switch {
	case errors.Is(err, live.ErrDamaged):
		t.State, t.Detail = TroubleDamaged, "Stop the server and see what is damaged by tileserver live verify; tileserver "+
			"live repair rescues what can be read."
	case errors.Is(err, cellstore.ErrLayout):
		t.Detail = "Another version of the program wrote what is stored, which is left as it is. Update the program, or " +
			"start the one that wrote it."
	case cellstore.IsShortage(err):
		t.Detail = "Too many files are open, or memory is short; the log says which. It is tried again by itself. Raise the " +
			"limit of open files, such as by LimitNOFILE=, if it lasts."
	case errors.Is(err, live.ErrUnreadable):
		t.Detail = "The collection cannot be read; the log says why. It is served by itself once it can be."
	case errors.Is(err, cellstore.ErrCorrupt):
		t.State, t.Detail = TroubleDamaged, "Counts are kept in memory alone. For new ones stop the server, move the "+
			"directory of --usage aside, and start the server again."
	case errors.Is(err, cellstore.ErrNoSpace):
		t.State, t.Detail = TroubleFull, "Make room on the disk: writes are taken again by themselves then. Reads go on."
	}
	return t
}

// LiveTroubles returns the live collections with errors. A collection is named only if it is known to
// be public or if private is set. A client that requests such a collection by name gets the error,
// unless the collection is known to be private.
func LiveTroubles(c *ask.Collections, private bool) (all []Trouble) {
	if c == nil || c.Live == nil {
		return nil
	}
	for _, t := range c.Live.Troubles() {
		name := t.Name
		if t.Private && !private {
			name = ""
		}
		all = append(all, NewTrouble("live", name, t.Err))
	}
	return all
}

// UnopenedTroubles returns the published collections that are not served at all. They may be private, so
// they are listed without names. The operator can see their states.
func UnopenedTroubles(c *ask.Collections) (all []Trouble) {
	for range c.CountUnopened() {
		all = append(all, Trouble{Store: "data", State: TroubleDamaged,
			Detail: "A published collection of points cannot be opened. The admin listener tells its name, and the log the reason."})
	}
	return all
}
