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

// IndexFileName is the name of a generation's index file, which lies beside its
// store.
const IndexFileName = "ip.idx"

// The index file holds the ranges of the table in a form that is searched in
// place, mapped into memory. Numbers are little-endian, and every section begins
// at a multiple of 8.
//
//	header, 128 bytes
//	  0  magic "QDRL-IPX"
//	  8  version, 4 bytes · bytes of the header, 4 bytes
//	 16  ranges: IPv4, IPv6, 8 bytes each
//	 32  blocks: IPv4, IPv6, 8 bytes each
//	 48  base and shift of the IPv4 jump table, 8 bytes each
//	 64  base and shift of the IPv6 jump table
//	 80  bytes of the blocks and of the heap, 8 bytes each
//	 96  CRC-32C of all that follows the header, 4 bytes
//	124  CRC-32C of the header before it, 4 bytes
//	blocks   as in block.go, each at a multiple of 8; their offsets are those
//	         of records in the heap, divided by 4
//	heap     as in answer.go, each record at a multiple of 4
//	IPv4, then IPv6
//	  jump   2¹⁶ + 1 numbers of 4 bytes: the blocks that end below each bucket
//	  last   the last address of each block, 4 or 16 bytes, ascending
//	  at     where each block begins, divided by 8, 4 bytes each
//
// The blocks are those of the table's rows. Equal parts of answers and equal records are stored
// once, as far as the build finds them again in its bounded memory. Records hold their quadkey,
// because computing it takes longer than all else.
//
// The bucket of an address in the jump table is its high 64 bits (IPv4: all
// 32), less the base and shifted right. Base and shift are chosen so that the
// blocks use all buckets: the IPv6 addresses in use share their first bits, so
// the first 16 alone would separate few blocks. Between two entries of the
// table, blocks are found by bisection of their last addresses.
const (
	indexMagic   = "QDRL-IPX"
	indexVersion = 2
	indexHeader  = 128

	jumpEntries = 1<<16 + 1

	// maxIndexBlocks bounds the blocks of either IP version. Jump tables count
	// them in 4 bytes.
	maxIndexBlocks = 1<<32 - 2

	// Blocks and records begin at multiples of these, so that 4 bytes can address
	// more data.
	blockAlign, recordAlign = 8, 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Index answers lookups from an index file in memory, with the same answers as the Reader of its
// table. Any number of goroutines may use it. Close it after the last lookup.
type Index struct {
	data   []byte
	v4, v6 family
	blocks []byte
	heap   []byte
	sum    uint32 // of the bytes after the header
	unmap  func([]byte) error
}

// family is the part of an index for one IP version.
type family struct {
	base           uint64
	shift          uint
	jump, last, at []byte
	n              int // blocks
	ranges         uint64
}

func corruptIndex(what string) error {
	return fmt.Errorf("ipgeo: index file: %s: %w; restore the generation or build it again", what, cellstore.ErrCorrupt)
}

// OpenIndex maps an index file into memory. It reads the header only, so opening takes no time.
// Verify, CheckIndex and the checksums of the generation check the rest. Lookups trust nothing in
// the file: for any content, they return an answer or cellstore.ErrCorrupt. A file that is no
// index, or is damaged or cut off, gives cellstore.ErrCorrupt. A file of another version gives
// cellstore.ErrLayout.
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
	if err := cellstore.CheckLayout("the index file", int(u32(8)), indexVersion, indexVersion, renew); err != nil {
		return nil, fmt.Errorf("ipgeo: %w", err)
	}
	if u32(12) != indexHeader || u32(124) != crc32.Checksum(data[:124], castagnoli) {
		return nil, corruptIndex("the header is damaged")
	}
	l, ok := layIndex([2]uint64{u64(32), u64(40)}, u64(80), u64(88))
	if !ok || l.size != uint64(len(data)) {
		return nil, corruptIndex(fmt.Sprintf("it has %d bytes, and not what the header says", len(data)))
	}
	for i := range 2 { // a block has ranges
		if ranges, blocks := u64(16+8*i), u64(32+8*i); ranges < blocks || ranges > blocks*blockRanges {
			return nil, corruptIndex(fmt.Sprintf("%d ranges in %d blocks", ranges, blocks))
		}
	}
	if u64(56) > 63 || u64(72) > 63 {
		return nil, corruptIndex("a shift is over 63")
	}
	ix := &Index{data: data, sum: u32(96)}
	ix.blocks = data[indexHeader : indexHeader+u64(80)]
	ix.heap = data[l.heap : l.heap+u64(88)]
	ix.v4 = l.family(data, 0, family{n: int(u64(32)), ranges: u64(16), base: u64(48), shift: uint(u64(56))})
	ix.v6 = l.family(data, 1, family{n: int(u64(40)), ranges: u64(24), base: u64(64), shift: uint(u64(72))})
	return ix, nil
}

