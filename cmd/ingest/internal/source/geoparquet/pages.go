package geoparquet

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding/delta"
	pq "github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

// These bound what a page may claim.
const (
	maxPageValues = 1 << 26
	maxPageHeader = 1 << 20 // bytes; it may have the least and the greatest value of the page
	// maxOpen bounds the bytes of all pages that are open together, one of each column, unpacked.
	maxOpen = 1 << 30
)

// pageStream is the pages of a column in a row group, without compression. It implements
// io.ReaderAt for the library, which reads it in order. A page is checked before the library sees
// it, so that no claim in it makes the library allocate more than maxOpen.
type pageStream struct {
	p     *part
	l     *leaf
	codec format.CompressionCodec
	from  int64 // of the rest of the pages in the file
	end   int64
	left  int64 // values of the column in the row group that are not in the pages read so far

	at     int64  // in the stream
	header []byte // of the current page, not yet read
	body   []byte // the rest of the current page
}

// openStream returns the pages of a column.
func (p *part) openStream(l *leaf, chunk *format.ColumnChunk) *pageStream {
	from, size := chunkRange(chunk)
	return &pageStream{p: p, l: l, codec: chunk.MetaData.Codec, from: from, end: from + size, left: chunk.MetaData.NumValues}
}

// ReadAt implements io.ReaderAt for reading in order. It never reads beyond the end of a page, so
// the memory of the last page can be used again.
func (s *pageStream) ReadAt(to []byte, at int64) (n int, err error) {
	if at != s.at {
		return 0, errors.New("a page refers to a dictionary that is missing")
	}
	if len(s.header) == 0 && len(s.body) == 0 {
		if err := s.next(); err != nil {
			return 0, err
		}
	}
	n = copy(to, s.header)
	s.header = s.header[n:]
	m := copy(to[n:], s.body)
	s.body = s.body[m:]
	s.at += int64(n + m)
	return n + m, nil
}

// next reads, unpacks and checks the next page.
func (s *pageStream) next() error {
	var header format.PageHeader
	for {
		// Some writers leave bytes behind the last page.
		if s.from >= s.end || s.left <= 0 {
			return io.EOF
		}
		size, err := s.readHeader(&header)
		if err != nil {
			return err
		}
		s.from += size
		if header.CompressedPageSize < 0 || int64(header.CompressedPageSize) > s.end-s.from {
			return fmt.Errorf("a page of %d bytes, where the column has %d left", header.CompressedPageSize, s.end-s.from)
		}
		if header.Type != format.IndexPage {
			break
		}
		s.from += int64(header.CompressedPageSize)
	}
	values := header.DictionaryPageHeader.V.NumValues
	switch header.Type {
	case format.DataPage:
		values = header.DataPageHeader.V.NumValues
	case format.DataPageV2:
		values = header.DataPageHeaderV2.V.NumValues
	}
	if header.Type != format.DictionaryPage {
		s.left -= int64(values)
	}
	// Levels take two bytes a value, and references to a dictionary or offsets of texts four.
	need := int64(header.UncompressedPageSize) + 6*int64(values)
	if header.UncompressedPageSize < 0 || values < 0 || values > maxPageValues || s.left < 0 {
		return fmt.Errorf("a page claims %d bytes and %d values", header.UncompressedPageSize, values)
	}
	if err := s.l.hold(s.p, header.Type == format.DictionaryPage, need); err != nil {
		return err
	}
	packed := grown(&s.p.packed, int(header.CompressedPageSize))
	if _, err := s.p.file.ReadAt(packed, s.from); err != nil {
		return fmt.Errorf("reading a page: %w", err)
	}
	s.from += int64(len(packed))
	body, err := s.unpackPage(&header, packed)
	if err == nil {
		err = s.check(&header, body, int(values))
	}
	if err != nil {
		return err
	}
	header.CompressedPageSize, header.UncompressedPageSize, header.CRC = int32(len(body)), int32(len(body)), 0
	header.DataPageHeader.V.Statistics, header.DataPageHeaderV2.V.Statistics = format.Statistics{}, format.Statistics{}
	if header.DataPageHeaderV2.Valid {
		header.DataPageHeaderV2.V.IsCompressed = pq.New(false)
	}
	var compact pq.CompactProtocol
	s.header, err = pq.Marshal(&compact, &header)
	s.body = body
	return err
}

