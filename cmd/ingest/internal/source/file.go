package source

import (
	"archive/zip"
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"sync/atomic"
	"time"

	"quadrille/internal/bom"
)

// These bound decompression. Text of the kinds that are read here is compressed by 3:1 to 25:1. A
// file far beyond that was made to fill a disk.
const (
	maxRatio      = 200
	ratioFloor    = 16 << 20
	maxZipMembers = 10000
)

// ErrTooLarge is matched by the error for a file that unpacks to more than any
// real source of its size.
var ErrTooLarge = errors.New("unpacks to too many bytes")

// File is an opened source. Reading it gives the unpacked text, without a byte order mark. Text in UTF-16
// is read as UTF-8.
// One goroutine reads; others may call Progress.
type File struct {
	Path     string
	Size     int64     // bytes on disk
	Modified time.Time // of the file or, if known, of the member read from a zip archive, UTC
	// MemberModified is the time of the last change of that member, by its publisher's clock. It is zero
	// for other files.
	MemberModified time.Time
	// Shown is the encoding that the text itself shows: UTF-8 by its byte order mark, UTF-16 by its mark
	// or the zeros of its first letters, or "".
	Shown string
	// GDAL is the path by which GDAL opens the input, packed or not. It is empty if GDAL cannot unpack
	// it.
	GDAL string

	raw   *os.File
	done  atomic.Int64 // bytes of the file on disk read so far
	sum   hash.Hash    // of those bytes; nil for an archive, which is not read in order, and after Unhash
	text  *bufio.Reader
	left  int64 // bytes that may still be unpacked
	plain bool  // not compressed
	// closer closes what unpacks the file; nil if there is nothing to close.
	closer io.Closer
}

// OpenRegular opens a file that is no folder, pipe or device.
func OpenRegular(path string) (*os.File, fs.FileInfo, error) {
	raw, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	info, err := raw.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: not a regular file; name the file itself", path)
	}
	if err != nil {
		return nil, nil, errors.Join(err, raw.Close())
	}
	return raw, info, nil
}

// Open opens a file that is plain or compressed by gzip, zstd, bzip2 or xz. The first bytes decide, and
// not the name.
func Open(path string) (*File, error) { return OpenMember(path, nil) }

// OpenMember does the same as Open, and also reads zip archives: it opens the only member whose
// name match accepts. With a nil match an archive is refused.
func OpenMember(path string, match func(name string) bool) (_ *File, err error) {
	raw, info, err := OpenRegular(path)
	if err != nil {
		return nil, err
	}
	f := &File{Path: path, Size: info.Size(), Modified: info.ModTime().UTC(), GDAL: path, raw: raw, sum: sha256.New()}
	defer func() {
		if err != nil {
			_ = f.Close() // only read
		}
	}()
	f.left = max(ratioFloor, f.Size*maxRatio)

	counted := bufio.NewReaderSize((*rawReader)(f), 256<<10)
	magic, err := counted.Peek(10)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	text, err := f.unpacked(counted, magic)
	switch {
	case err != nil:
		return nil, err
	case text != nil:
	case bytes.HasPrefix(magic, []byte("PK\x03\x04")):
		if text, err = f.openZip(match); err != nil { // members have bounds of their own
			return nil, err
		}
	default:
		if err := refusePacked(path, magic); err != nil {
			return nil, err
		}
		f.plain = true
		f.left = f.Size
		text = &boundedReader{f: f, r: counted}
	}
	f.text = bufio.NewReaderSize(text, 256<<10)
	f.showEncoding()
	return f, nil
}

// showEncoding sets Shown, and what decodes a text in UTF-16.
func (f *File) showEncoding() {
	head, _ := f.text.Peek(16) // the next read returns the error
	if order, mark := utf16Of(head); order != nil {
		f.Shown = "UTF-16"
		_, _ = f.text.Discard(mark) // just peeked
		f.text = bufio.NewReaderSize(&utf16Reader{path: f.Path, in: f.text, order: order}, 256<<10)
		return
	}
	if bom.HasMark(f.text) {
		f.Shown = "UTF-8"
		bom.Skip(f.text)
	}
}

func (f *File) openZip(match func(string) bool) (io.Reader, error) {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("%s: "+format, append([]any{f.Path}, args...)...)
	}
	if match == nil {
		return nil, fail("is a zip archive; unpack it and name the file inside")
	}
	f.sum = nil
	f.done.Store(0)
	a, err := newArchive(f.Path, (*rawReader)(f), f.Size)
	if err == nil {
		err = a.Refuse()
	}
	if err != nil {
		return nil, err
	}
	var found *zip.File
	for _, m := range a.Members {
		if !match(m.Name) {
			continue
		}
		if found != nil {
			return nil, fail("zip archive holds both %s and %s; unpack it and name one", Excerpt(found.Name), Excerpt(m.Name))
		}
		found = m
	}
	if found == nil {
		return nil, fail("zip archive holds no member of the format expected here")
	}
	r, err := a.Open(found)
	if err != nil {
		return nil, err
	}
	f.closer, f.GDAL = r, "/vsizip/"+f.Path+"/"+found.Name
	if f.MemberModified = found.Modified.UTC(); !found.Modified.IsZero() {
		f.Modified = f.MemberModified
	}
	return r, nil
}

// Read implements io.Reader.
func (f *File) Read(p []byte) (int, error) { return f.text.Read(p) }

// Reader returns the file's own buffered reader, for formats that peek and read by delimiters. It
// may be mixed with Read, because both share one position.
func (f *File) Reader() *bufio.Reader { return f.text }

// IsUnpacked reports whether the text is the file itself, without unpacking.
func (f *File) IsUnpacked() bool { return f.plain }

// Progress returns how many bytes of the Size on disk have been read.
func (f *File) Progress() int64 { return min(f.done.Load(), f.Size) }

// Unhash keeps reading from making the checksum. SHA256 reads the whole file again then.
func (f *File) Unhash() { f.sum = nil }

// SHA256 reads the rest of the file on disk and returns the checksum of the whole file, in
// hexadecimal. Nothing can be read afterwards.
func (f *File) SHA256() (string, error) {
	sum := f.sum
	if sum == nil {
		sum = sha256.New()
		if _, err := io.Copy(sum, io.NewSectionReader(f.raw, 0, f.Size)); err != nil {
			return "", fmt.Errorf("%s: %w", f.Path, err)
		}
	} else if _, err := io.Copy(io.Discard, (*rawReader)(f)); err != nil {
		return "", fmt.Errorf("%s: %w", f.Path, err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// Close closes the file.
func (f *File) Close() error {
	if f.closer != nil {
		_ = f.closer.Close() // only read
	}
	return f.raw.Close()
}

// rawReader reads the file on disk, counting and summing as it goes.
type rawReader File

func (r *rawReader) Read(p []byte) (int, error) {
	n, err := r.raw.Read(p)
	r.done.Add(int64(n))
	if r.sum != nil {
		r.sum.Write(p[:n])
	}
	return n, err
}

// ReadAt is for the zip reader.
func (r *rawReader) ReadAt(p []byte, off int64) (int, error) {
	n, err := r.raw.ReadAt(p, off)
	r.done.Add(int64(n))
	return n, err
}
