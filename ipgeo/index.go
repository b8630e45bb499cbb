package ipgeo

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"net/netip"
	"os"
	"runtime/debug"

	"quadrille/cellstore"
)

// IndexName is the name of a generation's index file, which lies beside its
// store.
const IndexName = "ip.idx"

// The index file holds the rows of the table in a form that is searched in
// place, mapped into memory. Numbers are little-endian, and every section
// begins at a multiple of 8.
//
//	header, 128 bytes
//	  0  magic "QDRL-IPX"
//	  8  version, 4 bytes · bytes of the header, 4 bytes
//	 16  rows: IPv4, IPv6, 8 bytes each
//	 32  records, 8 bytes · bytes of the chunks, 8 bytes
//	 48  base and shift of the IPv4 jump table, 8 bytes each
//	 64  base and shift of the IPv6 jump table
//	 80  CRC-32C of all that follows the header, 4 bytes
//	124  CRC-32C of the header before it, 4 bytes
//	IPv4, then IPv6
//	  jump   2¹⁶ + 1 numbers of 4 bytes: the rows that end below each bucket
//	  last   the last address of each row, 4 or 16 bytes, ascending
//	  rows   first address, 4 or 16 bytes, and number of the record, 4 bytes
//	chunks   length, 4 bytes, and sections of rowkey.go, each chunk at a
//	         multiple of 8; the first 8 bytes are no chunk
//	records  three numbers of 4 bytes: where the chunks of country, place and
//	         network begin, divided by 8; 0 for none
//
// Every chunk is stored once. The three parts of an answer come from different
// sources, so each repeats much more often than all three together. Tags 1 and
// 2 are the country, 4 and 7 the network, all others the place.
//
// The bucket of an address in the jump table is its high 64 bits (IPv4: all
// 32), less the base and shifted right. Base and shift are chosen so that the
// rows use all buckets: the IPv6 addresses in use share their first bits, so
// the first 16 alone would separate few rows. Between two entries of the table,
// rows are found by bisection of their last addresses, 16 or 4 to a cache line.
const (
	indexMagic   = "QDRL-IPX"
	indexVersion = 1
	indexHeader  = 128

	jumpEntries = 1<<16 + 1

	// maxIndexRows bounds the rows of either IP version, and the records. Jump
	// tables and rows count them in 4 bytes.
	maxIndexRows = 1<<32 - 2
)

// These are the kinds of chunks, in the order of a record's numbers.
const (
	chunkCountry = iota
	chunkPlace
	chunkNetwork
	chunkKinds
)

