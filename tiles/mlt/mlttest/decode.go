// Package mlttest decodes MapLibre Tiles for tests. It is slow, reads whole tiles, and shares no
// code with package mlt, whose output it reads. The command `make check-clients` also runs decoders
// of others.
package mlttest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Layer is a feature table.
type Layer struct {
	Name     string
	Extent   uint64
	Features []Feature
}

// Feature is a row of a table. Geometry lists paths: points, lines or rings, depending on the type,
// with the type numbers of the specification. Rings do not repeat their first point.
type Feature struct {
	ID         uint64 // 0 for none
	Type       uint64
	Paths      [][][2]int64
	Properties map[string]any // string, bool, int64 or float64
}

// errShort is returned for a tile that ends too early.
var errShort = errors.New("the tile ends in the midst of something")

// Decode reads a tile.
func Decode(tile []byte) (layers []Layer, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case error:
			err = r
		default:
			panic(r)
		}
	}()
	for r := (reader{tile}); len(r.b) > 0; {
		block := reader{r.take(r.varint())}
		if tag := block.varint(); tag != 1 {
			panic(fmt.Errorf("a block of tag %d", tag))
		}
		layers = append(layers, block.table())
		if len(block.b) > 0 {
			panic(fmt.Errorf("%d bytes behind table %s", len(block.b), layers[len(layers)-1].Name))
		}
	}
	return layers, nil
}

type reader struct{ b []byte }

func (r *reader) take(n uint64) []byte {
	if n > uint64(len(r.b)) {
		panic(errShort)
	}
	part := r.b[:n]
	r.b = r.b[n:]
	return part
}

func (r *reader) varint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		panic(errShort)
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) text() string { return string(r.take(r.varint())) }

func (r *reader) table() Layer {
	type column struct {
		kind uint64
		name string
	}
	l := Layer{Name: r.text(), Extent: r.varint()}
	columns := make([]column, r.varint())
	for i := range columns {
		if columns[i].kind = r.varint(); columns[i].kind >= 10 {
			columns[i].name = r.text()
		}
	}
	var ids []any
	var properties [][]any
	var names []string
	for _, c := range columns {
		switch {
		case c.kind < 4:
			ids = r.nullable(c.kind, func() []any { s := r.stream(); return anys(s.ints()) })
		case c.kind == 4:
			l.Features = r.geometry()
		default:
			names = append(names, c.name)
			properties = append(properties, r.property(c.kind))
		}
	}
	for i := range l.Features {
		f := &l.Features[i]
		if ids != nil && ids[i] != nil {
			f.ID = ids[i].(uint64)
		}
		f.Properties = map[string]any{}
		for j, name := range names {
			if v := properties[j][i]; v != nil {
				f.Properties[name] = v
			}
		}
	}
	return l
}

// stream is a decoded stream.
type stream struct {
	kind, encoding byte
	values         uint64
	runs, total    uint64
	data           []byte
}

func (r *reader) stream() stream {
	head := r.take(2)
	s := stream{kind: head[0], encoding: head[1], values: r.varint()}
	size := r.varint()
	// Streams of bits have no run counts.
	if s.encoding&3 != 0 && (s.encoding>>5 == 3 || s.encoding>>2&7 == 3) {
		s.runs, s.total = r.varint(), r.varint()
	}
	s.data = r.take(size)
	return s
}

// ints decodes a stream of unsigned integers.
func (s *stream) ints() (values []uint64) {
	if s.encoding&3 != 2 {
		panic(fmt.Errorf("encoding %#x of integers", s.encoding))
	}
	r := reader{s.data}
	for range s.values {
		values = append(values, r.varint())
	}
	if len(r.b) > 0 {
		panic(errors.New("a stream is longer than its values"))
	}
	if s.runs > 0 || s.total > 0 {
		packed := values
		values = nil
		for i := range s.runs {
			for range packed[i] {
				values = append(values, packed[s.runs+i])
			}
		}
		if uint64(len(values)) != s.total || uint64(len(packed)) != 2*s.runs {
			panic(fmt.Errorf("runs make %d values, and %d were to be", len(values), s.total))
		}
	}
	if s.encoding>>5 == 1 {
		var sum int64
		for i, v := range values {
			sum += signed(v)
			values[i] = uint64(sum)
		}
	}
	return values
}

