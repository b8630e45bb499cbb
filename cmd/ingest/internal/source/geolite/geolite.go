// Package geolite reads the CSV sets of GeoLite2 and GeoIP2: a folder, or its zip archive. The
// networks are in files named GeoLite2-City-Blocks-IPv4.csv and -IPv6.csv. Their places are in
// GeoLite2-City-Locations-en.csv and in files for other languages. Sets without places, such as
// GeoLite2-ASN, have only the networks.
//
// The networks are lists for package ipcsv. This package finds the files and reads the places.
package geolite

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"quadrille/cmd/ingest/internal/source"
)

// Set is an opened set.
type Set struct {
	Path string
	// Product is the beginning of the files' names: "GeoLite2-City".
	Product string
	// Released is the date in the name of the folder, or zero if the name has none.
	Released time.Time
	Blocks   []*Member
	// Locations are the files of places, English first.
	Locations []*Member

	archive *source.Archive
}

// Member is a file of a set.
type Member struct {
	Name     string // base name
	Path     string // of the file; empty in an archive
	Language string // of a file of places

	file *zip.File
	set  *Set
}

var (
	blocksName    = regexp.MustCompile(`^(.+)-Blocks-IPv[46]\.csv$`)
	locationsName = regexp.MustCompile(`^(.+)-Locations-([a-z]{2}(-[A-Z]{2})?)\.csv$`)
	dated         = regexp.MustCompile(`_([0-9]{8})(\.zip|/|$)`)
)

// IsBlocks reports whether a file or member has the name of a file with a set's networks.
func IsBlocks(name string) bool {
	return blocksName.MatchString(source.CutCompression(path.Base(filepath.ToSlash(name))))
}

// maxFiles bounds the files of a set: two of networks, a dozen languages.
const maxFiles = 100

// Open opens the set in a folder or a zip archive. The error names missing files.
func Open(name string) (_ *Set, err error) {
	s := &Set{Path: name}
	defer func() {
		if err != nil {
			_ = s.Close() // only read
		}
	}()
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		entries, err := os.ReadDir(name)
		if err != nil {
			return nil, err
		}
		s.date(filepath.ToSlash(filepath.Clean(name)))
		for _, e := range entries {
			if err := s.add(&Member{Name: e.Name(), Path: filepath.Join(name, e.Name()), set: s}); err != nil {
				return nil, err
			}
		}
	} else {
		if s.archive, err = source.OpenArchive(name); err != nil {
			return nil, err
		}
		s.date(filepath.ToSlash(name))
		for _, m := range s.archive.Members {
			if s.Released.IsZero() {
				s.date(m.Name)
			}
			if err := s.add(&Member{Name: path.Base(m.Name), file: m, set: s}); err != nil {
				return nil, err
			}
		}
	}
	if len(s.Blocks) == 0 {
		return nil, fmt.Errorf("%s: holds no file called …-Blocks-IPv4.csv or …-Blocks-IPv6.csv; name a GeoLite2 CSV set, "+
			"or the file itself", name)
	}
	slices.SortStableFunc(s.Blocks, func(a, b *Member) int { return strings.Compare(a.Name, b.Name) })
	slices.SortStableFunc(s.Locations, func(a, b *Member) int {
		if en := a.Language == "en"; en != (b.Language == "en") {
			if en {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Name, b.Name)
	})
	return s, nil
}

func (s *Set) date(name string) {
	if m := dated.FindStringSubmatch(name); m != nil {
		if t, err := time.Parse("20060102", m[1]); err == nil {
			s.Released = t
		}
	}
}

// add adds a file that belongs to the set.
func (s *Set) add(m *Member) error {
	name := source.CutCompression(m.Name)
	parts, list := blocksName.FindStringSubmatch(name), &s.Blocks
	if parts == nil {
		if parts, list = locationsName.FindStringSubmatch(name), &s.Locations; parts == nil {
			return nil
		}
		m.Language = parts[2]
	}
	if s.Product == "" {
		s.Product = parts[1]
	}
	if s.Product != parts[1] {
		return fmt.Errorf("%s: holds both %s and %s; put each set into a folder of its own", s.Path, source.Excerpt(s.Product),
			source.Excerpt(parts[1]))
	}
	if slices.ContainsFunc(*list, func(o *Member) bool { return o.Name == m.Name || m.Language != "" && o.Language == m.Language }) {
		return fmt.Errorf("%s: holds %s twice; remove one of them", s.Path, source.Excerpt(m.Name))
	}
	if len(s.Blocks)+len(s.Locations) >= maxFiles {
		return fmt.Errorf("%s: has more than %d files of a set; check that it is one", s.Path, maxFiles)
	}
	*list = append(*list, m)
	return nil
}

// Open opens a file of the set, unpacked.
func (m *Member) Open() (io.ReadCloser, error) {
	if m.file != nil {
		return m.set.archive.Open(m.file)
	}
	return source.Open(m.Path)
}

// Label names the file in messages: its path, or the path of its archive and
// its name in the archive.
func (m *Member) Label() string {
	if m.file != nil {
		return m.set.Path + "#" + m.Name
	}
	return m.Path
}

// Size returns the number of bytes to read on disk.
func (m *Member) Size() int64 {
	if m.file != nil {
		return int64(min(m.file.CompressedSize64, uint64(m.set.archive.Size)))
	}
	info, err := os.Stat(m.Path)
	if err != nil {
		return 0 // opening it will say why
	}
	return info.Size()
}

// PlacesMemory returns the approximate number of bytes of memory that the places of the set take
// when they have been read: twice the size of their files. For compressed files it uses the
// compressed size.
func (s *Set) PlacesMemory() (n int64) {
	for _, m := range s.Locations {
		if m.file != nil {
			n += int64(min(m.file.UncompressedSize64, 1<<50))
		} else {
			n += m.Size()
		}
	}
	return 2 * n
}

// Modified returns when the newest of the networks were last changed. In an
// archive the time is by their publisher's clock.
func (s *Set) Modified() (newest time.Time) {
	for _, m := range s.Blocks {
		var at time.Time
		if m.file != nil {
			at = m.file.Modified.UTC()
		} else if info, err := os.Stat(m.Path); err == nil {
			at = info.ModTime().UTC()
		}
		if at.After(newest) {
			newest = at
		}
	}
	return newest
}

// Close closes the archive.
func (s *Set) Close() error {
	if s.archive == nil {
		return nil
	}
	return s.archive.Close()
}

var errNoPlaces = errors.New("it has no column geoname_id and locale_code")
