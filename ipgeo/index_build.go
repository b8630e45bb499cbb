package ipgeo

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/maphash"
	"io"
	"math/bits"
	"os"
	"path/filepath"

	"quadrille/cellstore"
)

// IndexStats counts the content of an index file.
type IndexStats struct {
	Rows4, Rows6 int64
	Records      int64 // distinct answers
	Bytes        int64 // of the file
}

// BuildIndex writes the index file of a table. The file replaces an older one
// of its name only when it is complete and durable. Equal tables give equal
// bytes. The build needs about 60 bytes of memory for each distinct answer and
// for each distinct chunk. Two builds at once need two paths.
func BuildIndex(ctx context.Context, r *Reader, path string) (stats IndexStats, err error) {
	wrap := func(err error) (IndexStats, error) { return IndexStats{}, fmt.Errorf("ipgeo: build index: %w", err) }
	tmp := path + ".tmp"
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o644)
	if err != nil {
		return wrap(err)
	}
	stats, err = writeIndex(ctx, r, f)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		os.Remove(tmp)
		return wrap(err)
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return wrap(err)
	}
	defer dir.Close()
	if err := dir.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !isInvalid(err) {
		return wrap(err)
	}
	return stats, nil
}

// record holds the offsets of its chunks, divided by 8.
type record [chunkKinds]uint32

// indexWriter writes the sections of an index file side by side, because one
// scan of the table fills them all.
type indexWriter struct {
	file   *os.File
	layout indexLayout

	jumps  [2]jumpTable
	last   [2]*bufio.Writer
	rows   [2]*bufio.Writer
	chunks *bufio.Writer
	end    uint64 // end of the chunks written

	seen    map[[2]uint64]uint32 // two hashes of a chunk to its offset, divided by 8
	numbers map[record]uint32
	records []record
	seeds   [2]maphash.Seed
	parts   [chunkKinds][]byte
	buf     []byte
}

func writeIndex(ctx context.Context, r *Reader, f *os.File) (IndexStats, error) {
	counts := [2]int64{r.meta.Rows4, r.meta.Rows6}
	// The offset of the records follows from the number of rows. Their end is
	// known afterwards.
	l, ok := layIndex(uint64(counts[0]), uint64(counts[1]), 0, 0)
	if !ok {
		return IndexStats{}, fmt.Errorf("%d and %d rows are too many: at most %d can be indexed", counts[0], counts[1], int64(maxIndexRows))
	}
	w := &indexWriter{
		file: f, layout: l,
		seen: make(map[[2]uint64]uint32), numbers: make(map[record]uint32),
		seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
	}
	section := func(at uint64) *bufio.Writer {
		return bufio.NewWriterSize(io.NewOffsetWriter(f, int64(at)), 256<<10)
	}
	for i := range 2 {
		w.last[i], w.rows[i] = section(l.last[i]), section(l.rows[i])
		w.jumps[i].entries = make([]uint32, 0, jumpEntries)
	}
	w.chunks, w.end = section(l.chunks), 8
	if _, err := w.chunks.Write(make([]byte, 8)); err != nil {
		return IndexStats{}, err
	}
	var err error
	for i, v4 := range []bool{true, false} {
		if w.jumps[i].base, w.jumps[i].shift, err = r.spread(ctx, v4); err != nil {
			return IndexStats{}, err
		}
	}
	var done [2]int64
	for row, err := range r.rows(ctx, nil, nil) {
		if err != nil {
			return IndexStats{}, err
		}
		i := 1
		if row.v4 {
			i = 0
		}
		if done[i]++; done[i] > counts[i] {
			break
		}
		if err := w.add(i, row); err != nil {
			return IndexStats{}, err
		}
	}
	if done != counts {
		return IndexStats{}, fmt.Errorf("the table does not have the %d and %d rows of its Meta: %w; build it again", counts[0], counts[1], cellstore.ErrCorrupt)
	}
	size, err := w.finish(ctx)
	if err != nil {
		return IndexStats{}, err
	}
	return IndexStats{Rows4: counts[0], Rows6: counts[1], Records: int64(len(w.records)), Bytes: size}, nil
}

