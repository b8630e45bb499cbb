package hbasestore

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"quadrille/cellstore"
	"quadrille/cellstore/hbasestore/internal/thrift2"
	"quadrille/cellstore/storetest"
	"quadrille/internal/must"
)

// modelHBase answers the calls of a gateway from the suite's model: one namespace of a cluster
// whose tables are one region each. Where a comment says so, it deviates from the contract as HBase
// does. The driver compensates for that.
type modelHBase struct {
	namespace string
	store     cellstore.Store

	mu       sync.Mutex // one call at a time, so that each is one step
	made     bool       // the namespace
	tables   map[string]object
	disabled map[string]bool
}

// newModelHBase returns a cluster without tables. A nil clock is the system's.
func newModelHBase(t testing.TB, namespace string, clock func() int64) *modelHBase {
	s, err := storetest.ModelBackend(t).Open(storetest.OpenOptions{Clock: clock})
	must.Do(t, err)
	return &modelHBase{namespace: namespace, store: s, tables: map[string]object{}, disabled: map[string]bool{}, made: true}
}

func ioError(canRetry bool, format string, args ...any) error {
	return &thrift2.IOError{Message: fmt.Sprintf(format, args...), CanRetry: canRetry}
}

func (h *modelHBase) serve(method string, args object) (object, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if answer, err, ok := h.admin(method, args); ok {
		return answer, err
	}
	t, err := h.table(text(args, 1))
	if err != nil {
		return nil, err
	}
	answer, err := h.data(t, method, args)
	return answer, javaError(err)
}

// admin answers the calls on tables and namespaces.
func (h *modelHBase) admin(method string, args object) (answer object, err error, ok bool) {
	ctx := context.Background()
	switch method {
	case "getThriftServerType":
		return object{0: int32(2)}, nil, true
	case "listNamespaces":
		list := []any{"default"}
		if h.made {
			list = append(list, h.namespace)
		}
		return object{0: list}, nil, true
	case "createNamespace":
		if name := text(child(args, 1), 1); name != h.namespace || h.made {
			return nil, ioError(false, "%s", name), true
		}
		h.made = true
		return nil, nil, true
	case "getTableNamesByNamespace":
		if text(args, 1) != h.namespace || !h.made {
			return nil, ioError(false, "%s", text(args, 1)), true
		}
		list := []any{}
		for name := range h.tables {
			list = append(list, object{1: h.namespace, 2: name})
		}
		return object{0: list}, nil, true
	case "createTable", "modifyTable":
		return nil, h.declare(ctx, method, child(args, 1)), true
	case "getTableDescriptor", "disableTable", "enableTable", "deleteTable", "tableExists":
		n := child(args, 1)
		answer, err := h.unescaped(ctx, method, text(n, 1), text(n, 2))
		return answer, err, true
	}
	return nil, nil, false
}

func (h *modelHBase) declare(ctx context.Context, method string, d object) error {
	n := child(d, 1)
	namespace, name := text(n, 1), text(n, 2)
	_, exists := h.tables[name]
	switch {
	case method == "createTable" && (namespace != h.namespace || !h.made):
		return ioError(false, "%s", namespace)
	case exists == (method == "createTable"):
		return ioError(false, "%s:%s", namespace, name)
	}
	schema := cellstore.Schema{Table: name}
	for _, f := range items(d, 2) {
		schema.Families = append(schema.Families, fromHBase(&thrift2.Family{
			Name: text(f, 1), BlockSize: int32(number(f, 4, 1<<16)), Bloom: int32(number(f, 5, 1)), Compression: int32(number(f, 6, 2)),
			MaxVersions: int32(number(f, 10, 1)), MinVersions: int32(number(f, 11, 0)), TTL: int32(number(f, 13, math.MaxInt32)),
		}))
	}
	change := h.store.CreateTable
	if exists {
		change = h.store.AlterTable
	}
	if err := change(ctx, schema); err != nil {
		return ioError(false, "org.apache.hadoop.hbase.DoNotRetryIOException: %v", err)
	}
	h.tables[name] = d
	return nil
}

