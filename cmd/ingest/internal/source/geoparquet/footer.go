package geoparquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"github.com/parquet-go/parquet-go"
	pq "github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"quadrille/cmd/ingest/internal/source"
)

// Magic is the first bytes of a Parquet file, and the last ones.
const Magic = "PAR1"

// These bound what the footer of a file may claim.
const (
	maxFooter   = 64 << 20
	maxLeaves   = 10000
	maxGroups   = 1 << 16
	maxElements = 2 << 20 // of all lists in the footer together
	structure   = 8       // elements that a structure in a list counts for, because it takes more room
	maxDepth    = 32      // of columns within columns, and of structures within structures of Thrift
)

var errDamaged = errors.New("is cut off or damaged: fetch it again")

// part is one open file.
type part struct {
	name   string
	file   *os.File
	size   int64
	meta   format.FileMetaData
	opened *parquet.File // decodes pages; see open
	values []partition   // of the folders it is in
	shape
	memory
}

// damaged returns an error for a fault of the file.
func (p *part) damaged(where string, args ...any) error {
	return fmt.Errorf("%s: %w (%s)", p.name, errDamaged, fmt.Sprintf(where, args...))
}

// openPart opens a file and reads its footer. A panic of the library is an error.
func openPart(name string) (p *part, err error) {
	file, info, err := source.OpenRegular(name)
	if err != nil {
		return nil, err
	}
	p = &part{name: name, file: file, size: info.Size()}
	defer func() {
		if err != nil {
			_ = file.Close() // only read
		}
	}()
	defer p.recovered(&err, func() string { return "footer" })
	return p, p.readFooter()
}

// recovered turns a panic of the library, which trusts the bytes of a file, into an error.
func (p *part) recovered(err *error, where func() string) {
	if fault := recover(); fault != nil {
		*err = p.damaged("%s: %v", where(), fault)
	}
}

// readFooter reads the footer and checks it against the file. The library then gets a footer of its
// own, by which no page is compressed, because it unpacks pages without a bound: pageStream unpacks
// them.
//
//	"PAR1" pages ... footer, length of the footer as a little-endian uint32, "PAR1"
func (p *part) readFooter() error {
	var tail [8]byte
	if p.size < int64(len(Magic)+len(tail)) {
		return p.damaged("%d bytes", p.size)
	}
	if _, err := p.file.ReadAt(tail[:], p.size-int64(len(tail))); err != nil {
		return err
	}
	length := int64(binary.LittleEndian.Uint32(tail[:]))
	switch magic := string(tail[4:]); {
	case magic == "PARE":
		return fmt.Errorf("%s: is encrypted; write it anew without encryption", p.name)
	case magic != Magic:
		return p.damaged("it does not end with a footer")
	case length > p.size-int64(len(Magic)+len(tail)):
		return p.damaged("a footer of %d bytes in a file of %d", length, p.size)
	case length > maxFooter:
		return fmt.Errorf("%s: its footer has %d bytes, and at most %d are read; write it with fewer columns or larger row groups",
			p.name, length, maxFooter)
	}
	footer := make([]byte, length)
	if _, err := p.file.ReadAt(footer, p.size-int64(len(tail))-length); err != nil {
		return err
	}
	if left, elements, err := skipStruct(footer, 0); err != nil {
		return p.damaged("footer: %v", err)
	} else if elements > maxElements {
		return fmt.Errorf("%s: its footer lists more than %d parts; write it with fewer columns or larger row groups", p.name, maxElements)
	} else if len(left) > 0 {
		return fmt.Errorf("%s: its footer is signed, as of encrypted files; write it anew without encryption", p.name)
	}
	var compact pq.CompactProtocol
	if err := pq.Unmarshal(&compact, footer, &p.meta); err != nil {
		return p.damaged("footer: %v", err)
	}
	if err := p.readShape(); err != nil {
		return err
	}
	if err := p.checkGroups(); err != nil {
		return err
	}
	return p.openLibrary()
}

// checkGroups checks the claims about row groups against the file and the columns.
func (p *part) checkGroups() error {
	if len(p.meta.RowGroups) > maxGroups {
		return fmt.Errorf("%s: has more than %d row groups; write it with larger ones", p.name, maxGroups)
	}
	for g := range p.meta.RowGroups {
		group := &p.meta.RowGroups[g]
		if len(group.Columns) != len(p.leaves) || group.NumRows < 0 {
			return p.damaged("row group %d: %d rows and %d columns of %d", g, group.NumRows, len(group.Columns), len(p.leaves))
		}
		if p.rows += group.NumRows; p.rows < 0 || p.rows > math.MaxInt32<<16 {
			return p.damaged("more rows than a file has bits")
		}
		for c := range group.Columns {
			chunk := &group.Columns[c]
			begin, size := chunkRange(chunk)
			switch {
			case chunk.FilePath != "":
				return fmt.Errorf("%s: its columns are in other files, such as %s; name those", p.name, source.Excerpt(chunk.FilePath))
			case chunk.CryptoMetadata.Value != nil:
				return fmt.Errorf("%s: is encrypted; write it anew without encryption", p.name)
			case begin < int64(len(Magic)) && size > 0 || size < 0 || begin > p.size || size > p.size-begin:
				return p.damaged("row group %d, column %s: %d bytes at %d in a file of %d", g, p.leaves[c].path, size, begin, p.size)
			}
		}
	}
	return nil
}

