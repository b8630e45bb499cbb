// Package shapefile reads the features of an ESRI shapefile: NAME.shp with NAME.shx, NAME.dbf,
// NAME.prj and NAME.cpg in the same directory, or a zip archive of such files. One record is in
// memory at a time.
//
// The reader follows ESRI's published description of July 1998, strictly where a mistake could
// remain unnoticed. Records are found by NAME.shx. If there is none, they must be in order. Their
// number must be the number of attribute rows. A coordinate system other than plain longitude and
// latitude is refused by name.
package shapefile

import (
	"archive/zip"
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/paulmach/orb"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/crs"
	"quadrille/internal/bom"
)

// Magic is the first bytes of a .shp file.
const Magic = "\x00\x00\x27\x0a"

// maxText bounds the two small text files of a shapefile.
const maxText = 64 << 10

// File is an open shapefile. It belongs to one goroutine.
type File struct {
	// Paths are the files on disk that are read: the archive, or the .shp and its companion
	// files.
	Paths []string
	// Size is the size of the shapes in bytes, the measure of Progress.
	Size int64
	// Note is a sentence for the user about assumptions; "" if there were none.
	Note string
	// Unroll, if set, returns a ring with longitudes that continue beyond ±180° where the ring
	// crosses it. If the ring does not cross, Unroll returns the ring itself. It is used to find
	// out which ring lies in which.
	Unroll func(orb.Ring) orb.Ring

	name    string // for messages
	want    source.Want
	done    atomic.Int64
	shp     *shapes
	dbf     *table // nil if there is none
	closers []io.Closer
}

// Open opens a .shp file or a zip archive, which must have the wanted content. layer chooses one
// of several shapefiles in an archive, by its name without folder and .shp.
func Open(name, layer string, want source.Want) (_ *File, err error) {
	f := &File{name: name, want: want}
	defer func() {
		if err != nil {
			_ = f.Close() // only read
		}
	}()
	var parts *parts
	if packed, err := source.IsArchive(name); err != nil {
		return nil, err
	} else if packed {
		parts, err = f.inArchive(layer)
		if err != nil {
			return nil, err
		}
	} else if parts, err = f.onDisk(layer); err != nil {
		return nil, err
	}
	return f, f.begin(parts)
}

// parts opens a part of the shapefile by its extension, such as ".shp". The
// second result is false if there is no such part.
type parts struct {
	gdal string // GDAL's name for the .shp
	open func(ext string) (r io.ReadCloser, size int64, ok bool, err error)
}

func (f *File) onDisk(layer string) (*parts, error) {
	if layer != "" {
		return nil, fmt.Errorf("%s: is one shapefile, without layers such as %s; name the file alone", f.name, source.Excerpt(layer))
	}
	base := strings.TrimSuffix(f.name, filepath.Ext(f.name))
	return &parts{f.name, func(ext string) (io.ReadCloser, int64, bool, error) {
		names := []string{base + ext, base + strings.ToUpper(ext)}
		if ext == ".shp" {
			names = []string{f.name}
		}
		for _, name := range names {
			file, info, err := source.OpenRegular(name)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			} else if err != nil {
				return nil, 0, false, err
			}
			f.Paths = append(f.Paths, name)
			return file, info.Size(), true, nil
		}
		return nil, 0, false, nil
	}}, nil
}

func (f *File) inArchive(layer string) (*parts, error) {
	a, err := source.OpenArchive(f.name)
	if err != nil {
		return nil, err
	}
	f.closers = append(f.closers, a)
	f.Paths = []string{f.name}
	var found []*zip.File
	var names []string
	for _, m := range a.Members {
		if !strings.EqualFold(path.Ext(m.Name), ".shp") {
			continue
		}
		name := strings.TrimSuffix(path.Base(m.Name), path.Ext(m.Name))
		names = append(names, name)
		if layer == "" || name == layer {
			found = append(found, m)
		}
	}
	switch {
	case len(names) == 0:
		return nil, fmt.Errorf("%s: zip archive without a shapefile; unpack it and name the file inside", f.name)
	case len(found) == 0:
		return nil, fmt.Errorf("%s: zip archive without a shapefile %s; it has %q", f.name, source.Excerpt(layer), short(names))
	case len(found) > 1:
		return nil, fmt.Errorf("%s: zip archive of %d shapefiles, %q; choose one as %s#%s", f.name, len(found), short(names), f.name, names[0])
	}
	base := strings.TrimSuffix(found[0].Name, path.Ext(found[0].Name))
	return &parts{"/vsizip/" + f.name + "/" + found[0].Name, func(ext string) (io.ReadCloser, int64, bool, error) {
		var member *zip.File
		for _, m := range a.Members {
			if !strings.EqualFold(path.Ext(m.Name), ext) || strings.TrimSuffix(m.Name, path.Ext(m.Name)) != base {
				continue
			}
			if member != nil {
				return nil, 0, false, fmt.Errorf("%s: zip archive holds %s twice; fetch it again", f.name, source.Excerpt(m.Name))
			}
			member = m
		}
		if member == nil {
			return nil, 0, false, nil
		}
		r, err := a.Open(member)
		if err != nil {
			return nil, 0, false, err
		}
		return r, int64(member.UncompressedSize64), true, nil // bounded by Open
	}}, nil
}