// readHeader reads the header of a page, and returns its size.
func (s *pageStream) readHeader(header *format.PageHeader) (size int64, err error) {
	for room := min(int64(512), s.end-s.from); ; room = min(maxPageHeader, s.end-s.from) {
		b := grown(&s.p.packed, int(room))
		if _, err := s.p.file.ReadAt(b, s.from); err != nil {
			return 0, fmt.Errorf("reading the header of a page: %w", err)
		}
		rest, elements, err := skipStruct(b, 0)
		if errors.Is(err, io.ErrUnexpectedEOF) && room < min(maxPageHeader, s.end-s.from) {
			continue
		}
		if err != nil || elements > maxLeaves {
			return 0, fmt.Errorf("header of a page: %w", errors.Join(err))
		}
		size := room - int64(len(rest))
		*header = format.PageHeader{}
		var compact pq.CompactProtocol
		if err := pq.Unmarshal(&compact, b[:size], header); err != nil {
			return 0, fmt.Errorf("header of a page: %w", err)
		}
		return size, nil
	}
}

// unpackPage unpacks a page. Levels of the second version are not packed.
func (s *pageStream) unpackPage(header *format.PageHeader, packed []byte) ([]byte, error) {
	size := int(header.UncompressedPageSize)
	if header.Type != format.DataPageV2 {
		return s.unpack(nil, packed, size)
	}
	v2 := &header.DataPageHeaderV2.V
	levels := int64(v2.RepetitionLevelsByteLength) + int64(v2.DefinitionLevelsByteLength)
	if v2.RepetitionLevelsByteLength < 0 || v2.DefinitionLevelsByteLength < 0 || levels > int64(min(len(packed), size)) {
		return nil, fmt.Errorf("a page of %d bytes with levels of %d", len(packed), levels)
	}
	if v2.IsCompressed.Valid && !v2.IsCompressed.V || s.codec == format.Uncompressed {
		return packed, nil
	}
	if len(packed) == int(levels) {
		return packed, nil // no values
	}
	return s.unpack(packed[:levels], packed[levels:], size)
}

// unpack returns the levels and the unpacked bytes, size bytes together.
func (s *pageStream) unpack(levels, packed []byte, size int) ([]byte, error) {
	if s.codec == format.Uncompressed {
		if len(packed) != size {
			return nil, fmt.Errorf("a page of %d bytes is said to have %d", len(packed), size)
		}
		return packed, nil
	}
	to := grown(&s.p.unpacked, size)
	to = to[copy(to, levels):]
	var n int
	var err error
	switch s.codec {
	case format.Snappy:
		if n, err = snappy.DecodedLen(packed); err == nil && n == len(to) {
			_, err = snappy.Decode(to, packed)
		}
	case format.Gzip:
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(packed)); err == nil {
			n, err = readAll(z, to)
		}
	case format.Brotli:
		n, err = readAll(brotli.NewReader(bytes.NewReader(packed)), to)
	case format.Zstd:
		n, err = s.p.unzstd(to, packed)
	case format.Lz4Raw:
		n, err = lz4.UncompressBlock(packed, to)
	default:
		return nil, errCodec{s.codec}
	}
	if err == nil && n != len(to) {
		err = fmt.Errorf("unpacks to %d bytes, not %d", n, len(to))
	}
	if err != nil {
		return nil, fmt.Errorf("a page packed by %s: %w", s.codec, err)
	}
	return s.p.unpacked[:size], nil
}

// errCodec is the error for a compression that is not read, which is no damage.
type errCodec struct{ codec format.CompressionCodec }

func (e errCodec) Error() string {
	return fmt.Sprintf("is packed by %s, which is not read; write it anew with zstd", e.codec)
}

// readAll fills to from r, and returns one more than its length if there is more.
func readAll(r io.Reader, to []byte) (n int, err error) {
	if n, err = io.ReadFull(r, to); err == nil {
		var more [1]byte
		if m, _ := io.ReadFull(r, more[:]); m > 0 {
			return n + m, nil
		}
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) && len(to) == 0 {
		err = nil // the caller compares the length
	}
	return n, err
}

// unzstd unpacks to, which is filled even though the decoder may use memory of its own.
func (p *part) unzstd(to, packed []byte) (n int, err error) {
	if p.zstd == nil || p.zstdMax < len(to) {
		p.zstdMax = max(1<<20, 1<<bits.Len(uint(len(to))))
		p.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(p.zstdMax)))
		if err != nil {
			return 0, err
		}
	}
	out, err := p.zstd.DecodeAll(packed, to[:0:len(to)])
	if err == nil && len(out) <= len(to) {
		copy(to, out)
	}
	return len(out), err
}

