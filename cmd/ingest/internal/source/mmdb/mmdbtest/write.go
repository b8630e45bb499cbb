// Package mmdbtest writes small MaxMind DB files for tests, with any fields that a test needs, even
// invalid ones. It follows only the description of the format, version 2.0, so that readers can be
// tested with its files.
package mmdbtest

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"net/netip"
	"slices"
)

// Entry is a network and its data. Later entries replace earlier ones.
type Entry struct {
	Network string
	Data    any // string, float64, float32, uint16, uint32, uint64, int32, bool, []byte, []any, map[string]any
}

// Database describes a file.
type Database struct {
	Type       string
	IPVersion  int    // 4 or 6
	RecordSize int    // 24, 28 or 32; 0 means 32
	Epoch      uint64 // seconds since 1970
	Entries    []Entry
	// Nodes, if set, changes the search tree before it is written. A node is two records. A record
	// below len(nodes) is a node, and a record equal to it means that there is no data.
	Nodes func(nodes [][2]uint32) [][2]uint32
}

const marker = "\xab\xcd\xefMaxMind.com"

// Bytes returns the file.
func (d *Database) Bytes() []byte {
	var data bytes.Buffer
	offsets := map[string]uint32{} // of data, so that equal data is stored once
	tree := searchTree{{none, none}}
	for _, e := range d.Entries {
		b := appendValue(nil, e.Data)
		at, ok := offsets[string(b)]
		if !ok {
			at = uint32(data.Len())
			offsets[string(b)] = at
			data.Write(b)
		}
		tree.add(netip.MustParsePrefix(e.Network), d.IPVersion == 6, at)
	}
	nodes := tree.records()
	if d.Nodes != nil {
		nodes = d.Nodes(nodes)
	}
	size := cmp.Or(d.RecordSize, 32)
	out := appendNodes(nil, nodes, size)
	out = append(out, make([]byte, 16)...)
	out = append(out, data.Bytes()...)
	out = append(out, marker...)
	return appendValue(out, map[string]any{
		"binary_format_major_version": uint16(2), "binary_format_minor_version": uint16(0), "build_epoch": d.Epoch,
		"database_type": d.Type, "description": map[string]any{}, "ip_version": uint16(d.IPVersion), "languages": []any{"en"},
		"node_count": uint32(len(nodes)), "record_size": uint16(size),
	})
}

// These are values of records while the tree is built: an empty record has the value none, and a
// record that leads to data has dataAt plus the offset of the data. Any other record has the number
// of a node.
const none, dataAt = math.MaxUint32, 1 << 31

// searchTree has the two records of each node. The first node is the root.
type searchTree [][2]uint32

// add assigns the data at an offset to a network. Wider networks must have been added before.
func (t *searchTree) add(network netip.Prefix, in6 bool, offset uint32) {
	bits, addr := network.Bits(), network.Masked().Addr()
	raw := addr.AsSlice()
	if addr.Is4() && in6 {
		raw, bits = append(make([]byte, 12), raw...), bits+96
	}
	node := uint32(0)
	for i := range bits {
		side := raw[i/8] >> (7 - i%8) & 1
		if i == bits-1 {
			(*t)[node][side] = dataAt + offset
			break
		}
		next := (*t)[node][side]
		if next >= dataAt { // empty, or a wider network that is split here
			*t = append(*t, [2]uint32{next, next})
			next = uint32(len(*t) - 1)
			(*t)[node][side] = next
		}
		node = next
	}
}

// records returns the nodes of a complete tree with the numbers of the file format.
func (t searchTree) records() [][2]uint32 {
	count := uint32(len(t))
	for i := range t {
		for side, v := range t[i] {
			switch {
			case v == none:
				t[i][side] = count
			case v >= dataAt:
				t[i][side] = count + 16 + (v - dataAt)
			}
		}
	}
	return t
}

// appendNodes appends nodes with records of size bits.
func appendNodes(out []byte, nodes [][2]uint32, size int) []byte {
	for _, n := range nodes {
		switch l, r := n[0], n[1]; size {
		case 24:
			out = append(out, byte(l>>16), byte(l>>8), byte(l), byte(r>>16), byte(r>>8), byte(r))
		case 28:
			out = append(out, byte(l>>16), byte(l>>8), byte(l), byte(l>>24)<<4|byte(r>>24)&15, byte(r>>16), byte(r>>8), byte(r))
		default:
			out = binary.BigEndian.AppendUint32(out, l)
			out = binary.BigEndian.AppendUint32(out, r)
		}
	}
	return out
}

func control(dst []byte, kind, size int) []byte {
	first := byte(0)
	if kind <= 7 {
		first = byte(kind) << 5
	}
	var more []byte
	switch {
	case size < 29:
		first |= byte(size)
	case size < 285:
		first |= 29
		more = []byte{byte(size - 29)}
	case size < 65821:
		first |= 30
		more = binary.BigEndian.AppendUint16(nil, uint16(size-285))
	default:
		first |= 31
		more = binary.BigEndian.AppendUint32(nil, uint32(size-65821))[1:]
	}
	dst = append(dst, first)
	if kind > 7 {
		dst = append(dst, byte(kind-7))
	}
	return append(dst, more...)
}

func appendValue(dst []byte, v any) []byte {
	number := func(kind int, n uint64) []byte {
		b := bytes.TrimLeft(binary.BigEndian.AppendUint64(nil, n), "\x00")
		return append(control(dst, kind, len(b)), b...)
	}
	switch v := v.(type) {
	case string:
		return append(control(dst, 2, len(v)), v...)
	case float64:
		return binary.BigEndian.AppendUint64(control(dst, 3, 8), math.Float64bits(v))
	case []byte:
		return append(control(dst, 4, len(v)), v...)
	case uint16:
		return number(5, uint64(v))
	case uint32:
		return number(6, uint64(v))
	case map[string]any:
		dst = control(dst, 7, len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			dst = appendValue(appendValue(dst, k), v[k])
		}
		return dst
	case int32:
		return binary.BigEndian.AppendUint32(control(dst, 8, 4), uint32(v))
	case uint64:
		return number(9, v)
	case []any:
		dst = control(dst, 11, len(v))
		for _, w := range v {
			dst = appendValue(dst, w)
		}
		return dst
	case bool:
		if v {
			return control(dst, 14, 1)
		}
		return control(dst, 14, 0)
	case float32:
		return binary.BigEndian.AppendUint32(control(dst, 15, 4), math.Float32bits(v))
	}
	panic(fmt.Sprintf("a value of type %T has no place in a database", v))
}