func (h *modelHBase) unescaped(ctx context.Context, method, namespace, name string) (object, error) {
	d, exists := h.tables[name]
	if namespace != h.namespace {
		exists = false
	}
	if method == "tableExists" {
		return object{0: exists}, nil
	}
	if !exists {
		return nil, ioError(false, "%s:%s", namespace, name)
	}
	switch method {
	case "getTableDescriptor":
		return object{0: d}, nil
	case "disableTable":
		if h.disabled[name] {
			return nil, ioError(false, "org.apache.hadoop.hbase.TableNotEnabledException: %s:%s", namespace, name)
		}
		h.disabled[name] = true
	case "enableTable":
		delete(h.disabled, name)
	case "deleteTable":
		if !h.disabled[name] {
			return nil, ioError(false, "org.apache.hadoop.hbase.TableNotDisabledException: %s:%s", namespace, name)
		}
		delete(h.disabled, name)
		delete(h.tables, name)
		return nil, h.store.DropTable(ctx, name)
	}
	return nil, nil
}

func (h *modelHBase) table(path string) (cellstore.Table, error) {
	namespace, name, _ := strings.Cut(path, ":")
	if _, ok := h.tables[name]; !ok || namespace != h.namespace {
		return nil, ioError(false, "%s", path)
	}
	if h.disabled[name] {
		return nil, ioError(false, "org.apache.hadoop.hbase.TableNotEnabledException: %s is disabled", path)
	}
	return h.store.Table(context.Background(), name)
}

// data answers the calls on rows.
func (h *modelHBase) data(t cellstore.Table, method string, args object) (object, error) {
	ctx := context.Background()
	switch method {
	case "get":
		r, err := get(ctx, t, child(args, 2))
		return object{0: r}, err
	case "getMultiple":
		list := []any{}
		for _, g := range items(args, 2) {
			r, err := get(ctx, t, g)
			if err != nil {
				return nil, err
			}
			list = append(list, r)
		}
		return object{0: list}, nil
	case "getScannerResults":
		return scan(ctx, t, child(args, 2), int(number(args, 3, 0)))
	case "put":
		return nil, t.Apply(ctx, mutation(object{1: child(args, 2)[1], 2: []any{object{1: child(args, 2)}}}))
	case "putMultiple":
		for _, p := range items(args, 2) {
			if err := t.Apply(ctx, mutation(object{1: p[1], 2: []any{object{1: p}}})); err != nil {
				return nil, err
			}
		}
		return nil, nil
	case "deleteSingle":
		return nil, t.Apply(ctx, mutation(object{1: child(args, 2)[1], 2: []any{object{2: child(args, 2)}}}))
	case "mutateRow":
		return nil, t.Apply(ctx, mutation(child(args, 2)))
	case "checkAndMutate":
		holds, err := holds(ctx, t, args)
		if err == nil && holds {
			err = t.Apply(ctx, mutation(child(args, 7)))
		}
		return object{0: holds}, err
	case "increment":
		return increment(ctx, t, child(args, 2))
	case "append":
		a := child(args, 2)
		v := items(a, 2)[0]
		now, err := t.Append(ctx, raw(a, 1), text(v, 1), raw(v, 2), raw(v, 3), cellstore.Sync)
		return object{0: object{1: text(a, 1), 2: []any{object{1: text(v, 1), 2: text(v, 2), 3: string(now), 4: int64(1)}}}}, err
	case "getAllRegionLocations":
		return object{0: []any{object{1: object{1: "host", 2: int32(1)}, 2: object{3: "", 4: ""}}}}, nil
	}
	return nil, &applicationError{message: "Invalid method name: '" + method + "'"}
}

