// Package features reads features for jobs: from a file, an archive or standard input, in any
// format of package format. It reports progress and notes, and describes the sources for manifests.
package features

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"github.com/paulmach/orb"

	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/disk"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/format"
)

// Files are the files of a job. They belong to one goroutine.
type Files struct {
	// Selection leaves out features by their properties. It is nil for all features, and set before a file is opened.
	Selection *Selection

	ctx   context.Context
	rep   job.Reporter
	dir   string
	stdin io.Reader  // nil once it has been read
	once  bool       // whether there was a standard input to read
	temp  []string   // files to remove
	open  []*os.File // copies without a name
	done  int64      // bytes of all copies
	buf   []byte     // of copy
}

// copies is the pattern for names of temporary copies of inputs that cannot be read in place.
const copies = "copy-*.tmp"

// New returns Files. Inputs that cannot be read in place are copied to dir, or to the system's
// temporary directory if dir is "". New deletes the copies that a killed run left in dir, so no
// other run may be using it. stdin is read for the path "-"; it may be nil.
func New(ctx context.Context, rep job.Reporter, dir string, stdin io.Reader) (*Files, error) {
	s := &Files{ctx: ctx, rep: rep, dir: dir, stdin: stdin, once: stdin != nil}
	if dir == "" {
		return s, nil
	}
	left, err := fs.Glob(os.DirFS(dir), copies)
	for _, name := range left {
		s.temp = append(s.temp, filepath.Join(dir, name))
	}
	return s, errors.Join(err, s.Close())
}

// Close removes the copies.
func (s *Files) Close() error {
	var err error
	for _, f := range s.open {
		err = errors.Join(err, f.Close())
	}
	for _, path := range s.temp {
		err = errors.Join(err, os.Remove(path))
	}
	s.open, s.temp = nil, nil
	return err
}

// File is a file whose format is known.
type File struct {
	*format.File
	Sources []dataset.Source // set after reading, unless the file is Unhashed

	in    job.Input
	files *Files
}

// stdinName is the name of standard input in messages.
const stdinName = "standard input"

// Open detects the format of a file.
func (s *Files) Open(in job.Input, o format.Options) (f *File, err error) {
	o.Copy, o.Dir = s.copied, s.dir
	if in, err = s.Local(in); err != nil {
		return nil, err
	}
	called := ""
	if in.Copy != "" {
		called, o.Nameless = in.Path, isNameless(in.Copy)
	}
	if s.Selection.IsSet() && o.Style.IsTime == nil { // what is spelled anew is not what the statistics of a file are of
		o.MayPass = s.Selection.mayPass
	}
	f = &File{in: in, files: s}
	if f.File, err = format.Open(in.OnDisk(), called, o); err != nil {
		return nil, in.Named(err)
	}
	f.in.Path = f.Path
	if !in.Released.IsZero() {
		f.Modified = in.Released
	}
	return f, nil
}

// spare is the room that a copy leaves free on the disk. It is also the number of bytes between two
// checks of the free room, because the final size of a copy is not known in advance.
const spare = 64 << 20

// free is disk.Free; tests replace it.
var free = disk.Free

// maxNameless bounds the copies without a name, because each is an open file.
const maxNameless = 200

// copied copies r to a temporary file and returns its path. The file has no name unless it is to be named, if the system
// allows that and there are not too many: then nothing stays when the program is killed.
func (s *Files) copied(r io.Reader, name string, named bool) (string, error) {
	out, err := os.CreateTemp(s.dir, copies)
	if err != nil {
		return "", err
	}
	if !named && len(s.open) < maxNameless {
		if path, ok := removeName(out); ok {
			s.open = append(s.open, out)
			return path, s.copy(out, r, name)
		}
	}
	s.temp = append(s.temp, out.Name())
	return out.Name(), errors.Join(s.copy(out, r, name), out.Close())
}

