package cellstore

import (
	"context"
	"iter"
)

// Store is a set of tables. See the package documentation for concurrency and
// ownership of bytes.
type Store interface {
	// CreateTable declares a table. Errors match ErrTableExists or ErrBadSchema.
	CreateTable(ctx context.Context, schema Schema) error
	// AlterTable replaces the declaration of a table, also under Tables that are open. Families
	// that schema lacks are dropped with their data. New families begin empty, even if a family of
	// the same name was dropped before. Tighter MaxVersions, MinVersions and TTL hide cells at
	// once. Looser values may or may not make hidden cells visible again. Errors: ErrTableNotFound,
	// ErrBadSchema.
	AlterTable(ctx context.Context, schema Schema) error
	// DropTable removes a table and its data in one step. Calls on Tables that are open then return
	// ErrTableNotFound. After an error the table is unchanged, but Tables that are open may be
	// closed. Errors: ErrTableNotFound.
	DropTable(ctx context.Context, name string) error
	// Tables lists the tables by name, sorted.
	Tables(ctx context.Context) ([]string, error)
	// Table opens a table. ErrTableNotFound.
	Table(ctx context.Context, name string) (Table, error)
	// Compact removes hidden data from the disk: deleted, trimmed and expired cells, and dropped
	// families. It changes no answer and may run at the same time as any other call. Errors:
	// ErrTableNotFound.
	Compact(ctx context.Context, table string) error
	// Checkpoint copies the present store into a directory that does not exist yet. Each table is
	// copied as of one moment. The copy can be opened independently. It needs the capability
	// Checkpoint.
	Checkpoint(ctx context.Context, dir string) error
	// Capabilities and Limits describe this backend.
	Capabilities() Capabilities
	Limits() Limits
	// Close waits for running calls and releases the store; snapshots and iterators that are still
	// open return ErrClosed from then on. A second Close does nothing.
	Close() error
}

// Reader reads one table, either in its present state or in the state of a Snapshot.
//
// Reads fill a Row that the caller owns, and report whether they have found anything; "not found"
// is never an error. A nil Selection means the newest version of every column of every family.
type Reader interface {
	// Get reads the row with exactly this key.
	Get(ctx context.Context, key []byte, sel *Selection, row *Row) (bool, error)
	// Next reads the first row with from ≤ key < to that has a selected
	// visible cell. An empty from or to means that end of the table. The caller checks whether the
	// row covers its key.
	Next(ctx context.Context, from, to []byte, sel *Selection, row *Row) (bool, error)
	// Prev reads the last row with downTo < key ≤ from.
	Prev(ctx context.Context, from, downTo []byte, sel *Selection, row *Row) (bool, error)
	// NextEach reads a row for each named family: the first row with from ≤ key <
	// to that has a visible cell of that family. It reads into the Row of the same
	// index, which stays empty if there is no such row. It costs one seek per
	// family, and one round of requests on a remote store.
	NextEach(ctx context.Context, from, to []byte, families []string, rows []Row) error
	// MultiGet reads many rows and yields them in the order of keys; a row whose key occurs twice
	// is yielded twice. A row without a selected visible cell is yielded with its Key and no cells.
	// The Row yielded is reused for the next. Keys are checked before the first row is read.
	MultiGet(ctx context.Context, keys [][]byte, sel *Selection) iter.Seq2[*Row, error]
	// Scan yields rows in key order, or the reverse. The Row yielded is
	// reused for the next. Leaving the loop early releases everything; after
	// an error nothing more is yielded.
	Scan(ctx context.Context, scan Scan) iter.Seq2[*Row, error]
}

// Table reads, writes and loads one table. Reads see every write that
// returned before they began. Inputs are checked before anything is written.
//
// Puts and deletes with timestamps of their own may be repeated after a failure. An Increment or
// Append must not be repeated: if its answer was lost on the way, the error is ErrUnknownOutcome.
type Table interface {
	// Schema returns the options in force, hints included.
	Schema() Schema

	Reader

	// Apply commits mutations. Each mutation is atomic. Mutations of one row are committed in the
	// given order. Nothing is promised across rows unless the backend has AtomicBatch. If one or
	// more mutations fail, the error is a *BatchError with the index of each, and the others have
	// been applied. Any other error means that nothing was applied.
	Apply(ctx context.Context, mutations ...Mutation) error
	// CheckAndMutate applies the mutation if the condition holds for a column
	// of its row, as one atomic step, and reports whether it did.
	CheckAndMutate(ctx context.Context, check Check, m Mutation) (bool, error)
	// Increment adds to counters of one row as one atomic step and appends their new values to
	// values, in the order of the deltas. Each value is written at the clock's time or at the
	// timestamp of its newest version, whichever is later. If a present value is not a counter,
	// nothing is changed and the error is ErrNotCounter.
	Increment(ctx context.Context, inc Increment, values []int64) ([]int64, error)
	// Append appends value to a column's newest version, or to an empty value if there is none, as
	// one atomic step. It returns the new value, which the caller owns. Its timestamp is chosen as
	// for Increment.
	Append(ctx context.Context, row []byte, family string, qualifier, value []byte, d Durability) ([]byte, error)

	// Bulk begins a load of cells in sorted order. It needs the capability Bulk.
	Bulk(ctx context.Context) (BulkLoader, error)
	// Snapshot returns a fixed view of the table. It needs the capability Snapshot.
	Snapshot(ctx context.Context) (Snapshot, error)
	// Splits divides the table into 1 to n contiguous ranges of similar
	// physical size. In key order they cover it from end to end: the first
	// has no From, the last no To, and each begins where the one before
	// stops. An n below 1 is ErrBadRange.
	Splits(ctx context.Context, n int) ([]Range, error)
}

