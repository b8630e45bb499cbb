package ipgeo

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/bits"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"

	"quadrille/cellstore"
	"quadrille/internal/repeats"
)

// IndexOptions are the options of BuildIndex. The zero value is valid.
type IndexOptions struct {
	// Memory is the approximate limit, in bytes, of the memory for recognising answers, and parts
	// of them, that are already written. 0 means 256 MiB, enough for at least 1.5 million of
	// either. If a table has more, the file grows, because forgotten ones are written again. Where
	// hardly anything repeats, not everything is looked up, so some repetitions are written again,
	// too. In addition, the build keeps at most 20 bytes for every row of the table, which has up
	// to 64 ranges.
	Memory int64
	// Progress, if set, is called at intervals with the ranges done so far and their total.
	Progress func(done, total int64)
}

// IndexStats counts the content of an index file.
type IndexStats struct {
	Rows4, Rows6 int64 // ranges
	Records      int64 // answers written: the distinct ones, if the memory held them all and many came again
	Bytes        int64 // of the file
}

// BuildIndex writes the index file of a table. It replaces an existing file at path only after the
// new one is complete and durable. Equal tables and options give equal bytes. Concurrent builds
// need separate paths. The build needs disk space for about one and a half times the file.
func BuildIndex(ctx context.Context, r *Reader, path string, opts IndexOptions) (stats IndexStats, err error) {
	wrap := func(err error) (IndexStats, error) { return IndexStats{}, fmt.Errorf("ipgeo: build index: %w", err) }
	tmp := path + ".tmp"
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o644)
	if err != nil {
		return wrap(err)
	}
	stats, err = writeIndex(ctx, r, f, opts)
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

// indexWriter writes an index file in one scan of the table. Blocks go directly into the file. The
// heap goes into a separate file beside it, because both grow at the same time.
type indexWriter struct {
	file, heapFile *os.File
	blocks, heap   *bufio.Writer
	blocksEnd      uint64
	heapEnd        uint64
	families       [2]indexFamily

	parts, records *dedup
	partsAgain     [answerParts]repeats.Watch
	recordsAgain   repeats.Watch
	written        int64 // records

	block   blockWriter
	row     []rowRecord
	locals  []uint64 // of row: the offsets in the row's heap
	offsets []uint64 // of the records of the row's ranges, divided by recordAlign
	text    []byte   // of the row's records
	buf     []byte
}

// indexFamily gathers the directory of one IP version.
type indexFamily struct {
	last   []byte // of blocks, as in the file
	at     []byte
	high   func(last []byte) uint64 // the bits of a last address that choose its bucket
	ranges int64
	end    u128 // last address of the previous range
}

const bufferBytes = 256 << 10

func writeIndex(ctx context.Context, r *Reader, f *os.File, opts IndexOptions) (stats IndexStats, err error) {
	if opts.Memory <= 0 {
		opts.Memory = 256 << 20
	}
	w := &indexWriter{file: f, parts: newDedup(opts.Memory / 2), records: newDedup(opts.Memory / 2)}
	w.families[0].high = func(last []byte) uint64 { return uint64(binary.LittleEndian.Uint32(last)) }
	w.families[1].high = binary.LittleEndian.Uint64
	name := f.Name() + ".heap"
	if w.heapFile, err = os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o644); err != nil {
		return IndexStats{}, err
	}
	defer func() {
		err = errors.Join(err, w.heapFile.Close(), os.Remove(name))
	}()
	w.blocks = bufio.NewWriterSize(io.NewOffsetWriter(f, indexHeader), bufferBytes)
	w.heap = bufio.NewWriterSize(w.heapFile, bufferBytes)

	var done, reported int64
	total := r.meta.Rows4 + r.meta.Rows6
	for row, err := range r.rows(ctx, nil, nil) {
		if err == nil {
			err = w.add(row)
		}
		if err != nil {
			return IndexStats{}, err
		}
		if done += int64(row.n); done-reported >= every {
			reported = done
			if opts.Progress != nil {
				opts.Progress(done, total)
			}
		}
	}
	if w.families[0].ranges != r.meta.Rows4 || w.families[1].ranges != r.meta.Rows6 {
		return IndexStats{}, fmt.Errorf("the table does not have the %d and %d ranges of its Meta: %w; build it again", r.meta.Rows4,
			r.meta.Rows6, cellstore.ErrCorrupt)
	}
	size, err := w.finish(ctx)
	if err != nil {
		return IndexStats{}, err
	}
	return IndexStats{Rows4: r.meta.Rows4, Rows6: r.meta.Rows6, Records: w.written, Bytes: size}, nil
}

