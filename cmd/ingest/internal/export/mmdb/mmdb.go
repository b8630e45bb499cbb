// Package mmdb writes databases of IP networks in version 2.0 of the public
// MaxMind DB format.
//
//	search tree   nodes of two records each: a node, data, or nothing
//	16 zeros
//	data section  the records, which point to what came before them
//	metadata      a map after a marker
//
// Networks come in ascending order, IPv4 before IPv6, so the tree is built in one pass: only the
// nodes on the path to the current network are open. Equal subtrees become one. IPv4 addresses are
// below ::/96. The networks of IPv6 that carry IPv4 addresses, [Aliases], lead to the same subtree.
package mmdb

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"time"

	"quadrille/cmd/ingest/internal/disk"
)

// Aliases are the networks of IPv6 that have the IPv4 addresses too, in ascending order:
// IPv4-mapped, NAT64 and 6to4.
var Aliases = []netip.Prefix{
	netip.MustParsePrefix("::ffff:0:0/96"),
	netip.MustParsePrefix("64:ff9b::/96"),
	netip.MustParsePrefix("2002::/16"),
}

// ipv4Bits is the depth at which the IPv4 addresses begin.
const ipv4Bits = 96

// ErrEmpty is returned when a database would have no network.
var ErrEmpty = errors.New("no network to write: nothing is known about any address in these fields")

// Options set how a database is written. The zero value works.
type Options struct {
	// RecordSize is 24, 28 or 32 bits; 0 means the smallest size that the database needs.
	RecordSize int
	// Memory is the approximate number of bytes that the writer may take. 0 means 1 GiB. The nodes
	// of the tree must fit. If not all records, nodes and texts can be remembered, the file grows,
	// because forgotten ones are written again.
	Memory int64
	// Shape, if set, turns a record given to Put into the JSON object that is
	// written. It is called for new records only, and equal ones have to give equal
	// objects.
	Shape func(object []byte) ([]byte, error)
}

// Info is the metadata of a database.
type Info struct {
	Type        string // such as Quadrille-City; clients look for City, Country, ASN in it
	Description string // in English
	Built       time.Time
}

// Stats counts the contents of a database.
type Stats struct {
	Networks   int64 // added, so before equal neighbours were joined
	Nodes      int64
	Data       int64 // bytes of the data section
	RecordSize int   // bits
}

// Data is a reference to a record in the data section.
type Data struct{ at record }

// Writer writes one database, and belongs to one goroutine. The file gets its final name only when
// Finish has succeeded.
type Writer struct {
	path       string
	file, temp *os.File // the database; its data section until the end
	recordSize int

	section  section
	tree     tree
	ipv4     record
	past     bool // the IPv4 addresses
	aliases  []netip.Prefix
	networks int64
}

// Create begins the database at path, in temporary files in the same directory.
func Create(path string, o Options) (_ *Writer, err error) {
	if o.RecordSize != 0 && o.RecordSize != 24 && o.RecordSize != 28 && o.RecordSize != 32 {
		return nil, fmt.Errorf("a record size of %d bits is not one of the format; give 24, 28 or 32", o.RecordSize)
	}
	if o.Memory == 0 {
		o.Memory = 1 << 30
	}
	w := &Writer{path: path, recordSize: o.RecordSize, aliases: Aliases}
	defer func() {
		if err != nil {
			_ = w.Abort() // the first error says why
		}
	}()
	if w.file, err = disk.CreateBeside(path); err != nil {
		return nil, err
	}
	if w.temp, err = os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".data-*"); err != nil {
		return nil, err
	}
	w.tree.nodes = &nodes{most: o.Memory / 2}
	w.section = section{
		out: bufio.NewWriterSize(w.temp, 1<<20), shape: o.Shape, languages: map[string]bool{},
		records: newMemory(o.Memory / 8), values: newMemory(o.Memory / 4),
	}
	return w, nil
}

// Put stores a record, a JSON object without white space, and returns the value that Add takes.
// Equal records are stored once. The error is a *TypeError if no type of the format fits a value.
func (w *Writer) Put(object []byte) (Data, error) {
	at, err := w.section.put(object)
	return Data{at}, err
}

// Add assigns a record to a network. Networks must not overlap. They must come in ascending order,
// IPv4 before IPv6, and not lie in one of the networks of IPv4 addresses: ::/96 and [Aliases].
func (w *Writer) Add(p netip.Prefix, d Data) error {
	if !p.IsValid() || d.at == nothing {
		return fmt.Errorf("network %v with record %v: give a network, and what Put returned", p, d.at)
	}
	bits, first := p.Bits(), numberOf(p.Masked().Addr())
	if p.Addr().Is4() {
		if w.past {
			return fmt.Errorf("network %s comes after one of IPv6", p)
		}
		bits += ipv4Bits
	} else if err := w.alias(first); err != nil {
		return err
	}
	if err := w.tree.add(first, bits, d.at); err != nil {
		return fmt.Errorf("%s: %w", p, err)
	}
	w.networks++
	return nil
}

// alias adds the aliases that come before an address.
func (w *Writer) alias(until number) (err error) {
	if !w.past {
		w.past = true
		if w.ipv4, err = w.tree.subtree(ipv4Bits); err != nil {
			return err
		}
		// Networks of IPv6 may not be among them, even if there are no IPv4 networks.
		if !w.tree.some {
			err = w.tree.add(number{}, ipv4Bits, nothing)
		}
	}
	for err == nil && len(w.aliases) > 0 && numberOf(w.aliases[0].Addr()).less(until) {
		if w.ipv4 != nothing {
			err = w.tree.add(numberOf(w.aliases[0].Addr()), w.aliases[0].Bits(), w.ipv4)
		}
		w.aliases = w.aliases[1:]
	}
	return err
}