// selection returns the selection of a get or a scan. The two differ in the ids of their fields.
func selection(o object, columns, versions, times, filter int16) (cellstore.Selection, error) {
	var s cellstore.Selection
	for _, c := range items(o, columns) {
		if _, ok := c[2]; ok {
			s.Columns = append(s.Columns, cellstore.Column{Family: text(c, 1), Qualifier: raw(c, 2)})
		} else {
			s.Families = append(s.Families, text(c, 1))
		}
	}
	if s.Versions = int(number(o, versions, 1)); s.Versions == math.MaxInt32 {
		s.Versions = cellstore.Unlimited
	}
	if r := child(o, times); r != nil {
		s.Time = cellstore.Between(number(r, 1, 0), number(r, 2, 0))
	}
	err := addFilter(&s.Filter, raw(o, filter))
	return s, err
}

// addFilter reads the protocol buffers of a filter.
func addFilter(f *cellstore.ColumnFilter, b []byte) error {
	if len(b) == 0 {
		return nil
	}
	outer := protobuf(b)
	body := protobuf(outer[2][0])
	switch name := string(outer[1][0]); name {
	case "org.apache.hadoop.hbase.filter.ColumnPrefixFilter":
		f.Prefix = body[1][0]
	case "org.apache.hadoop.hbase.filter.ColumnRangeFilter":
		for id, to := range map[uint64]*[]byte{1: &f.From, 3: &f.To} {
			if v := body[id]; v != nil {
				*to = v[0]
			}
		}
		if !bytes.Equal(body[2][0], []byte{1}) || !bytes.Equal(body[4][0], []byte{0}) {
			return errors.New("the range is not half open")
		}
	case "org.apache.hadoop.hbase.filter.FilterList":
		for _, part := range body[2] {
			if err := addFilter(f, part); err != nil {
				return err
			}
		}
	default:
		return fmt.Errorf("there is no filter %s", name)
	}
	return nil
}

// protobuf splits a message into fields. A number becomes one byte.
func protobuf(b []byte) map[uint64][][]byte {
	m := map[uint64][][]byte{}
	for len(b) > 0 {
		tag, n := binary.Uvarint(b)
		b = b[n:]
		v, n := binary.Uvarint(b)
		b = b[n:]
		value := []byte{byte(v)}
		if tag&7 == 2 {
			value, b = b[:v], b[v:]
		}
		m[tag>>3] = append(m[tag>>3], value)
	}
	return m
}

func result(row *cellstore.Row) object {
	cells := []any{}
	for i := range row.Cells {
		c := &row.Cells[i]
		cells = append(cells, object{1: c.Family, 2: string(c.Qualifier), 3: string(c.Value), 4: c.Timestamp})
	}
	r := object{2: cells}
	if len(cells) > 0 {
		r[1] = string(row.Key)
	}
	return r
}

func get(ctx context.Context, t cellstore.Table, g object) (object, error) {
	sel, err := selection(g, 2, 5, 4, 15)
	if err != nil {
		return nil, err
	}
	var row cellstore.Row
	_, err = t.Get(ctx, raw(g, 1), &sel, &row)
	return result(&row), err
}

func scan(ctx context.Context, t cellstore.Table, o object, n int) (object, error) {
	sel, err := selection(o, 3, 5, 6, 18)
	if err != nil {
		return nil, err
	}
	reversed, _ := o[11].(bool)
	list := []any{}
	if limit := int(number(o, 15, 0)); limit > 0 {
		n = min(n, limit)
	}
	for row, err := range t.Scan(ctx, cellstore.Scan{
		Ranges:    []cellstore.Range{{From: raw(o, 1), To: raw(o, 2)}},
		Selection: sel,
		Reverse:   reversed,
		Limit:     n,
	}) {
		if err != nil {
			return nil, err
		}
		list = append(list, result(row))
	}
	return object{0: list}, nil
}

// mutation reads a TRowMutations.
func mutation(o object) cellstore.Mutation {
	m := cellstore.Mutation{Row: raw(o, 1)}
	for _, one := range items(o, 2) {
		if p := child(one, 1); p != nil {
			for _, v := range items(p, 2) {
				m.Ops = append(m.Ops, cellstore.PutAt(text(v, 1), raw(v, 2), number(v, 4, cellstore.Now), raw(v, 3)))
			}
			continue
		}
		m.Ops = append(m.Ops, deletion(child(one, 2))...)
	}
	return m
}

