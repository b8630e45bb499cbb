package thrift2

import (
	"context"

	"github.com/apache/thrift/lib/go/thrift"
)

// Tables are named "namespace:table" in calls on data.

// noResult is the answer of calls that return nothing.
var noResult fieldReader

func readResult(r *Result) fieldReader {
	return fieldReader{0, thrift.STRUCT, func(d *decoder) { d.result(r) }}
}

// Get reads one row into r.
func (c *Conn) Get(ctx context.Context, table string, g *Get, r *Result) error {
	return c.call(ctx, "get", func(e *encoder) {
		e.text(1, table)
		e.object(2, func() { writeGet(e, g) })
	}, readResult(r))
}

// GetMultiple reads many rows; absent ones have no cells.
func (c *Conn) GetMultiple(ctx context.Context, table string, gets []Get) (rs []Result, err error) {
	err = c.call(ctx, "getMultiple", func(e *encoder) {
		e.text(1, table)
		list(e, 2, gets, writeGet)
	}, into(0, thrift.LIST, &rs, (*decoder).results))
	return rs, err
}

// ScanResults reads up to n rows of a scan, which the gateway opens and closes
// within the call.
func (c *Conn) ScanResults(ctx context.Context, table string, s *Scan, n int32) (rs []Result, err error) {
	err = c.call(ctx, "getScannerResults", func(e *encoder) {
		e.text(1, table)
		e.object(2, func() { writeScan(e, s) })
		e.i32(3, n)
	}, into(0, thrift.LIST, &rs, (*decoder).results))
	return rs, err
}

// Put writes one row.
func (c *Conn) Put(ctx context.Context, table string, p *Put) error {
	return c.call(ctx, "put", func(e *encoder) {
		e.text(1, table)
		e.object(2, func() { writePut(e, p) })
	}, noResult)
}

// PutMultiple writes rows, each of which is atomic. After an IOError some may
// have been written.
func (c *Conn) PutMultiple(ctx context.Context, table string, puts []Put) error {
	return c.call(ctx, "putMultiple", func(e *encoder) {
		e.text(1, table)
		list(e, 2, puts, writePut)
	}, noResult)
}

// DeleteSingle removes cells of one row.
func (c *Conn) DeleteSingle(ctx context.Context, table string, del *Delete) error {
	return c.call(ctx, "deleteSingle", func(e *encoder) {
		e.text(1, table)
		e.object(2, func() { writeDelete(e, del) })
	}, noResult)
}

// MutateRow applies mutations of one row atomically.
func (c *Conn) MutateRow(ctx context.Context, table string, row []byte, ms []Mutation) error {
	return c.call(ctx, "mutateRow", func(e *encoder) {
		e.text(1, table)
		writeMutations(e, 2, row, ms)
	}, noResult)
}

// CheckAndMutate applies mutations of the row if the check holds, as one step,
// and reports whether it did.
func (c *Conn) CheckAndMutate(ctx context.Context, table string, check *Check, ms []Mutation) (done bool, err error) {
	err = c.call(ctx, "checkAndMutate", func(e *encoder) {
		e.text(1, table)
		e.bytes(2, check.Row)
		e.text(3, check.Family)
		e.bytes(4, check.Qualifier)
		e.i32(5, int32(check.Op))
		e.bytes(6, check.Operand)
		writeMutations(e, 7, check.Row, ms)
	}, into(0, thrift.BOOL, &done, (*decoder).boolean))
	return done, err
}

// Increment adds to counters of a row and reads their new values into r.
func (c *Conn) Increment(ctx context.Context, table string, row []byte, deltas []Delta, dur Durability, r *Result) error {
	return c.call(ctx, "increment", func(e *encoder) {
		e.text(1, table)
		e.object(2, func() {
			e.bytes(1, row)
			list(e, 2, deltas, writeDelta)
			e.i32(5, int32(dur))
			e.boolean(7, true)
		})
	}, readResult(r))
}