// add writes the block of a row and its new records.
func (w *indexWriter) add(row *tableRow) error {
	f := &w.families[1]
	if row.v4 {
		f = &w.families[0]
	}
	for i := range row.n {
		first, last := row.at(i)
		if last.less(first) || f.ranges > 0 && first.compare(f.end) <= 0 {
			return corruptRow(row.key, "its ranges overlap")
		}
		f.ranges++
		f.end = last
	}
	if err := w.writeRecords(row); err != nil {
		return err
	}
	if uint64(len(f.at)/4) == maxIndexBlocks || w.blocksEnd/blockAlign > 1<<32-1 {
		return errors.New("the table is too large to be indexed")
	}
	f.at = binary.LittleEndian.AppendUint32(f.at, uint32(w.blocksEnd/blockAlign))
	if row.v4 {
		f.last = binary.LittleEndian.AppendUint32(f.last, uint32(f.end.lo))
	} else {
		f.last = appendU128(f.last, f.end)
	}
	w.buf = w.block.appendOffsets(append(w.buf[:0], row.bytes[:row.bounds]...), w.offsets)
	w.buf = pad(w.buf, blockAlign)
	w.blocksEnd += uint64(len(w.buf))
	_, err := w.blocks.Write(w.buf)
	return err
}

func pad(b []byte, align int) []byte {
	for len(b)%align != 0 {
		b = append(b, 0)
	}
	return b
}

// rowRecord is a distinct record of a row.
type rowRecord struct {
	answer answer
	part   [answerParts]hashKey // zero if it is not looked up
	at     [answerParts]uint64  // offsets of its parts
	key    hashKey              // as part
	end    int                  // of its text
	number uint64               // offset divided by recordAlign
}

// writeRecords writes the new parts and records of a row. It sets offsets to the number of the
// record of each range.
func (w *indexWriter) writeRecords(row *tableRow) error {
	if err := w.readRecords(row); err != nil {
		return err
	}
	for i := range w.row {
		if err := w.writeParts(&w.row[i]); err != nil {
			return err
		}
	}
	w.text = w.text[:0]
	for i := range w.row {
		r := &w.row[i]
		from := len(w.text)
		w.text = r.answer.appendRecord(w.text, &r.at)
		r.end = len(w.text)
		if w.recordsAgain.ShouldLook() {
			r.key = w.records.key(w.text[from:])
		}
	}
	from := 0
	for i := range w.row {
		r := &w.row[i]
		if err := w.writeRecord(r, w.text[from:r.end]); err != nil {
			return err
		}
		from = r.end
	}
	for i, k := range w.offsets {
		w.offsets[i] = w.row[k].number
	}
	return nil
}

// readRecords decodes the distinct records of a row. It sets offsets to the index of each range's
// record among them.
func (w *indexWriter) readRecords(row *tableRow) error {
	w.row, w.locals, w.offsets = w.row[:0], w.locals[:0], w.offsets[:0]
	for i := range row.n {
		local, ok := row.offset(i)
		if !ok {
			return corruptRow(row.key, cutBlock)
		}
		k := slices.Index(w.locals, local)
		if k < 0 {
			k = len(w.row)
			w.locals = append(w.locals, local)
			w.row = append(w.row, rowRecord{})
			r := &w.row[k]
			if err := row.answer(i, &r.answer); err != nil {
				return err
			}
			if a := &r.answer; a.cellKind == cellOfPoint {
				a.cell, a.cellKind = a.cellOf(), cellStored
			}
			for j, p := range r.answer.part {
				if len(p) > 0 && w.partsAgain[j].ShouldLook() {
					r.part[j] = w.parts.key(p)
				}
			}
		}
		w.offsets = append(w.offsets, uint64(k))
	}
	return nil
}

func (w *indexWriter) writeParts(r *rowRecord) error {
	for i, p := range r.answer.part {
		if len(p) == 0 {
			continue
		}
		r.at[i] = w.heapEnd
		if key := r.part[i]; key != (hashKey{}) {
			var known bool
			if r.at[i], known = w.parts.find(key, w.heapEnd); known {
				w.partsAgain[i].Found()
				continue
			}
		}
		w.buf = append(binary.AppendUvarint(w.buf[:0], uint64(len(p))), p...)
		if err := w.appendHeap(); err != nil {
			return err
		}
	}
	return nil
}

func (w *indexWriter) writeRecord(r *rowRecord, text []byte) error {
	padding := -w.heapEnd % recordAlign
	r.number = (w.heapEnd + padding) / recordAlign
	if r.key != (hashKey{}) {
		var known bool
		if r.number, known = w.records.find(r.key, r.number); known {
			w.recordsAgain.Found()
			return nil
		}
	}
	if r.number > 1<<32-1 {
		return errors.New("the records are too large to be indexed")
	}
	w.written++
	w.buf = append(append(w.buf[:0], make([]byte, padding)...), text...)
	return w.appendHeap()
}

func (w *indexWriter) appendHeap() error {
	w.heapEnd += uint64(len(w.buf))
	_, err := w.heap.Write(w.buf)
	return err
}

