package thrift2

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/apache/thrift/lib/go/thrift"
)

// decoder reads fields. It keeps the first error, so that callers check once.
type decoder struct {
	ctx context.Context
	p   thrift.TProtocol
	err error

	// raw gives the bytes of the binary protocol. Reading them through thrift would
	// allocate and copy each value several times. raw is nil for the compact
	// protocol.
	raw   io.Reader
	max   int    // bytes of one field
	most  int    // bytes of all fields together, 0 for any number
	spent int    // of them
	arena []byte // the rest of the memory for short fields
	chunk int    // size of the last of it
	last  []byte // the last family: most neighbours are of the same one
}

func (d *decoder) keep(err error) {
	if d.err == nil && err != nil {
		d.err = err
	}
}

// object reads a struct. field reads a field if it knows the id and the type, and reports whether
// it has read the field. Other fields are skipped.
func (d *decoder) object(field func(id int16, t thrift.TType) bool) {
	if d.err != nil {
		return
	}
	_, err := d.p.ReadStructBegin(d.ctx)
	d.keep(err)
	for d.err == nil {
		_, t, id, err := d.p.ReadFieldBegin(d.ctx)
		d.keep(err)
		if d.err != nil {
			return
		}
		if t == thrift.STOP {
			break
		}
		if !field(id, t) && d.err == nil {
			d.keep(d.p.Skip(d.ctx, t))
		}
		if d.err == nil {
			d.keep(d.p.ReadFieldEnd(d.ctx))
		}
	}
	if d.err == nil {
		d.keep(d.p.ReadStructEnd(d.ctx))
	}
}

func (d *decoder) bytes() []byte {
	if d.raw == nil {
		b, err := d.p.ReadBinary(d.ctx)
		d.keep(err)
		d.spend(len(b))
		return b
	}
	n := int(d.i32())
	if d.err == nil && (n < 0 || n > d.max) {
		d.keep(fmt.Errorf("a field of %d bytes in the answer, the limit is %d", n, d.max))
	}
	d.spend(n)
	if d.err != nil {
		return nil
	}
	if n > longField {
		return d.long(n)
	}
	b := d.take(n)
	_, err := io.ReadFull(d.raw, b)
	d.keep(err)
	return b
}

const (
	// longField is the size above which a field gets memory of its own. firstChunk and lastChunk
	// are the sizes of the memory that shorter fields share.
	longField  = 8 << 10
	firstChunk = 512
	lastChunk  = 64 << 10
	// trusted bounds the memory that is allocated at once for a size that the answer claims.
	trusted = 1 << 20
)

// itemBytes is the approximate memory of an element of a list, without the element's fields.
const itemBytes = 64

// spend counts memory for a part of the answer.
func (d *decoder) spend(n int) {
	if d.err != nil || d.most == 0 {
		return
	}
	if n > d.most-d.spent {
		d.keep(fmt.Errorf("an answer of more than %d bytes: ask for fewer rows at once", d.most))
		return
	}
	d.spent += n
}

// take returns memory for a short field.
func (d *decoder) take(n int) []byte {
	if n > len(d.arena) {
		d.chunk = max(n, min(max(2*d.chunk, firstChunk), lastChunk))
		d.arena = make([]byte, d.chunk)
	}
	b := d.arena[:n:n]
	d.arena = d.arena[n:]
	return b
}

// long reads a field of n bytes, allocating as they arrive.
func (d *decoder) long(n int) []byte {
	b := make([]byte, 0, min(n, trusted))
	for len(b) < n && d.err == nil {
		if len(b) == cap(b) {
			b = append(make([]byte, 0, min(n, 2*cap(b))), b...)
		}
		got, err := io.ReadFull(d.raw, b[len(b):min(n, cap(b))])
		b = b[:len(b)+got]
		d.keep(err)
	}
	return b
}

// shared reads the name of a family. Equal names that follow each other share their memory.
func (d *decoder) shared() []byte {
	before := d.arena
	b := d.bytes()
	if d.last != nil && bytes.Equal(b, d.last) {
		if len(before) >= len(b) {
			d.arena = before // the copy is not needed
		}
		return d.last
	}
	d.last = b
	return b
}

func (d *decoder) text() string {
	s, err := d.p.ReadString(d.ctx)
	d.keep(err)
	d.spend(len(s))
	return s
}

func (d *decoder) i64() int64 {
	n, err := d.p.ReadI64(d.ctx)
	d.keep(err)
	return n
}

func (d *decoder) i32() int32 {
	n, err := d.p.ReadI32(d.ctx)
	d.keep(err)
	return n
}

func (d *decoder) boolean() bool {
	b, err := d.p.ReadBool(d.ctx)
	d.keep(err)
	return b
}

// items reads a list of elements of the given type. It allocates nothing for the claimed number of
// elements.
func (d *decoder) items(of thrift.TType, item func()) {
	t, n, err := d.p.ReadListBegin(d.ctx)
	d.keep(err)
	for ; n > 0 && d.err == nil; n-- {
		if t == of {
			d.spend(itemBytes)
			item()
		} else {
			d.keep(d.p.Skip(d.ctx, t))
		}
	}
	if d.err == nil {
		d.keep(d.p.ReadListEnd(d.ctx))
	}
}