func chunkOf(tag byte) int {
	switch tag {
	case sectionCode, sectionCountry:
		return chunkCountry
	case sectionTraits, sectionASN:
		return chunkNetwork
	}
	return chunkPlace
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Index answers lookups from an index file in memory, with the same answers as
// the Reader of its table. Any number of goroutines may use it. Close it when
// no lookup runs any more.
type Index struct {
	data    []byte
	v4, v6  family
	chunks  []byte
	records []byte
	count   uint64 // of records
	sum     uint32 // of the bytes after the header
	unmap   func([]byte) error
}

// family is the part of an index for one IP version.
type family struct {
	base             uint64
	shift            uint
	jump, last, rows []byte
	n                int // rows
}

func corruptIndex(what string) error {
	return fmt.Errorf("ipgeo: index file: %s: %w; restore the generation or build it again", what, cellstore.ErrCorrupt)
}

// OpenIndex maps an index file into memory. It reads the header only, so
// opening takes no time. Verify, CheckIndex and the checksums of the generation
// check the rest. Lookups trust nothing in the file: whatever it holds, they
// answer or fail with cellstore.ErrCorrupt. A file that is no index, or is
// damaged or cut off, gives cellstore.ErrCorrupt. A file of another version
// gives ErrLayout.
//
// The file must not change while it is open.
func OpenIndex(path string) (*Index, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // the mapping outlives the file
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	size := st.Size()
	if size < indexHeader || int64(int(size)) != size {
		return nil, fmt.Errorf("%s: %w", path, corruptIndex(fmt.Sprintf("it has %d bytes", size)))
	}
	data, unmap, err := mapFile(f, int(size))
	if err != nil {
		return nil, fmt.Errorf("ipgeo: map %s into memory: %w", path, err)
	}
	ix, err := parseIndex(data)
	if err != nil {
		_ = unmap(data) // report the first error
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	ix.unmap = unmap
	return ix, nil
}

// parseIndex returns an Index over the bytes of a file.
func parseIndex(data []byte) (*Index, error) {
	if len(data) < indexHeader || string(data[:8]) != indexMagic {
		return nil, corruptIndex("it does not begin as one")
	}
	u32 := func(at int) uint32 { return binary.LittleEndian.Uint32(data[at:]) }
	u64 := func(at int) uint64 { return binary.LittleEndian.Uint64(data[at:]) }
	if v := u32(8); v != indexVersion {
		return nil, fmt.Errorf("ipgeo: index file: %w: it is version %d, this program reads %d; ingest the data again", ErrLayout, v, indexVersion)
	}
	if u32(12) != indexHeader || u32(124) != crc32.Checksum(data[:124], castagnoli) {
		return nil, corruptIndex("the header is damaged")
	}
	l, ok := layIndex(u64(16), u64(24), u64(32), u64(40))
	if !ok || l.size != uint64(len(data)) {
		return nil, corruptIndex(fmt.Sprintf("it has %d bytes, and not what the header says", len(data)))
	}
	if u64(56) > 63 || u64(72) > 63 {
		return nil, corruptIndex("a shift is over 63")
	}
	ix := &Index{data: data, count: u64(32), sum: u32(80)}
	ix.v4 = l.family(data, 0, int(u64(16)), u64(48), uint(u64(56)))
	ix.v6 = l.family(data, 1, int(u64(24)), u64(64), uint(u64(72)))
	ix.chunks = data[l.chunks:l.records]
	ix.records = data[l.records : l.records+ix.count*recordBytes]
	return ix, nil
}

// indexLayout gives the offsets of the sections of an index file.
type indexLayout struct {
	jump, last, rows      [2]uint64 // IPv4, IPv6
	chunks, records, size uint64
}

// These are the bytes of a last address, and of a row: first address and
// record.
var lastBytes, rowBytes = [2]uint64{4, 16}, [2]uint64{8, 20}

const recordBytes = chunkKinds * 4

func layIndex(rows4, rows6, records, chunks uint64) (l indexLayout, ok bool) {
	const most = 8 << 32 // the last place of a chunk that a record can name
	if max(rows4, rows6, records) > maxIndexRows || chunks > most {
		return l, false
	}
	at := uint64(indexHeader)
	take := func(n uint64) (from uint64) {
		from = at
		at += (n + 7) &^ 7
		return from
	}
	for f, rows := range [2]uint64{rows4, rows6} {
		l.jump[f] = take(jumpEntries * 4)
		l.last[f] = take(rows * lastBytes[f])
		l.rows[f] = take(rows * rowBytes[f])
	}
	l.chunks = take(chunks)
	l.records = take(records * recordBytes)
	l.size = at
	return l, true
}

func (l *indexLayout) family(data []byte, f, rows int, base uint64, shift uint) family {
	at := func(from [2]uint64, n uint64) []byte { return data[from[f] : from[f]+n] }
	return family{
		base: base, shift: shift, n: rows,
		jump: at(l.jump, jumpEntries*4),
		last: at(l.last, uint64(rows)*lastBytes[f]),
		rows: at(l.rows, uint64(rows)*rowBytes[f]),
	}
}

// bucket returns the bucket of an address from its high bits.
func (f *family) bucket(high uint64) int {
	if high < f.base {
		return 0
	}
	return int(min((high-f.base)>>f.shift, jumpEntries-2))
}

// among returns the range lo … hi of rows that may be the first to end at or
// after an address.
func (f *family) among(high uint64) (lo, hi int) {
	at := f.bucket(high) * 4
	from, to := binary.LittleEndian.Uint32(f.jump[at:]), binary.LittleEndian.Uint32(f.jump[at+4:])
	to = min(to, uint32(f.n)) // a damaged table
	return int(min(from, to)), int(to)
}

// find4 returns the first row that ends at or after a, and its record.
func (f *family) find4(a uint32) (first, last, record uint32, ok bool) {
	lo, hi := f.among(uint64(a))
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if binary.LittleEndian.Uint32(f.last[mid*4:]) < a {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo >= f.n {
		return 0, 0, 0, false
	}
	last = binary.LittleEndian.Uint32(f.last[lo*4:])
	row := f.rows[lo*8 : lo*8+8]
	return binary.LittleEndian.Uint32(row), last, binary.LittleEndian.Uint32(row[4:]), true
}

func (f *family) find6(a u128) (first, last u128, record uint32, ok bool) {
	lo, hi := f.among(a.hi)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if readU128(f.last[mid*16:]).less(a) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo >= f.n {
		return u128{}, u128{}, 0, false
	}
	last = readU128(f.last[lo*16:])
	row := f.rows[lo*20 : lo*20+20]
	return readU128(row), last, binary.LittleEndian.Uint32(row[16:]), true
}

// readU128 reads an address: the high half first, each half little-endian.
func readU128(b []byte) u128 {
	b = b[:16]
	return u128{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])}
}

// find returns the row that covers a.
func (ix *Index) find(v4 bool, a u128) (first, last u128, record uint32, ok bool) {
	if v4 {
		f, l, record, ok := ix.v4.find4(uint32(a.lo))
		ok = ok && f <= uint32(a.lo) && uint32(a.lo) <= l
		return u128{lo: uint64(f)}, u128{lo: uint64(l)}, record, ok
	}
	first, last, record, ok = ix.v6.find6(a)
	return first, last, record, ok && first.compare(a) <= 0 && a.compare(last) <= 0
}

// Lookup answers like Reader.Lookup. It ignores the context, because nothing
// waits here except for the disk when a page is first touched. A page that the
// disk cannot read gives cellstore.ErrCorrupt.
func (ix *Index) Lookup(_ context.Context, addr netip.Addr, res *Result) (err error) {
	// Without SetPanicOnFault such a page would end the process.
	defer func(before bool) {
		debug.SetPanicOnFault(before)
		if p := recover(); p != nil {
			if _, fault := p.(interface{ Addr() uintptr }); !fault {
				panic(p)
			}
			err = corruptIndex("a page of it cannot be read")
		}
	}(debug.SetPanicOnFault(true))
	return ix.lookup(addr, res)
}

func (ix *Index) lookup(addr netip.Addr, res *Result) error {
	addr, err := res.begin(addr)
	if err != nil {
		return err
	}
	if ix.data == nil {
		return fmt.Errorf("ipgeo: index: %w", cellstore.ErrClosed)
	}
	v4, a := addr.Is4(), numberOf(addr)
	first, last, record, ok := ix.find(v4, a)
	if !ok {
		return ErrNotFound
	}
	var s sections
	if err := ix.record(record, &s); err != nil {
		return err
	}
	res.fill(v4, a, first, last, &s)
	return nil
}

// record decodes a record.
func (ix *Index) record(i uint32, s *sections) error {
	if uint64(i) >= ix.count {
		return corruptIndex(fmt.Sprintf("record %d of %d", i, ix.count))
	}
	r := ix.records[uint64(i)*recordBytes:][:recordBytes]
	for k := range chunkKinds {
		at := uint64(binary.LittleEndian.Uint32(r[k*4:])) * 8
		if at == 0 {
			continue
		}
		if at+4 > uint64(len(ix.chunks)) {
			return corruptIndex(fmt.Sprintf("record %d lies outside", i))
		}
		b := ix.chunks[at:]
		n := uint64(binary.LittleEndian.Uint32(b))
		if n > uint64(len(b)-4) {
			return corruptIndex(fmt.Sprintf("record %d ends outside", i))
		}
		if wrong := s.decode(b[4 : 4+n : 4+n]); wrong != "" {
			return corruptIndex(fmt.Sprintf("record %d: %s", i, wrong))
		}
	}
	return nil
}

// Bounds returns the range that covers addr, both ends included, and the number
// of its record. Equal answers of one index have equal numbers. ok is false if
// Lookup would answer an error. Bounds reads nothing but the bounds.
func (ix *Index) Bounds(addr netip.Addr) (first, last netip.Addr, record uint32, ok bool) {
	if !addr.IsValid() || ix.data == nil {
		return first, last, 0, false
	}
	addr = resolve(addr)
	v4 := addr.Is4() // the table has no reserved addresses, so they need no check
	f, l, record, ok := ix.find(v4, numberOf(addr))
	if !ok {
		return first, last, 0, false
	}
	return addrOf(v4, f), addrOf(v4, l), record, true
}

// Verify reads the whole file and checks that it is as it was written. The
// error matches cellstore.ErrCorrupt.
func (ix *Index) Verify(ctx context.Context) error {
	var sum uint32
	for b := ix.data[min(indexHeader, len(ix.data)):]; len(b) > 0; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(len(b), 16<<20)
		sum = crc32.Update(sum, castagnoli, b[:n])
		b = b[n:]
	}
	if ix.data == nil {
		return fmt.Errorf("ipgeo: index: %w", cellstore.ErrClosed)
	}
	if sum != ix.sum {
		return corruptIndex("the checksum is another")
	}
	return nil
}

// Close ends the mapping. No lookup may be running. Later lookups answer
// cellstore.ErrClosed.
func (ix *Index) Close() error {
	data, unmap := ix.data, ix.unmap
	if data == nil {
		return nil
	}
	*ix = Index{}
	return unmap(data)
}
