package thrift2

// Latest is a timestamp with a special meaning: the server's clock in a put or a delete, and the
// newest version in a delete of one version.
const Latest int64 = 1<<63 - 1

// Column selects a column, or a family if the qualifier is nil (not just empty).
type Column struct {
	Family    string
	Qualifier []byte
	// Timestamp bounds a delete. Latest means that there is no bound.
	Timestamp int64
}

// Value is a cell to be written, or one that was read. A read Value belongs to its Result.
type Value struct {
	Family    []byte
	Qualifier []byte
	Value     []byte
	Timestamp int64 // Latest leaves it out
}

// Result is a row that was read. It is empty when there is none.
type Result struct {
	Row   []byte
	Cells []Value
}

// TimeRange is Min ≤ timestamp < Max.
type TimeRange struct{ Min, Max int64 }

// Get describes the read of one row. No columns means all families.
type Get struct {
	Row      []byte
	Columns  []Column
	Versions int32 // 0 means 1
	Time     *TimeRange
	Filter   []byte // see filter.go
}

// ReadType is a server's way of reading a scan.
type ReadType int32

// ReadPread suits scans of few rows, and ReadStream suits scans of many rows.
const (
	ReadDefault ReadType = 1
	ReadStream  ReadType = 2
	ReadPread   ReadType = 3
)

// Scan describes the read of the rows from Start, inclusive, to Stop, exclusive. If it is reversed,
// Start is the high end. No columns means all families.
type Scan struct {
	Start, Stop []byte
	Columns     []Column
	Caching     int32
	Versions    int32
	Time        *TimeRange
	Reversed    bool
	NoCache     bool // leave the server's block cache alone
	Read        ReadType
	Limit       int32
	Filter      []byte
}

// Durability is the durability of a write.
type Durability int32

// These are the durabilities that the driver uses.
const (
	AsyncWAL Durability = 2
	SyncWAL  Durability = 3
	FsyncWAL Durability = 4
)

// Put writes cells of one row.
type Put struct {
	Row        []byte
	Values     []Value
	Durability Durability
}

// DeleteType is the meaning of the columns of a Delete.
type DeleteType int32

// These are the types of deletes.
const (
	DeleteColumn        DeleteType = iota // one version
	DeleteColumns                         // all versions up to the timestamp
	DeleteFamily                          // the same of all columns of a family
	DeleteFamilyVersion                   // one version of all columns of a family
)

// Delete removes cells of one row: the cells of its columns, or without columns the whole row up to
// Timestamp.
type Delete struct {
	Row        []byte
	Columns    []Column
	Timestamp  int64 // Latest leaves it out
	Type       DeleteType
	Durability Durability
}

// Mutation is either a put or a delete.
type Mutation struct {
	Put    *Put
	Delete *Delete
}

// Delta is the amount that an increment adds to a column.
type Delta struct {
	Family    string
	Qualifier []byte
	By        int64
}

// CompareOp compares an operand with a stored value, in this order: Less holds when the operand is
// less than the stored value.
type CompareOp int32

// These are the comparisons. With an empty operand, Equal means that the column is absent or empty,
// and NotEqual that it is neither.
const (
	Less CompareOp = iota
	LessOrEqual
	Equal
	NotEqual
	GreaterOrEqual
	Greater
)

// Check is the condition of a checked mutation.
type Check struct {
	Row       []byte
	Family    string
	Qualifier []byte
	Op        CompareOp
	Operand   []byte
}

// TableName is a table within a namespace.
type TableName struct{ Namespace, Name string }

// These are the types of Bloom filters.
const (
	BloomNone   int32 = 0
	BloomRow    int32 = 1
	BloomRowCol int32 = 2
)

// These are the compression algorithms.
const (
	CompressionGz     int32 = 1
	CompressionNone   int32 = 2
	CompressionSnappy int32 = 3
	CompressionZstd   int32 = 6
)

// Family describes a column family.
type Family struct {
	Name          string
	Attributes    map[string]string
	Configuration map[string]string
	BlockSize     int32
	Bloom         int32
	Compression   int32
	MaxVersions   int32
	MinVersions   int32
	TTL           int32 // seconds
	InMemory      bool
}

// Table describes a table.
type Table struct {
	Name       TableName
	Families   []Family
	Attributes map[string]string
}

// Region is the range of rows one region serves, Start inclusive and End
// exclusive, and the server that has it.
type Region struct {
	Start, End []byte
	Server     string
	Port       int32
}