// add writes a row of family i: 0 for IPv4, 1 for IPv6.
func (w *indexWriter) add(i int, row *scanned) error {
	id, err := w.record(row.rest)
	if err != nil {
		return err
	}
	b := w.buf[:0]
	if i == 0 {
		w.jumps[i].add(row.last.lo)
		b = binary.LittleEndian.AppendUint32(b, uint32(row.last.lo))
		b = binary.LittleEndian.AppendUint32(b, uint32(row.first.lo))
	} else {
		w.jumps[i].add(row.last.hi)
		b = appendU128(appendU128(b, row.last), row.first)
	}
	b = binary.LittleEndian.AppendUint32(b, id)
	w.buf = b
	if _, err := w.last[i].Write(b[:lastBytes[i]]); err != nil {
		return err
	}
	_, err = w.rows[i].Write(b[lastBytes[i]:])
	return err
}

func appendU128(dst []byte, a u128) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(dst, a.hi), a.lo)
}

// record returns the number of the record with these sections.
func (w *indexWriter) record(sections []byte) (uint32, error) {
	for k := range w.parts {
		w.parts[k] = w.parts[k][:0]
	}
	for b := sections; len(b) > 0; {
		tag, _, rest, ok := nextSection(b)
		if !ok {
			return 0, fmt.Errorf("%s: %w; restore the generation or build it again", cutOff, cellstore.ErrCorrupt)
		}
		k := chunkOf(tag)
		w.parts[k] = append(w.parts[k], b[:len(b)-len(rest)]...)
		b = rest
	}
	var r record
	for k, part := range w.parts {
		var err error
		if r[k], err = w.chunk(part); err != nil {
			return 0, err
		}
	}
	id, ok := w.numbers[r]
	if !ok {
		if id = uint32(len(w.records)); id == maxIndexRows {
			return 0, fmt.Errorf("more than %d records cannot be indexed", id)
		}
		w.numbers[r] = id
		w.records = append(w.records, r)
	}
	return id, nil
}

// chunk returns the offset of a chunk and writes the chunk if it is new. Two
// hashes with separate seeds tell chunks apart, 128 bits that nobody can aim
// at. CheckIndex would find a collision.
func (w *indexWriter) chunk(b []byte) (at uint32, err error) {
	if len(b) == 0 {
		return 0, nil
	}
	key := [2]uint64{maphash.Bytes(w.seeds[0], b), maphash.Bytes(w.seeds[1], b)}
	if at, ok := w.seen[key]; ok {
		return at, nil
	}
	if w.end/8 > 1<<32-1 {
		return 0, errors.New("the records are too large to be indexed")
	}
	at = uint32(w.end / 8)
	w.seen[key] = at
	padded := (4 + len(b) + 7) &^ 7
	w.end += uint64(padded)
	w.buf = binary.LittleEndian.AppendUint32(w.buf[:0], uint32(len(b)))
	w.buf = append(w.buf, b...)
	w.buf = append(w.buf, make([]byte, padded-len(w.buf))...)
	_, err = w.chunks.Write(w.buf)
	return at, err
}

// finish writes what depends on all rows: jump tables, offsets, header.
func (w *indexWriter) finish(ctx context.Context) (size int64, err error) {
	for _, b := range []*bufio.Writer{w.last[0], w.rows[0], w.last[1], w.rows[1], w.chunks} {
		if err := b.Flush(); err != nil {
			return 0, err
		}
	}
	le := binary.LittleEndian
	var rows [2]uint64
	for i := range w.jumps {
		j := &w.jumps[i]
		rows[i] = uint64(j.rows)
		b := w.buf[:0]
		for _, n := range j.finish() {
			b = le.AppendUint32(b, n)
		}
		if _, err := w.file.WriteAt(b, int64(w.layout.jump[i])); err != nil {
			return 0, err
		}
		w.buf = b
	}
	records := uint64(len(w.records))
	l, ok := layIndex(rows[0], rows[1], records, w.end)
	if !ok {
		return 0, errors.New("the records are too large to be indexed")
	}
	out := bufio.NewWriterSize(io.NewOffsetWriter(w.file, int64(l.records)), 256<<10)
	for _, r := range w.records {
		b := w.buf[:0]
		for _, at := range r {
			b = le.AppendUint32(b, at)
		}
		if _, err := out.Write(b); err != nil {
			return 0, err
		}
		w.buf = b
	}
	if err := out.Flush(); err != nil {
		return 0, err
	}
	if err := w.file.Truncate(int64(l.size)); err != nil { // pad the last section
		return 0, err
	}

	sum := crc32.New(castagnoli)
	body := io.NewSectionReader(w.file, indexHeader, int64(l.size)-indexHeader)
	if _, err := io.CopyBuffer(sum, readerContext{ctx, body}, make([]byte, 1<<20)); err != nil {
		return 0, err
	}
	h := append(make([]byte, 0, indexHeader), indexMagic...)
	h = le.AppendUint32(le.AppendUint32(h, indexVersion), indexHeader)
	for _, n := range []uint64{
		rows[0], rows[1], records, w.end,
		w.jumps[0].base, uint64(w.jumps[0].shift), w.jumps[1].base, uint64(w.jumps[1].shift),
	} {
		h = le.AppendUint64(h, n)
	}
	h = le.AppendUint32(h, sum.Sum32())
	h = h[:indexHeader-4]
	h = le.AppendUint32(h, crc32.Checksum(h, castagnoli))
	_, err = w.file.WriteAt(h, 0)
	return int64(l.size), err
}