// grown returns n bytes of a buffer, which grows when it has to. It does not stay large.
func grown(buf *[]byte, n int) []byte {
	const kept = 4 << 20
	if cap(*buf) < n || cap(*buf) > kept && n < kept {
		*buf = make([]byte, max(n, 64<<10))
	}
	*buf = (*buf)[:n]
	return *buf
}

// check checks that the levels and values of a page are as many as it claims, and decode to no more.
// The library would take memory for what is too many, and stale memory for what is missing.
func (s *pageStream) check(header *format.PageHeader, body []byte, values int) error {
	if header.Type == format.DictionaryPage {
		return s.checkValues(format.Plain, body, values)
	}
	v1, v2 := &header.DataPageHeader.V, &header.DataPageHeaderV2.V
	encoding, present := v1.Encoding, values
	switch header.Type {
	case format.DataPage:
		for i, most := range []int{s.l.rep, s.l.def} {
			if most == 0 {
				continue
			}
			if [2]format.Encoding{v1.RepetitionLevelEncoding, v1.DefinitionLevelEncoding}[i] != format.RLE {
				return errors.New("levels in an encoding that is no longer written; write it anew")
			}
			if len(body) < 4 || uint64(binary.LittleEndian.Uint32(body)) > uint64(len(body)-4) {
				return errors.New("levels longer than their page")
			}
			n := 4 + int(binary.LittleEndian.Uint32(body))
			equal, err := countRuns(body[4:n], most, values)
			if err != nil {
				return err
			}
			body, present = body[n:], equal
		}
	case format.DataPageV2:
		encoding = v2.Encoding
		for i, n := range []int32{v2.RepetitionLevelsByteLength, v2.DefinitionLevelsByteLength} {
			if most := [2]int{s.l.rep, s.l.def}[i]; most > 0 {
				equal, err := countRuns(body[:n], most, values)
				if err != nil {
					return err
				}
				present = equal
			}
			body = body[n:]
		}
		if int(v2.NumNulls) != values-present {
			return fmt.Errorf("%d values of %d, and %d nulls", present, values, v2.NumNulls)
		}
	default:
		return fmt.Errorf("a page of type %d", header.Type)
	}
	if s.l.def == 0 {
		present = values
	}
	return s.checkValues(encoding, body, present)
}

// plainDictionary is what older writers call RLEDictionary.
const plainDictionary format.Encoding = 2

// checkValues checks that values decode to their number.
func (s *pageStream) checkValues(encoding format.Encoding, b []byte, values int) (err error) {
	kind := s.l.element.Type.V
	width := map[format.Type]int{format.Int32: 4, format.Int64: 8, format.Int96: 12, format.Float: 4, format.Double: 8,
		format.FixedLenByteArray: int(s.l.element.TypeLength.V)}[kind]
	var n int
	switch encoding {
	case plainDictionary, format.RLEDictionary:
		if len(b) == 0 && values == 0 {
			return nil
		}
		if len(b) == 0 || b[0] > 32 {
			return errors.New("references to a dictionary without their size")
		}
		_, err = countRuns(b[1:], 1<<b[0]-1, values)
		return err
	case format.RLE: // booleans, with their length before them
		if len(b) < 4 {
			return errors.New("booleans cut off")
		}
		_, err = countRuns(b[4:], 1, values)
		return err
	case format.DeltaBinaryPacked:
		n, _, err = deltas(b, values, byte(8*width))
	case format.DeltaLengthByteArray, format.DeltaByteArray:
		n, err = s.checkTexts(b, values, width, encoding == format.DeltaByteArray)
	case format.Plain, format.ByteStreamSplit:
		switch {
		case kind == format.Boolean:
			n = 8 * len(b)
		case kind != format.ByteArray:
			n = len(b) / max(1, width)
		default: // lengths before the bytes
			for n < values && len(b) >= 4 && uint64(binary.LittleEndian.Uint32(b)) <= uint64(len(b)-4) {
				b = b[4+binary.LittleEndian.Uint32(b):]
				n++
			}
		}
	default:
		return fmt.Errorf("values in the encoding %s, which is not read", encoding)
	}
	if err == nil && n < values {
		err = fmt.Errorf("%d values, not %d", n, values)
	}
	return err
}

