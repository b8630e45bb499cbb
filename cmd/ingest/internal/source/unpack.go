package source

import (
	"bufio"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/mikelolasagasti/xz"
)

// maxWindow is how far back a compressed text may repeat itself, and so the memory that unpacking it
// takes. The greatest window of programs' usual levels is 64 MiB.
const maxWindow = 128 << 20

// compression is a way to compress one file, recognised by its beginning.
type compression struct {
	name  string
	begin string // ? is any byte
	ext   string // of file names
	gdal  string // before the path for GDAL; "": GDAL does not unpack it
	open  func(io.Reader) (io.Reader, error)
}

var compressions = []compression{
	{"gzip", "\x1f\x8b", ".gz", "/vsigzip/", func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }},
	{"zstd", "\x28\xb5\x2f\xfd", ".zst", "", func(r io.Reader) (io.Reader, error) {
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
		return z.IOReadCloser(), nil
	}},
	{"bzip2", "BZh?1AY&SY", ".bz2", "", func(r io.Reader) (io.Reader, error) { return bzip2.NewReader(r), nil }},
	{"xz", "\xfd7zXZ\x00", ".xz", "", func(r io.Reader) (io.Reader, error) { return xz.NewReader(r, maxWindow) }},
}

// CutCompression returns a file's name without an ending that means compression, such as .gz.
func CutCompression(name string) string {
	for i := range compressions {
		if ext := compressions[i].ext; strings.HasSuffix(strings.ToLower(name), ext) {
			return name[:len(name)-len(ext)]
		}
	}
	return name
}

// IsArchiveName reports whether a file is an archive of files by its name, compressed or not.
func IsArchiveName(name string) bool {
	return slices.Contains([]string{".zip", ".tar", ".tgz", ".tbz2", ".txz", ".tzst"}, strings.ToLower(filepath.Ext(CutCompression(name))))
}

// unpacked returns a reader of the text of a compressed file, or nil if its beginning shows none of
// the compressions.
func (f *File) unpacked(raw *bufio.Reader, head []byte) (io.Reader, error) {
	for i := range compressions {
		c := &compressions[i]
		if !beginsLike(head, c.begin) {
			continue
		}
		r, err := c.open(raw)
		if err != nil {
			return nil, f.failure(c.name, err)
		}
		f.closer, _ = r.(io.Closer)
		if f.GDAL = ""; c.gdal != "" {
			f.GDAL = c.gdal + f.Path
		}
		return &boundedReader{f: f, r: r, name: c.name}, nil
	}
	return nil, nil
}

// beginsLike reports whether a file begins like a pattern, in which ? is any byte.
func beginsLike(head []byte, pattern string) bool {
	if len(head) < len(pattern) {
		return false
	}
	for i := range len(pattern) {
		if head[i] != pattern[i] && pattern[i] != '?' {
			return false
		}
	}
	return true
}

// boundedReader refuses to unpack more than the file's size allows.
type boundedReader struct {
	f    *File
	r    io.Reader
	name string // of the compression; "" if there is none
}

func (b *boundedReader) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.f.left -= int64(n); b.f.left < 0 {
		if b.name == "" {
			return 0, fmt.Errorf("%s: grew while it was read; wait until it is complete", b.f.Path)
		}
		return 0, fmt.Errorf("%s: %w: more than %d times its %d bytes; check that it is the file you mean",
			b.f.Path, ErrTooLarge, maxRatio, b.f.Size)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = b.f.failure(b.name, err)
	}
	return n, err
}

// failure returns the error for a file that cannot be unpacked. name is that of the compression, if
// there is one.
func (f *File) failure(name string, err error) error {
	if errors.Is(err, zstd.ErrWindowSizeExceeded) || errors.Is(err, xz.ErrMemlimit) {
		return fmt.Errorf("%s: unpacking this %s file takes more than %d MiB of memory, the bound here; compress it again at a "+
			"usual level, or unpack it and name what comes out", f.Path, name, maxWindow>>20)
	}
	if name != "" && !strings.HasPrefix(err.Error(), name) {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return fmt.Errorf("%s: %w; it may be truncated: fetch it again", f.Path, err)
}
