package hbasestore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"quadrille/cellstore"
	"quadrille/cellstore/hbasestore/internal/thrift2"
)

// Capabilities are the optional parts of the contract that a Store on HBase has. The package
// documentation explains the missing ones.
var Capabilities = cellstore.Capabilities{}

// limits are the limits of the contract, lowered to the limits of HBase. By default HBase accepts a
// cell of 10 MiB, key and value together.
var limits = func() cellstore.Limits {
	l := cellstore.DefaultLimits
	l.RowKeyBytes = maxRow
	l.ValueBytes -= l.CellKeyBytes + 64
	return l
}()

// maxTablePath bounds "namespace:prefixtable". The name of a region has the table's name, a row, a
// time and a hash. maxTablePath is HBase's limit for that name minus the other parts.
const maxTablePath = 32_767 - maxRow - 64

// schemaTimeFactor is the ratio of the time limits of a schema change and a read.
const schemaTimeFactor = 6

// Store is a set of tables in a namespace of an HBase cluster. Any number of
// goroutines may use it, and any number of Stores the same tables.
type Store struct {
	opts  Options
	pool  *pool
	calls atomic.Int64

	life   sync.RWMutex // held for reading by running calls
	closed bool

	mu     sync.Mutex
	opened map[string]*state // by the contract's name
}

// Open returns the store at a namespace. It requests the type of one gateway, so if no server
// listens at the address, Open fails with ErrUnavailable, and not a later call.
func Open(ctx context.Context, o Options) (*Store, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Store{opts: o, pool: newPool(&o), opened: map[string]*state{}}
	err = s.call(ctx, readCall, func(ctx context.Context, c *thrift2.Conn) error {
		kind, err := c.ServerType(ctx)
		if err == nil && kind != 2 {
			return &thrift2.ProtocolError{
				Method:  "getThriftServerType",
				Unread:  true,
				Message: "it speaks the older Thrift service: start the gateway as thrift2",
			}
		}
		return err
	})
	if err != nil {
		s.pool.close()
		return nil, fmt.Errorf("open the store at %s: %w", strings.Join(o.Gateways, ", "), err)
	}
	return s, nil
}

// Calls returns the number of calls sent to gateways since Open, including repeated attempts.
func (s *Store) Calls() int64 { return s.calls.Load() }

// Capabilities implements cellstore.Store.
func (s *Store) Capabilities() cellstore.Capabilities { return Capabilities }

// Limits implements cellstore.Store.
func (s *Store) Limits() cellstore.Limits { return limits }

// begin admits a call; the caller ends it.
func (s *Store) begin(ctx context.Context) (end func(), err error) {
	s.life.RLock()
	if s.closed {
		s.life.RUnlock()
		return nil, cellstore.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		s.life.RUnlock()
		return nil, err
	}
	return s.life.RUnlock, nil
}

func (s *Store) beginWrite(ctx context.Context) (end func(), err error) {
	end, err = s.begin(ctx)
	if err == nil && s.opts.ReadOnly {
		end()
		return nil, cellstore.ErrReadOnly
	}
	return end, err
}

// Close implements cellstore.Store.
func (s *Store) Close() error {
	s.life.Lock()
	defer s.life.Unlock()
	if !s.closed {
		s.closed = true
		s.pool.close()
	}
	return nil
}

func (s *Store) fail(op, table string, err error) error {
	return &cellstore.Error{Op: op, Table: table, Err: err}
}

func (s *Store) name(table string) thrift2.TableName {
	return thrift2.TableName{Namespace: s.opts.Namespace, Name: s.opts.Prefix + table}
}

func (s *Store) path(table string) string { return s.opts.Namespace + ":" + s.opts.Prefix + table }

// change runs a change of schema, which may take the cluster seconds. The master checks the whole
// change before it begins, so no refused change is applied in part.
func (s *Store) change(ctx context.Context, kind callKind, f func(context.Context, *thrift2.Conn) error) error {
	long := s.opts.Timeout * schemaTimeFactor
	return s.callWithin(ctx, long, long, kind, func(ctx context.Context, c *thrift2.Conn) error {
		err := f(ctx, c)
		var io *thrift2.IOError
		if errors.As(err, &io) && !io.CanRetry {
			err = &extentError{err, true}
		}
		return err
	})
}