// finish writes the sections that depend on all rows: heap, directories, header.
func (w *indexWriter) finish(ctx context.Context) (size int64, err error) {
	le := binary.LittleEndian
	var count [2]uint64
	for i := range w.families {
		count[i] = uint64(len(w.families[i].at) / 4)
	}
	l, ok := layIndex(count, w.blocksEnd, w.heapEnd)
	if !ok {
		return 0, errors.New("the table is too large to be indexed")
	}
	if err := errors.Join(w.blocks.Flush(), w.heap.Flush()); err != nil {
		return 0, err
	}
	if _, err := w.heapFile.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	if _, err := io.CopyBuffer(io.NewOffsetWriter(w.file, int64(l.heap)), readerContext{ctx, w.heapFile}, make([]byte, 1<<20)); err != nil {
		return 0, err
	}
	h := append(make([]byte, 0, indexHeader), indexMagic...)
	h = le.AppendUint32(le.AppendUint32(h, indexVersion), indexHeader)
	for _, n := range []uint64{uint64(w.families[0].ranges), uint64(w.families[1].ranges), count[0], count[1]} {
		h = le.AppendUint64(h, n)
	}
	for i := range w.families {
		f := &w.families[i]
		jump, base, shift := f.jump(i)
		h = le.AppendUint64(le.AppendUint64(h, base), uint64(shift))
		for _, s := range []struct {
			b  []byte
			at uint64
		}{{jump, l.jump[i]}, {f.last, l.last[i]}, {f.at, l.at[i]}} {
			if _, err := w.file.WriteAt(s.b, int64(s.at)); err != nil {
				return 0, err
			}
		}
	}
	h = le.AppendUint64(le.AppendUint64(h, w.blocksEnd), w.heapEnd)
	if err := w.file.Truncate(int64(l.size)); err != nil { // pad the last section
		return 0, err
	}

	sum := crc32.New(castagnoli)
	body := io.NewSectionReader(w.file, indexHeader, int64(l.size)-indexHeader)
	if _, err := io.CopyBuffer(sum, readerContext{ctx, body}, make([]byte, 1<<20)); err != nil {
		return 0, err
	}
	h = le.AppendUint32(h, sum.Sum32())
	h = h[:indexHeader-4]
	h = le.AppendUint32(h, crc32.Checksum(h, castagnoli))
	_, err = w.file.WriteAt(h, 0)
	return int64(l.size), err
}

// readerContext is a reader that ends when its context ends.
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

// jump returns the jump table of family i, whose buckets cover the blocks. An
// entry counts the blocks that end below its bucket.
func (f *indexFamily) jump(i int) (table []byte, base uint64, shift uint) {
	size := int(lastBytes[i])
	shift = 16
	if n := len(f.last); i == 1 {
		shift = 0
		if n > 0 {
			base = f.high(f.last)
			shift = uint(max(0, bits.Len64(f.high(f.last[n-size:])-base)-16))
		}
	}
	in := family{base: base, shift: shift}
	blocks := uint32(0)
	for b := f.last; len(b) > 0; b = b[size:] {
		for bucket := in.bucket(f.high(b)); len(table)/4 <= bucket; {
			table = binary.LittleEndian.AppendUint32(table, blocks)
		}
		blocks++
	}
	for len(table) < jumpEntries*4 {
		table = binary.LittleEndian.AppendUint32(table, blocks)
	}
	return table, base, shift
}

// releaseEvery is the number of ranges that CheckIndex compares between two
// releases of the index's pages. The parts of each range may be in a few pages of
// its own.
const releaseEvery = 1 << 14

// CheckIndex compares every range of the table with the index at both ends, and the number of
// ranges. The error matches cellstore.ErrCorrupt, or is that of the table. progress, if set, is
// called at intervals with the ranges done so far and their total.
func CheckIndex(ctx context.Context, r *Reader, ix *Index, progress func(done, total int64)) (err error) {
	defer guard(debug.SetPanicOnFault(true), &err)
	if err := ix.Verify(ctx); err != nil {
		return err
	}
	var ranges [2]uint64
	for row, err := range r.ranges(ctx, nil, nil) {
		if err != nil {
			return fmt.Errorf("ipgeo: check index: %w", err)
		}
		if (ranges[0]+ranges[1])%releaseEvery == 0 {
			ix.release()
		}
		i := 1
		if row.v4 {
			i = 0
		}
		ranges[i]++
		if done := ranges[0] + ranges[1]; done%every == 0 && progress != nil {
			progress(int64(done), r.meta.Rows4+r.meta.Rows6)
		}
		for _, a := range [2]u128{row.first, row.last} {
			first, last, record, ok, err := ix.find(row.v4, a)
			if err != nil {
				return err
			}
			if !ok || first != row.first || last != row.last {
				return corruptIndex(fmt.Sprintf("%s is in another range than in the table", addrOf(row.v4, a)))
			}
			var got answer
			if err := ix.record(record, &got); err != nil {
				return err
			}
			if !got.equal(&row.answer) {
				return corruptIndex(fmt.Sprintf("%s has another answer than in the table", addrOf(row.v4, a)))
			}
			if row.first == row.last {
				break
			}
		}
	}
	if ranges != [2]uint64{ix.v4.ranges, ix.v6.ranges} {
		return corruptIndex("it has more ranges than the table")
	}
	return nil
}
