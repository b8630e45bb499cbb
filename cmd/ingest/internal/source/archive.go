package source

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"time"
)

// Archive is an opened zip file, for formats of several files. Nothing is unpacked to disk. Members
// are read in place, and the size of each is bounded by the largest real content for its compressed
// size. So neither a member's name nor its declared size can do harm.
type Archive struct {
	Path     string
	Size     int64       // bytes on disk
	Modified time.Time   // of the archive, UTC
	Members  []*zip.File // regular files with plain names, in the archive's order

	outside []string  // names of other regular files
	raw     io.Closer // nil: the caller closes it
}

// IsArchive reports whether a file begins like a zip archive.
func IsArchive(name string) (bool, error) {
	f, err := os.Open(name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	var head [4]byte
	n, err := io.ReadFull(f, head[:])
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return false, fmt.Errorf("%s: %w", name, err)
	}
	magic := string(head[:n])
	return magic == "PK\x03\x04" || magic == "PK\x05\x06", nil
}

// OpenArchive opens a zip file and reads its directory.
func OpenArchive(name string) (*Archive, error) {
	raw, info, err := OpenRegular(name)
	if err != nil {
		return nil, err
	}
	a, err := newArchive(name, raw, info.Size())
	if err != nil {
		_ = raw.Close() // only read
		return nil, err
	}
	a.raw, a.Modified = raw, info.ModTime().UTC()
	return a, nil
}

// newArchive reads the directory of a zip file.
func newArchive(name string, raw io.ReaderAt, size int64) (*Archive, error) {
	z, err := zip.NewReader(raw, size)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; it may be truncated: fetch it again", name, err)
	}
	if len(z.File) > maxZipMembers {
		return nil, fmt.Errorf("%s: zip archive of %d members; unpack it and name a file inside", name, len(z.File))
	}
	a := &Archive{Path: name, Size: size}
	for _, m := range z.File {
		switch {
		case !m.Mode().IsRegular() || !isData(m.Name):
		case plainName(m.Name):
			a.Members = append(a.Members, m)
		default:
			a.outside = append(a.outside, m.Name)
		}
	}
	return a, nil
}

// isData reports whether a member may have data by its name. Macintosh archives have a metadata file for each file.
func isData(name string) bool {
	return name != "" && !strings.HasPrefix(name, "__MACOSX/") && !strings.Contains(name, "/__MACOSX/") &&
		!strings.HasPrefix(path.Base(name), ".")
}

// plainName reports whether a name is a plain relative path, without "..", for example.
func plainName(name string) bool {
	if strings.HasPrefix(name, "/") || strings.ContainsAny(name, "\x00\r\n") {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return false
		}
	}
	return true
}

// Names returns the names of the members.
func (a *Archive) Names() []string {
	names := make([]string, len(a.Members))
	for i, m := range a.Members {
		names[i] = m.Name
	}
	return names
}

// Refuse returns an error if the archive is a document of an office, by its members.
func (a *Archive) Refuse() error { return refuseMembers(a.Path, a.Members) }

const encrypted = 1 << 0 // flag of a member

// Open opens a member.
func (a *Archive) Open(m *zip.File) (io.ReadCloser, error) {
	fail := func(err error) error { return fmt.Errorf("%s: %s: %w", a.Path, Excerpt(m.Name), err) }
	if m.Flags&encrypted != 0 {
		return nil, fail(errors.New("is encrypted; unpack it with its password and name the file inside"))
	}
	// The size in the directory is only a claim, but a false size does not help an attacker: a
	// member that unpacks to more is cut off at that size.
	packed := int64(min(m.CompressedSize64, uint64(a.Size)))
	most := max(ratioFloor, packed*maxRatio)
	if m.UncompressedSize64 > uint64(most) {
		return nil, fail(fmt.Errorf("%w: %d, more than %d times its %d; check that it is the file you mean", ErrTooLarge, m.UncompressedSize64, maxRatio,
			packed))
	}
	r, err := m.Open()
	if errors.Is(err, zip.ErrAlgorithm) {
		return nil, fail(fmt.Errorf("compressed by a method other than deflate (%d); unpack it and name the file inside", m.Method))
	} else if err != nil {
		return nil, fail(fmt.Errorf("%w; the archive may be truncated: fetch it again", err))
	}
	return &member{ReadCloser: r, left: most, fail: fail}, nil
}

// Close closes the archive.
func (a *Archive) Close() error { return a.raw.Close() }

type member struct {
	io.ReadCloser
	left int64
	fail func(error) error
}

func (m *member) Read(p []byte) (int, error) {
	n, err := m.ReadCloser.Read(p)
	if m.left -= int64(n); m.left < 0 {
		return 0, m.fail(fmt.Errorf("%w; check that it is the file you mean", ErrTooLarge))
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = m.fail(fmt.Errorf("%w; the archive may be truncated: fetch it again", err))
	}
	return n, err
}

// SplitLayer separates the name of a file from the name of its layer, as in "world.gpkg#countries".
// A file whose own name has a number sign takes precedence. A minus is standard input.
func SplitLayer(name string) (file, layer string) {
	if _, err := os.Stat(name); err == nil {
		return name, ""
	}
	if i := strings.LastIndexByte(name, '#'); i > 0 {
		if _, err := os.Stat(name[:i]); err == nil || name[:i] == "-" {
			return name[:i], name[i+1:]
		}
	}
	return name, ""
}
