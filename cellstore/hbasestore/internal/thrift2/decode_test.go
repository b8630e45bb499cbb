package thrift2

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/apache/thrift/lib/go/thrift"
)

// TestResult reads results of every size of field in both protocols.
func TestResult(t *testing.T) {
	ctx := context.Background()
	for _, compact := range []bool{false, true} {
		t.Run(fmt.Sprintf("compact=%v", compact), func(t *testing.T) {
			buf := thrift.NewTMemoryBuffer()
			var p thrift.TProtocol = thrift.NewTBinaryProtocolConf(buf, nil)
			d := &decoder{ctx: ctx, p: p, raw: buf, max: 16 << 20}
			if compact {
				p = thrift.NewTCompactProtocolConf(buf, nil)
				d = &decoder{ctx: ctx, p: p}
			}
			var want []Value
			for i, n := range []int{0, 1, 100, 600, longField, longField + 1, trusted, 3*trusted + 1} {
				want = append(want, Value{
					Family:    []byte{'f', byte('0' + i/3)},
					Qualifier: bytes.Repeat([]byte("q"), i),
					Value:     bytes.Repeat([]byte{byte(i)}, n),
					Timestamp: int64(i),
				})
			}
			e := &encoder{ctx: ctx, p: p}
			e.value(func() {
				e.bytes(1, []byte("row"))
				list(e, 2, want, writeValue)
			})
			if e.err != nil {
				t.Fatal(e.err)
			}
			var r Result
			d.result(&r)
			if d.err != nil || string(r.Row) != "row" || len(r.Cells) != len(want) {
				t.Fatal(d.err, string(r.Row), len(r.Cells))
			}
			for i, c := range r.Cells {
				// No field may reach into its neighbour's memory.
				_ = append(append(c.Qualifier, '!'), c.Value...)
				w := want[i]
				if !bytes.Equal(c.Family, w.Family) || !bytes.Equal(c.Qualifier, w.Qualifier) || !bytes.Equal(c.Value, w.Value) ||
					c.Timestamp != w.Timestamp {
					t.Errorf("cell %d: %q %q, %d bytes", i, c.Family, c.Qualifier, len(c.Value))
				}
			}
		})
	}
}

// TestLyingLengths tests that a field that is shorter than it claims is an error, and takes no
// memory for the missing bytes.
func TestLyingLengths(t *testing.T) {
	for _, n := range []uint32{0xFFFFFFFF, 0x80000000, 0x7FFFFFFF, 200 << 20, 10} {
		buf := thrift.NewTMemoryBuffer()
		var b [4]byte
		binary.BigEndian.PutUint32(b[:], n)
		_, _ = buf.Write(append(b[:], "short"...))
		d := &decoder{ctx: context.Background(), p: thrift.NewTBinaryProtocolConf(buf, nil), raw: buf, max: maxMessage}
		got := d.bytes()
		if d.err == nil || cap(got) > trusted {
			t.Errorf("%d: %d bytes of memory, error %v", n, cap(got), d.err)
		}
	}
}

// TestEndlessAnswers tests that an answer of any number of parts stays within the limit of memory.
func TestEndlessAnswers(t *testing.T) {
	for _, compact := range []bool{false, true} {
		for _, n := range []int{0, 100, 60 << 10} {
			buf := thrift.NewTMemoryBuffer()
			d := &decoder{ctx: context.Background(), max: 1 << 20, most: 4 << 20}
			d.p, d.raw = thrift.NewTBinaryProtocolConf(buf, nil), buf
			if compact {
				d.p, d.raw = thrift.NewTCompactProtocolConf(buf, nil), nil
			}
			values := make([]Value, 5<<20/(n+itemBytes))
			for i := range values {
				values[i].Value = make([]byte, n)
			}
			e := &encoder{ctx: d.ctx, p: d.p}
			e.value(func() { list(e, 2, values, writeValue) })
			if e.err != nil {
				t.Fatal(e.err)
			}
			var r Result
			d.result(&r)
			if d.err == nil || len(r.Cells) > len(values)*9/10 {
				t.Errorf("compact=%v, %d bytes each: %d cells of %d, error %v", compact, n, len(r.Cells), len(values), d.err)
			}
		}
	}
}
