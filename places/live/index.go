package live

import (
	"context"
	"time"

	"quadrille/cellstore"
	"quadrille/feature"
)

// Index answers queries from the features of one collection: it is a cache of the log. Any number
// of goroutines may query, while one calls the methods of State, Apply and LastSeq.
type Index interface {
	feature.Layer
	State
	// Apply makes changes in their order. The log already has them on the disk. Queries see all of
	// them or none. After an error the index is closed and opened again.
	Apply(changes []Change) error
	// LastSeq returns the Seq of the last change that the index has.
	LastSeq() uint64
	// Close ends all running answers.
	Close() error
}

// TableIndex is an Index that keeps its rows in the table of the log. Each step writes them too, so
// such an index is never behind its log.
type TableIndex interface {
	Index
	// ApplyWith makes changes as Apply does, and calls write once to write their rows and the log
	// as one atomic step. If write returns an error, nothing has changed.
	ApplyWith(changes []Change, write func(rows []cellstore.Mutation) error) error
	// WithTable returns an index in the same state, on a table that has been opened again.
	WithTable(table cellstore.Table) Index
}

// Historian is a TableIndex that can keep earlier states of features, for feature.Query.At.
type Historian interface {
	TableIndex
	feature.Tracker
	// BeginHistory begins a history with all features as its first versions. It returns the newest
	// version.
	BeginHistory(ctx context.Context) (newest int64, err error)
	// Prune removes some versions from before an instant, in milliseconds, and reports whether
	// there is much to remove. It may run concurrently with everything else.
	Prune(ctx context.Context, before int64) (much bool, err error)
}

// Sweeper is an Index with garbage to discard, such as snapshots of queries that have ended. The
// goroutine that calls Apply calls Sweep every second.
type Sweeper interface {
	Sweep()
}

// IDLister is an Index that lists ids, as Collection.Redraw needs.
type IDLister interface {
	Index
	// EachID calls fn with ids and their features, in the order of the ids and beginning at from,
	// until fn returns false. The feature is nil for a removed id. Features have no properties, and
	// are valid during the call. done reports whether there are no more ids. It is false if the
	// call ends after most ids.
	EachID(ctx context.Context, from string, most int, fn func(id string, f *feature.Feature) (bool, error)) (done bool, err error)
}

// OpenOptions is the input for opening an Index.
type OpenOptions struct {
	Table cellstore.Table
	Clock *cellstore.Clock
	Meta  func() *Meta // the present description
	End   LogEnd       // of the log; a TableIndex has all of it
	// Learn is called with the properties of each feature in the index, as an object.
	Learn func(object []byte)
}

// Kind is a kind of live collections: how their features are kept.
type Kind struct {
	// Prefix begins the names of the collections' tables. Version is the version of their row
	// layout.
	Prefix  string
	Version int
	// Families are the index's families in the table of a collection. Past is the family of the
	// history, if there is one.
	Families func(m *Meta) []cellstore.Family
	Past     string
	// CheckWrite checks the id and the position of a write, and returns the stored position, in
	// degrees. It is safe for concurrent use.
	CheckWrite func(w *Write) (lat, lon float64, err error)
	// Info describes a collection as a layer.
	Info func(m *Meta) *feature.Info
	// Open opens the index of a collection.
	Open func(ctx context.Context, o *OpenOptions) (Index, error)
	// WholeLog is set if the log stores each change as a whole, with properties. An index that is no
	// TableIndex needs that.
	WholeLog bool
	// NewLog opens the log in a table. If it is nil, the log is a TableLog.
	NewLog func(table cellstore.Table) Log
}

// OpenLog opens the log in a table.
func (k *Kind) OpenLog(table cellstore.Table) Log {
	if k.NewLog != nil {
		return k.NewLog(table)
	}
	return NewTableLog(table, k.WholeLog)
}

// Table returns the name of the table of a collection.
func (k *Kind) Table(name string) string { return k.Prefix + name }

// Schema declares the table of a collection.
func (k *Kind) Schema(m *Meta) cellstore.Schema {
	events := time.Duration(m.EventRetention).Truncate(time.Millisecond)
	if k.WholeLog {
		events = 0 // the index needs all
	}
	return cellstore.Schema{Table: k.Table(m.Name), Families: append(k.Families(m),
		cellstore.Family{Name: famEvent, TTL: events},
		cellstore.Family{Name: famMeta},
		cellstore.Family{Name: famEnd},
	)}
}

// checkLayout returns an error for a collection with another layout.
func (k *Kind) checkLayout(m *Meta) error {
	return wrap(cellstore.CheckLayout("collection "+m.Name, m.SchemaVersion, k.Version, k.Version, ""))
}