// copy copies r to a file.
func (s *Files) copy(out *os.File, r io.Reader, name string) (err error) {
	stage := "copying " + filepath.Base(name)
	dir := filepath.Dir(out.Name())
	if s.buf == nil {
		s.buf = make([]byte, 1<<20)
	}
	for err == nil {
		var n int
		if n, err = r.Read(s.buf); n > 0 {
			if _, failed := out.Write(s.buf[:n]); failed != nil {
				err = failed
			}
			before := s.done
			if s.done += int64(n); before/spare != s.done/spare {
				if room, known := free(dir); known && room < spare {
					err = cmp.Or(err, fmt.Errorf("%s: its copy does not fit into %s: make room there, or name a file that is not packed", name, dir))
				}
			}
			s.rep.Progress(job.Progress{Stage: stage, Done: s.done, Unit: "bytes"})
		}
		if err == nil {
			err = s.ctx.Err()
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return err
}

// Read calls take with the layer of the file, and reports the assumptions of the reader. The error
// of take may be job.ErrEnough. report reports the progress of reading. Sources are set unless
// there is an error, or the file is Unhashed.
func (f *File) Read(stage string, take func(l *format.Layer, report func()) error) error {
	return f.ReadLayer(f.files.ctx, func(l *format.Layer) error {
		outside := 0
		if f.Bounds != nil {
			l.Features = within(*f.Bounds, l.Features, &outside)
		}
		var counted [2]int64
		if s := f.files.Selection; s.IsSet() {
			s.filter(l, f.Path, f.Format.Untyped || l.Cells, &counted)
		}
		err := take(l, func() {
			f.files.rep.Progress(job.Progress{Stage: stage, Done: l.Progress(), Total: l.Size, Unit: cmp.Or(l.Unit, "bytes")})
		})
		if errors.Is(err, job.ErrEnough) {
			return err
		}
		if outside > 0 {
			f.files.rep.Note(fmt.Sprintf("%s: %d features outside the bounds are left out", f.Path, outside))
		}
		if s := f.files.Selection; s.IsSet() && err == nil {
			if note := s.end(f.Path, l, counted); note != "" {
				f.files.rep.Note(note)
			}
		}
		if l.Notes != nil {
			for _, note := range l.Notes() {
				if note != "" {
					f.files.rep.Note(note)
				}
			}
		}
		if err == nil && !f.Unhashed {
			f.Sources, err = f.describe(l)
		}
		return err
	})
}

// within leaves out the features outside bounds by the boxes around their geometries, and counts them.
// A feature without a usable geometry stays, because its error says more.
func within(bounds orb.Bound, all iter.Seq2[source.Feature, error], outside *int) iter.Seq2[source.Feature, error] {
	return func(yield func(source.Feature, error) bool) {
		for f, err := range all {
			if err == nil && f.Geometry != nil {
				if box := f.Geometry.Bound(); !box.IsEmpty() && !source.InBounds(bounds, box) {
					*outside++
					continue
				}
			}
			if !yield(f, err) {
				return
			}
		}
	}
}

// describe returns the sources of the layer with the hashes of their bytes. The layer must have
// been read.
func (f *File) describe(l *format.Layer) (sources []dataset.Source, err error) {
	if l.Stream != nil {
		src, err := f.in.Describe(l.Stream)
		return []dataset.Source{src}, err
	}
	for _, path := range l.Paths {
		if path == f.OnDisk && f.Names == nil && f.in.Copy == "" {
			path = f.Path // not the path of its copy
		}
		src, err := dataset.FileSource(f.files.ctx, path)
		if err != nil {
			return nil, err
		}
		if f.in.Copy != "" {
			src.File = filepath.Base(f.Path)
			src.Name = src.File
		}
		if f.Names != nil {
			src.Name = filepath.Base(f.Path) // what people know is the folder
		}
		sources = append(sources, f.in.Complete(src))
	}
	return sources, nil
}