func signed(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

// bits decodes a stream of bits.
func (s *stream) bits() (bits []bool) {
	var packed []byte
	for r := (reader{s.data}); len(r.b) > 0; {
		if n := int(r.take(1)[0]); n >= 128 {
			packed = append(packed, r.take(uint64(256-n))...)
		} else {
			b := r.take(1)[0]
			for range n + 3 {
				packed = append(packed, b)
			}
		}
	}
	for i := range s.values {
		bits = append(bits, packed[i/8]>>(i%8)&1 == 1)
	}
	return bits
}

// nullable reads values. A stream before them may mark features without a value.
func (r *reader) nullable(kind uint64, read func() []any) (all []any) {
	if kind&1 == 0 {
		return read()
	}
	present := r.stream()
	values := read()
	for _, there := range present.bits() {
		if !there {
			all = append(all, nil)
			continue
		}
		all = append(all, values[0])
		values = values[1:]
	}
	if len(values) > 0 {
		panic(errors.New("more values than features have"))
	}
	return all
}

func anys[T any](values []T) (all []any) {
	for _, v := range values {
		all = append(all, v)
	}
	return all
}

func (r *reader) property(kind uint64) []any {
	if kind&^1 == 28 {
		streams := r.varint() - kind&1
		return r.nullable(kind, func() []any { return r.texts(streams) })
	}
	return r.nullable(kind, func() (all []any) {
		s := r.stream()
		switch kind &^ 1 {
		case 10:
			return anys(s.bits())
		case 16, 20:
			for _, v := range s.ints() {
				all = append(all, signed(v))
			}
		case 18:
			for _, v := range s.ints() {
				all = append(all, int64(v))
			}
		case 26:
			for d := (reader{s.data}); len(d.b) > 0; {
				all = append(all, math.Float64frombits(binary.LittleEndian.Uint64(d.take(8))))
			}
		default:
			panic(fmt.Errorf("a column of type %d", kind))
		}
		return all
	})
}

func (r *reader) texts(streams uint64) (all []any) {
	lengths := r.stream()
	var offsets []uint64
	if streams == 3 {
		s := r.stream()
		offsets = s.ints()
	}
	data := r.stream()
	d := reader{data.data}
	for _, n := range lengths.ints() {
		all = append(all, string(d.take(n)))
	}
	if offsets == nil {
		return all
	}
	dict := all
	all = nil
	for _, o := range offsets {
		all = append(all, dict[o])
	}
	return all
}

func (r *reader) geometry() (features []Feature) {
	streams := map[byte]stream{}
	n := r.varint()
	for range n {
		s := r.stream()
		streams[s.kind] = s
	}
	list := func(kind byte) []uint64 {
		s, ok := streams[kind]
		if !ok {
			return nil
		}
		return s.ints()
	}
	next := func(l *[]uint64) uint64 {
		v := (*l)[0]
		*l = (*l)[1:]
		return v
	}
	types, counts, parts, rings := list(0x10), list(0x31), list(0x32), list(0x33)
	vertices := streams[0x13].vertices()
	if offsets, ok := streams[0x20]; ok {
		dict := vertices
		vertices = nil
		for _, o := range offsets.ints() {
			vertices = append(vertices, dict[o])
		}
	}
	path := func(n uint64) [][2]int64 {
		p := vertices[:n]
		vertices = vertices[n:]
		return p
	}
	for _, typ := range types {
		f := Feature{Type: typ}
		count := uint64(1)
		if typ >= 3 {
			count = next(&counts)
		}
		for range count {
			switch typ % 3 {
			case 0:
				f.Paths = append(f.Paths, path(1))
			case 1:
				lines := &parts
				if streams[0x33].data != nil {
					lines = &rings
				}
				f.Paths = append(f.Paths, path(next(lines)))
			case 2:
				for range next(&parts) {
					f.Paths = append(f.Paths, path(next(&rings)))
				}
			}
		}
		features = append(features, f)
	}
	if len(vertices)+len(counts)+len(parts)+len(rings) > 0 {
		panic(errors.New("more geometry than the features have"))
	}
	return features
}

// vertices decodes positions. Each is stored as the difference to the previous one.
func (s stream) vertices() (list [][2]int64) {
	var at [2]int64
	d := reader{s.data}
	for i := range s.values {
		// Differences have 32 bits and wrap around.
		if at[i%2] = int64(int32(at[i%2] + signed(d.varint()))); i%2 == 1 {
			list = append(list, at)
		}
	}
	return list
}