// Append joins values to the ends of columns of a row and reads the new values
// into r.
func (c *Conn) Append(ctx context.Context, table string, row []byte, values []Value, dur Durability, r *Result) error {
	return c.call(ctx, "append", func(e *encoder) {
		e.text(1, table)
		e.object(2, func() {
			e.bytes(1, row)
			list(e, 2, values, writeValue)
			e.i32(4, int32(dur))
			e.boolean(6, true)
		})
	}, readResult(r))
}

// Regions lists the regions of a table in the order of their keys.
func (c *Conn) Regions(ctx context.Context, table string) (rs []Region, err error) {
	err = c.call(ctx, "getAllRegionLocations", func(e *encoder) { e.text(1, table) },
		each(0, thrift.STRUCT, &rs, (*decoder).region))
	return rs, err
}

// Describe reads the description of a table.
func (c *Conn) Describe(ctx context.Context, name TableName) (table *Table, err error) {
	err = c.call(ctx, "getTableDescriptor", func(e *encoder) { writeName(e, 1, name) },
		into(0, thrift.STRUCT, &table, (*decoder).table))
	return table, err
}

// TableNames lists the tables of a namespace.
func (c *Conn) TableNames(ctx context.Context, namespace string) (names []TableName, err error) {
	err = c.call(ctx, "getTableNamesByNamespace", func(e *encoder) { e.text(1, namespace) },
		each(0, thrift.STRUCT, &names, (*decoder).name))
	return names, err
}

// CreateTable creates a table whose regions begin at the split keys.
func (c *Conn) CreateTable(ctx context.Context, table *Table, splits [][]byte) error {
	return c.call(ctx, "createTable", func(e *encoder) {
		writeTable(e, 1, table)
		e.keys(2, splits)
	}, noResult)
}

// ModifyTable replaces the description of a table.
func (c *Conn) ModifyTable(ctx context.Context, table *Table) error {
	return c.call(ctx, "modifyTable", func(e *encoder) { writeTable(e, 1, table) }, noResult)
}

// DisableTable takes a table out of service, which must precede DeleteTable.
func (c *Conn) DisableTable(ctx context.Context, name TableName) error {
	return c.named(ctx, "disableTable", name)
}

// EnableTable takes a table into service.
func (c *Conn) EnableTable(ctx context.Context, name TableName) error {
	return c.named(ctx, "enableTable", name)
}

// DeleteTable deletes a disabled table.
func (c *Conn) DeleteTable(ctx context.Context, name TableName) error {
	return c.named(ctx, "deleteTable", name)
}

func (c *Conn) named(ctx context.Context, method string, name TableName) error {
	return c.call(ctx, method, func(e *encoder) { writeName(e, 1, name) }, noResult)
}

// TableExists reports whether a table exists.
func (c *Conn) TableExists(ctx context.Context, name TableName) (exists bool, err error) {
	err = c.call(ctx, "tableExists", func(e *encoder) { writeName(e, 1, name) }, into(0, thrift.BOOL, &exists, (*decoder).boolean))
	return exists, err
}

// Namespaces lists the namespaces.
func (c *Conn) Namespaces(ctx context.Context) (names []string, err error) {
	err = c.call(ctx, "listNamespaces", func(*encoder) {}, each(0, thrift.STRING, &names, (*decoder).text))
	return names, err
}

// CreateNamespace creates a namespace.
func (c *Conn) CreateNamespace(ctx context.Context, name string) error {
	return c.call(ctx, "createNamespace", func(e *encoder) {
		e.object(1, func() { e.text(1, name) })
	}, noResult)
}

// ServerType returns the kind of the gateway's service; 2 is Thrift2. It reads nothing from the
// cluster, so it only shows whether the gateway answers.
func (c *Conn) ServerType(ctx context.Context) (kind int32, err error) {
	err = c.call(ctx, "getThriftServerType", func(*encoder) {}, into(0, thrift.I32, &kind, (*decoder).i32))
	return kind, err
}