// indexLayout gives the offsets of the sections of an index file.
type indexLayout struct {
	heap, size     uint64
	jump, last, at [2]uint64 // IPv4, IPv6
}

// lastBytes has the number of bytes of a last address, by IP version.
var lastBytes = [2]uint64{4, 16}

func layIndex(count [2]uint64, blocks, heap uint64) (l indexLayout, ok bool) {
	const most = blockAlign << 32 // what 4 bytes can address
	if max(count[0], count[1]) > maxIndexBlocks || blocks > most || heap > most {
		return l, false
	}
	at := uint64(indexHeader)
	take := func(n uint64) (from uint64) {
		from = at
		at += (n + 7) &^ 7
		return from
	}
	take(blocks)
	l.heap = take(heap)
	for f, n := range count {
		l.jump[f] = take(jumpEntries * 4)
		l.last[f] = take(n * lastBytes[f])
		l.at[f] = take(n * 4)
	}
	l.size = at
	return l, true
}

// family returns f with its sections.
func (l *indexLayout) family(data []byte, i int, f family) family {
	section := func(from, n uint64) []byte { return data[from : from+n] }
	f.jump = section(l.jump[i], jumpEntries*4)
	f.last = section(l.last[i], uint64(f.n)*lastBytes[i])
	f.at = section(l.at[i], uint64(f.n)*4)
	return f
}

// bucket returns the bucket of an address from its high bits.
func (f *family) bucket(high uint64) int {
	if high < f.base {
		return 0
	}
	return int(min((high-f.base)>>f.shift, jumpEntries-2))
}

// among returns the range lo … hi of blocks in which the first block that ends at or after an
// address lies.
func (f *family) among(high uint64) (lo, hi int) {
	at := f.bucket(high) * 4
	from, to := binary.LittleEndian.Uint32(f.jump[at:]), binary.LittleEndian.Uint32(f.jump[at+4:])
	to = min(to, uint32(f.n)) // a damaged table
	return int(min(from, to)), int(to)
}

