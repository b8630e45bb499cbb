package thrift2

import (
	"context"

	"github.com/apache/thrift/lib/go/thrift"
)

// encoder writes fields. It keeps the first error, so that callers check once.
type encoder struct {
	ctx context.Context
	p   thrift.TProtocol
	err error
}

func (e *encoder) keep(err error) {
	if e.err == nil && err != nil {
		e.err = err
	}
}

func (e *encoder) begin(id int16, t thrift.TType) bool {
	if e.err == nil {
		e.keep(e.p.WriteFieldBegin(e.ctx, "", t, id))
	}
	return e.err == nil
}

// value writes a struct that is not a field, or the content of a struct.
func (e *encoder) value(body func()) {
	e.keep(e.p.WriteStructBegin(e.ctx, ""))
	body()
	if e.err == nil {
		e.keep(e.p.WriteFieldStop(e.ctx))
		e.keep(e.p.WriteStructEnd(e.ctx))
	}
}

func (e *encoder) object(id int16, body func()) {
	if e.begin(id, thrift.STRUCT) {
		e.value(body)
	}
}

func (e *encoder) bytes(id int16, b []byte) {
	if e.begin(id, thrift.STRING) {
		e.keep(e.p.WriteBinary(e.ctx, b))
	}
}

func (e *encoder) text(id int16, s string) {
	if e.begin(id, thrift.STRING) {
		e.keep(e.p.WriteString(e.ctx, s))
	}
}

func (e *encoder) i64(id int16, n int64) {
	if e.begin(id, thrift.I64) {
		e.keep(e.p.WriteI64(e.ctx, n))
	}
}

func (e *encoder) i32(id int16, n int32) {
	if e.begin(id, thrift.I32) {
		e.keep(e.p.WriteI32(e.ctx, n))
	}
}

func (e *encoder) boolean(id int16, b bool) {
	if e.begin(id, thrift.BOOL) {
		e.keep(e.p.WriteBool(e.ctx, b))
	}
}

func (e *encoder) texts(id int16, m map[string]string) {
	if len(m) == 0 || !e.begin(id, thrift.MAP) {
		return
	}
	e.keep(e.p.WriteMapBegin(e.ctx, thrift.STRING, thrift.STRING, len(m)))
	for k, v := range m {
		e.keep(e.p.WriteString(e.ctx, k))
		e.keep(e.p.WriteString(e.ctx, v))
	}
	e.keep(e.p.WriteMapEnd(e.ctx))
}

// list writes a list of structs.
func list[T any](e *encoder, id int16, items []T, write func(e *encoder, item *T)) {
	if !e.begin(id, thrift.LIST) {
		return
	}
	e.keep(e.p.WriteListBegin(e.ctx, thrift.STRUCT, len(items)))
	for i := range items {
		if e.err != nil {
			return
		}
		e.value(func() { write(e, &items[i]) })
	}
	e.keep(e.p.WriteListEnd(e.ctx))
}

func (e *encoder) keys(id int16, keys [][]byte) {
	if len(keys) == 0 || !e.begin(id, thrift.LIST) {
		return
	}
	e.keep(e.p.WriteListBegin(e.ctx, thrift.STRING, len(keys)))
	for _, k := range keys {
		e.keep(e.p.WriteBinary(e.ctx, k))
	}
	e.keep(e.p.WriteListEnd(e.ctx))
}

func writeColumn(e *encoder, c *Column) {
	e.text(1, c.Family)
	if c.Qualifier != nil {
		e.bytes(2, c.Qualifier)
	}
}

func writeDeleteColumn(e *encoder, c *Column) {
	writeColumn(e, c)
	if c.Timestamp != Latest {
		e.i64(3, c.Timestamp)
	}
}

func writeTime(e *encoder, id int16, t *TimeRange) {
	if t == nil {
		return
	}
	e.object(id, func() {
		e.i64(1, t.Min)
		e.i64(2, t.Max)
	})
}

func writeGet(e *encoder, g *Get) {
	e.bytes(1, g.Row)
	if len(g.Columns) > 0 {
		list(e, 2, g.Columns, writeColumn)
	}
	writeTime(e, 4, g.Time)
	if g.Versions > 0 {
		e.i32(5, g.Versions)
	}
	if g.Filter != nil {
		e.bytes(15, g.Filter)
	}
}

func writeScan(e *encoder, s *Scan) {
	e.bytes(1, s.Start)
	e.bytes(2, s.Stop)
	if len(s.Columns) > 0 {
		list(e, 3, s.Columns, writeColumn)
	}
	if s.Caching > 0 {
		e.i32(4, s.Caching)
	}
	if s.Versions > 0 {
		e.i32(5, s.Versions)
	}
	writeTime(e, 6, s.Time)
	if s.Reversed {
		e.boolean(11, true)
	}
	if s.NoCache {
		e.boolean(12, false)
	}
	if s.Read != 0 {
		e.i32(14, int32(s.Read))
	}
	if s.Limit > 0 {
		e.i32(15, s.Limit)
	}
	if s.Filter != nil {
		e.bytes(18, s.Filter)
	}
}

func writeValue(e *encoder, v *Value) {
	e.bytes(1, v.Family)
	e.bytes(2, v.Qualifier)
	e.bytes(3, v.Value)
	if v.Timestamp != Latest {
		e.i64(4, v.Timestamp)
	}
}

func writePut(e *encoder, p *Put) {
	e.bytes(1, p.Row)
	list(e, 2, p.Values, writeValue)
	e.i32(6, int32(p.Durability))
}

func writeDelete(e *encoder, d *Delete) {
	e.bytes(1, d.Row)
	if len(d.Columns) > 0 {
		list(e, 2, d.Columns, writeDeleteColumn)
	}
	if d.Timestamp != Latest {
		e.i64(3, d.Timestamp)
	}
	e.i32(4, int32(d.Type))
	e.i32(7, int32(d.Durability))
}

func writeMutations(e *encoder, id int16, row []byte, ms []Mutation) {
	e.object(id, func() {
		e.bytes(1, row)
		list(e, 2, ms, func(e *encoder, m *Mutation) {
			if m.Put != nil {
				e.object(1, func() { writePut(e, m.Put) })
				return
			}
			e.object(2, func() { writeDelete(e, m.Delete) })
		})
	})
}

func writeDelta(e *encoder, d *Delta) {
	e.text(1, d.Family)
	e.bytes(2, d.Qualifier)
	e.i64(3, d.By)
}

func writeName(e *encoder, id int16, n TableName) {
	e.object(id, func() {
		e.text(1, n.Namespace)
		e.text(2, n.Name)
	})
}

func writeFamily(e *encoder, f *Family) {
	e.text(1, f.Name)
	e.texts(2, f.Attributes)
	e.texts(3, f.Configuration)
	e.i32(4, f.BlockSize)
	e.i32(5, f.Bloom)
	e.i32(6, f.Compression)
	e.i32(10, f.MaxVersions)
	e.i32(11, f.MinVersions)
	e.i32(13, f.TTL)
	e.boolean(20, f.InMemory)
}

func writeTable(e *encoder, id int16, t *Table) {
	e.object(id, func() {
		writeName(e, 1, t.Name)
		list(e, 2, t.Families, writeFamily)
		e.texts(3, t.Attributes)
	})
}
