package source

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// IsTar reports whether a file, unpacked or not, is a tar archive.
func (f *File) IsTar() bool {
	const at = 257 // the magic of ustar and GNU tar
	head, _ := f.text.Peek(at + 5)
	return len(head) == at+5 && string(head[at:]) == "ustar"
}

// EachMember calls each with the names of the members of a zip archive, or of a tar archive that may be compressed. open
// returns what a member holds, which is valid until each returns. Members that are no data by their names are left out.
// leftOut are those whose data cannot be read: links, and those whose paths lead out of the archive. Of other files it calls
// each with none.
func EachMember(name string, each func(member string, open func() (io.Reader, error)) error) (isTar bool, leftOut []string, err error) {
	if is, err := IsArchive(name); err != nil {
		return false, nil, err
	} else if is {
		leftOut, err = eachZipped(name, each)
		return false, leftOut, err
	}
	f, err := Open(name)
	if err != nil {
		return false, nil, err
	}
	defer f.Close()
	if !f.IsTar() {
		return false, nil, nil
	}
	leftOut, err = f.eachTarred(each)
	return true, leftOut, err
}

func (f *File) eachTarred(each func(string, func() (io.Reader, error)) error) (leftOut []string, err error) {
	const endBytes = 2 * 512 // an archive ends with as many zeros
	raw := &zeroCounter{Reader: f}
	in := tar.NewReader(raw)
	all := &together{ReadCloser: io.NopCloser(in), name: f.Path, left: max(ratioFloor, f.Size*maxRatio)}
	for members := 1; ; members++ {
		m, err := in.Next()
		switch {
		case errors.Is(err, io.EOF) && raw.zeros < endBytes:
			return nil, fmt.Errorf("%s: tar archive without its end; it may be truncated: fetch it again", f.Path)
		case errors.Is(err, io.EOF):
			raw.read, raw.zeros = 0, 0
			if _, err := io.Copy(io.Discard, raw); err == nil && raw.read > raw.zeros {
				return nil, fmt.Errorf("%s: tar archive with more after its end, such as another; unpack it by tar xif, and name "+
					"what comes out", f.Path)
			} else if err != nil {
				return nil, err
			}
			return leftOut, nil
		case err != nil:
			return nil, truncated(f.Path, err)
		case members > maxZipMembers:
			return nil, fmt.Errorf("%s: tar archive of more than %d members; unpack it and name a file inside", f.Path, maxZipMembers)
		case isSparse(m):
			return nil, fmt.Errorf("%s: member %s is sparse, so nothing bounds what it unpacks to; pack it again by tar cf", f.Path, Excerpt(m.Name))
		}
		switch regular, link := m.FileInfo().Mode().IsRegular(), m.Typeflag == tar.TypeLink || m.Typeflag == tar.TypeSymlink; {
		case !isData(m.Name):
		case link, regular && !plainName(m.Name):
			leftOut = append(leftOut, m.Name)
		case regular:
			if err := each(m.Name, func() (io.Reader, error) { return all, nil }); err != nil {
				return nil, err
			}
		}
		if _, err := io.Copy(io.Discard, all); err != nil {
			return nil, err
		}
		raw.zeros = 0 // those of the member are none of the end
	}
}

// truncated returns an error with advice, unless it has some.
func truncated(name string, err error) error {
	if strings.HasPrefix(err.Error(), name+":") {
		return err
	}
	return fmt.Errorf("%s: %w; it may be truncated: fetch it again", name, err)
}

// isSparse reports whether a member of a tar archive has holes, which Go's reader fills.
func isSparse(m *tar.Header) bool {
	for key := range m.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return true
		}
	}
	return m.Typeflag == tar.TypeGNUSparse
}

// zeroCounter counts the bytes read, and the zeros at their end.
type zeroCounter struct {
	io.Reader
	read, zeros int
}

func (z *zeroCounter) Read(p []byte) (int, error) {
	n, err := z.Reader.Read(p)
	z.read += n
	z.zeros += n
	if rest := len(bytes.TrimRight(p[:n], "\x00")); rest > 0 {
		z.zeros = n - rest
	}
	return n, err
}

func eachZipped(name string, each func(string, func() (io.Reader, error)) error) (leftOut []string, err error) {
	a, err := OpenArchive(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = a.Close() }() // only read
	all := &together{name: name, left: max(ratioFloor, a.Size*maxRatio)}
	for _, m := range a.Members {
		err := each(m.Name, func() (io.Reader, error) {
			var err error
			all.ReadCloser, err = a.Open(m)
			return all, err
		})
		if all.ReadCloser != nil {
			_ = all.ReadCloser.Close() // only read
			all.ReadCloser = nil
		}
		if err != nil {
			return nil, err
		}
	}
	return a.outside, nil
}

// together reads one member of an archive after another, within the bound of one file.
type together struct {
	io.ReadCloser
	name string
	left int64
}

func (t *together) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	if t.left -= int64(n); t.left < 0 {
		return 0, fmt.Errorf("%s: %w: its members are more than %d times its bytes; check that it is the file you mean", t.name, ErrTooLarge, maxRatio)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = truncated(t.name, err)
	}
	return n, err
}