// find4 returns the first block that ends at or after a.
func (f *family) find4(a uint32) int {
	lo, hi := f.among(uint64(a))
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if binary.LittleEndian.Uint32(f.last[mid*4:]) < a {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

func (f *family) find6(a u128) int {
	lo, hi := f.among(a.hi)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if readU128(f.last[mid*16:]).less(a) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// end returns the last address of block n.
func (f *family) end(v4 bool, n int) u128 {
	if v4 {
		return u128{lo: uint64(binary.LittleEndian.Uint32(f.last[n*4:]))}
	}
	return readU128(f.last[n*16:])
}

// block decodes block n, and checks that it is the one in the directory.
func (ix *Index) block(k *block, v4 bool, n int) error {
	f := &ix.v6
	if v4 {
		f = &ix.v4
	}
	at := uint64(binary.LittleEndian.Uint32(f.at[n*4:])) * blockAlign
	if at >= uint64(len(ix.blocks)) || !k.decode(ix.blocks[at:], v4) {
		return corruptIndex(cutBlock)
	}
	if k.ends.at(k.n-1) != f.end(v4, n) {
		return corruptIndex("a block ends elsewhere than the directory says")
	}
	return nil
}

// missing checks that a lies in the gap before range i of block n, or after all blocks, and that
// damage did not lead there. Only a search without a result pays for it.
func (ix *Index) missing(k *block, v4 bool, n, i int, a u128) error {
	f := &ix.v6
	if v4 {
		f = &ix.v4
	}
	if n == 0 || i > 0 {
		return nil
	}
	if !f.end(v4, n-1).less(a) {
		return corruptIndex("its directory leads to another block")
	}
	return ix.block(k, v4, n-1) // it may end later than the directory claims
}

// find returns the range that covers a and the number of its record. The error
// matches cellstore.ErrCorrupt.
func (ix *Index) find(v4 bool, a u128) (first, last u128, record uint32, ok bool, err error) {
	var n int
	f := &ix.v6
	if v4 {
		f = &ix.v4
		n = f.find4(uint32(a.lo))
	} else {
		n = f.find6(a)
	}
	var k block
	var i int
	if n < f.n {
		if err := ix.block(&k, v4, n); err != nil {
			return first, last, 0, false, err
		}
		var wrong string
		if i, first, last, ok, wrong = k.find(a); wrong != "" {
			return first, last, 0, false, corruptIndex(wrong)
		}
	}
	if !ok {
		return first, last, 0, false, ix.missing(&k, v4, n, i, a)
	}
	number, known := k.offset(i)
	if !known || number > 1<<32-1 {
		return first, last, 0, false, corruptIndex(cutBlock)
	}
	return first, last, uint32(number), true, nil
}

// guard, when deferred, turns a page that the disk cannot read into an error. Without
// SetPanicOnFault such a page would end the process. before is the previous setting.
func guard(before bool, err *error) {
	debug.SetPanicOnFault(before)
	if p := recover(); p != nil {
		if _, fault := p.(interface{ Addr() uintptr }); !fault {
			panic(p)
		}
		*err = corruptIndex("a page of it cannot be read")
	}
}

// Lookup gives the same answers as Reader.Lookup. It ignores the context, because it waits only for
// the disk when a page is first touched. A page that the disk cannot read gives
// cellstore.ErrCorrupt.
func (ix *Index) Lookup(_ context.Context, addr netip.Addr, res *Result) (err error) {
	defer guard(debug.SetPanicOnFault(true), &err)
	return ix.lookup(addr, res)
}

func (ix *Index) lookup(addr netip.Addr, res *Result) error {
	addr, err := res.begin(addr, true)
	if err != nil {
		return err
	}
	if ix.data == nil {
		return fmt.Errorf("ipgeo: index: %w", cellstore.ErrClosed)
	}
	v4, a := addr.Is4(), numberOf(addr)
	first, last, record, ok, err := ix.find(v4, a)
	if err != nil {
		return err
	}
	if !ok {
		return res.nothing()
	}
	var found answer
	if err := ix.record(record, &found); err != nil {
		return err
	}
	res.fill(v4, a, first, last, &found)
	return nil
}

// record decodes a record.
func (ix *Index) record(number uint32, a *answer) error {
	if wrong := a.record(ix.heap, uint64(number)*recordAlign); wrong != "" {
		return corruptIndex(fmt.Sprintf("record %d: %s", number, wrong))
	}
	return nil
}

// Bounds returns the range that covers addr, both ends included, and the number of its record.
// Equal numbers of one index mean equal answers. Equal answers have equal numbers as far as
// BuildIndex recognised them, see IndexOptions.Memory. ok is false if Lookup would return an error.
// Bounds reads nothing but the bounds.
func (ix *Index) Bounds(addr netip.Addr) (first, last netip.Addr, record uint32, ok bool) {
	if !addr.IsValid() || ix.data == nil {
		return first, last, 0, false
	}
	var err error
	defer guard(debug.SetPanicOnFault(true), &err)
	addr = resolve(addr)
	v4 := addr.Is4() // the table has only reserved addresses with answers, so they need no check
	f, l, number, found, err := ix.find(v4, numberOf(addr))
	if !found || err != nil {
		return first, last, 0, false
	}
	return addrOf(v4, f), addrOf(v4, l), number, true
}

// Verify reads the whole file and checks that it is undamaged. The error matches
// cellstore.ErrCorrupt. Lookups may run at the same time.
func (ix *Index) Verify(ctx context.Context) (err error) {
	defer guard(debug.SetPanicOnFault(true), &err)
	var sum uint32
	for b := ix.data[min(indexHeader, len(ix.data)):]; len(b) > 0; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(len(b), 16<<20)
		sum = crc32.Update(sum, castagnoli, b[:n])
		b = b[n:]
		ix.release()
	}
	if ix.data == nil {
		return fmt.Errorf("ipgeo: index: %w", cellstore.ErrClosed)
	}
	if sum != ix.sum {
		return corruptIndex("the checksum is another")
	}
	return nil
}

// release gives the memory of the mapping back, if there is one. Reading a whole file once would
// otherwise fill memory with it.
func (ix *Index) release() {
	if ix.unmap != nil {
		forget(ix.data)
	}
}

// Close ends the mapping. No lookup may be running. Later lookups return cellstore.ErrClosed.
func (ix *Index) Close() error {
	data, unmap := ix.data, ix.unmap
	if data == nil {
		return nil
	}
	*ix = Index{}
	return unmap(data)
}
