package geoparquet

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/delta"
	pq "github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/internal/testfile"
)

// marshal encodes a structure of Parquet.
func marshal(t testing.TB, v any) []byte {
	t.Helper()
	var compact pq.CompactProtocol
	b, err := pq.Marshal(&compact, v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// withFooter returns a file with pages and a footer.
func withFooter(pages, footer []byte) []byte {
	b := append([]byte(Magic), pages...)
	b = binary.LittleEndian.AppendUint32(append(b, footer...), uint32(len(footer)))
	return append(b, Magic...)
}

// oneColumn returns a file with one page of a required column.
func oneColumn(t testing.TB, kind format.Type, codec format.CompressionCodec, header format.PageHeader, body []byte, rows int64) []byte {
	pages := append(marshal(t, &header), body...)
	return withFooter(pages, marshal(t, &format.FileMetaData{
		Version: 1,
		Schema: []format.SchemaElement{
			{Name: "schema", NumChildren: pq.New(int32(1))},
			{Name: "a", Type: pq.New(kind), RepetitionType: pq.New(format.Required)},
		},
		NumRows: rows,
		RowGroups: []format.RowGroup{{NumRows: rows, Columns: []format.ColumnChunk{{MetaData: format.ColumnMetaData{
			Type: kind, Encoding: []format.Encoding{format.Plain}, PathInSchema: []string{"a"}, Codec: codec, NumValues: rows,
			TotalCompressedSize: int64(len(pages)), DataPageOffset: int64(len(Magic)),
		}}}}},
	}))
}

// spent returns the bytes that f allocates.
func spent(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Pages and footers that lie are refused by the name of the file, and take little memory.
func TestLies(t *testing.T) {
	packer, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	bomb := packer.EncodeAll(make([]byte, 256<<20), nil)
	page := func(unpacked, packed, values int32, encoding format.Encoding) format.PageHeader {
		return format.PageHeader{Type: format.DataPage, UncompressedPageSize: unpacked, CompressedPageSize: packed,
			DataPageHeader: pq.New(format.DataPageHeader{NumValues: values, Encoding: encoding})}
	}
	numbers := binary.LittleEndian.AppendUint64(nil, 7)
	deltas := binary.AppendUvarint(binary.AppendUvarint(binary.AppendUvarint(nil, 128), 4), math.MaxInt32)
	deltas = append(deltas, 0, 0, 0, 0, 0, 0)
	runs := append([]byte{8}, binary.AppendUvarint(nil, 1<<30<<1)...)
	runs = append(runs, 1)
	// Differences, or texts of the lengths that begin with as many bytes of the one before.
	packed := func(lists ...[]int32) (b []byte) {
		for _, list := range lists {
			one, err := new(delta.BinaryPackedEncoding).EncodeInt32(nil, list)
			if err != nil {
				t.Fatal(err)
			}
			b = append(b, one...)
		}
		return b
	}
	const long = 1 << 20
	begins, lengths := slices.Repeat([]int32{long}, 4096), make([]int32, 4096)
	begins[0], lengths[0] = 0, long
	shared := append(packed(begins, lengths), make([]byte, long)...)
	beyond, more := packed([]int32{math.MaxInt32}), packed([]int32{7}, []int32{0})
	wrapped := packed([]int32{math.MaxInt32, math.MaxInt32, 2})
	wide := append(binary.AppendVarint(binary.AppendUvarint(binary.AppendUvarint(binary.AppendUvarint(nil, 128), 4), 100), 0), 0, 200, 0, 0, 0)
	list := func(field byte, kind byte, n uint64) []byte {
		return append(binary.AppendUvarint([]byte{field<<4 | 9, 15<<4 | kind}, n), make([]byte, 2000)...)
	}
	size := func(b []byte) int32 { return int32(len(b)) }
	for name, tc := range map[string]struct {
		file []byte
		want string
	}{
		"good":              {oneColumn(t, format.Int64, format.Uncompressed, page(8, 8, 1, format.Plain), numbers, 1), ""},
		"unpacked size":     {oneColumn(t, format.Int64, format.Zstd, page(math.MaxInt32, size(bomb), 1, format.Plain), bomb, 1), "more than 1024 MiB"},
		"negative size":     {oneColumn(t, format.Int64, format.Zstd, page(-1, size(bomb), 1, format.Plain), bomb, 1), "claims -1 bytes"},
		"packed size":       {oneColumn(t, format.Int64, format.Uncompressed, page(8, math.MaxInt32, 1, format.Plain), numbers, 1), "where the column has 8 left"},
		"bomb":              {oneColumn(t, format.Int64, format.Zstd, page(8, size(bomb), 1, format.Plain), bomb, 1), "packed by ZSTD"},
		"values":            {oneColumn(t, format.Int64, format.Uncompressed, page(8, 8, math.MaxInt32, format.Plain), numbers, 1000), "claims 8 bytes and 2147483647 values"},
		"missing values":    {oneColumn(t, format.Int64, format.Uncompressed, page(8, 8, 100, format.Plain), numbers, 100), "1 values, not 100"},
		"rows":              {oneColumn(t, format.Int64, format.Uncompressed, page(8, 8, 1, format.Plain), numbers, math.MaxInt64), "more than 1000 rows in each byte"},
		"fewer values":      {oneColumn(t, format.Int64, format.Uncompressed, page(8, 8, 1, format.Plain), numbers, 2), "row 2, column \"a\""},
		"runs":              {oneColumn(t, format.Int64, format.Uncompressed, page(size(runs), size(runs), 1, format.RLEDictionary), runs, 1), "runs of fewer or more than 1 values"},
		"no dictionary":     {oneColumn(t, format.Int64, format.Uncompressed, page(3, 3, 1, format.RLEDictionary), []byte{1, 2, 0}, 1), "dictionary that is missing"},
		"differences":       {oneColumn(t, format.Int64, format.Uncompressed, page(size(deltas), size(deltas), 1, format.DeltaBinaryPacked), deltas, 1), "2147483647 differences for 1 values"},
		"shared beginnings": {oneColumn(t, format.ByteArray, format.Uncompressed, page(size(shared), size(shared), 4096, format.DeltaByteArray), shared, 4096), "more than 1024 MiB"},
		"no beginning":      {oneColumn(t, format.ByteArray, format.Uncompressed, page(size(more), size(more), 1, format.DeltaByteArray), more, 1), "texts longer than their page"},
		"a long text":       {oneColumn(t, format.ByteArray, format.Uncompressed, page(size(beyond), size(beyond), 1, format.DeltaLengthByteArray), beyond, 1), "texts longer than their page"},
		"long texts":        {oneColumn(t, format.ByteArray, format.Uncompressed, page(size(wrapped), size(wrapped), 3, format.DeltaLengthByteArray), wrapped, 3), "texts longer than their page"},
		"wide differences":  {oneColumn(t, format.Int64, format.Uncompressed, page(size(wide), size(wide), 100, format.DeltaBinaryPacked), wide, 100), "differences of 200 bits"},
		"LZO":               {oneColumn(t, format.Int64, format.LZO, page(8, 8, 1, format.Plain), numbers, 1), "is packed by LZO, which is not read"},
		"list of groups":    {withFooter(nil, list(4, 12, 1<<30)), "footer: no Thrift"},
		"many groups":       {withFooter(nil, append([]byte{4<<4 | 9, 15<<4 | 12}, append(binary.AppendUvarint(nil, 1<<22), make([]byte, 1<<22)...)...)), "lists more than"},
		"deep":              {withFooter(nil, bytes.Repeat([]byte{1<<4 | 12}, 100_000)), "nested more than 32 deep"},
		"long footer":       {append(append([]byte(Magic), make([]byte, 100)...), "\xff\xff\xff\x7fPAR1"...), "a footer of 2147483647 bytes in a file of"},
		"encrypted":         {append(append([]byte(Magic), make([]byte, 100)...), "\x08\x00\x00\x00PARE"...), "is encrypted"},
		"short":             {[]byte("PAR1PAR1"), "is cut off or damaged"},
	} {
		path := testfile.WriteTemp(t, "a.parquet", tc.file)
		var err error
		used := spent(func() { _, _, _, err = read(t, Options{Want: source.WantPoints}, path) })
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want) || !strings.HasPrefix(err.Error(), path)) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
		if used > 64<<20 {
			t.Errorf("%s takes %d MiB", name, used>>20)
		}
	}
}

// A million columns are refused by their number.
func TestManyColumns(t *testing.T) {
	meta := &format.FileMetaData{Version: 1, Schema: []format.SchemaElement{{Name: "schema", NumChildren: pq.New(int32(1_000_000))}}}
	for i := range 1_000_000 {
		meta.Schema = append(meta.Schema, format.SchemaElement{Name: fmt.Sprint(i), Type: pq.New(format.Int32)})
	}
	path := testfile.WriteTemp(t, "a.parquet", withFooter(nil, marshal(t, meta)))
	if _, err := Open([]string{path}, Options{}); err == nil || !strings.Contains(err.Error(), "lists more than") {
		t.Error(err)
	}
}

// fixtures returns files that are damaged in the tests.
func fixtures(t testing.TB) (all [][]byte) {
	name := "x"
	var rows []shop
	for i := range 40 {
		rows = append(rows, shop{ID: fmt.Sprint(i), Geometry: at(8, 47), Names: &names{Primary: &name, Common: map[string]string{"de": "y"}},
			Tags: []string{"a", "b"}[:i%3%2], Sources: []origin{{Dataset: "a"}}})
	}
	for i, o := range [][]parquet.WriterOption{
		{parquet.Compression(&parquet.Uncompressed)},
		{parquet.Compression(&parquet.Snappy), parquet.DataPageVersion(1)},
		{parquet.Compression(&parquet.Zstd), parquet.MaxRowsPerRowGroup(10)},
		{parquet.Compression(&parquet.Uncompressed), parquet.DefaultEncodingFor(parquet.ByteArray, &parquet.DeltaByteArray),
			parquet.DefaultEncodingFor(parquet.Int64, &parquet.DeltaBinaryPacked)},
	} {
		path := fileOf(t, rows, append(o, withGeo(""))...)
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(i, err)
		}
		all = append(all, b)
	}
	foreign, _ := filepath.Glob("../../../../../../shared/data/files/parquet/*.parquet")
	for _, path := range foreign {
		all = append(all, testfile.Read(t, path))
	}
	return all
}

