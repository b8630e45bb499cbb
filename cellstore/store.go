package cellstore

import (
	"context"
	"iter"
)

// Store is a set of tables. See the package documentation for concurrency and
// ownership of bytes.
type Store interface {
	// CreateTable declares a table. ErrTableExists, ErrBadSchema.
	CreateTable(ctx context.Context, schema Schema) error
	// Tables lists the tables by name, sorted.
	Tables(ctx context.Context) ([]string, error)
	// Table opens a table. ErrTableNotFound.
	Table(ctx context.Context, name string) (Table, error)
	// Capabilities and Limits say what this backend can do.
	Capabilities() Capabilities
	Limits() Limits
	// Close waits for running calls and releases the store. A second Close
	// does nothing.
	Close() error
}

// Table reads and loads one table.
//
// Reads fill a Row the caller owns and report whether anything was found;
// "not found" is never an error. A nil Selection means the newest version of
// every column of every family.
type Table interface {
	// Schema returns the options in force, hints included.
	Schema() Schema

	// Get reads the row with exactly this key.
	Get(ctx context.Context, key []byte, sel *Selection, row *Row) (bool, error)
	// Next reads the first row with from ≤ key < to that has a selected
	// visible cell. An empty from or to means that end of the table. The
	// caller checks that the row found covers the key it asked about.
	Next(ctx context.Context, from, to []byte, sel *Selection, row *Row) (bool, error)
	// Prev reads the last row with downTo < key ≤ from.
	Prev(ctx context.Context, from, downTo []byte, sel *Selection, row *Row) (bool, error)
	// NextEach reads, for each named family on its own, the first row with
	// from ≤ key < to that has a visible cell of that family, into the Row
	// of the same index; a family without one leaves its Row empty. It costs
	// one seek per family, and one round of requests on a remote store.
	NextEach(ctx context.Context, from, to []byte, families []string, rows []Row) error
	// Scan yields rows in key order, or the reverse. The Row yielded is
	// reused for the next. Leaving the loop early releases everything; after
	// an error nothing more is yielded.
	Scan(ctx context.Context, scan Scan) iter.Seq2[*Row, error]

	// Bulk begins a load of cells in sorted order.
	Bulk(ctx context.Context) (BulkLoader, error)
}

// Selection chooses the families, columns and versions a read returns. An
// unselected family is not read at all. Families and Columns add up; with
// neither, every family is selected.
type Selection struct {
	Families []string
	Columns  []Column
	Filter   ColumnFilter // applies to the columns of Families, or of all
	Time     TimeRange
	Versions int // newest versions per column; 0 means 1
}

// Column names one column.
type Column struct {
	Family    string
	Qualifier []byte
}

// ColumnFilter narrows qualifiers. It chooses columns, never versions. The
// zero value lets every column pass.
type ColumnFilter struct {
	Prefix        []byte // qualifiers that start with it
	From, To      []byte // qualifiers in [From, To); empty means that end
	Limit, Offset int    // at most Limit columns per row and family, after skipping Offset; 0 means all
}

// IsZero reports whether the filter lets every column pass.
func (f *ColumnFilter) IsZero() bool {
	return len(f.Prefix) == 0 && len(f.From) == 0 && len(f.To) == 0 && f.Limit == 0 && f.Offset == 0
}

// TimeRange restricts a read to timestamps in [min, max). The zero value
// restricts nothing. Visibility is decided before the range is applied, so a
// range never brings back a version that MaxVersions or TTL has hidden.
type TimeRange struct {
	min, max int64
	set      bool
}

// Between is the range min ≤ timestamp < max. A range with min > max is
// refused with ErrBadRange by the read it is given to; min = max matches
// nothing.
func Between(min, max int64) TimeRange { return TimeRange{min: min, max: max, set: true} }

// AsOf is the range of everything up to and including timestamp t; with
// Versions 1 it reads each column as it stood at t.
func AsOf(t int64) TimeRange { return TimeRange{max: t + 1, set: true} }

// Bounds returns the range, and whether there is one.
func (r TimeRange) Bounds() (min, max int64, ok bool) { return r.min, r.max, r.set }

// Range is a range of row keys: From ≤ key < To, or ≤ To with ToInclusive.
// An empty From or To means that end of the table.
type Range struct {
	From, To    []byte
	ToInclusive bool
}

// Prefix is the range of the keys that start with p.
func Prefix(p []byte) Range { return Range{From: p, To: PrefixEnd(p)} }

// Scan says what Table.Scan reads.
type Scan struct {
	// Ranges are read one after another in the order given; none means the
	// whole table.
	Ranges []Range
	Selection
	// Reverse reads each range from its high end: From is then the high end,
	// inclusive, and To the low end, exclusive. Cells within a row keep
	// their order.
	Reverse bool
	// Limit is the most rows yielded, over all ranges; 0 means all.
	Limit int
	// Batch is how many rows a remote store fetches at once. It is a hint.
	Batch int
}

// BulkLoader takes cells strictly in the package's order (row, family name,
// qualifier, then timestamp descending) straight into sorted tables. Nothing
// is visible before Commit, everything is after it, and Abort leaves nothing
// behind. A cell that does not sort after the one before it is refused with
// ErrUnsorted, and the load can then only be aborted.
type BulkLoader interface {
	Add(key []byte, c Cell) error
	Commit(ctx context.Context) error
	// Abort discards the load. After Commit it does nothing, so it may be
	// deferred.
	Abort() error
}

// Capabilities are the optional parts of the contract a backend has.
type Capabilities struct {
	SnapshotScan   bool // a scan shows exactly the state at open
	MixedMutation  bool // one row mutation holds puts and deletes
	CellTimestamps bool // one row mutation holds several timestamps
	AtomicBatch    bool // a batch over several rows can be atomic
	Bulk           bool
	Snapshot       bool
	Checkpoint     bool
	LegacyDeletes  bool // deletes mask later puts until compaction
}

// Limits are sizes in bytes, but for Operations.
type Limits struct {
	Row, Qualifier, CellKey, Value int
	Operations                     int // per row mutation
}

// DefaultLimits are the limits of the contract; a backend may be tighter.
var DefaultLimits = Limits{Row: 32767, Qualifier: 16384, CellKey: 64<<10 - 1, Value: 10 << 20, Operations: 100000}

// MaxTimestamp is the largest timestamp a cell may carry.
const MaxTimestamp = 1<<63 - 2

// IOStats counts physical work since the store was opened.
type IOStats struct {
	Seeks           int64 // iterator positionings
	BlocksRead      int64 // blocks read from files or cache
	BlockBytes      int64
	BlockBytesCache int64 // of those, found in the block cache
}

// StatsReader is implemented by backends that count their work; tests use it
// to show that a question costs one seek.
type StatsReader interface{ Stats() IOStats }