// CreateTable implements cellstore.Store.
func (s *Store) CreateTable(ctx context.Context, schema cellstore.Schema) error {
	return s.CreateSplitTable(ctx, schema, nil)
}

// CreateSplitTable creates a table of several regions, so that loading it keeps
// several servers busy from the start. splits are the first keys of all regions
// but the first, ascending.
func (s *Store) CreateSplitTable(ctx context.Context, schema cellstore.Schema, splits [][]byte) error {
	end, err := s.beginWrite(ctx)
	if err != nil {
		return s.fail("CreateTable", schema.Table, err)
	}
	defer end()
	n, err := schema.Normalize()
	if err == nil {
		err = s.describes()
	}
	if err != nil {
		return s.fail("CreateTable", schema.Table, err)
	}
	table, err := s.describe(n, nil)
	if err != nil {
		return s.fail("CreateTable", schema.Table, err)
	}
	create := func() error {
		return s.change(ctx, oneShotCall, func(ctx context.Context, c *thrift2.Conn) error { return c.CreateTable(ctx, table, splits) })
	}
	err = create()
	if refusedWith(err, s.opts.Namespace) { // it does not exist yet
		if err = s.createNamespace(ctx); err == nil {
			err = create()
		}
	}
	if refusedWith(err, s.path(schema.Table)) {
		err = cellstore.ErrTableExists
	}
	if err != nil {
		return s.fail("CreateTable", schema.Table, err)
	}
	return nil
}

// describes returns an error for changes of tables through a gateway with framed transport. In
// HBase 2.6 such a gateway reads the whole frame as the value of each attribute.
func (s *Store) describes() error {
	if s.opts.FramedTransport {
		return fmt.Errorf("%w: a gateway with framed transport garbles the attributes of tables; make and alter them "+
			"through one without", errors.ErrUnsupported)
	}
	return nil
}

func (s *Store) createNamespace(ctx context.Context) error {
	err := s.change(ctx, idempotentCall, func(ctx context.Context, c *thrift2.Conn) error {
		return c.CreateNamespace(ctx, s.opts.Namespace)
	})
	if refusedWith(err, s.opts.Namespace) {
		return nil // another client was faster
	}
	return err
}

// AlterTable implements cellstore.Store.
func (s *Store) AlterTable(ctx context.Context, schema cellstore.Schema) error {
	end, err := s.beginWrite(ctx)
	if err != nil {
		return s.fail("AlterTable", schema.Table, err)
	}
	defer end()
	n, err := schema.Normalize()
	if err == nil {
		err = s.describes()
	}
	if err != nil {
		return s.fail("AlterTable", schema.Table, err)
	}
	var now *thrift2.Table
	err = s.call(ctx, readCall, func(ctx context.Context, c *thrift2.Conn) (err error) {
		now, err = c.Describe(ctx, s.name(schema.Table))
		return err
	})
	var table *thrift2.Table
	if err == nil {
		table, err = s.describe(n, now)
	}
	if err == nil {
		err = s.change(ctx, idempotentCall, func(ctx context.Context, c *thrift2.Conn) error { return c.ModifyTable(ctx, table) })
	}
	if err == nil {
		err = s.refresh(ctx, schema.Table)
	}
	if err = tableMissing(err, s.path(schema.Table)); err != nil {
		return s.fail("AlterTable", schema.Table, err)
	}
	return nil
}