// chunkRange returns where the pages of a column in a row group are.
func chunkRange(c *format.ColumnChunk) (begin, size int64) {
	begin = c.MetaData.DataPageOffset
	if d := c.MetaData.DictionaryPageOffset; d > 0 && d < begin {
		begin = d
	}
	return begin, c.MetaData.TotalCompressedSize
}

// openLibrary gives the library a footer with the same columns in row groups without compression.
func (p *part) openLibrary() error {
	meta := format.FileMetaData{Version: p.meta.Version, Schema: p.meta.Schema, NumRows: p.meta.NumRows}
	for _, group := range p.meta.RowGroups[:min(1, len(p.meta.RowGroups))] {
		group.SortingColumns, group.Ordinal = nil, 0
		group.Columns = slices.Clone(group.Columns)
		for i := range group.Columns {
			m := group.Columns[i].MetaData
			group.Columns[i] = format.ColumnChunk{MetaData: format.ColumnMetaData{
				Type: m.Type, PathInSchema: m.PathInSchema, Encoding: m.Encoding, Codec: format.Uncompressed,
				NumValues: m.NumValues, TotalCompressedSize: math.MaxInt64 / 2,
			}}
		}
		meta.RowGroups = append(meta.RowGroups, group)
	}
	var compact pq.CompactProtocol
	footer, err := pq.Marshal(&compact, &meta)
	if err != nil {
		return p.damaged("footer: %v", err)
	}
	text := slices.Concat([]byte(Magic), footer, binary.LittleEndian.AppendUint32(nil, uint32(len(footer))), []byte(Magic))
	p.opened, err = parquet.OpenFile(bytes.NewReader(text), int64(len(text)), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return p.damaged("footer: %v", err)
	}
	return nil
}

var errThrift = fmt.Errorf("no Thrift: %w", io.ErrUnexpectedEOF)

// skipStruct skips a structure of Thrift's compact protocol. It returns the rest, and the weighted
// number of elements of all lists in it. A decoder makes room for as many elements as a list claims, so this
// comes first: a list has no more elements than there are bytes.
func skipStruct(b []byte, depth int) (rest []byte, elements int, err error) {
	if depth > maxDepth {
		return nil, 0, fmt.Errorf("structures nested more than %d deep", maxDepth)
	}
	for {
		if len(b) == 0 {
			return nil, elements, errThrift
		}
		head := b[0]
		if b = b[1:]; head == 0 {
			return b, elements, nil
		}
		if head>>4 == 0 { // the number of the field follows
			if _, b, err = uvarint(b); err != nil {
				return nil, elements, err
			}
		}
		kind := head & 15
		if kind <= 2 { // a boolean is in the head
			continue
		}
		var n int
		b, n, err = skipValue(b, kind, depth)
		if elements += n; err != nil || elements > maxElements {
			return nil, elements, err
		}
	}
}

// skipValue skips a value that is a field of a structure or an element of a list.
func skipValue(b []byte, kind byte, depth int) (rest []byte, elements int, err error) {
	skip := func(n uint64) ([]byte, int, error) {
		if n > uint64(len(b)) {
			return nil, 0, errThrift
		}
		return b[n:], 0, nil
	}
	var n uint64
	switch kind {
	case 1, 2, 3: // a boolean or a byte
		return skip(1)
	case 4, 5, 6: // an integer
		_, rest, err = uvarint(b)
		return rest, 0, err
	case 7: // a double
		return skip(8)
	case 8: // bytes
		if n, b, err = uvarint(b); err != nil {
			return nil, 0, err
		}
		return skip(n)
	case 9, 10: // a list or a set
		if len(b) == 0 {
			return nil, 0, errThrift
		}
		head := b[0]
		if n, b = uint64(head>>4), b[1:]; n == 15 {
			if n, b, err = uvarint(b); err != nil {
				return nil, 0, err
			}
		}
		if n > uint64(len(b)) {
			return nil, 0, errThrift
		}
		if elements = int(n); head&15 == 12 {
			elements *= structure
		}
		for ; n > 0 && elements <= maxElements; n-- {
			var more int
			if b, more, err = skipValue(b, head&15, depth+1); err != nil {
				return nil, elements, err
			}
			elements += more
		}
		return b, elements, nil
	case 12:
		return skipStruct(b, depth+1)
	}
	return nil, 0, fmt.Errorf("type %d of Thrift", kind)
}

// uvarint reads a number of variable length.
func uvarint(b []byte) (n uint64, rest []byte, err error) {
	n, used := binary.Uvarint(b)
	if used <= 0 {
		return 0, nil, errThrift
	}
	return n, b[used:], nil
}