func (d *decoder) texts(m map[string]string) {
	kt, vt, n, err := d.p.ReadMapBegin(d.ctx)
	d.keep(err)
	for i := 0; i < n && d.err == nil; i++ {
		if kt != thrift.STRING || vt != thrift.STRING {
			d.keep(d.p.Skip(d.ctx, kt))
			if d.err == nil {
				d.keep(d.p.Skip(d.ctx, vt))
			}
			continue
		}
		k := d.text()
		if d.err == nil {
			m[k] = d.text()
		}
	}
	if d.err == nil {
		d.keep(d.p.ReadMapEnd(d.ctx))
	}
}

// result fills r, whose slice of cells is used again.
func (d *decoder) result(r *Result) {
	r.Row, r.Cells = nil, r.Cells[:0]
	d.object(func(id int16, t thrift.TType) bool {
		switch {
		case id == 1 && t == thrift.STRING:
			r.Row = d.bytes()
		case id == 2 && t == thrift.LIST:
			d.items(thrift.STRUCT, func() {
				r.Cells = append(r.Cells, Value{})
				d.cell(&r.Cells[len(r.Cells)-1])
			})
		case id == 4 && t == thrift.BOOL:
			// The driver has no call for the missing cells.
			if d.boolean() {
				d.keep(fmt.Errorf("a part of row %.40q only", r.Row))
			}
		default:
			return false
		}
		return true
	})
}

func (d *decoder) cell(v *Value) {
	d.object(func(id int16, t thrift.TType) bool {
		switch {
		case id == 1 && t == thrift.STRING:
			v.Family = d.shared()
		case id == 2 && t == thrift.STRING:
			v.Qualifier = d.bytes()
		case id == 3 && t == thrift.STRING:
			v.Value = d.bytes()
		case id == 4 && t == thrift.I64:
			v.Timestamp = d.i64()
		default:
			return false
		}
		return true
	})
}

func (d *decoder) results() (rs []Result) {
	d.items(thrift.STRUCT, func() {
		rs = append(rs, Result{})
		d.result(&rs[len(rs)-1])
	})
	return rs
}

// fieldReader reads a field of an answer, if the field has this number and this type.
type fieldReader struct {
	id   int16
	kind thrift.TType
	read func(*decoder)
}

// into reads a field into *p.
func into[T any](id int16, kind thrift.TType, p *T, read func(*decoder) T) fieldReader {
	return fieldReader{id, kind, func(d *decoder) { *p = read(d) }}
}

// each returns a reader of a list whose elements have the given type. It appends the elements to
// *p.
func each[T any](id int16, of thrift.TType, p *[]T, read func(*decoder) T) fieldReader {
	return fieldReader{id, thrift.LIST, func(d *decoder) { d.items(of, func() { *p = append(*p, read(d)) }) }}
}

// within reads the fields of a struct that is a field itself.
func within(id int16, fields ...fieldReader) fieldReader {
	return fieldReader{id, thrift.STRUCT, func(d *decoder) { d.fields(fields...) }}
}

func textsInto(id int16, m map[string]string) fieldReader {
	return fieldReader{id, thrift.MAP, func(d *decoder) { d.texts(m) }}
}

// fields reads a struct that occurs only a few times in an answer. The structs of rows are read in
// another way, because a table of fields would be allocated for each.
func (d *decoder) fields(fields ...fieldReader) {
	d.object(func(id int16, t thrift.TType) bool {
		for _, f := range fields {
			if f.id == id && f.kind == t {
				f.read(d)
				return true
			}
		}
		return false
	})
}

func (d *decoder) name() (n TableName) {
	d.fields(
		into(1, thrift.STRING, &n.Namespace, (*decoder).text),
		into(2, thrift.STRING, &n.Name, (*decoder).text),
	)
	return n
}

func (d *decoder) family() Family {
	f := Family{Attributes: map[string]string{}, Configuration: map[string]string{}}
	d.fields(
		into(1, thrift.STRING, &f.Name, (*decoder).text),
		textsInto(2, f.Attributes),
		textsInto(3, f.Configuration),
		into(4, thrift.I32, &f.BlockSize, (*decoder).i32),
		into(5, thrift.I32, &f.Bloom, (*decoder).i32),
		into(6, thrift.I32, &f.Compression, (*decoder).i32),
		into(10, thrift.I32, &f.MaxVersions, (*decoder).i32),
		into(11, thrift.I32, &f.MinVersions, (*decoder).i32),
		into(13, thrift.I32, &f.TTL, (*decoder).i32),
		into(20, thrift.BOOL, &f.InMemory, (*decoder).boolean),
	)
	return f
}

func (d *decoder) table() *Table {
	table := &Table{Attributes: map[string]string{}}
	d.fields(
		into(1, thrift.STRUCT, &table.Name, (*decoder).name),
		each(2, thrift.STRUCT, &table.Families, (*decoder).family),
		textsInto(3, table.Attributes),
	)
	return table
}

func (d *decoder) region() (r Region) {
	d.fields(
		within(1,
			into(1, thrift.STRING, &r.Server, (*decoder).text),
			into(2, thrift.I32, &r.Port, (*decoder).i32)),
		within(2,
			into(3, thrift.STRING, &r.Start, (*decoder).bytes),
			into(4, thrift.STRING, &r.End, (*decoder).bytes)),
	)
	return r
}