// readerContext ends a copy when its context ends.
type readerContext struct {
	ctx context.Context
	r   io.Reader
}

func (r readerContext) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

// jumpTable counts, for each bucket, the rows that end below it.
type jumpTable struct {
	base    uint64
	shift   uint
	entries []uint32
	rows    uint32
}

// add counts a row by the high bits of its last address. Rows come in ascending
// order.
func (j *jumpTable) add(high uint64) {
	b := (&family{base: j.base, shift: j.shift}).bucket(high)
	for len(j.entries) <= b {
		j.entries = append(j.entries, j.rows)
	}
	j.rows++
}

func (j *jumpTable) finish() []uint32 {
	for len(j.entries) < jumpEntries {
		j.entries = append(j.entries, j.rows)
	}
	return j.entries
}

// spread returns base and shift of a jump table, so that its buckets cover the
// rows.
func (r *Reader) spread(ctx context.Context, v4 bool) (base uint64, shift uint, err error) {
	if v4 {
		return 0, 16, nil
	}
	var end [2]scanned
	var row cellstore.Row
	found, err := r.table.Next(ctx, []byte{prefix6}, end6, nil, &row)
	if err != nil || !found {
		return 0, 0, err
	}
	if err := end[0].decode(&row); err != nil {
		return 0, 0, err
	}
	if _, err := r.table.Prev(ctx, end6, []byte{prefix6}, nil, &row); err != nil {
		return 0, 0, err
	}
	if err := end[1].decode(&row); err != nil {
		return 0, 0, err
	}
	lowest, highest := end[0].last.hi, end[1].last.hi
	return lowest, uint(max(0, bits.Len64(highest-lowest)-16)), nil
}

// CheckIndex compares every row of the table with the index at both ends, and
// the row counts. The error matches cellstore.ErrCorrupt, or is that of the
// table.
func CheckIndex(ctx context.Context, r *Reader, ix *Index) error {
	if err := ix.Verify(ctx); err != nil {
		return err
	}
	var rows [2]int
	for row, err := range r.rows(ctx, nil, nil) {
		if err != nil {
			return fmt.Errorf("ipgeo: check index: %w", err)
		}
		i := 1
		if row.v4 {
			i = 0
		}
		rows[i]++
		var want sections
		if wrong := want.decode(row.rest); wrong != "" {
			return fmt.Errorf("ipgeo: check index: %w", corruptRow(row.key, wrong))
		}
		for _, a := range [2]u128{row.first, row.last} {
			first, last, record, ok := ix.find(row.v4, a)
			if !ok || first != row.first || last != row.last {
				return corruptIndex(fmt.Sprintf("%s is in another range than in the table", addrOf(row.v4, a)))
			}
			var got sections
			if err := ix.record(record, &got); err != nil {
				return err
			}
			if !got.equal(&want) {
				return corruptIndex(fmt.Sprintf("%s has another answer than in the table", addrOf(row.v4, a)))
			}
		}
	}
	if rows != [2]int{ix.v4.n, ix.v6.n} {
		return corruptIndex("it has more rows than the table")
	}
	return nil
}