// Snapshot reads a table as it was at one moment, until it is closed. The ages of cells are also
// those of that moment. Any number of goroutines may read it. After Close its calls return
// ErrClosed; a second Close does nothing. An open Snapshot keeps the disk space of the data that it
// shows. A Snapshot must not be used after the declaration of its table changes: its answers are
// then undefined.
type Snapshot interface {
	Reader
	Close() error
}

// Recoverer is implemented by stores that keep their tables on a disk of their own. Once the disk
// refuses a write, the table takes no more writes, because the outcome of the last ones is unknown.
// Until the table is recovered, it may show writes that were not acknowledged. A table that is
// opened without enough room on the disk begins in this state.
type Recoverer interface {
	// Trouble says why a table takes no writes, or returns nil while it does. The
	// error matches ErrNoSpace if there was no room. It costs no access to the
	// disk.
	Trouble(table string) error
	// Recover opens such a table again from the disk, with all acknowledged writes and without
	// those that the disk lacks. Calls on a Table that was opened before return ErrClosed from then
	// on; open it again. If there is still no room, the new Table can be read but takes no writes,
	// and the error is that of Trouble. Recover does nothing to a table without trouble. Errors:
	// ErrTableNotFound, ErrCorrupt.
	Recover(ctx context.Context, table string) error
}

// Selection chooses the families, columns and versions a read returns. An unselected family is not
// read at all. The result is the union of Families and Columns. If both are empty, every family is
// selected.
type Selection struct {
	Families []string
	Columns  []Column
	Filter   ColumnFilter // applies to the columns of Families, or of all
	Time     TimeRange
	Versions int // newest versions per column; 0 means 1, Unlimited all that are kept
}

// Column identifies one column.
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

// Between returns the range min ≤ timestamp < max. With min > max, a read that uses the range
// returns ErrBadRange. With min = max the range matches nothing.
func Between(min, max int64) TimeRange { return TimeRange{min: min, max: max, set: true} }

// AsOf returns the range of all timestamps up to and including t. With Versions 1, a read returns
// each column as it was at t. Families read this way need a MaxVersions that reaches back far
// enough.
func AsOf(t int64) TimeRange {
	// The bound is clamped, so that neither end of int64 inverts the range.
	return TimeRange{max: max(min(t, MaxTimestamp), -1) + 1, set: true}
}

// Bounds returns the range, and whether there is one.
func (r TimeRange) Bounds() (min, max int64, ok bool) { return r.min, r.max, r.set }

// Range is a range of row keys: From ≤ key < To, or ≤ To with ToInclusive.
// An empty From or To means that end of the table.
type Range struct {
	From, To    []byte
	ToInclusive bool
}

// Prefix returns the range of the keys that start with p.
func Prefix(p []byte) Range { return Range{From: p, To: PrefixEnd(p)} }

// Scan defines the rows and cells that Table.Scan reads.
type Scan struct {
	// Ranges are read one after another in the order given; none means the
	// whole table.
	Ranges []Range
	Selection
	// Reverse reads each range from its high end: From is then the high end,
	// inclusive, and To the low end, exclusive. Cells within a row keep
	// their order.
	Reverse bool
	// Limit is the greatest number of rows from all ranges; 0 means no limit.
	Limit int
	// Batch is the number of rows that a remote store fetches at once. It is a hint.
	Batch int
}

// BulkLoader takes cells strictly in the package's order (row, family name, qualifier, then
// timestamp descending) straight into sorted tables. No cell is visible before Commit, and all
// cells are visible after it. Abort leaves nothing behind. A cell that does not sort after the one
// before it is refused with ErrUnsorted, and the load can then only be aborted.
type BulkLoader interface {
	Add(key []byte, c Cell) error
	Commit(ctx context.Context) error
	// Abort discards the load. After Commit it does nothing, so it may be
	// deferred.
	Abort() error
}

// Capabilities are the optional parts of the contract that a backend supports.
type Capabilities struct {
	SnapshotScan   bool // a scan shows exactly the state at open
	MixedMutation  bool // one row mutation holds puts and deletes
	CellTimestamps bool // one row mutation holds several timestamps
	// An increment or append of a cell dated in the future keeps its timestamp.
	CounterTimestamps bool
	AtomicBatch       bool // an Apply whose mutations are all valid is atomic, for readers and crashes
	Bulk              bool
	Snapshot          bool
	Checkpoint        bool
	LegacyDeletes     bool // deletes mask later puts until compaction
}

// Limits are sizes in bytes, except Operations. CellKeyBytes bounds the sum of row, family, qualifier
// and 12 bytes.
type Limits struct {
	RowKeyBytes, QualifierBytes, CellKeyBytes, ValueBytes int
	Operations                                            int // per row mutation or increment
}

// DefaultLimits are the limits of the contract; a backend may have lower limits.
var DefaultLimits = Limits{RowKeyBytes: 32767, QualifierBytes: 16384, CellKeyBytes: 64<<10 - 1, ValueBytes: 10 << 20, Operations: 100000}

// MaxTimestamp is the largest timestamp of a cell.
const MaxTimestamp = 1<<63 - 2

// IOStats counts physical work since the store was opened.
type IOStats struct {
	Seeks            int64 // iterator positionings
	BlocksRead       int64 // blocks read from files or cache
	BlockBytes       int64
	BlockBytesCached int64 // of those, found in the block cache
}

// StatsReader is implemented by backends that count their work; tests use it to show that a query
// costs one seek.
type StatsReader interface{ Stats() IOStats }