// Finish completes the database and gives it its name. It returns ErrEmpty if no network was added.
func (w *Writer) Finish(info Info) (stats Stats, err error) {
	defer func() { err = errors.Join(err, w.Abort()) }()
	if w.networks == 0 {
		return stats, ErrEmpty
	}
	if err := w.alias(number{math.MaxUint64, math.MaxUint64}); err != nil {
		return stats, err
	}
	root, err := w.tree.root()
	if err != nil {
		return stats, err
	}
	// The nodes are numbered from the end, because the root is the last one and has to become the
	// first.
	all := w.tree.nodes
	if int(root) != all.n {
		return stats, fmt.Errorf("the root of the search tree is node %d of %d", root, all.n)
	}
	stats = Stats{Networks: w.networks, Nodes: int64(all.n), Data: w.section.size}
	if stats.RecordSize, err = recordSize(w.recordSize, stats); err != nil {
		return stats, err
	}
	if err := w.section.out.Flush(); err != nil {
		return stats, err
	}
	if _, err := w.temp.Seek(0, io.SeekStart); err != nil {
		return stats, err
	}
	out := bufio.NewWriterSize(w.file, 1<<20)
	if err := writeTree(out, all, stats.RecordSize); err != nil {
		return stats, err
	}
	if _, err := out.Write(make([]byte, separator)); err != nil {
		return stats, err
	}
	if _, err := io.CopyN(out, w.temp, stats.Data); err != nil {
		return stats, fmt.Errorf("copying the data section: %w", err)
	}
	metadata, err := appendMetadata(nil, info, slices.Sorted(maps.Keys(w.section.languages)), stats)
	if err != nil {
		return stats, err
	}
	if _, err := out.Write(metadata); err != nil {
		return stats, err
	}
	if err := out.Flush(); err != nil {
		return stats, err
	}
	err = disk.Discard(w.temp) // an error after Publish would be one too late
	if w.temp = nil; err != nil {
		return stats, err
	}
	return stats, disk.Publish(w.file, w.path)
}

// separator is the number of zero bytes between the tree and the data.
const separator = 16

// recordSize chooses the bits of a record, or checks the requested size. The pointer to the last
// record is the largest value.
func recordSize(asked int, stats Stats) (int, error) {
	largest := stats.Nodes + separator + stats.Data
	for _, size := range []int{24, 28, 32} {
		if size >= asked && largest < 1<<size {
			return size, nil
		}
		if size == asked {
			return 0, fmt.Errorf("%d nodes and %d bytes of data need more than --record-size %d: give a larger one, or leave it out",
				stats.Nodes, stats.Data, size)
		}
	}
	return 0, fmt.Errorf("%d nodes and %d bytes of data are more than the format can hold; leave fields out by --fields",
		stats.Nodes, stats.Data)
}

func writeTree(out *bufio.Writer, all *nodes, size int) error {
	n := uint32(all.n)
	value := func(r record) uint32 {
		switch {
		case r == nothing:
			return n
		case r&ofData != 0:
			return n + separator + uint32(r&^ofData)
		}
		return n - uint32(r)
	}
	var b [8]byte
	for i := n; i > 0; i-- {
		l, r := all.at(record(i))
		left, right := value(l), value(r)
		node := b[:size/4]
		switch size {
		case 24:
			node[0], node[1], node[2] = byte(left>>16), byte(left>>8), byte(left)
			node[3], node[4], node[5] = byte(right>>16), byte(right>>8), byte(right)
		case 28:
			node[0], node[1], node[2] = byte(left>>16), byte(left>>8), byte(left)
			node[3] = byte(left>>24)<<4 | byte(right>>24)
			node[4], node[5], node[6] = byte(right>>16), byte(right>>8), byte(right)
		default:
			binary.BigEndian.PutUint32(node, left)
			binary.BigEndian.PutUint32(node[4:], right)
		}
		if _, err := out.Write(node); err != nil {
			return err
		}
	}
	return nil
}

// marker is the marker at the beginning of the metadata.
const marker = "\xab\xcd\xefMaxMind.com"

func appendMetadata(dst []byte, info Info, languages []string, stats Stats) ([]byte, error) {
	dst = append(dst, marker...)
	dst = appendControl(dst, typeMap, 9)
	number := func(name string, typ byte, v uint64) {
		dst = appendUint(appendString(dst, name), typ, v)
	}
	number("binary_format_major_version", typeUint16, 2)
	number("binary_format_minor_version", typeUint16, 0)
	number("build_epoch", typeUint64, uint64(max(info.Built.Unix(), 0)))
	number("ip_version", typeUint16, 6)
	number("node_count", typeUint32, uint64(stats.Nodes))
	number("record_size", typeUint16, uint64(stats.RecordSize))
	dst = appendString(appendString(dst, "database_type"), info.Type)
	for _, v := range []struct {
		name  string
		value any
	}{{"description", map[string]string{"en": info.Description}}, {"languages", append([]string{}, languages...)}} {
		text, err := json.Marshal(v.value)
		if err != nil {
			return nil, err
		}
		if dst, err = encode(appendString(dst, v.name), text, nil); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

// Abort ends the writing and removes the temporary files. After Finish it does
// nothing.
func (w *Writer) Abort() error {
	err := errors.Join(disk.Discard(w.file), disk.Discard(w.temp))
	w.file, w.temp = nil, nil
	return err
}