func deletion(d object) (ops []cellstore.Op) {
	if d[2] == nil {
		return []cellstore.Op{cellstore.DeleteRow(upTo(d))}
	}
	for _, c := range items(d, 2) {
		f, q := text(c, 1), raw(c, 2)
		switch thrift2.DeleteType(number(d, 4, 1)) {
		case thrift2.DeleteColumn:
			ops = append(ops, cellstore.DeleteVersion(f, q, number(c, 3, cellstore.Now)))
		case thrift2.DeleteColumns:
			ops = append(ops, cellstore.DeleteColumn(f, q, upTo(c)))
		case thrift2.DeleteFamily:
			ops = append(ops, cellstore.DeleteFamily(f, upTo(c)))
		case thrift2.DeleteFamilyVersion:
			ops = append(ops, cellstore.DeleteFamilyVersion(f, number(c, 3, cellstore.Now)))
		}
	}
	return ops
}

func upTo(o object) int64 {
	ts := number(o, 3, cellstore.Now)
	if ts == cellstore.MaxTimestamp {
		return cellstore.AllVersions
	}
	return ts
}

// holds compares as HBase does: the operand with the stored value. An empty operand equals an
// absent or an empty value.
func holds(ctx context.Context, t cellstore.Table, args object) (bool, error) {
	var row cellstore.Row
	_, err := t.Get(ctx, raw(args, 2),
		&cellstore.Selection{Columns: []cellstore.Column{{Family: text(args, 3), Qualifier: raw(args, 4)}}}, &row)
	op, operand := thrift2.CompareOp(number(args, 5, 0)), raw(args, 6)
	switch {
	case err != nil:
		return false, err
	case len(operand) == 0 && row.Empty():
		return op != thrift2.NotEqual, nil
	case len(operand) == 0:
		return (len(row.Cells[0].Value) == 0) == (op != thrift2.NotEqual), nil
	case row.Empty():
		return false, nil
	}
	d := bytes.Compare(operand, row.Cells[0].Value)
	return []bool{d < 0, d <= 0, d == 0, d != 0, d >= 0, d > 0}[op], nil
}

func increment(ctx context.Context, t cellstore.Table, o object) (object, error) {
	inc := cellstore.Increment{Row: raw(o, 1)}
	for _, d := range items(o, 2) {
		inc.Deltas = append(inc.Deltas, cellstore.Delta{Family: text(d, 1), Qualifier: raw(d, 2), By: number(d, 3, 0)})
	}
	values, err := t.Increment(ctx, inc, nil)
	if err != nil {
		return nil, err
	}
	cells := []any{}
	for i, d := range inc.Deltas {
		cells = append(cells, object{
			1: d.Family,
			2: string(d.Qualifier),
			3: string(binary.BigEndian.AppendUint64(nil, uint64(values[i]))),
			4: int64(1),
		})
	}
	// HBase answers in the order of columns.
	slices.SortFunc(cells, func(a, b any) int {
		x, y := a.(object), b.(object)
		return strings.Compare(text(x, 1)+"\x00"+text(x, 2), text(y, 1)+"\x00"+text(y, 2))
	})
	return object{0: object{1: text(o, 1), 2: cells}}, nil
}

// javaError converts errors of the model to HBase's.
func javaError(err error) error {
	const hbase = "org.apache.hadoop.hbase."
	var limit *cellstore.LimitError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, cellstore.ErrNotCounter):
		return ioError(false, hbase+"DoNotRetryIOException: Field is not a long, it's 3 bytes wide\n\tat java")
	case errors.Is(err, cellstore.ErrFamilyNotFound):
		return ioError(false, hbase+"regionserver.NoSuchColumnFamilyException: no such family\n\tat java")
	case errors.As(err, &limit):
		return ioError(false, "java.lang.IllegalArgumentException: KeyValue size too large\n\tat java")
	}
	var app *applicationError
	if errors.As(err, &app) {
		return app
	}
	return ioError(false, "java.lang.IllegalArgumentException: %v", err)
}