// DropTable implements cellstore.Store.
func (s *Store) DropTable(ctx context.Context, name string) error {
	end, err := s.beginWrite(ctx)
	if err != nil {
		return s.fail("DropTable", name, err)
	}
	defer end()
	at := s.name(name)
	err = s.change(ctx, idempotentCall, func(ctx context.Context, c *thrift2.Conn) error { return c.DisableTable(ctx, at) })
	if err != nil && strings.Contains(err.Error(), "TableNotEnabledException") {
		err = nil // an earlier drop disabled it and went no further
	}
	if err == nil {
		err = s.change(ctx, idempotentCall, func(ctx context.Context, c *thrift2.Conn) error { return c.DeleteTable(ctx, at) })
	}
	if err = tableMissing(err, s.path(name)); err != nil {
		return s.fail("DropTable", name, err)
	}
	s.mu.Lock()
	if t := s.opened[name]; t != nil {
		t.dropped.Store(true)
		delete(s.opened, name)
	}
	s.mu.Unlock()
	return nil
}

// Tables implements cellstore.Store.
func (s *Store) Tables(ctx context.Context) ([]string, error) {
	end, err := s.begin(ctx)
	if err != nil {
		return nil, s.fail("Tables", "", err)
	}
	defer end()
	var found []thrift2.TableName
	err = s.call(ctx, readCall, func(ctx context.Context, c *thrift2.Conn) (err error) {
		found, err = c.TableNames(ctx, s.opts.Namespace)
		return err
	})
	if refusedWith(err, s.opts.Namespace) {
		return nil, nil // the namespace comes with the first table
	}
	if err != nil {
		return nil, s.fail("Tables", "", err)
	}
	var names []string
	for _, n := range found {
		if name, ok := strings.CutPrefix(n.Name, s.opts.Prefix); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Table implements cellstore.Store.
func (s *Store) Table(ctx context.Context, name string) (cellstore.Table, error) {
	end, err := s.begin(ctx)
	if err != nil {
		return nil, s.fail("Table", name, err)
	}
	defer end()
	s.mu.Lock()
	st := s.opened[name]
	s.mu.Unlock()
	if st == nil {
		if _, err := (cellstore.Schema{Table: name, Families: []cellstore.Family{{Name: "f"}}}).Normalize(); err != nil {
			return nil, s.fail("Table", name, cellstore.ErrTableNotFound) // the name is invalid
		}
		v, err := s.read(ctx, name)
		if err != nil {
			return nil, s.fail("Table", name, err)
		}
		st = &state{name: name, path: s.path(name)}
		st.view.Store(v)
		s.mu.Lock()
		if other := s.opened[name]; other != nil {
			st = other
		} else {
			s.opened[name] = st
		}
		s.mu.Unlock()
	}
	return &Table{s: s, state: st}, nil
}

// refresh reads the schema of an open table again.
func (s *Store) refresh(ctx context.Context, name string) error {
	s.mu.Lock()
	st := s.opened[name]
	s.mu.Unlock()
	if st == nil {
		return nil
	}
	v, err := s.read(ctx, name)
	if err == nil {
		st.view.Store(v)
	}
	return err
}

// Compact implements cellstore.Store. HBase compacts by itself. The gateway has no call for it, so
// Options.CompactTable must do it.
func (s *Store) Compact(ctx context.Context, table string) error {
	end, err := s.beginWrite(ctx)
	if err != nil {
		return s.fail("Compact", table, err)
	}
	defer end()
	if s.opts.CompactTable == nil {
		return s.fail("Compact", table,
			fmt.Errorf("%w: the Thrift2 gateway cannot compact: HBase does so on its own, or run major_compact in its shell", errors.ErrUnsupported))
	}
	exists := false
	err = s.call(ctx, readCall, func(ctx context.Context, c *thrift2.Conn) (err error) {
		exists, err = c.TableExists(ctx, s.name(table))
		return err
	})
	if err == nil && !exists {
		err = cellstore.ErrTableNotFound
	}
	if err == nil {
		err = s.opts.CompactTable(ctx, s.opts.Namespace, s.opts.Prefix+table)
	}
	if err != nil {
		return s.fail("Compact", table, err)
	}
	return nil
}

// Checkpoint implements cellstore.Store. It is not supported.
func (s *Store) Checkpoint(context.Context, string) error {
	return s.fail("Checkpoint", "", fmt.Errorf("%w: take a snapshot in the shell of HBase", errors.ErrUnsupported))
}