// check reads a file that may be damaged, and returns the fault of the reader.
func check(t testing.TB, path string) (fault string) {
	var err error
	used := spent(func() {
		var f *File
		if f, err = Open([]string{path}, Options{Want: source.WantPoints}); err != nil {
			return
		}
		n := 0
		for _, e := range f.Features(t.Context()) {
			if e != nil {
				err = e
			}
			if n++; n > 10_000 {
				break
			}
		}
		_ = f.Close()
	})
	switch {
	case used > 256<<20:
		return fmt.Sprintf("takes %d MiB: %v", used>>20, err)
	case err != nil && !strings.Contains(err.Error(), path):
		return fmt.Sprintf("does not name the file: %v", err)
	}
	return ""
}

// Files that are cut off or have other bytes are read or refused, by the name of the file.
func TestDamage(t *testing.T) {
	all := fixtures(t)
	r := rand.New(rand.NewPCG(1, 2))
	n := 10_000
	if testing.Short() {
		n = 1000
	}
	path := filepath.Join(t.TempDir(), "a.parquet")
	for i := range n {
		whole := all[i%len(all)]
		b := bytes.Clone(whole)
		switch i / len(all) % 4 {
		case 0: // cut, with the footer that it had
			from := r.IntN(len(b) - 8)
			b = append(b[:from], whole[from+1+r.IntN(len(whole)-from-8):]...)
		case 1: // in the footer
			footer := int(binary.LittleEndian.Uint32(b[len(b)-8:]))
			for range 3 {
				b[len(b)-8-footer+r.IntN(footer)] = byte(r.Uint32())
			}
		default:
			for range 8 {
				b[r.IntN(len(b))] ^= 1 << r.IntN(8)
			}
		}
		testfile.Write(t, path, b)
		if fault := check(t, path); fault != "" {
			t.Errorf("file %d of %d bytes %s", i, len(b), fault)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, b := range fixtures(f) {
		if len(b) < 64<<10 {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "a.parquet")
		testfile.Write(t, path, b)
		if fault := check(t, path); fault != "" {
			t.Error(fault)
		}
	})
}
