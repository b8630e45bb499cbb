package shapefile

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"strconv"
	"strings"

	"golang.org/x/text/encoding"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/charset"
	"quadrille/internal/jsontext"
)

// This is the .dbf file of dBase III and IV: a header, then rows of equal width.
//
//	head   0 version   4 rows   8 size of the head   10 size of a row   29 language, LE
//	field  0 name, 11 bytes   11 type   16 width   17 decimals; 32 bytes each, 0x0D behind the last
//	row    0 ' ', or '*' when deleted   then the values, as text
const (
	tableHead  = 32
	fieldSize  = 32
	fieldsEnd  = 0x0D
	rowDeleted = '*'
	rowPresent = ' '
)

// table reads the rows of a .dbf file.
type table struct {
	r      *bufio.Reader
	fields []field
	text   *encoding.Decoder // nil: UTF-8
	note   string            // about it
	row    []byte
	values []byte // text of the row's members
	rows   int    // according to the header
	count  int    // read so far
}

type field struct {
	name   string // "" for an ignored field
	kind   byte
	offset int // in the row
	width  int
}

// newTable reads the header. page is the content of the .cpg file, or "" if there is none. seen
// has the counts of texts that survey has made.
func newTable(r *bufio.Reader, size int64, page string, seen texts) (*table, error) {
	truncated := func(err error) error {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return errTruncated
		}
		return err
	}
	var head [tableHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, truncated(err)
	}
	// The low bits are 3 in all files with the layout of dBase III, with or without memos.
	if v := head[0]; v&7 != 3 && v != 0x30 && v != 0xF5 {
		return nil, fmt.Errorf("not a dBase III or IV table (version %#02x); write it anew with: ogr2ogr out.shp in.shp", v)
	}
	t := &table{r: r}
	rows := binary.LittleEndian.Uint32(head[4:])
	headSize := int(binary.LittleEndian.Uint16(head[8:]))
	rowSize := int(binary.LittleEndian.Uint16(head[10:]))
	if headSize < tableHead+1 || rowSize < 1 {
		return nil, fmt.Errorf("a head of %d bytes and rows of %d: it is damaged; fetch it again", headSize, rowSize)
	}
	if need := int64(headSize) + int64(rows)*int64(rowSize); need > size {
		return nil, fmt.Errorf("%d rows need %d bytes and there are %d: it %w", rows, need, size, errTruncated)
	}
	t.rows, t.row = int(rows), make([]byte, rowSize)
	rest := make([]byte, headSize-tableHead)
	if _, err := io.ReadFull(r, rest); err != nil {
		return nil, truncated(err)
	}
	var err error
	if t.text, t.note, err = seen.decoder(page, head[29]); err != nil {
		return nil, err
	}
	if err := t.readFields(rest); err != nil {
		return nil, err
	}
	return t, nil
}

func (t *table) readFields(b []byte) error {
	plain, wide := 1, 1 // size of a row, after either way to write widths
	first := b
	n := 0
	for ; len(b) >= fieldSize && b[0] != fieldsEnd; b = b[fieldSize:] {
		plain += int(b[16])
		wide += width(b, true)
		n++
	}
	if len(b) == 0 || b[0] != fieldsEnd {
		return errors.New("the list of fields has no end: it is damaged; fetch it again")
	}
	// Clipper stores the high byte of a long text's width in the field for decimals.
	long := plain != len(t.row) && wide == len(t.row)
	if !long && plain > len(t.row) {
		return fmt.Errorf("fields of %d bytes in rows of %d: it is damaged; fetch it again", plain, len(t.row))
	}
	seen := make(map[string]bool, n)
	offset := 1
	for b = first; n > 0; n, b = n-1, b[fieldSize:] {
		f := field{kind: b[11], offset: offset, width: width(b, long)}
		offset += f.width
		name, _, _ := bytes.Cut(b[:11], []byte{0})
		f.name = strings.TrimSpace(t.decode(name, 10))
		switch f.kind {
		case 'C', 'N', 'F', 'L', 'D':
		default:
			f.kind = lostKind // memos are in another file, and other types are binary
		}
		if f.name == "" || seen[f.name] {
			continue
		}
		// An unreadable field does not hide a readable one of the same name.
		seen[f.name] = f.kind != lostKind
		t.fields = append(t.fields, f)
	}
	return nil
}

func width(b []byte, long bool) int {
	w := int(b[16])
	if long && b[11] == 'C' {
		w |= int(b[17]) << 8
	}
	return w
}

// lostKind is the kind of unreadable fields.
const lostKind = 0

// next reads a row. It returns the known properties, which are valid until the next call, the lost
// ones, and whether the row is deleted. After the last row it returns io.EOF.
func (t *table) next() (members []source.Member, lost source.Lost, deleted bool, err error) {
	if t.count == t.rows {
		return nil, lost, false, io.EOF
	}
	if _, err := io.ReadFull(t.r, t.row); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, lost, false, errTruncated
	} else if err != nil {
		return nil, lost, false, err
	}
	switch t.row[0] {
	case rowPresent:
	case rowDeleted:
		t.count++
		return nil, lost, true, nil
	default:
		return nil, lost, false, fmt.Errorf("begins with %#02x, neither present nor deleted: the table is damaged; fetch it again", t.row[0])
	}
	t.count++
	members, t.values = make([]source.Member, 0, len(t.fields)), t.values[:0]
	for i := range t.fields {
		f := &t.fields[i]
		b := t.row[f.offset : f.offset+f.width]
		from := len(t.values)
		if t.values = t.appendValue(t.values, f, b); len(t.values) > from {
			members = append(members, source.Member{Name: f.name, Value: t.values[from:]})
		} else if f.kind == lostKind && len(bytes.Trim(b, " \x00")) > 0 {
			lost.Add(f.name, "it is in another file, or binary")
		}
	}
	return members, lost, false, nil
}

// appendValue appends a value as JSON. It appends nothing if the value is missing or unreadable. An
// example is a number that is too wide for its field, which is stored as asterisks.
func (t *table) appendValue(dst []byte, f *field, b []byte) []byte {
	b, _, _ = bytes.Cut(b, []byte{0})
	if f.kind == 'C' {
		if s := strings.TrimRight(t.decode(b, f.width), " "); s != "" {
			return jsontext.AppendString(dst, s)
		}
		return dst
	}
	s := string(bytes.TrimSpace(b))
	switch f.kind {
	case 'L':
		switch s {
		case "T", "t", "Y", "y":
			return append(dst, "true"...)
		case "F", "f", "N", "n":
			return append(dst, "false"...)
		}
	case 'D':
		if len(s) == 8 && source.IsDigits(s) && s != "00000000" {
			return jsontext.AppendString(dst, s[:4]+"-"+s[4:6]+"-"+s[6:])
		}
	case 'N', 'F':
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return strconv.AppendInt(dst, n, 10)
		}
		if n, ok := new(big.Int).SetString(s, 10); ok {
			return n.Append(dst, 10)
		}
		if n, ok := source.ParseDecimal(s, math.MaxFloat64); ok {
			return strconv.AppendFloat(dst, n, 'g', -1, 64)
		}
	}
	return dst
}

// decode returns the text of a field, whose width may have cut it off.
func (t *table) decode(b []byte, width int) string {
	if t.text == nil {
		if len(b) == width {
			b = charset.TrimPartialRune(b)
		}
		return strings.ToValidUTF8(string(b), "\ufffd")
	}
	s, err := t.text.Bytes(b)
	if err != nil {
		return strings.ToValidUTF8(string(b), "\ufffd")
	}
	return string(s)
}