func short(names []string) []string {
	const most = 10
	return names[:min(len(names), most)]
}

// begin opens the parts and reads their heads.
func (f *File) begin(p *parts) error {
	var seeker io.ReadSeeker // of the last opened part; nil in an archive
	open := func(ext string) (*bufio.Reader, int64, bool, error) {
		r, size, ok, err := p.open(ext)
		if err != nil || !ok {
			return nil, 0, false, err
		}
		f.closers = append(f.closers, r)
		seeker, _ = r.(io.ReadSeeker)
		return bufio.NewReaderSize(r, 64<<10), size, true, nil
	}
	text := func(ext string) (string, error) {
		r, _, ok, err := open(ext)
		if err != nil || !ok {
			return "", err
		}
		b, err := io.ReadAll(io.LimitReader(r, maxText+1))
		if err == nil && len(b) > maxText {
			err = fmt.Errorf("%s: %s of more than %d bytes", f.name, ext, maxText)
		}
		return strings.TrimSpace(string(bom.Trim(b))), err
	}
	r, size, _, err := open(".shp")
	if err != nil {
		return err
	}
	f.Size = size
	if f.shp, err = newShapes(r, seeker, size, f.want); err != nil {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	if r, size, ok, err := open(".shx"); err != nil {
		return err
	} else if ok {
		if err := f.shp.withIndex(r, size); err != nil {
			return fmt.Errorf("%s: .shx: %w", f.name, err)
		}
	}
	system, err := text(".prj")
	if err != nil {
		return err
	}
	if system == "" {
		f.Note = f.name + ": has no .prj, so its coordinates are taken as longitude and latitude (WGS84)"
	} else if f.Note, err = crs.ByWKT(system).Accept(f.name, "out.shp", p.gdal); err != nil {
		return err
	}
	page, err := text(".cpg")
	if err != nil {
		return err
	}
	r, size, ok, err := open(".dbf")
	if err != nil || !ok {
		return err
	}
	var seen texts
	if t, err := newTable(r, size, "UTF-8", seen); err == nil {
		seen = t.survey()
	}
	if r, size, _, err = open(".dbf"); err != nil {
		return err
	}
	f.Paths = slices.Compact(f.Paths) // opened twice
	if f.dbf, err = newTable(r, size, page, seen); err != nil {
		return fmt.Errorf("%s: .dbf: %w", f.name, err)
	}
	if f.dbf.note != "" {
		source.AddRepair(&f.Note, f.name+": "+f.dbf.note)
	}
	return nil
}

// Columns returns the names of the possible properties of features, in their order. Unreadable
// fields are left out.
func (f *File) Columns() []string {
	if f.dbf == nil {
		return []string{}
	}
	names := make([]string, 0, len(f.dbf.fields))
	for _, field := range f.dbf.fields {
		if field.kind != lostKind {
			names = append(names, field.name)
		}
	}
	return names
}

// Progress returns how much of Size has been read. It may be called during the reading.
func (f *File) Progress() int64 { return min(f.done.Load(), f.Size) }

// Close closes the file.
func (f *File) Close() error {
	var err error
	for _, c := range slices.Backward(f.closers) {
		err = errors.Join(err, c.Close())
	}
	f.closers = nil
	return err
}

// Features yields the features in order. Line is the number of the record, from 1. Rows marked as
// deleted are skipped with their shapes. An unusable feature gives a *source.BadRecord, and reading
// continues. Any other error ends the sequence.
func (f *File) Features() iter.Seq2[source.Feature, error] {
	return func(yield func(source.Feature, error) bool) {
		err := f.features(yield)
		if err != nil && !errors.Is(err, errStop) {
			yield(source.Feature{}, fmt.Errorf("%s: %w", f.name, err))
		}
	}
}

// errStop ends the reading when the caller leaves the loop.
var errStop = errors.New("stop")

func (f *File) features(yield func(source.Feature, error) bool) error {
	for {
		g := shape{unroll: f.Unroll}
		more, err := f.shp.next(&g)
		if err != nil {
			return err
		}
		if !more {
			break
		}
		done := f.shp.offset
		if f.shp.records > 0 { // not in the order of the file
			done = f.Size * int64(f.shp.count) / int64(f.shp.records)
		}
		f.done.Store(done)
		out := source.Feature{Line: f.shp.count, Repair: g.repair}
		if f.dbf != nil {
			members, lost, deleted, err := f.dbf.next()
			switch {
			case errors.Is(err, io.EOF):
				return fmt.Errorf(".dbf: ends after %d rows, and there are more shapes; the two do not belong together", f.dbf.count)
			case err != nil:
				return fmt.Errorf(".dbf: row %d: %w", f.dbf.count+1, err)
			case deleted:
				continue
			}
			out.Members, out.Lost = members, lost
		}
		bad := error(nil)
		if g.reason != "" {
			bad = &source.BadRecord{Source: f.name, Line: f.shp.count, Reason: g.reason, Detail: g.detail}
		} else {
			out.Geometry = g.geometry
		}
		if !yield(out, bad) {
			return errStop
		}
	}
	if f.dbf != nil && f.dbf.count != f.dbf.rows {
		return fmt.Errorf("%d shapes, and %d rows of attributes; the .shp and the .dbf do not belong together, or one is truncated",
			f.shp.count, f.dbf.rows)
	}
	return nil
}
