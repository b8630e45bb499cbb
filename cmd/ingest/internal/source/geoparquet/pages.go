package geoparquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
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
	n, err := 0, error(nil)
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

// check checks that levels and values decode to no more than the page claims.
func (s *pageStream) check(header *format.PageHeader, body []byte, values int) error {
	encoding := header.DataPageHeader.V.Encoding
	switch header.Type {
	case format.DictionaryPage:
		return nil
	case format.DataPage:
		for _, most := range []int{s.l.rep, s.l.def} {
			if most == 0 {
				continue
			}
			if len(body) < 4 || uint64(binary.LittleEndian.Uint32(body)) > uint64(len(body)-4) {
				return errors.New("levels longer than their page")
			}
			n := int(binary.LittleEndian.Uint32(body))
			if err := checkRuns(body[4:4+n], bits.Len(uint(most)), values); err != nil {
				return err
			}
			body = body[4+n:]
		}
	case format.DataPageV2:
		v2 := &header.DataPageHeaderV2.V
		encoding = v2.Encoding
		if v2.NumNulls < 0 || int(v2.NumNulls) > values {
			return fmt.Errorf("%d nulls of %d values", v2.NumNulls, values)
		}
		for _, levels := range [][2]int{{int(v2.RepetitionLevelsByteLength), s.l.rep}, {int(v2.DefinitionLevelsByteLength), s.l.def}} {
			if err := checkRuns(body[:levels[0]], bits.Len(uint(levels[1])), values); err != nil {
				return err
			}
			body = body[levels[0]:]
		}
	default:
		return fmt.Errorf("a page of type %d", header.Type)
	}
	switch encoding {
	case format.PlainDictionary, format.RLEDictionary:
		if len(body) == 0 {
			return nil
		}
		return checkRuns(body[1:], int(body[0]), values)
	case format.RLE: // booleans, with their length before them
		if len(body) > 4 {
			return checkRuns(body[4:], 1, values)
		}
	case format.DeltaBinaryPacked, format.DeltaLengthByteArray:
		return checkDeltas(body, values)
	case format.DeltaByteArray:
		if err := checkDeltas(body, values); err != nil {
			return err
		}
		var d delta.BinaryPackedEncoding
		shared, err := d.DecodeInt32(nil, body)
		if err != nil {
			return err
		}
		total := int64(len(body))
		for _, n := range shared {
			total += int64(n)
		}
		return s.l.hold(s.p, false, total+6*int64(values))
	}
	return nil
}

// checkDeltas checks the number of values that a list of differences claims, behind the two
// numbers of its blocks.
func checkDeltas(b []byte, values int) error {
	var n uint64
	var err error
	for range 3 {
		if n, b, err = uvarint(b); err != nil {
			return err
		}
	}
	if n > uint64(values) {
		return fmt.Errorf("%d differences for %d values", n, values)
	}
	return nil
}

// checkRuns checks the number of values of runs, of which the last may be filled up. A run is
// count<<1 and a value, or groups<<1|1 and groups of eight values.
func checkRuns(b []byte, width, values int) error {
	var total uint64
	for len(b) > 0 {
		head, rest, err := uvarint(b)
		if err != nil {
			return err
		}
		count, size := head>>1, uint64(width+7)/8
		if head&1 == 1 {
			count, size = head>>1*8, head>>1*uint64(width)
		}
		if total += count; head > 8*maxPageValues || total > uint64(values)+512 {
			return fmt.Errorf("runs of more than %d values", values)
		}
		b = rest[min(size, uint64(len(rest))):]
	}
	return nil
}
