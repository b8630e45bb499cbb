package source

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
)

// IsTar reports whether a file, unpacked or not, is a tar archive.
func (f *File) IsTar() bool {
	const at = 257 // the magic of ustar and GNU tar
	head, _ := f.text.Peek(at + 5)
	return len(head) == at+5 && string(head[at:]) == "ustar"
}

// EachMember calls each with the names of the members of a zip archive, or of a tar archive that may be compressed. open
// returns what a member holds, which is valid until each returns. Members that are no data by their names are left out.
// Of other files it calls each with none.
func EachMember(name string, each func(member string, open func() (io.Reader, error)) error) (isTar bool, err error) {
	if is, err := IsArchive(name); err != nil {
		return false, err
	} else if is {
		return false, eachZipped(name, each)
	}
	f, err := Open(name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	if !f.IsTar() {
		return false, nil
	}
	// What all members unpack to is bounded by f.
	members, in := 0, tar.NewReader(f)
	for {
		m, err := in.Next()
		switch {
		case errors.Is(err, io.EOF):
			return true, nil
		case err != nil:
			return true, fmt.Errorf("%s: %w; it may be truncated: fetch it again", name, err)
		}
		if members++; members > maxZipMembers {
			return true, fmt.Errorf("%s: tar archive of more than %d members; unpack it and name a file inside", name, maxZipMembers)
		}
		if !m.FileInfo().Mode().IsRegular() || !isData(m.Name) {
			continue
		}
		if err := each(m.Name, func() (io.Reader, error) { return in, nil }); err != nil {
			return true, err
		}
	}
}

func eachZipped(name string, each func(string, func() (io.Reader, error)) error) error {
	a, err := OpenArchive(name)
	if err != nil {
		return err
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
			return err
		}
	}
	return nil
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
	return n, err
}