// checkTexts checks and counts texts behind their lengths, which are differences. With shared, the numbers of bytes that
// they share with the text before are there first, and the memory of all that they unpack to is held. width is that of
// all texts, or 0.
func (s *pageStream) checkTexts(b []byte, values, width int, shared bool) (n int, err error) {
	var d delta.BinaryPackedEncoding
	var begins []int32
	if shared {
		first := b
		if _, b, err = deltas(b, values, 32); err == nil {
			begins, err = d.DecodeInt32(nil, first)
		}
		if err != nil {
			return 0, err
		}
	}
	n, rest, err := deltas(b, values, 32)
	if err != nil {
		return 0, err
	}
	lengths, err := d.DecodeInt32(nil, b)
	if err != nil || shared && len(begins) != len(lengths) {
		return 0, fmt.Errorf("lengths of texts: %w", cmp.Or(err, errThrift))
	}
	total, left, before := int64(0), int64(len(rest)), int64(0)
	for i, length := range lengths {
		begin := int64(0)
		if shared {
			begin = int64(begins[i])
		}
		left -= int64(length)
		if length < 0 || left < 0 || begin < 0 || begin > before || width > 0 && begin+int64(length) != int64(width) {
			return 0, errors.New("texts longer than their page")
		}
		before = begin + int64(length)
		total += before
	}
	return n, s.l.hold(s.p, false, total+6*int64(values))
}

// deltas checks a list of differences, and returns the number of values and what is behind them. values and most are the
// most of them and of their bits, which the library does not check.
//
//	size of a block, miniblocks in a block, values, first value
//	for each block: least difference, widths of the miniblocks in bits, miniblocks
func deltas(b []byte, values int, most byte) (n int, rest []byte, err error) {
	var head [4]uint64
	for i := range head {
		if head[i], b, err = uvarint(b); err != nil {
			return 0, nil, err
		}
	}
	block, minis, claimed := head[0], head[1], min(head[2], math.MaxInt32)
	const largest = 1 << 16
	if claimed > uint64(values) || block > largest || minis == 0 || minis > block {
		return 0, nil, fmt.Errorf("%d differences for %d values", claimed, values)
	}
	n = int(claimed)
	for left := n - 1; left > 0; {
		if _, b, err = uvarint(b); err != nil || uint64(len(b)) < minis {
			return 0, nil, errThrift
		}
		widths := b[:minis]
		b = b[minis:]
		for _, width := range widths {
			if left <= 0 {
				break
			}
			if width > most {
				return 0, nil, fmt.Errorf("differences of %d bits", width)
			}
			each := int(block / minis)
			b = b[min(len(b), each*int(width)/8):] // the last one may be cut off
			left -= each
		}
	}
	return n, b, nil
}

// countRuns counts the values that equal most among those of runs, which must be as many as given,
// beside a rest that fills up the last. The width of a value is that of most. A run is count<<1 and
// a value, or groups<<1|1 and groups of eight values, the first in the low bits.
func countRuns(b []byte, most, values int) (equal int, err error) {
	width := bits.Len(uint(most))
	bytes := (width + 7) / 8
	for total := 0; ; {
		if total >= values {
			// A bit-packed run is filled up, and some writers make it as long as they can.
			const filled = 512
			if total > values+filled {
				return 0, fmt.Errorf("runs of %d values, not %d", total, values)
			}
			return equal, nil
		}
		head, rest, err := uvarint(b)
		if err != nil || head > 8*maxPageValues {
			return 0, fmt.Errorf("runs of fewer or more than %d values", values)
		}
		if b = rest; head&1 == 0 {
			n := int(head >> 1)
			if len(b) < bytes {
				return 0, errThrift
			}
			value := 0
			for i := range bytes {
				value |= int(b[i]) << (8 * i)
			}
			if value == most {
				equal += min(n, values-total)
			}
			total, b = total+n, b[bytes:]
			continue
		}
		n := int(head>>1) * 8
		groups := b[:min(n/8*width, len(b))]
		b = b[len(groups):]
		if most <= 1<<5 { // levels; references to a dictionary are not counted
			for at := 0; at < min(n, values-total) && (at+1)*width <= 8*len(groups); at++ {
				bit := at * width
				value := int(groups[bit/8]) >> (bit % 8)
				if bit%8+width > 8 {
					value |= int(groups[bit/8+1]) << (8 - bit%8)
				}
				if value&(1<<width-1) == most {
					equal++
				}
			}
		}
		total += n
	}
}
